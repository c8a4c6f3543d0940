"""Spend limits: what counts in each scope, and that nothing is handed out over a hard one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from foreword.core.block import Message, Text
from foreword.core.event import Answered, Called, Draft, RequestSent
from foreword.core.ledger import rows, total
from foreword.core.price import picodollars
from foreword.core.prices import Prices
from foreword.core.usage import NOTHING, Usage
from foreword.engine.session import Session
from foreword.engine.spend import Limit, Scope, Spend
from foreword.errors import ForewordError, InvalidArgument, SpendLimitReached, SpendUnknown
from foreword.store import Store
from tests.engine.spending import DAY, DOLLAR, LIST, Now, answer, notices, opened
from tests.histories import target_of


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


@pytest.mark.parametrize("scope", ["session", "user", "day"])
def test_a_listed_past_locks_no_limit(scope: Scope, tmp_path: Path) -> None:
    """Nobody called a model for it here. What is listed behind a request of ours counts as the next call may cost."""
    listed: list[dict[str, str]] = [
        {"role": role, "content": f"{role} {number}"} for number in range(3) for role in ("user", "assistant")
    ]
    person = {"role": "user", "content": "Go on."}
    with Store.open(tmp_path) as store:
        made = Session.open(store, "listed", target=target_of("anthropic"), clock=Now())
        made.sync([*listed, person])
        made.flush()
        session = made if scope == "session" else opened(store=store)
        session.spend = Spend([Limit(scope=scope, hard="0.01")], prices=LIST)
        session.say("And this.")
        assert session.compile().body
        more = [{"role": "assistant", "content": f"step {number}"} for number in range(40)]
        limits, made.spend = session.spend, None
        made.sync([*listed, person, *more, person])
        made.flush()
        session.spend = limits
        session.say("More.")
        with pytest.raises(SpendLimitReached):
            session.compile()


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
