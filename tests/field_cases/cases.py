"""Field cases: one JSON line each, with an input and the checks that must hold."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.field_cases.generators import CantBeMade, expanded, left_in


class Unsupported(Exception):
    """The product has no such operation, or this driver knows no such form; the text says which."""


class NoCase(Exception):
    """A line that is no case; the text says why."""


class Line(Struct, frozen=True, kw_only=True):
    """A line of a file of cases. ``id``: of its case, or its number where it names none."""

    number: int
    id: str
    topic: str
    row: Any

    def case(self) -> Case:
        """Return the case with its generators expanded. Raises NoCase, Unsupported."""
        match self.row:
            case {"id": str() | int(), "input": {"op": str(op), **rest}, "expect": {"checks": list(checks)}}:
                pass
            case Exception():
                raise NoCase(f"no JSON: {self.row}")
            case _:
                raise NoCase("it lacks an id, an input with an op, or a list of checks")
        if not isinstance(rest.get("settings", {}), dict):
            raise Unsupported("settings that are no object")
        try:
            made, asked = expanded({"op": op, **rest}), expanded(checks)
        except (CantBeMade, RecursionError) as error:
            raise Unsupported(str(error)) from error
        if left := left_in(made) or left_in(asked):
            raise Unsupported(f"generator {left}")
        return Case(id=self.id, topic=self.topic, op=op, input=made, checks=asked)


class Case(Struct, frozen=True, kw_only=True):
    """One case. ``input`` and ``checks`` have their generators expanded."""

    id: str
    topic: str
    op: str
    input: dict[str, Any]
    checks: list[dict[str, Any]]

    @property
    def settings(self) -> dict[str, Any]:
        return self.input.get("settings", {})

    @property
    def wire(self) -> str:
        """The wire's name in the product."""
        return wire_of(self.input.get("wire", "anthropic.messages"))

    def only(self, *members: str, settings: Collection[str] = ()) -> None:
        """Raise Unsupported for a member or a setting that the operation at hand does not know."""
        known("input", self.input, {"op", "wire", "settings", *members})
        known("setting", self.settings, settings)


def known(kind: str, given: Any, members: Collection[str]) -> None:
    """Raise Unsupported unless this is an object of members that are known."""
    if not isinstance(given, dict):
        raise Unsupported(f"{kind} {given!r:.60}")
    if unknown := given.keys() - set(members):
        raise Unsupported(f"{kind} {', '.join(sorted(unknown))}")


WIRES = {
    "anthropic.messages": "anthropic",
    "openai.chat": "openai-chat",
    "openai.responses": "openai-responses",
    "deepseek.chat": "deepseek",
    "gemini.generate": "gemini",
}


def wire_of(name: Any) -> str:
    """Return the product's name of a wire. Raises Unsupported."""
    if not isinstance(name, str) or name not in WIRES:
        raise Unsupported(f"wire {name!r:.60}")
    return WIRES[name]


def read_lines(path: Path) -> Iterator[Line]:
    """Read a file of cases, line by line; one that is no case costs only itself. Raises OSError."""
    for number, data in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not data.strip():
            continue
        try:
            row = json.loads(data)
        except (ValueError, RecursionError) as error:
            row = error
        told = row if isinstance(row, dict) else {}
        named = isinstance(told.get("id"), str | int)
        topic = told.get("topic")
        yield Line(
            number=number,
            id=str(told["id"]) if named else f"line {number}",
            topic=topic if isinstance(topic, str) else "",
            row=row,
        )
