"""A Claude Code file written record by record, for tests."""

import json
from pathlib import Path
from typing import Any

from foreword.core.event import Answered, Draft, Said, ToolReturned
from foreword.importers.imported import Imported
from foreword.importers.read import read

SESSION = "0b0c2f6e-6f0e-4a52-9f0d-1f7b8a3c9d10"
MODEL = "claude-opus-4-8"


class ClaudeFile:
    """The lines of a file. Every method adds one and returns its uuid, which is the parent of the next."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.last: str | None = None

    def record(self, type_: str, **members: Any) -> str:
        """Add a record of the tree below the last one, or below `parentUuid`."""
        number = len(self.lines) + 1
        uuid = members.pop("uuid", f"u{number}")
        data = {
            "parentUuid": self.last,
            "isSidechain": False,
            "sessionId": SESSION,
            "type": type_,
            "uuid": uuid,
            "timestamp": f"2026-11-30T10:{number // 60:02}:{number % 60:02}.500Z",
            **members,
        }
        self.lines.append(json.dumps(data))
        self.last = uuid
        return uuid

    def loose(self, **members: Any) -> None:
        """Add a line that is no record of the tree."""
        self.lines.append(json.dumps(members))

    def user(self, content: Any, **members: Any) -> str:
        return self.record("user", message={"role": "user", "content": content}, **members)

    def result(self, call: str, content: Any = "done", **members: Any) -> str:
        return self.user([{"type": "tool_result", "tool_use_id": call, "content": content}], **members)

    def answer(
        self, call: str, *content: dict[str, Any], usage: dict[str, Any] | None = None, **more: Any
    ) -> str:
        """Add one record of the API call `call`; `said`: members of its message."""
        message = {
            "id": f"msg_{call}",
            "type": "message",
            "role": "assistant",
            "model": more.pop("model", MODEL),
            "content": list(content),
            "stop_reason": more.pop("stop_reason", None),
            "usage": usage or {"input_tokens": 10, "cache_read_input_tokens": 20_000, "output_tokens": 50},
            **more.pop("said", {}),
        }
        return self.record("assistant", message=message, **{"requestId": f"req_{call}", **more})

    @property
    def data(self) -> bytes:
        return "".join(line + "\n" for line in self.lines).encode()

    def read(self, folder: Path | None = None, name: str = "s.jsonl") -> list[Imported]:
        """Read the file, from a folder or from memory."""
        if folder is None:
            return read(name, data=self.data)
        (folder / name).write_bytes(self.data)
        return read(str(folder / name))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id_: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def story(one: Imported) -> list[str]:
    """Tell the history in short: who, and the words or ids."""
    told: list[str] = []
    for draft in one.drafts:
        match draft.body:
            case Said(person=person):
                told.append(f"{'person' if person else draft.trust}: {words(draft)}")
            case Answered():
                told.append(f"model: {words(draft)}")
            case ToolReturned(result=result):
                told.append(f"result {result.call_id}")
            case _:
                pass
    return told


def words(draft: Draft) -> str:
    assert isinstance(draft.body, Said | Answered)
    return " ".join(
        getattr(block, "text", "") or getattr(block, "id", "?") for block in draft.body.message.blocks
    )


def codes(one: Imported) -> set[str]:
    return {flaw.code for flaw in one.flaws}
