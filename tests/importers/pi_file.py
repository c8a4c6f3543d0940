"""A pi session file written entry by entry, for tests."""

import json
from typing import Any

from foreword.importers.imported import Imported
from foreword.importers.read import read

SESSION = "d703a1a9-2222-4fb1-b512-c9738b1fe617"
MODEL = "claude-opus-4-8"


class PiFile:
    """The lines of a file. Every method adds one and returns its id, which is the parent of the next.

    `version` 1: a linear file, whose entries have no ids.
    """

    def __init__(self, version: int = 3) -> None:
        self.version = version
        self.last: str | None = None
        header = {"type": "session", "id": SESSION, "timestamp": "2026-11-30T10:00:00.000Z", "cwd": "/w"}
        self.lines = [json.dumps(header | ({"version": version} if version > 1 else {"modelId": MODEL}))]

    def entry(self, type_: str, **members: Any) -> str:
        number = len(self.lines) + 1
        id_ = members.pop("id", f"e{number}")
        place = {"id": id_, "parentId": members.pop("parentId", self.last)} if self.version > 1 else {}
        time = f"2026-11-30T10:{number // 60:02}:{number % 60:02}.500Z"
        self.lines.append(json.dumps({"type": type_, **place, "timestamp": time, **members}))
        self.last = id_
        return id_

    def message(self, role: str, *, parent: str | None = "", **members: Any) -> str:
        place = {} if parent == "" else {"parentId": parent}
        return self.entry("message", message={"role": role, **members}, **place)

    def user(self, content: Any, **more: Any) -> str:
        return self.message("user", content=content, **more)

    def answer(self, *content: dict[str, Any], usage: dict[str, Any] | None = None, **more: Any) -> str:
        given = {"api": "anthropic-messages", "provider": "anthropic", "model": MODEL, "stopReason": "stop"}
        return self.message("assistant", content=list(content), usage=usage or spent(), **(given | more))

    def result(self, call: str, content: Any = "done", **more: Any) -> str:
        parts = [text(content)] if isinstance(content, str) else content
        return self.message(
            "toolResult", toolCallId=call, toolName="bash", content=parts, isError=False, **more
        )

    @property
    def data(self) -> bytes:
        return "".join(line + "\n" for line in self.lines).encode()

    def read(self, name: str = "session.jsonl") -> Imported:
        [one] = read(name, data=self.data)
        return one


def spent(
    fresh: int = 10, output: int = 50, read: int = 900, write: int = 90, total: float = 0.0123
) -> dict[str, Any]:
    return {
        "input": fresh,
        "output": output,
        "cacheRead": read,
        "cacheWrite": write,
        "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": total},
    }


NOTHING = spent(0, 0, 0, 0, 0)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id_: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": id_, "name": name, "arguments": arguments}
