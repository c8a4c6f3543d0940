"""The warning when an answer reads less than half of what the request before had sent."""

import logging
from pathlib import Path

import pytest

from foreword.core.usage import NOTHING, Usage
from foreword.engine.cache_watch import fall_of
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.store import Store
from tests.engine.sessions import answer_message

TARGET = target_for("anthropic", "claude-opus-4-8")
SECOND = 1_000_000


class Clock:
    """A clock that is set by hand."""

    now = 1_764_500_000 * SECOND

    def __call__(self) -> int:
        return self.now


def usage(prompt: int, read: int | None) -> Usage:
    """Usage of a prompt of which so much was read."""
    return Usage(
        uncached=prompt - (read or 0), cache_read=read, cache_write_short=0, cache_write_long=0, output=1
    )


def asked(
    session: Session, words: str, prompt: int, read: int | None, model: str = "claude-opus-4-8"
) -> None:
    """Say something, compile the request and record the answer with its usage."""
    session.say(words)
    session.compile()
    session.answered(answer_message("Yes."), model=model, usage=usage(prompt, read))


@pytest.fixture
def clock() -> Clock:
    """A clock of the test's own."""
    return Clock()


@pytest.fixture
def session(clock: Clock) -> Session:
    """A session with one answer, whose prompt of 40,000 tokens was written."""
    made = Session.open(None, "watched", target=TARGET, clock=clock)
    asked(made, "Go.", 40_000, 0)
    return made


def test_a_fall_is_logged_at_once(session: Session, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """It names the session, both figures and how long the cache lay idle; no command finds a log in memory."""
    clock.now += 400 * SECOND
    with caplog.at_level(logging.WARNING, "foreword.cache"):
        asked(session, "On.", 41_000, 19_999)
    [record] = caplog.records
    assert record.name == "foreword.cache"
    for part in ("watched", "19,999", "40,000", "400 s", "live 300 s"):
        assert part in record.getMessage()
    assert "foreword cache explain" not in record.getMessage()


def test_the_command_names_the_store(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Quoted for a shell, so that it finds this log wherever it is run with the store's name."""
    place = tmp_path / "my store"
    with Store.open(place) as store:
        made = Session.open(store, "watched", target=TARGET)
        for words in ("Go.", "On."):
            asked(made, words, 40_000, 0)
    [record] = caplog.records
    assert f"`foreword cache explain watched --store '{place}'`" in record.getMessage()


def test_one_reason_is_told_once_an_epoch(
    session: Session, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Falls without a pause, then one after a pause, then again both: two reasons; a new epoch tells anew."""
    for pause in (0, 0, 400, 0, 400):
        clock.now += pause * SECOND
        asked(session, "On.", 41_000, 0)
    assert ["live 300 s" in record.getMessage() for record in caplog.records] == [False, True]
    session.revoke(1, "Stop.")
    for _ in range(3):
        asked(session, "On.", 41_000, 0)
    assert len(caplog.records) == 3


@pytest.mark.parametrize("read", [20_000, 40_000, None])
def test_half_is_enough_and_unknown_says_nothing(
    session: Session, read: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A read of half of what was sent, of all, or one that the provider doesn't report."""
    asked(session, "On.", 41_000, read)
    assert caplog.records == []


def test_what_was_meant_to_break_is_no_fall(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    """An epoch lies between, another model answered, or the prompt was under the model's minimum."""
    session.revoke(1, "Stop.")
    asked(session, "On.", 41_000, 0)
    asked(session, "On.", 41_000, 0, model="claude-opus-5-5")
    short = Session.open(None, "short", target=TARGET)
    asked(short, "Go.", 1_000, 0)
    asked(short, "On.", 1_010, 0)
    assert caplog.records == []
    assert fall_of("empty", [], TARGET) is None


def answered(session: Session, given: Usage | None) -> None:
    """Say something, compile the request and record an answer with this usage, or none."""
    session.say("On.")
    session.compile()
    session.answered(answer_message("Yes."), model="claude-opus-4-8", usage=given)


@pytest.mark.parametrize("no_call", [None, NOTHING])
def test_an_answer_without_usage_is_no_call(
    session: Session, no_call: Usage | None, caplog: pytest.LogCaptureFixture
) -> None:
    """It reads nothing, so it is no fall, and what falls behind it is measured by the call before it."""
    answered(session, no_call)
    assert caplog.records == []
    asked(session, "On.", 41_000, 0)
    [record] = caplog.records
    assert "had sent 40,000" in record.getMessage()


@pytest.mark.parametrize(
    "long, tail, life", [(40_000, 500, None), (40_000, 39_000, None), (20_000, 20_500, 300), (0, 40_500, 300)]
)
def test_a_prefix_written_for_an_hour_outlives_a_short_tail(
    clock: Clock, caplog: pytest.LogCaptureFixture, long: int, tail: int, life: int | None
) -> None:
    """Only where more than half was written for five minutes is a fall after that a matter of time."""
    made = Session.open(None, "long", target=TARGET, clock=clock)
    answered(made, Usage(uncached=0, cache_read=0, cache_write_short=0, cache_write_long=long, output=1))
    answered(made, Usage(uncached=0, cache_read=long, cache_write_short=tail, cache_write_long=0, output=1))
    clock.now += 400 * SECOND
    caplog.clear()
    asked(made, "On.", 80_000, 0)
    [record] = caplog.records
    assert ("live 300 s" in record.getMessage()) is (life == 300)
    assert ("no epoch lies between" in record.getMessage()) is (life is None)
