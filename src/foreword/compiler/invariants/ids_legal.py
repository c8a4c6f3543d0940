"""Ids of calls, as they stand in the bytes: of letters, digits, _ and -, short, unique, and the same in the result."""

from __future__ import annotations

import re
from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.compiler.unit_value import texts_at
from foreword.core.item import Interaction

_NAME = "ids_legal"
_LEGAL = re.compile(r"[a-zA-Z0-9_-]+")


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    codec, fold = compiled.target.codec, compiled.view.fold
    paths = {"tool_call": codec.call_path, "tool_result": codec.result_path}
    asked: dict[int, list[str]] = {}
    new: set[str] = set()
    for index, unit in compiled.since(start):
        if unit.section != "message" or unit.kind not in paths or not unit.events:
            continue
        found = list(texts_at(compiled.value(index), paths[unit.kind]))
        for id_ in found:
            if not _LEGAL.fullmatch(id_) or len(id_) > codec.id_limit:
                yield _broken(index, unit.events, f"an id that the wire doesn't take: {id_[:80]!r}")
        item = fold.item(unit.events[0])
        if not isinstance(item, Interaction):
            continue
        if unit.kind == "tool_call":
            asked.setdefault(item.seq, []).extend(found)
            for id_ in found:
                if id_ in new or compiled.layout.calls.get(id_, start) < start:
                    yield _broken(index, unit.events, f"a second call with the id {id_!r}")
                new.add(id_)
        elif any(id_ not in asked.get(item.seq, ()) for id_ in found):
            yield _broken(index, unit.events, "a result with another id than its call")


def _broken(unit: int, events: tuple[int, ...], fault: str) -> Broken:
    return Broken(rule=_NAME, unit=unit, events=events, fault=fault)


RULE = Invariant(
    name=_NAME,
    source="Anthropic Messages 1.3, ids must be unique; OpenAI, error texts on the length of an id: 40 on Chat, 64 on "
    "Responses (rulebook of 2026-11-30)",
    holds=_holds,
)
