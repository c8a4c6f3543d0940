"""Folding a log takes work in proportion to its events, whatever they say; counted in lines run, not in time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import pytest

from foreword.core import fold as module
from foreword.core.block import Message, Opaque, ToolResult
from foreword.core.event import Answered, Body, Repaired, RequestSent, ToolReturned, ToolStarted
from foreword.core.fold import Fold
from foreword.core.item import Interaction, Item
from tests.core.test_view import asked, log, returned, said

SMALL, LARGE = 100, 400


def lines_of(work: Callable[[], object]) -> int:
    """Count the lines of the fold's module that ``work`` runs, those of generators included."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename != module.__file__:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def background(id_: str) -> tuple[Body, ...]:
    """A call that is answered while it runs on, and ends later."""
    running = ToolReturned(result=ToolResult(call_id=id_, content=()), run="running")
    return asked(id_), ToolStarted(call_id=id_), running


def closed(n: int) -> Iterable[Body]:
    yield from (asked(f"c{i}") for i in range(n))
    yield from (Repaired(fault="open_call", event=1 + i, call=0, text="unknown") for i in range(n))


def reused(n: int) -> Iterable[Body]:
    for _ in range(n):
        yield from (*background("x"), returned("x", "ended"))


def ended_at_once(n: int) -> Iterable[Body]:
    for _ in range(n):
        yield from background("x")
    yield from (returned("x", "ended") for _ in range(n))


@pytest.mark.parametrize("bodies", [closed, reused, ended_at_once])
def test_folding_is_linear(bodies: Callable[[int], Iterable[Body]]) -> None:
    """Four times the calls take four times the lines."""
    small, large = (log(said("go"), *bodies(n)) for n in (SMALL, LARGE))
    assert lines_of(lambda: Fold(large)) < 4.2 * lines_of(lambda: Fold(small))


def test_each_background_run_of_one_id_gets_its_end() -> None:
    """Ends go to the runs in order; one more is of the newest again."""
    events = log(said("go"), *ended_at_once(3), returned("x", "again"))
    fold = Fold(events)
    runs = [item for item in fold.items if isinstance(item, Interaction)]
    assert [item.ends for item in runs] == [{0: 10}, {0: 11}, {0: 13}]
    assert fold.late == {10, 11, 12, 13}


class Sliced(list[Item]):
    """Items that count how many of them are looked at by slices."""

    seen = 0

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        self.seen += len(found) if isinstance(index, slice) else 0
        return found


def test_leaving_out_half_a_pair_looks_at_what_is_new_only() -> None:
    """Whether a half was sent takes no look at all that was."""
    block = Opaque(wire="openai-responses", form="custom_tool_call", raw='{"call_id":"c"}')
    half = Answered(message=Message(role="assistant", blocks=(block,)))
    sent = RequestSent(wire="openai-responses", model="m", units=LARGE, items=LARGE, added=(), tokens=1)
    repairs = [Repaired(fault="unpaired", event=seq, call=0, text="") for seq in (0, LARGE - 1, LARGE + 1)]
    events = log(*(half for _ in range(LARGE)), sent, half, *repairs)
    fold = Fold(events[:-3])
    fold.items = items = Sliced(fold.items)
    for event in events[-3:]:
        fold.apply(event)
        assert fold.rebuild == min(event.seq, LARGE + 3)
    assert items.seen <= 2
