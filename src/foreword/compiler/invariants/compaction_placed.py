"""A provider's compaction block: none that failed; one that must be first is, alone; one opens the base if it shall."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.answers import opaque_of
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.core.request import Compaction

_NAME = "compaction_placed"


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    head, block = compiled.head, compiled.epoch.body.block
    if block is not None and start <= head < compiled.size and compiled.unit(head).events[:1] != (block,):
        yield _broken(head, (block,), "the compaction block of this epoch doesn't open it")
    opens = _found(compiled, head) if head < compiled.size else None
    for index, unit in compiled.since(start):
        found = _found(compiled, index) if unit.kind == "opaque" else None
        if found is None:
            continue
        events = unit.events
        if found.place == "nowhere":
            yield _broken(index, events, "a compaction block that failed")
        elif found.place == "first" and index != head:
            yield _broken(index, events, "a compaction block behind other messages")
        elif index != head and opens is not None and opens.place == "first":
            yield _broken(index, events, "a second compaction block behind one that stands for all before")


def _found(compiled: Compiled, index: int) -> Compaction | None:
    opaque = opaque_of(compiled, index)
    return compiled.target.codec.compaction(opaque) if opaque is not None else None


def _broken(unit: int, events: tuple[int, ...], fault: str) -> Broken:
    return Broken(rule=_NAME, unit=unit, events=events, fault=fault)


RULE = Invariant(
    name=_NAME,
    source="Anthropic Messages 1.5, errors compaction_block_misplaced and compaction_block_ambiguous; OpenAI Responses "
    "5.3 (rulebook of 2026-11-30)",
    holds=_holds,
)
