"""Limits over sessions and processes: what was handed out and is not answered counts for all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from foreword.core.block import Message, Text
from foreword.core.catalog import Catalog
from foreword.core.event import Answered, Called, Draft, Event, Noticed
from foreword.core.ledger import rows
from foreword.core.price import picodollars
from foreword.core.prices import Prices
from foreword.core.usage import NOTHING, Usage
from foreword.engine.session import Session
from foreword.engine.spend import Limit, Spend
from foreword.engine.target import target_for
from foreword.errors import SpendLimitReached, SpendUnknown
from foreword.store import Store
from tests.engine.spending import DAY, DOLLAR, LIST, Now, answer, opened
from tests.histories import target_of

BIG = "word " * 20_000
ONE = Limit(scope="day", hard="0.05")
"""Less than two requests of the big text cost, and more than one."""


def asking(store: Store, name: str, limit: Limit = ONE, **more: Any) -> Session:
    """Open a session that says the big text, and is not compiled yet."""
    made = opened(limit, store=store, name=name, **more)
    made.say(BIG)
    return made


def test_a_request_without_an_answer_counts_in_other_sessions(tmp_path: Path) -> None:
    """As much as it was predicted to cost, from the moment it is handed out until the call's end is told."""
    with Store.open(tmp_path) as here, Store.open(tmp_path) as there:
        first, second = asking(here, "a"), asking(there, "b")
        first.compile()
        with pytest.raises(SpendLimitReached) as caught:
            second.compile()
        assert caught.value.spent == caught.value.predicted
        first.append(Draft(body=Called(usage=NOTHING, request=first.unanswered)))
        assert second.compile().body
        second.answered(Message(role="assistant", blocks=()), usage=NOTHING, model="claude-opus-4-8")
        assert first.compile().body


def test_a_small_request_does_not_count_as_the_large_one_that_comes_next(tmp_path: Path) -> None:
    """What waits counts by its own size."""
    with Store.open(tmp_path) as store:
        opened(ONE, store=store, name="small").compile()
        assert asking(store, "b").compile().body


def test_what_died_unanswered_locks_no_limit_for_ever(tmp_path: Path) -> None:
    """It counts for its user, on the day on which it was sent; nobody else's limit knows of it."""
    clock = Now(10 * DAY)
    limit = Limit(scope="user", hard="0.05")
    with Store.open(tmp_path) as store:
        asking(store, "dead", limit, clock=clock, user="ada").compile()
        assert asking(store, "other", limit, clock=clock, user="bob").compile().body
        alive = asking(store, "alive", limit, clock=clock, user="ada")
        with pytest.raises(SpendLimitReached):
            alive.compile()
        clock.at += DAY
        assert alive.compile().body


def test_a_session_waits_for_one_answer_at_a_time(tmp_path: Path) -> None:
    """A later request takes the place of the one before; a fork shares its parent's, which counts once."""
    with Store.open(tmp_path) as store:
        first = asking(store, "a")
        first.compile()
        first.say("More.")
        first.compile()
        fork = first.fork(len(first.events) - 1, "fork")
        fork.say("Or rather this.")
        limit = Limit(scope="day", hard="0.08")
        fork.spend = Spend([limit], prices=LIST)
        assert fork.compile().body
        third = asking(store, "c", limit)
        with pytest.raises(SpendLimitReached) as caught:
            third.compile()
        assert 1.9 < picodollars(caught.value.spent) / picodollars(caught.value.predicted) < 2.1


def test_a_standing_request_is_checked_again(tmp_path: Path) -> None:
    """Also where another process spent in between, and where a limit came after it was made; a notice goes into it."""
    with Store.open(tmp_path) as here, Store.open(tmp_path) as there:
        first = asking(here, "a")
        assert first.compile() is first.compile()
        other = opened(store=there, name="b")
        other.append(Draft(body=Called(kind="embedding", status="ok", model="m", usage=DOLLAR)))
        with pytest.raises(SpendLimitReached) as caught:
            first.compile()
        assert caught.value.spent == "1"
        first.spend = Spend([Limit(scope="day", soft="0.5")], prices=LIST)
        assert b"passes its mark of 0.5 USD: 1.0000 USD so far" in first.compile().body
    late = opened()
    late.spend = None
    late.compile()
    late.spend = Spend([Limit(scope="call", hard="0.000001")], prices=LIST)
    with pytest.raises(SpendLimitReached):
        late.compile()


class Rival:
    """A clock in whose every tick another process may do something, as between a check and what follows it."""

    def __init__(self) -> None:
        self.does: Callable[[], object] | None = None
        self.ticks = 0

    def __call__(self) -> int:
        self.ticks -= 1
        if self.does is not None and not self.ticks:
            does, self.does = self.does, None
            does()
        return 0


@pytest.mark.parametrize("tick", [1, 2, 3])
def test_two_processes_that_both_find_room_do_not_both_send(tmp_path: Path, tick: int) -> None:
    """Whoever comes second takes his request back; it cost nothing, and the next one is handed out."""
    with Store.open(tmp_path) as here, Store.open(tmp_path) as there:
        clock = Rival()
        first = Session.open(here, "a", target=target_of("anthropic"), clock=clock)
        first.spend = Spend([ONE], prices=LIST)
        first.say(BIG)
        first.append(Draft(body=Noticed(topic="t", text="ready")))
        second = asking(there, "b")
        clock.does, clock.ticks = second.compile, tick
        with pytest.raises(SpendLimitReached):
            first.compile()
        calls = rows(first.events, session="a", prices=LIST)
        assert [(row.status, row.cost.picodollars) for row in calls] in ([], [("cancelled", 0)])
        answer(second)
        first.spend = Spend([Limit(scope="day", hard="1.05")], prices=LIST)
        assert first.compile().body


def test_another_writer_of_the_session_comes_before_its_request(tmp_path: Path) -> None:
    """The request is made anew behind what was said meanwhile, and stands on record once."""
    with Store.open(tmp_path) as here, Store.open(tmp_path) as there:
        clock = Rival()
        first = Session.open(here, "a", target=target_of("anthropic"), clock=clock)
        first.spend = Spend([ONE], prices=LIST)
        first.say("Mend the pipe.")
        second = Session.open(there, "a", target=target_of("anthropic"))
        clock.does, clock.ticks = lambda: second.say("And the valve."), 2
        assert b"valve" in first.compile().body
        second.refresh()
        assert [event.kind for event in second.events].count("request_sent") == 1
        second.say("And the tap.")
        answered = first.answered(Message(role="assistant", blocks=(Text(text="Yes."),)), usage=NOTHING)
        body = first.events[answered].body
        assert isinstance(body, Answered)
        assert body.request is not None, "what was written behind a request leaves its answer linked"


CALLS = """
import sys, time
from pathlib import Path
from foreword import Limit, Session, Spend
from foreword.core.block import Message, Text
from foreword.core.prices import Prices
from foreword.core.usage import Usage
from foreword.errors import SpendLimitReached
from foreword.store import Store

million = Usage(uncached=100_000, cache_read=0, cache_write_short=0, cache_write_long=0, output=0)
prices = Prices(own={"input": 10, "output": 10, "cache_read": 10, "cache_write": 10})
made = 0
Path(sys.argv[1], sys.argv[2]).touch()
while not all(Path(sys.argv[1], name).exists() for name in "ab"):
    time.sleep(0.005)
with Store.open(sys.argv[1]) as store:
    for number in range(4):
        session = Session.open(store, f"{sys.argv[2]}{number}", provider="anthropic", model="claude-opus-4-8")
        session.spend = Spend([Limit(scope="day", hard="3.5")], prices=prices)
        session.say("word " * 60_000)
        try:
            session.compile()
        except SpendLimitReached:
            continue
        time.sleep(0.2)
        text = Message(role="assistant", blocks=(Text(text="Yes."),))
        session.answered(text, model="claude-opus-4-8", usage=million)
        made += 1
print(made)
"""


def test_processes_at_once_keep_one_limit(tmp_path: Path) -> None:
    """Each call costs a dollar and is predicted to cost less, so at most three and what is under way fit."""
    Store.open(tmp_path).close()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CALLS, str(tmp_path), name], stdout=subprocess.PIPE, text=True
        )
        for name in "ab"
    ]
    made = [int(process.communicate(timeout=120)[0]) for process in running]
    assert 1 <= sum(made) <= 3


@pytest.mark.parametrize("ttl, price", [("1h", 2), ("5m", 1.25)])
def test_a_mark_for_an_hour_is_predicted_at_its_price(tmp_path: Path, ttl: str, price: float) -> None:
    """Up to the mark all that is not read is written for an hour; in the prediction of another process too."""
    costs = {"input": 1, "output": 1, "cache_read": "0.1", "cache_write_short": "1.25", "cache_write_long": 2}
    marked = {"type": "text", "text": BIG, "cache_control": {"type": "ephemeral", "ttl": ttl}}
    with Store.open(tmp_path) as store:
        first = Session.open(store, "a", target=target_of("anthropic"), clock=Now())
        spend = first.spend = Spend([Limit(scope="day", hard="1")], prices=Prices(own=costs))
        compiled = first.sync([{"role": "user", "content": [marked]}]).request
        cost = spend.predicted(compiled, [], 0)
        assert cost.picodollars == pytest.approx(compiled.predicted * price * 1_000_000, rel=0.001)
        second = opened(store=store, name="b")
        second.spend = Spend([Limit(scope="day", hard="0.000001")], prices=Prices(own=costs))
        with pytest.raises(SpendLimitReached) as caught:
            second.compile()
        assert picodollars(caught.value.spent) == pytest.approx(cost.picodollars, rel=0.001)


def test_what_a_model_costs_is_learned_for_the_calls_before(tmp_path: Path) -> None:
    """Calls of a model that the prices lacked when they were counted are priced by its own session's catalog."""
    row = """
        [[model]]
        id = "mine"
        provider = "openai"
        wires = ["openai-chat"]
        window = 100000
        source = "me"
        as_of = "2026-01-01"
        price = {input = "0", output = "0"}
    """
    own = target_for("openai-chat", "mine", catalog=Catalog.load().override(row))
    with Store.open(tmp_path) as store:
        mine = Session.open(store, "mine", target=own)
        mine.say("hello")
        text = Message(role="assistant", blocks=(Text(text="Mended."),))
        mine.answered(text, usage=Usage(uncached=5, output=1), model="mine")
        mine.say("again")
        other = Session.open(store, "other", provider="anthropic", model="claude-sonnet-4-5")
        other.say("hello")
        mine.spend = other.spend = Spend([Limit(scope="day", hard="5")])
        with pytest.raises(SpendUnknown, match="mine"):
            other.compile()
        assert mine.compile().body
        assert other.compile().body


def test_requests_left_behind_by_edits_count_for_their_session_on_any_day(tmp_path: Path) -> None:
    """A limit for a day forgets them at midnight; a session's own would never be reached by one edit a day."""
    with Store.open(tmp_path) as store:
        clock = Now(DAY)
        made = opened(Limit(scope="session", hard="0.09"), store=store, clock=clock)
        sent = 0
        with suppress(SpendLimitReached):
            for sent in range(20):
                clock.at += DAY
                made.sync([{"role": "user", "content": f"{sent} {BIG}"}])
        assert 0 < sent < 6


@pytest.mark.parametrize(
    "stored, restarted", [(True, True), (True, False), (False, False)], ids=["restarted", "store", "memory"]
)
def test_a_caller_who_edits_his_list_spends_from_the_same_limit(
    stored: bool, restarted: bool, tmp_path: Path
) -> None:
    """A fork that `sync` made lacks the calls behind the edit, and they count all the same; one made by hand is new."""
    with Store.open(tmp_path) as store:
        held = store if stored else None
        limit = Limit(scope="session", hard="2.01")
        made = opened(limit, store=held, clock=Now(DAY))
        for number in range(2):
            made.sync([{"role": "user", "content": f"Version {number} of the order."}])
            answer(made)
            if restarted:
                made = Session.open(held, "s", target=target_of("anthropic"), clock=Now(DAY))
                made.spend = Spend([limit], prices=LIST)
        with pytest.raises(SpendLimitReached) as caught:
            made.sync([{"role": "user", "content": BIG}])
        assert (caught.value.scope, caught.value.spent) == ("session", "2")
        by_hand = made.fork(0, "another")
        by_hand.spend = made.spend
        by_hand.say("Mend the pipe.")
        assert by_hand.compile().body


def test_a_limit_of_a_day_reads_the_sessions_of_that_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those without an event since midnight are left alone, until they grow; what an old one did at last counts."""
    with Store.open(tmp_path) as store:
        clock = Now(DAY)
        quiet, late, again = (
            opened(store=store, name=name, clock=clock) for name in ("quiet", "late", "again")
        )
        answer(quiet)
        paid = Called(kind="embedding", status="ok", model="m", usage=DOLLAR)
        late.append(Draft(body=paid, at=2 * DAY), Draft(body=paid, at=DAY))
        clock.at = 2 * DAY + 1
        session = opened(Limit(scope="day", hard="1.5"), store=store, clock=clock)
        load, loaded = store.load, list[str]()

        def noted(name: str, **more: Any) -> list[Event]:
            loaded.append(name)
            return load(name, **more)

        monkeypatch.setattr(store, "load", noted)
        assert session.compile().body
        assert loaded == ["late"]
        again.append(Draft(body=paid))
        session.say("More.")
        with pytest.raises(SpendLimitReached) as caught:
            session.compile()
        assert (caught.value.spent, set(loaded)) == ("2", {"late", "again"})
