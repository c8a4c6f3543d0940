"""Calls over real HTTP leave rows in the ledger: answered, retried, refused, cut, cancelled, empty."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec
import pytest

from foreword.core.event import Answered, Called
from foreword.core.ledger import Row, rows
from foreword.core.prices import Prices
from foreword.engine.answering import Sent
from foreword.engine.asking import ask
from foreword.engine.calls import note_empty
from foreword.engine.session import Session
from foreword.errors import ConnectionFailed, OverBudget, Overloaded
from foreword.testing.script import Answer, Failure, Stream
from tests.engine.faulty_server import FaultyServer, drops, hangs, says
from tests.engine.sending import BEGUN
from tests.engine.test_asking import asked, at, bodies, opened, referee, transport

PRICES = Prices()
BUSY = Failure(status=529)


def ledger(session: Session) -> list[Row]:
    return rows(session.events, session=session.id, prices=PRICES)


def test_an_answer_tells_its_times_and_its_attempts() -> None:
    """A busy server answers the second time: one row for the retry, one for the answer, with its latency."""
    with referee(BUSY, Answer(text="Mended.")) as running:
        session = opened()
        session.user = "ada"
        asked(session, running.base_url)
    retried, answered = ledger(session)
    assert (retried.status, retried.cost.picodollars) == ("retried", 0)
    assert (answered.status, answered.step, answered.user) == ("ok", 1, "ada")
    assert answered.first_token_ms is not None
    assert answered.total_ms is not None
    assert answered.cost.picodollars
    (event,) = bodies(session, Answered)
    assert event.attempts == 2


def test_a_refused_call_has_a_free_row() -> None:
    """All attempts failed: each has a row, the last is failed, and the error is named without its words."""
    with referee(BUSY, BUSY, BUSY, BUSY) as running:
        session = opened()
        with pytest.raises(Overloaded):
            asked(session, running.base_url)
    assert Counter(row.status for row in ledger(session)) == {"retried": 3, "failed": 1}
    assert {row.cost.picodollars for row in ledger(session)} == {0}
    (called,) = bodies(session, Called)
    assert (called.why, called.attempts, called.request) == ("Overloaded", 4, session.unanswered)


def test_a_gateway_that_gave_up_may_have_been_billed() -> None:
    """Its model may have run: attempts and a call that end so are of unknown cost, a busy server's are free."""
    gave_up = Failure(status=504)
    with referee(BUSY, gave_up, Answer(text="Mended."), gave_up, BUSY, gave_up, gave_up) as running:
        session = opened()
        asked(session, running.base_url)
        session.say("And the next one.")
        with pytest.raises(Overloaded):
            asked(session, running.base_url)
    made = ledger(session)
    assert [row.status for row in made] == [
        "retried",
        "retried",
        "ok",
        "retried",
        "retried",
        "retried",
        "failed",
    ]
    assert [row.cost.unknown for row in made if row.status == "retried"] == [
        ("usage",),
        (),
        ("usage",),
        ("usage",),
        (),
    ]
    assert made[-1].cost.unknown == ("usage",)
    assert {row.request for row in made} == {
        event.seq for event in session.events if event.kind == "request_sent"
    }


def test_a_prompt_over_the_window_is_free_whatever_its_status() -> None:
    """Some local servers refuse one as a failure of their own: 500, and nothing was run."""
    overflow = {
        "error": {
            "message": "the request exceeds the available context size",
            "type": "exceed_context_size_error",
        }
    }
    with FaultyServer([says(500, msgspec.json.encode(overflow))]) as server:
        session = opened()
        with pytest.raises(OverBudget):
            asked(session, server.url)
    assert [row.cost.picodollars for row in ledger(session)] == [0]


def test_a_cut_answer_is_one_row() -> None:
    """What came is billed as the stream said; the call is not counted a second time as failed."""
    cut = Answer(text="The pipe is " * 40, stream=Stream(fault="cut", after=10))
    with referee(cut) as running:
        session = opened()
        asked(session, running.base_url)
    (row,) = ledger(session)
    assert (row.status, bool(row.input)) == ("cut", True)
    assert bodies(session, Called) == []


def test_a_cancelled_call_has_a_row_of_unknown_cost() -> None:
    """The caller leaves before the first byte: nobody knows what the provider bills."""

    async def leave(session: Session, url: str) -> None:
        async with transport() as opened_:
            task = asyncio.create_task(ask(session, at(url), opened_))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with FaultyServer([hangs()]) as server:
        session = opened()
        asyncio.run(leave(session, server.url))
    (row,) = ledger(session)
    assert (row.status, row.usage, row.cost.picodollars) == ("cancelled", None, None)
    assert row.estimate is not None
    assert row.estimate.usage.total_input
    assert row.estimate.usage.output == 0


def test_a_connection_that_is_lost_is_of_unknown_cost() -> None:
    """The request was sent: that no answer came is no proof that nothing was billed."""
    session = opened()
    with FaultyServer([drops] * 4) as running, pytest.raises(ConnectionFailed):
        asked(session, running.url)
    assert Counter(row.status for row in ledger(session)) == {"retried": 3, "failed": 1}
    assert {row.cost.unknown for row in ledger(session)} == {("usage",)}


@pytest.mark.parametrize(
    "url, proxy",
    [
        ("http://127.0.0.1:9", None),
        ("http://nobody.invalid", None),
        ("http://model.example", "http://127.0.0.1:9"),
        ("http://model.example", "http://[broken"),
    ],
)
def test_a_request_that_was_never_sent_is_free(
    url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody listens, no such name, no proxy there, no address: all attempts cost nothing, so no limit is used up."""
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    if proxy is not None:
        monkeypatch.setenv("http_proxy", proxy)
    session = opened()
    with pytest.raises(ConnectionFailed) as caught:
        asked(session, url)
    assert caught.value.unsent
    assert Counter(row.status for row in ledger(session)) == {"retried": 3, "failed": 1}
    assert {row.cost.picodollars for row in ledger(session)} == {0}


def test_a_proxy_that_lets_nobody_through_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its 407 comes before the request is sent."""
    for name in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with FaultyServer([says(407, {})] * 4) as running:
        monkeypatch.setenv("https_proxy", running.url)
        session = opened()
        with pytest.raises(ConnectionFailed, match="407"):
            asked(session, "https://model.example")
    assert {row.cost.picodollars for row in ledger(session)} == {0}


def test_an_empty_answer_is_billed_with_its_compactions() -> None:
    """A summary that the vendor made on the way is paid, also where the answer holds nothing."""
    session = opened()
    session.compile()
    usage = {"input_tokens": 1_000, "output_tokens": 0}
    made = {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500}
    response = session.codec.decode_response(
        {
            "id": "m", "type": "message", "role": "assistant", "model": "claude-opus-4-8", "content": [],
            "stop_reason": "end_turn", "usage": {**usage, "iterations": [made, {"type": "message", **usage}]},
        }
    )  # fmt: skip
    note_empty(session, Sent(state="complete", response=response, usage=response.usage))
    assert [(row.kind, row.input) for row in ledger(session)] == [("compaction", 180_000), ("call", 1_000)]


def test_an_answer_of_which_nothing_can_be_kept_is_billed() -> None:
    """The stream began, told its usage and broke before a block: the tokens count, once, and the call failed."""
    with FaultyServer([says(200, BEGUN.split(b"\n\n")[0] + b"\n\n")]) as running:
        session = opened()
        with pytest.raises(ConnectionFailed):
            asked(session, running.url)
    (row,) = ledger(session)
    assert (row.status, row.input, row.why) == ("failed", 5, "ConnectionFailed")
    assert bodies(session, Answered) == []


def test_an_answer_whose_usage_does_not_add_up_is_flagged() -> None:
    """No token is dropped: what the split by lifetime lacks is billed as short-lived, and the row says so."""
    session = opened()
    session.compile()
    split = {"cache_creation_input_tokens": 1_000, "cache_creation": {"ephemeral_1h_input_tokens": 400}}
    session.record({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Mended."}],
        "usage": {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0, **split},
    })  # fmt: skip
    (row,) = ledger(session)
    assert row.doubts == ("cache_split_mismatch",)
    assert row.cost.picodollars == 600 * 3_750_000 + 400 * 6_000_000


def test_asking_again_after_a_failure_counts_both_calls() -> None:
    """A failed call and the answer to the next request stand in the ledger, in this order."""
    with referee(*[BUSY] * 4, Answer(text="Now.")) as running:
        session = opened()
        with pytest.raises(Overloaded):
            asked(session, running.base_url)
        asked(session, running.base_url)
    assert [row.status for row in ledger(session)] == ["retried"] * 3 + ["failed", "ok"]
    assert {row.step for row in ledger(session)} == {1}
