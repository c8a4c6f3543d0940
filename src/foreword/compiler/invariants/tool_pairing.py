"""Each call has exactly one result, right behind its message and in call order; a result has its call."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.core.item import Interaction
from foreword.core.view import View


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    fold = compiled.view.fold
    expected: list[int] = []
    asked: Interaction | None = None
    for index, unit in compiled.since(start):
        if (
            unit.section != "message"
            or not unit.events
            or unit.category in ("summary", "notice", "pins", "envelope")
        ):
            if expected and unit.section == "message":
                yield _broken(index, unit.events, "text stands between a call and its results")
                expected = []
            continue
        item = fold.item(unit.events[0])
        if not isinstance(item, Interaction):
            if expected:
                yield _broken(index, unit.events, "a message stands between a call and its results")
                expected = []
        elif unit.events[0] == item.seq:
            if item is not asked and expected:
                yield _broken(index, tuple(expected), "calls without a result")
            asked, expected = item, [seq for seq in item.result_seqs if seq is not None]
            if not item.closed:
                yield _broken(index, unit.events, "an open call")
        elif expected and unit.events[0] == expected[0]:
            expected.pop(0)
        elif item is not asked or unit.events[0] not in item.result_seqs:
            yield _broken(index, unit.events, "a result that doesn't follow its call")
    if expected:
        yield _broken(compiled.size - 1, tuple(expected), "calls without a result")


def _broken(unit: int, events: tuple[int, ...], fault: str) -> Broken:
    return Broken(rule="tool_pairing", unit=unit, events=events, fault=fault)


def _forbids(view: View) -> Iterator[int]:
    """No cut right behind an interaction with an open call: its result may still come."""
    for position, item in enumerate(view.fold.items):
        if isinstance(item, Interaction) and not item.closed:
            yield position + 1


RULE = Invariant(
    name="tool_pairing",
    source="Anthropic Messages 1.3, OpenAI Chat 5.1, Responses 5.2, Gemini 7 (rulebook of 2026-11-30)",
    holds=_holds,
    forbids=_forbids,
)
