"""Record the demo session: play the story's agent on a real C project and write what really came back.

    python demo/record.py

Needs bash, cmake, make and gcc, and no cross compiler for ARM (the story has a step that fails for want of
one). A step that ends otherwise than the story says stops the recording and nothing is written.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults import ABSENT, FAULTS, OLD_FILES
from setting import MODEL, SYSTEM, TOOLS
from steps import PROJECT, Agent, Call, Person
from story import STORY

SESSION = Path(__file__).resolve().parent / "session.json"
SHOWN = "/home/agent/tinyconf"

Result = tuple[str, int]


class Surprise(Exception):
    """Say that a step did not end as the story states."""


def lay_out(folder: Path) -> None:
    """Make the project as it was before the first turn."""
    shutil.copytree(PROJECT, folder)
    for path in ABSENT:
        (folder / path).unlink()
    (folder / "cmake").rmdir()
    for path, text in OLD_FILES.items():
        (folder / path).write_text(text, "utf-8")
    for fault in FAULTS.values():
        file = folder / fault.path
        file.write_text(fault.spoil(file.read_text("utf-8")), "utf-8")


def bash(folder: Path, command: str) -> Result:
    """Run a command in the project's folder; standard error is mixed in, as a terminal shows it."""
    done = subprocess.run(
        ["bash", "-c", command.replace(SHOWN, str(folder))],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": str(folder.parent), "TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
    )
    output = done.stdout.decode("utf-8", "replace").replace(str(folder), SHOWN).rstrip("\n")
    return f"{output}\nexit code {done.returncode}".lstrip("\n"), done.returncode


def read_file(folder: Path, path: str, offset: int = 1, limit: int = 2000) -> Result:
    """Show lines with their numbers, `limit` of them from line `offset` on."""
    try:
        lines = (folder / path).read_text("utf-8").splitlines()
    except OSError as error:
        return f"{path}: {error.strerror}", 1
    shown = lines[offset - 1 : offset - 1 + limit]
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(shown, offset)), 0


def write_file(folder: Path, path: str, content: str) -> Result:
    """Write a whole file, with the folders above it."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, "utf-8")
    return f"wrote {path}: {len(content.splitlines())} lines", 0


def edit_file(folder: Path, path: str, old: str, new: str) -> Result:
    """Put `new` in the one place where `old` stands."""
    file = folder / path
    text = file.read_text("utf-8")
    if (count := text.count(old)) != 1:
        return f"{path}: the old text occurs {count} times, wanted once", 1
    file.write_text(text.replace(old, new), "utf-8")
    line = text[: text.index(old)].count("\n") + 1
    return f"edited {path} at line {line}", 0


RUN: dict[str, Callable[..., Result]] = {
    "bash": bash,
    "read_file": read_file,
    "write_file": write_file,
    "edit_file": edit_file,
}


def play(call: Call, folder: Path, call_id: str) -> dict[str, Any]:
    """Run one call and return its `tool_result` block; an unexpected code is a Surprise."""
    text, code = RUN[call.tool](folder, **call.input)
    if code != call.code:
        raise Surprise(f"{call_id} {call.tool} {call.input}: code {code}, wanted {call.code}\n{text}")
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return result | {"is_error": True} if code else result


def answer(turn: Agent, folder: Path, first: int) -> list[dict[str, Any]]:
    """Return the agent's message and, when it calls tools, the message with their results."""
    ids = [f"toolu_demo_{number:04}" for number in range(first, first + len(turn.calls))]
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    content += [
        {"type": "tool_use", "id": call_id, "name": call.tool, "input": call.input}
        for call_id, call in zip(ids, turn.calls, strict=True)
    ]
    said = {"role": "assistant", "content": content}
    if not turn.calls:
        return [said]
    results = [play(call, folder, call_id) for call_id, call in zip(ids, turn.calls, strict=True)]
    return [said, {"role": "user", "content": results}]


def play_story(folder: Path) -> list[dict[str, Any]]:
    """Play every turn in order and return the message list."""
    messages: list[dict[str, Any]] = []
    calls = 0
    for turn in STORY:
        if isinstance(turn, Person):
            messages.append({"role": "user", "content": turn.text})
        else:
            messages += answer(turn, folder, calls + 1)
            calls += len(turn.calls)
    return messages


def compare(folder: Path) -> None:
    """Raise Surprise unless the story led to exactly the finished project."""
    for file in sorted(PROJECT.rglob("*")):
        path = file.relative_to(PROJECT)
        if file.is_file() and (
            not (folder / path).is_file() or file.read_bytes() != (folder / path).read_bytes()
        ):
            raise Surprise(f"{path} is not as in {PROJECT.name}/ at the end of the story")


def main() -> int:
    """Record the session into `session.json` beside this file."""
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above).resolve() / "tinyconf"
        lay_out(folder)
        try:
            messages = play_story(folder)
            compare(folder)
        except Surprise as surprise:
            sys.stderr.write(f"nothing recorded: {surprise}\n")
            return 1
    session = {"model": MODEL, "system": SYSTEM, "tools": TOOLS, "messages": messages}
    SESSION.write_text(json.dumps(session, indent=1, ensure_ascii=False) + "\n", "utf-8")
    calls = sum(len(turn.calls) for turn in STORY if isinstance(turn, Agent))
    sys.stdout.write(
        f"{SESSION.name}: {len(messages)} messages, {calls} calls, {SESSION.stat().st_size} bytes\n"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
