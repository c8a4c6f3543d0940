"""Field cases: one JSON line each, with an input and the checks that must hold."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.field_cases.generators import expanded


class Unsupported(Exception):
    """The product has no such operation, or this driver knows no such form; the text says which."""


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
        known = {"op", "wire", "settings", *members}
        self._refuse("input", self.input.keys() - known)
        self._refuse("setting", self.settings.keys() - set(settings))

    def _refuse(self, kind: str, unknown: Collection[str]) -> None:
        if unknown:
            raise Unsupported(f"{kind} {', '.join(sorted(unknown))}")


WIRES = {
    "anthropic.messages": "anthropic",
    "openai.chat": "openai-chat",
    "openai.responses": "openai-responses",
    "deepseek.chat": "deepseek",
    "gemini.generate": "gemini",
}


def wire_of(name: str) -> str:
    """Return the product's name of a wire. Raises Unsupported."""
    if name not in WIRES:
        raise Unsupported(f"wire {name}")
    return WIRES[name]


def read_cases(path: Path) -> list[Case]:
    """Read a file of cases. Raises ValueError that names the line."""
    cases: list[Case] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            cases.append(_case(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}, line {number}: not a field case: {error!r}") from error
    return cases


def _case(row: Mapping[str, Any]) -> Case:
    return Case(
        id=row["id"],
        topic=row["topic"],
        op=row["input"]["op"],
        input=expanded(row["input"]),
        checks=expanded(row["expect"]["checks"]),
    )
