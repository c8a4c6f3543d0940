"""Spend limits: what counts in each scope, and that nothing is handed out over a hard one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foreword.core.block import Message, Text
from foreword.core.event import Answered, Called, Draft, Noticed, RequestSent
from foreword.core.ledger import rows, total
from foreword.core.price import picodollars
from foreword.core.prices import Prices
from foreword.core.target import Target
from foreword.core.usage import NOTHING, Usage
from foreword.engine.session import Session
from foreword.engine.spend import Limit, Spend
from foreword.errors import ForewordError, InvalidArgument, SpendLimitReached, SpendUnknown
from foreword.store import Store
from tests.histories import target_of

DOLLAR = Usage(uncached=1_000_000, cache_read=0, cache_write_short=0, cache_write_long=0, output=0)
"""What costs one dollar by the list below."""
LIST = Prices(own={"input": 1, "output": 10, "cache_read": "0.1", "cache_write": 1})
DAY = 86_400_000_000


class Now:
    """A clock that the test sets."""

    def __init__(self, at: int = 0) -> None:
        self.at = at

    def __call__(self) -> int:
        return self.at


def opened(
    *limits: Limit, store: Store | None = None, name: str = "s", clock: Now | None = None, user: str | None = None,
    target: Target | None = None,
) -> Session:  # fmt: skip
    """Open a session with limits in which a person said something."""
    made = Session.open(store, name, target=target or target_of("anthropic"), clock=clock or Now())
    made.spend, made.user = Spend(limits, prices=LIST), user
    made.say("Mend the pipe.")
    return made


def answer(session: Session, usage: Usage = NOTHING, **more: Any) -> None:
    """Record an answer, an embedding that cost a dollar, and what the person says next."""
    text = Message(role="assistant", blocks=(Text(text="Mended."),))
    session.answered(text, usage=usage, model="claude-opus-4-8", **more)
    paid = Called(kind="embedding", status="ok", model="m", usage=DOLLAR)
    session.append(Draft(body=paid, subject=session.user))
    session.say("And the next one.")


def notices(session: Session) -> list[Noticed]:
    return [event.body for event in session.events if isinstance(event.body, Noticed)]


def test_a_hard_limit_refuses_before_anything_is_handed_out() -> None:
    """The error has the limit, what is spent and the scope; no request is on record, and facts still are."""
    session = opened(Limit(scope="session", hard="1.5"))
    session.compile()
    answer(session)
    session.compile()
    answer(session)
    before = sum(isinstance(event.body, RequestSent) for event in session.events)
    with pytest.raises(SpendLimitReached, match=r"1\.5 USD for session s: 2 USD are spent") as caught:
        session.compile()
    error = caught.value
    assert (error.scope, error.name, error.limit, error.spent) == ("session", "s", "1.5", "2")
    assert picodollars(error.predicted) > 0
    assert isinstance(error, ForewordError)
    assert sum(isinstance(event.body, RequestSent) for event in session.events) == before
    session.spend = Spend([Limit(scope="session", hard="9")], prices=LIST)
    assert session.compile().body


def test_a_soft_limit_leaves_one_notice() -> None:
    """It stands in the log and in the request, once however often it is passed, also after a restart."""
    session = opened(Limit(scope="session", soft="0.5"))
    session.compile()
    answer(session)
    body = session.compile().body
    (notice,) = notices(session)
    assert notice.topic == "spend session s"
    assert b"passes its mark of 0.5 USD: 1.0000 USD so far" in body
    answer(session)
    session.spend = Spend([Limit(scope="session", soft="0.5")], prices=LIST)
    session.compile()
    assert len(notices(session)) == 1


def test_a_call_limit_looks_at_the_size_of_the_request() -> None:
    """What was spent before does not count; a larger prompt is refused, whatever came of the smaller one."""
    session = opened(Limit(scope="call", hard="0.01"))
    session.compile()
    answer(session)
    session.compile()
    session.say("pipe " * 20_000)
    with pytest.raises(SpendLimitReached) as caught:
        session.compile()
    assert (caught.value.scope, caught.value.spent) == ("call", "0")


def test_users_and_days_are_summed_over_the_sessions_of_a_store(tmp_path: Path) -> None:
    """Each user has a sum of their own; a day ends at midnight UTC; a fork's shared past counts once."""
    limits = (Limit(scope="user", hard="2.5"), Limit(scope="day", hard="3.5"))
    clock = Now(10 * DAY)
    with Store.open(tmp_path) as store:
        ada = opened(*limits, store=store, name="a", clock=clock, user="ada")
        ada.compile()
        answer(ada)
        fork = ada.fork(len(ada.events) - 1, "fork")
        fork.compile()
        answer(fork)
        bob = opened(*limits, store=store, name="b", clock=clock, user="bob")
        bob.compile()
        answer(bob)
        ada.compile()
        answer(ada)
        with pytest.raises(SpendLimitReached) as caught:
            ada.compile()
        assert (caught.value.scope, caught.value.name, caught.value.spent) == ("user", "ada", "3")
        with pytest.raises(SpendLimitReached) as caught:
            bob.compile()
        assert (caught.value.scope, caught.value.name, caught.value.spent) == ("day", "1970-01-11", "4")
        clock.at += DAY
        assert bob.compile().body
        with pytest.raises(SpendLimitReached):
            ada.compile()


def test_another_process_spends_from_the_same_purse(tmp_path: Path) -> None:
    """What a second writer of the store recorded since counts in the next check."""
    limit = Limit(scope="day", hard="1.5")
    with Store.open(tmp_path) as here, Store.open(tmp_path) as there:
        first = opened(limit, store=here, name="a")
        first.compile()
        answer(first)
        first.compile()
        other = opened(limit, store=there, name="b")
        other.compile()
        answer(other)
        first.say("More.")
        with pytest.raises(SpendLimitReached) as caught:
            first.compile()
        assert caught.value.spent == "2"


def test_a_model_without_a_price_can_not_be_limited() -> None:
    """A hard limit refuses and says what is unknown; a soft one lets it pass."""
    spec = msgspec.structs.replace(
        target_of("anthropic").spec, id="of-our-own", price=None, tiers=(), peak=None
    )
    params = msgspec.structs.replace(target_of("anthropic").params, model="of-our-own")
    target = msgspec.structs.replace(target_of("anthropic"), spec=spec, params=params)
    session = opened(target=target)
    session.spend = Spend([Limit(scope="session", hard="1")])
    with pytest.raises(SpendUnknown, match="of-our-own costs is unknown") as caught:
        session.compile()
    assert caught.value.unknown == ("price",)
    session.spend = Spend([Limit(scope="session", soft="0")])
    assert session.compile().body


def test_a_call_of_unknown_cost_counts_as_the_next_one_is_likely_to() -> None:
    """It is not taken for free; one that was refused is."""
    session = opened(Limit(scope="session", hard="0.01"))
    session.compile()
    session.append(Draft(body=Called(usage=NOTHING, request=session.unanswered)))
    session.say("Again.")
    session.compile()
    for _ in range(40):
        session.append(Draft(body=Called(request=session.unanswered)))
    session.say("Again.")
    with pytest.raises(SpendLimitReached) as caught:
        session.compile()
    assert picodollars(caught.value.spent) == 40 * picodollars(caught.value.predicted)


def test_what_an_unpriced_call_cost_can_not_be_kept_under_a_limit(tmp_path: Path) -> None:
    """Another session's call counts as unknown, never as free; a limit that is passed anyway is said first."""
    priced = Prices(own={"claude-opus-4-8": {"input": 1, "output": 1, "cache_read": 1, "cache_write": 1}})
    with Store.open(tmp_path) as store:
        other = Session.open(store, "other", target=None, clock=Now())
        huge = Called(
            kind="embedding",
            status="ok",
            model="of-our-own",
            usage=msgspec.structs.replace(DOLLAR, uncached=10**9),
        )
        other.append(Draft(body=huge))
        session = opened(Limit(scope="session", hard="1"), Limit(scope="day", hard="1"), store=store)
        session.spend = Spend(session.spend.limits if session.spend else (), prices=priced)
        with pytest.raises(SpendUnknown, match="limit for day: what a call to of-our-own costs") as caught:
            session.compile()
        assert (caught.value.model, caught.value.unknown) == ("of-our-own", ("model.of-our-own",))
        session.spend = Spend([Limit(scope="day", soft="1")], prices=priced)
        assert session.compile().body
        paid = Called(kind="embedding", status="ok", model="claude-opus-4-8", usage=DOLLAR)
        other.append(Draft(body=paid))
        session.say("More.")
        session.spend = Spend([Limit(scope="day", hard="1")], prices=priced)
        with pytest.raises(SpendLimitReached):
            session.compile()


def test_a_model_of_ones_own_is_priced_by_its_row() -> None:
    """Also where the server that answers has another name for it; nobody else's catalog need know it."""
    target = target_of("anthropic")
    params = msgspec.structs.replace(target.params, model="of-our-own")
    session = opened(target=msgspec.structs.replace(target, params=params))
    session.spend = Spend([Limit(scope="session", hard="99"), Limit(scope="day", hard="99")])
    session.compile()
    message = Message(role="assistant", blocks=(Text(text="Mended."),))
    session.answered(message, usage=DOLLAR, model="of-our-own.gguf")
    session.say("More.")
    session.compile()
    assert target.spec.price is not None
    session.spend = Spend([Limit(scope="session", hard="0.01")])
    session.say("More.")
    with pytest.raises(SpendLimitReached) as caught:
        session.compile()
    assert caught.value.spent == target.spec.price.input


def test_a_call_without_usage_counts_by_its_estimate(tmp_path: Path) -> None:
    """Of an imported session too, at the price of its own model; an erased answer as much as the next call."""
    with Store.open(tmp_path) as store:
        other = Session.open(store, "other", target=None, clock=Now())
        other.say("pipe " * 100_000)
        text = Message(role="assistant", blocks=(Text(text="Mended."),))
        other.append(
            Draft(body=Answered(message=text, model="claude-opus-4-8"), trust="model", actor="model")
        )
        limit = Limit(scope="day", hard="0.05")
        session = opened(limit, store=store)
        with pytest.raises(SpendLimitReached) as caught:
            session.compile()
        assert picodollars(caught.value.spent) > picodollars("0.05")
        other.erase([len(other.events) - 1], "asked for")
        session.spend = Spend([limit], prices=LIST)
        assert session.compile().body
        session.spend = Spend([Limit(scope="day", hard="0.0001")], prices=LIST)
        session.say("More.")
        with pytest.raises(SpendLimitReached) as caught:
            session.compile()
        assert caught.value.spent == caught.value.predicted


def test_the_prediction_follows_the_cache() -> None:
    """What the last call left in the cache is read from it while it lives, and costs a tenth."""
    clock = Now()
    session = opened(clock=clock)
    session.say("pipe " * 2_000)
    size = session.compile().predicted
    used = Usage(uncached=0, cache_read=0, cache_write_short=size, cache_write_long=0, output=20)
    answer(session, used)
    compiled = session.compile()
    spend = Spend((), prices=LIST)
    own = rows(session.events, session="s", prices=LIST)
    assert compiled.predicted > size
    warm = spend.predicted(compiled, own, clock.at + DAY // 1_440)
    cold = spend.predicted(compiled, own, clock.at + DAY)
    rest = compiled.predicted - size
    assert warm.picodollars == size * 100_000 + rest * 1_000_000 + 20 * 10_000_000
    assert cold.picodollars == compiled.predicted * 1_000_000 + 20 * 10_000_000


def test_answers_name_their_user_in_the_ledger() -> None:
    """The session's user stands on each row."""
    session = opened(user="ada")
    session.compile()
    answer(session, first_token_ms=300)
    made = rows(session.events, session="s", prices=LIST)
    assert [(row.user, row.first_token_ms) for row in made] == [("ada", 300), ("ada", None)]
    assert total(made).cost == 10**12


@pytest.mark.parametrize(
    "given, name, takes",
    [
        ({"scope": "weekly", "hard": "1"}, "scope", "one of call, session, user, day"),
        ({"scope": "day", "hard": "a lot"}, "hard", "US dollars as a string"),
        ({"scope": "day", "hard": 0.0001}, "hard", "US dollars as a string"),
        ({"scope": "day", "soft": "-1"}, "soft", "US dollars as a string"),
        ({"scope": "day", "hard": "inf"}, "hard", "US dollars as a string"),
        ({"scope": "day", "hard": "1e-13"}, "hard", "US dollars as a string"),
        ({"scope": "day"}, "hard", "soft or hard"),
        ({"scope": "day", "soft": "2", "hard": "1"}, "soft", "at most the hard limit of 1"),
    ],
)
def test_a_limit_that_would_be_none_is_refused(given: dict[str, Any], name: str, takes: str) -> None:
    """When it is made, not by the first request, and never without a word."""
    with pytest.raises(InvalidArgument) as caught:
        Limit(**given)
    assert caught.value.name == name
    assert caught.value.takes.startswith(takes)


def test_nothing_may_be_spent() -> None:
    """A limit of 0 is one."""
    with pytest.raises(SpendLimitReached):
        opened(Limit(scope="call", hard="0")).compile()


@pytest.mark.parametrize("limits", [Limit(scope="day", hard="1"), None, "day", [None]])
def test_limits_are_a_list_of_them(limits: Any) -> None:
    """One alone is the likeliest slip."""
    with pytest.raises(InvalidArgument, match="give a list of Limit"):
        Spend(limits)


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
