"""Define the steps that a story is made of, and short ways to write them."""

from pathlib import Path
from typing import Any, NamedTuple

from faults import FAULTS, SLIPS

PROJECT = Path(__file__).resolve().parent / "project"


class Person(NamedTuple):
    """A turn that a person wrote."""

    text: str


class Call(NamedTuple):
    """One tool call; `code` is the exit code that the story needs (0: it worked)."""

    tool: str
    input: dict[str, Any]
    code: int = 0


class Agent(NamedTuple):
    """One assistant message. Several calls: sent as one parallel batch. None: the turn is over."""

    text: str
    calls: tuple[Call, ...] = ()


def says(text: str, *calls: Call) -> Agent:
    """Return an assistant message with these calls."""
    return Agent(text, calls)


def bash(command: str, code: int = 0) -> Call:
    """Return a shell command."""
    return Call("bash", {"command": command}, code)


def read(path: str, offset: int | None = None, limit: int | None = None, code: int = 0) -> Call:
    """Return a read of a file, or of a range of its lines."""
    given = {"path": path, "offset": offset, "limit": limit}
    return Call("read_file", {key: value for key, value in given.items() if value is not None}, code)


def write(path: str, *slips: str) -> Call:
    """Return a write of the finished project's file, with these slips in it."""
    text = (PROJECT / path).read_text("utf-8")
    for slip in slips:
        text = SLIPS[slip].spoil(text)
    return Call("write_file", {"path": path, "content": text})


def edit(path: str, old: str, new: str) -> Call:
    """Return an edit of one place."""
    return Call("edit_file", {"path": path, "old": old, "new": new})


def mend(name: str) -> Call:
    """Return the edit that takes a fault out."""
    fault = (FAULTS | SLIPS)[name]
    return edit(fault.path, fault.broken, fault.good)
