"""Session files for the command line's tests, small enough to read and large enough to need rewrites."""

import json
from pathlib import Path
from typing import Any

MODEL = "claude-opus-4-8"
TARGET = ("--provider", "anthropic", "--model", MODEL)
MARK = "the needle of step"


def conversation(
    steps: int, *, lines: int = 12, system: str = "You mend pipes.", start: int = 0
) -> dict[str, Any]:
    """Return a request in Anthropic's form: a question, then `steps` calls with results of `lines` lines."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Mend the pipe in the cellar, and keep the valve shut."}
    ]
    for step in range(start, start + steps):
        call = {
            "type": "tool_use",
            "id": f"call_{step}",
            "name": "look",
            "input": {"path": f"pipe/{step}.txt"},
        }
        text = "".join(
            f"line {line} of pipe {step}: pressure {line * 7 + step} mbar\n" for line in range(lines)
        )
        result = {"type": "tool_result", "tool_use_id": f"call_{step}", "content": f"{MARK} {step}\n{text}"}
        messages.append(
            {"role": "assistant", "content": [{"type": "text", "text": f"I look at pipe {step}."}, call]}
        )
        messages.append({"role": "user", "content": [result]})
    messages.append({"role": "assistant", "content": [{"type": "text", "text": "The pipe is mended."}]})
    tools = [
        {
            "name": "look",
            "description": "Look at a pipe.",
            "input_schema": {"type": "object", "properties": {}},
        }
    ]
    return {"model": MODEL, "system": system, "tools": tools, "messages": messages}


def write(path: Path, value: Any) -> Path:
    """Write a JSON document and return its path."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
