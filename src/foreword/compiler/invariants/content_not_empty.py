"""No text is empty or white space alone, and none from which the model goes on ends in white space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.core.request import CATEGORIES

_NAME = "content_not_empty"
_SAID = frozenset({"text", "image", "tool_result", *CATEGORIES})
"""Kinds of units that hold text of ours; another's is sent as it came."""
_LISTS = ("content", "output")
_PLAIN = {"type", "role", "text", "content"}
"""Members of a text that carries nothing else: one with a signature or an id may have to go back empty."""


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    for index, unit in compiled.since(start):
        said = unit.section == "system" or (unit.section == "message" and unit.kind in _SAID)
        if said and any(not text.strip() for text in _texts(compiled, index)):
            yield Broken(rule=_NAME, unit=index, events=unit.events, fault="an empty text")
    last = compiled.unit(compiled.size - 1)
    if compiled.target.prefills and last.role == "assistant" and last.kind == "text":
        final = list(_texts(compiled, compiled.size - 1))[-1:]
        if final and final[0] != final[0].rstrip():
            fault = "white space at the end of a text to go on from"
            yield Broken(rule=_NAME, unit=compiled.size - 1, events=last.events, fault=fault)


def _texts(compiled: Compiled, index: int) -> Iterator[str]:
    unit = compiled.unit(index)
    value: Any = compiled.value(index) if unit.data.startswith(b"{") else None
    if value is None:
        if not unit.data.startswith(b'"'):  # then it is members of a message, not text inside a string
            yield msgspec.json.decode(b'"' + unit.data + b'"', type=str)
        return
    members = cast("dict[str, Any]", value)
    for name in _LISTS:
        parts: Any = members.get(name)
        if isinstance(parts, list) and "id" not in members:
            yield from (text for part in cast("list[Any]", parts) for text in _plain(part))
    yield from _plain(members)


def _plain(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and cast("dict[str, Any]", value).keys() <= _PLAIN:
        members = cast("dict[str, Any]", value)
        text = members.get("text", members.get("content"))
        if isinstance(text, str):
            yield text


RULE = Invariant(
    name=_NAME,
    source="Anthropic Messages 1.2, empty rules; Gemini 7, a part is exactly one of its members "
    "(rulebook of 2026-11-30)",
    holds=_holds,
)
