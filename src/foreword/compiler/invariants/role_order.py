"""The first message is the user's, but for a compaction block, and the last is not the assistant's, unless it waits."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.approvals_pending import waits
from foreword.compiler.invariants.rule import Broken, Invariant


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    opened = compiled.epoch.body.block is not None
    first = compiled.head
    if not opened and start <= first < compiled.size and compiled.unit(first).role == "assistant":
        yield Broken(rule="role_order", unit=compiled.head, events=(), fault="the assistant speaks first")
    if compiled.target.codec.turns:
        yield from _taken(compiled, start)
    last = compiled.size - 1
    speaks_last = compiled.unit(last).role == "assistant"
    if speaks_last and not compiled.target.prefills and not waits(compiled):
        events = compiled.unit(last).events
        yield Broken(rule="role_order", unit=last, events=events, fault="the assistant speaks last")


def _taken(compiled: Compiled, start: int) -> Iterator[Broken]:
    """Report messages of one role that follow each other on a server that wants turns."""
    for index in range(max(start, compiled.head + 1), compiled.size):
        before, unit = compiled.unit(index - 1), compiled.unit(index)
        alike = (
            before.section == "message" and before.role == unit.role and unit.role in ("user", "assistant")
        )
        if alike and compiled.target.codec.opens(before, unit):
            yield Broken(rule="role_order", unit=index, events=unit.events, fault="two messages of one role")


RULE = Invariant(
    name="role_order",
    source="Anthropic Messages 1.1: first message user, no prefill on 4.6 and later (rulebook of 2026-11-30)",
    holds=_holds,
)
