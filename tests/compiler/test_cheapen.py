"""Rewrites for the price: only when asked for, only when they pay, and their figures stand in their events."""

from __future__ import annotations

import random
from typing import Any

import pytest

from foreword.compiler.compile import Compiled, compile
from foreword.compiler.manifest import Sketch, manifest
from foreword.compiler.passes import cheapen, reduce
from foreword.compiler.pipeline import propose
from foreword.compiler.policy import Policy
from foreword.compiler.pricing import idle_seconds
from foreword.core import economics
from foreword.core.block import Message
from foreword.core.economics import LEAST
from foreword.core.event import Answered, Draft, EpochStarted, Rewritten
from foreword.core.item import Interaction
from foreword.core.price import picodollars
from foreword.core.sealing import SCHEMA, decode_body, encode_body
from foreword.core.view import View
from foreword.engine.session import Session
from tests.engine.sessions import answer, call
from tests.histories import target_of

OUTPUT = "lorem ipsum dolor " * 400
"""About 2,400 tokens."""


class Hours:
    """A clock that a test sets, in microseconds."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        self.now += 1_000
        return self.now


def walked(
    steps: int, policy: Policy, *, idle: int = 0, reader: str = "tool", output: str = OUTPUT
) -> Session:
    """Return a session of so many calls, compiled at each; the last result came ``idle`` seconds after its call."""
    clock = Hours()
    target = target_of("anthropic", 200_000, reader=reader)
    made = Session.open(None, "cheap", target=target, policy=policy, clock=clock)
    made.instruct("Be brief. " * 400)
    made.say("Find it.")
    for number in range(steps):
        made.compile()
        answer(made, call(f"c{number}"))
        clock.now += idle * 1_000_000 if number == steps - 1 else 0
        made.returned(f"c{number}", f"result {number} {output}")
    made.compile()
    return made


def reasons(made: Session) -> list[str]:
    return [event.body.why for event in made.events if isinstance(event.body, EpochStarted)]


PRICED = Policy(price_trigger=True)


def test_nothing_is_rewritten_for_its_price_unless_asked() -> None:
    """By default a session that fits is left as it is, warm or cold."""
    assert reasons(walked(40, Policy(), idle=3_600)) == ["start"]


def test_a_long_session_is_cleared_once_it_pays() -> None:
    """One big clear, long before the window is full; its figures say that the bill gets smaller."""
    made = walked(40, PRICED)
    assert reasons(made) == ["start", "price"]
    [rewritten] = [event.body for event in made.events if isinstance(event.body, Rewritten)]
    assert rewritten.how == "cleared"
    assert len(rewritten.replacements) > 10
    assert rewritten.suffix_rewritten is not None
    assert 0 < rewritten.suffix_rewritten < 40_000
    assert rewritten.price_delta_usd is not None
    assert picodollars(rewritten.price_delta_usd) < 0


def test_a_cold_cache_is_the_moment_to_clear() -> None:
    """After the cache expired a clear pays that a warm one would not; the log tells the time, not a clock."""
    much_kept = Policy(price_trigger=True, keep_interactions=24)
    warm, cold = walked(34, much_kept), walked(34, much_kept, idle=600)
    assert reasons(warm) == ["start"]
    assert reasons(cold) == ["start", "cold"]
    assert idle_seconds(cold.view) >= 600
    assert reasons(walked(34, much_kept, idle=200)) == ["start"]


@pytest.mark.parametrize("steps, reader", [(8, "tool"), (40, "none")])
def test_short_sessions_and_agents_without_a_reader_are_left_alone(steps: int, reader: str) -> None:
    """Under 60,000 tokens nothing is cleared for its price, nor what the agent could not read back."""
    assert reasons(walked(steps, PRICED, idle=3_600, reader=reader)) == ["start"]


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return a list to which each look at an interaction adds the epoch and the event."""
    looks: list[tuple[int, int]] = []

    def clearable(compiled: Compiled, item: Interaction, sizes: Any) -> Any:
        assert compiled.predicted >= LEAST
        looks.append((compiled.epoch.number, item.seq))
        return reduce.clearable(compiled, item, sizes)

    monkeypatch.setattr(cheapen, "clearable", clearable)
    return looks


def test_each_result_is_looked_at_once(looked_at: list[tuple[int, int]]) -> None:
    """A step costs what is new in it, not a walk over all of the session; a short session costs no look at all."""
    walked(60, PRICED)
    assert {epoch for epoch, _ in looked_at} >= {1, 2}
    assert len(looked_at) == len(set(looked_at)) > 60


@pytest.mark.parametrize("keep", [0, 6])
def test_step_by_step_decides_as_from_scratch(keep: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a walk remembers of earlier steps changes nothing: the same rewrite at the same step, to the figure."""
    monkeypatch.setattr(cheapen, "LEAST", 2_000)
    monkeypatch.setattr(economics, "LEAST", 2_000)
    chance = random.Random(keep)
    policy = Policy(price_trigger=True, keep_interactions=keep, clear_over=60)
    made = Session.open(None, "same", target=target_of("openai-chat", 400_000), policy=policy)
    made.say("Find it.")
    for number in range(60):
        compiled = made.compile()
        before = made.events[: compiled.view.position]
        again = compile(View.of(before), policy, compiled.target)
        assert cheapen.cheapen(compiled) == cheapen.cheapen(again) == []
        answer(made, *(call(f"c{number}_{n}") for n in range(chance.choice((0, 1, 1, 3)))))
        for n in range(3):
            if made.view.fold.unfinished(f"c{number}_{n}"):
                failed = chance.random() < 0.2
                made.returned(f"c{number}_{n}", "some words " * chance.randint(1, 900), is_error=failed)
        if chance.random() < 0.1:
            made.say("And then?")
        epoch = made.view.fold.epochs[-1].seq
        step = propose(made.view, policy, compiled.target, compiled)
        assert step.drafts == propose(View.of(made.events), policy, compiled.target).drafts
        if number % 25 == 24:
            made = made.fork(max(epoch, len(made.events) - 6))
    assert "price" in reasons(made)


def test_what_no_request_showed_is_not_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many results at once go out whole before any of them is cleared for its price."""
    monkeypatch.setattr(cheapen, "LEAST", 2_000)
    monkeypatch.setattr(economics, "LEAST", 2_000)
    made = walked(12, PRICED)
    for number in range(20):
        message = Message(role="assistant", blocks=(call(f"told{number}"),))
        made.append(Draft(body=Answered(message=message), trust="model", actor="model"))
        made.returned(f"told{number}", f"told {number} {OUTPUT}")
    assert b"told 0 lorem" in made.compile().body
    made.say("Go on.")
    assert b"told 0 lorem" not in made.compile().body


def test_the_figures_stand_in_the_manifest() -> None:
    """The rewrite's row has the predicted figures; an older event without them reads as not known."""
    made = walked(28, PRICED)
    while "price" not in reasons(made):
        before = Sketch(made.compile())
        number = len(made.events)
        answer(made, call(f"n{number}"))
        made.returned(f"n{number}", OUTPUT)
        made.compile()
    found = manifest(
        made.compile(), session=made.id, provider="anthropic", step=1, previous=before, violations=[]
    )
    row = next(row for row in found["rewrites"] if row["kind"] == "cleared")
    body = next(event.body for event in made.events if isinstance(event.body, Rewritten))
    assert (row["why"], row["suffix_rewritten"], row["price_delta_usd"]) == (
        "price", body.suffix_rewritten, body.price_delta_usd,
    )  # fmt: skip
    rewritten = found["tokens"]["total"] - found["prefix"]["kept_tokens"]
    assert abs(row["suffix_rewritten"] - rewritten) <= 0.05 * rewritten
    old = Rewritten(how="cleared", why="hard", replacements=body.replacements, epoch=True)
    assert b"suffix" not in encode_body(old)
    read = decode_body("rewritten", SCHEMA, encode_body(old))
    assert isinstance(read, Rewritten)
    assert (read.suffix_rewritten, read.price_delta_usd) == (None, None)
