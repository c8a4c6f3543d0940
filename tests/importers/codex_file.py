"""A Codex rollout written row by row, for tests."""

import json
from typing import Any

from foreword.importers.imported import Imported
from foreword.importers.read import read

THREAD = "019f03e0-1111-7eb2-83cc-b54ecd71be23"
MODEL = "gpt-6.1-sol"


class CodexFile:
    """The lines of a file. `spent` is the cumulative usage that token counts tell."""

    def __init__(self, *, base: str | None = "You fix bugs.", **meta: Any) -> None:
        self.lines: list[str] = []
        self.spent = {
            "input_tokens": 0,
            "cached_input_tokens": 0,
            "output_tokens": 0,
            "reasoning_output_tokens": 0,
        }
        self.calls = 0
        given = {"base_instructions": {"text": base}} if base is not None else {}
        self.row("session_meta", {"id": THREAD, "cwd": "/w", "source": "cli", **given, **meta})
        self.turn()

    def row(self, type_: str, payload: dict[str, Any]) -> None:
        number = len(self.lines) + 1
        time = f"2026-11-30T10:{number // 60:02}:{number % 60:02}.500Z"
        self.lines.append(json.dumps({"timestamp": time, "type": type_, "payload": payload}))

    def turn(self, **members: Any) -> None:
        self.row("turn_context", {"cwd": "/w", "model": MODEL, **members})

    def item(self, type_: str, **members: Any) -> None:
        self.row("response_item", {"type": type_, **members})

    def event(self, type_: str, **members: Any) -> None:
        self.row("event_msg", {"type": type_, **members})

    def user(self, *texts: str, role: str = "user") -> None:
        content = [{"type": "input_text", "text": text} for text in texts]
        self.item("message", role=role, content=content)

    def say(self, text: str, **members: Any) -> None:
        content = [{"type": "output_text", "text": text}]
        self.item("message", role="assistant", content=content, **members)

    def think(self, proof: str = "gAAA", **members: Any) -> None:
        self.item("reasoning", summary=[], encrypted_content=proof, **members)

    def call(self, id_: str, name: str = "shell", **arguments: Any) -> None:
        self.item("function_call", name=name, arguments=json.dumps(arguments), call_id=id_)

    def result(self, id_: str, output: Any = "done") -> None:
        self.item("function_call_output", call_id=id_, output=output)

    def bill(self, input_: int = 1_000, cached: int = 800, output: int = 50, thought: int = 20) -> None:
        """Count a call without a row of its own."""
        for name, count in zip(self.spent, (input_, cached, output, thought), strict=True):
            self.spent[name] += count

    def tokens(self, input_: int = 1_000, cached: int = 800, output: int = 50, thought: int = 20) -> None:
        """Count a call, and add its row."""
        self.bill(input_, cached, output, thought)
        last = dict(zip(self.spent, (input_, cached, output, thought), strict=True))
        self.event("token_count", info={"total_token_usage": dict(self.spent), "last_token_usage": last})

    def repeat(self) -> None:
        """Add the last line once more, as Codex does with token counts."""
        self.lines.append(self.lines[-1])

    @property
    def data(self) -> bytes:
        return "".join(line + "\n" for line in self.lines).encode()

    def read(self, name: str = "rollout.jsonl") -> Imported:
        [one] = read(name, data=self.data)
        return one
