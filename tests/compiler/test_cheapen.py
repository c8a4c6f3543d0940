"""Rewrites for the price: only when asked for, only when they pay, and their figures stand in their events."""

from __future__ import annotations

import pytest

from foreword.compiler.compile import Compiled
from foreword.compiler.manifest import Sketch, manifest
from foreword.compiler.passes import cheapen, reduce
from foreword.compiler.passes.reduce import Sizes
from foreword.compiler.policy import Policy
from foreword.compiler.pricing import idle_seconds
from foreword.core.economics import LEAST
from foreword.core.event import EpochStarted, Rewritten
from foreword.core.price import picodollars
from foreword.core.sealing import SCHEMA, decode_body, encode_body
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


def test_a_short_session_is_not_even_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too short to be cleared costs no look at all of it in every step."""
    measured: list[int] = []

    def sizes_of(compiled: Compiled) -> Sizes:
        measured.append(compiled.predicted)
        return reduce.sizes_of(compiled)

    monkeypatch.setattr(cheapen, "sizes_of", sizes_of)
    walked(30, PRICED)
    assert measured
    assert min(measured) >= LEAST


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
