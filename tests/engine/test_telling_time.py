"""The time in a context is told once, where it was read, and no later clock changes it."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest

from foreword.core.stamp import instant
from foreword.engine.session import Session
from tests.engine.sessions import answer
from tests.histories import target_of

AT = 1_796_032_800_000_000


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = AT

    def __call__(self) -> int:
        return self.now


def test_the_time_is_told_where_it_was_read() -> None:
    """A minute later the same units stand, and a second reading comes behind them."""
    clock = Clock()
    made = Session.open(None, "t", target=target_of("anthropic"), clock=clock)
    made.instruct("You help.")
    made.say("hi")
    made.tell_time(timezone(timedelta(hours=2)))
    first = made.compile()
    assert b"It is 2026-11-30T12:00:00+02:00." in first.body
    assert b"2026-11-30" not in b"".join(unit.data for unit in first.units if unit.layer != "messages")
    clock.now += 61_000_000
    assert made.compile().body == first.body
    answer(made, "hello")
    made.say("go")
    made.tell_time()
    later = made.compile()
    assert later.units[: first.size] == first.units
    assert b"It is 2026-11-30T10:01:01+00:00." in later.body


def test_a_stamp_is_part_of_the_record() -> None:
    """A stamped message keeps its stamp and its words, whenever it is compiled."""
    clock = Clock()
    made = Session.open(None, "t", target=target_of("anthropic"), clock=clock)
    seq = made.say("first", stamp=UTC)
    assert made.events[seq].at == AT
    clock.now += 1_800_000_000
    body = made.compile().body
    assert b"Said at 2026-11-30T10:00:00+00:00." in body
    assert b'"text":"first"' in body
    assert b"10:30" not in body


@pytest.mark.parametrize(
    "at, text",
    [
        (0, "1970-01-01T00:00:00+00:00"),
        (-1, "1969-12-31T23:59:59+00:00"),
        (AT + 999_999, "2026-11-30T10:00:00+00:00"),
    ],
)
def test_a_moment_is_written_to_the_second(at: int, text: str) -> None:
    """Also before 1970, and never rounded up."""
    assert instant(at) == text
