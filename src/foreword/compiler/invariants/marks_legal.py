"""Cache marks: no more than the model takes, and only where the wire allows one."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    del start  # marks move from request to request, so all are looked at
    marks = compiled.breakpoints
    room = compiled.target.spec.max_marks or 0
    if len(marks) > room:
        fault = f"{len(marks)} marks where {room} are allowed"
        yield Broken(rule="marks_legal", unit=None, events=(), fault=fault)
    for index in marks:
        unit = compiled.unit(index)
        if not unit.markable or unit.section == "key":
            fault = f"a mark on {unit.kind}"
            yield Broken(rule="marks_legal", unit=index, events=unit.events, fault=fault)


RULE = Invariant(
    name="marks_legal",
    source="Anthropic Messages 1.2 and 2.1: at most 4 marks, none on thinking or empty text (rulebook of 2026-11-30)",
    holds=_holds,
)
