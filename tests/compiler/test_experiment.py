"""Ten thousand messages with appends, forks and rewrites: the same bytes, step by step and from scratch."""

from __future__ import annotations

import random

import pytest

from foreword.compiler.policy import DEFAULT
from foreword.core.event import Rewritten
from foreword.engine.session import Session
from foreword.errors import OverBudget
from tests.engine.sessions import answer, call
from tests.histories import counting_clock, digests, examples, from_scratch, target_of

COMPARED = examples(6, 200)
pytestmark = pytest.mark.no_cover  # measured lines would take four times as long; others measure them


@pytest.mark.parametrize(
    "wire, least",
    [("anthropic", 10_000), ("openai-chat", examples(2_000, 10_000))],
    ids=["anthropic", "chat"],
)
def test_ten_thousand_messages(wire: str, least: int) -> None:
    """Every compared request equals the one from scratch."""
    rng = random.Random(10_000)
    target = target_of(wire, 40 * least, count="estimate")
    made = Session.open(None, "long", target=target, policy=DEFAULT, clock=counting_clock())
    messages = steps = compared = forks = 0
    while messages < least:
        made.say(f"turn {messages}: {rng.choice(('go on', 'fix it', 'explain this'))}")
        messages += 1
        for _ in range(rng.randint(1, 12)):
            ids = [f"c{messages}_{n}" for n in range(rng.choice((1, 1, 2, 3)))]
            answer(made, f"look at {messages}", *(call(id_, arguments='{"command":"make"}') for id_ in ids))
            for id_ in rng.sample(ids, len(ids)):
                size = rng.choice((1, 3, 10, 60, 600))
                made.returned(id_, "\n".join(f"{n} of {messages}" for n in range(size)), is_error=size == 3)
            messages += 1 + len(ids)
        if rng.random() < 0.02 and len(made.events) > 100:
            made = made.fork(len(made.events) - rng.randint(1, 40))
            forks += 1
        if rng.random() < 0.3:
            compiled = made.compile()
            body = compiled.body
            steps += 1
            if messages * COMPARED // least > compared:
                compared = messages * COMPARED // least
                scratch = from_scratch(made, compiled)
                assert scratch.body == body
                assert digests(scratch) == digests(compiled)
    rewrites = [e for e in made.events if isinstance(e.body, Rewritten)]
    assert rewrites
    assert forks
    assert compared >= COMPARED // 2


def test_a_small_window_after_a_large_one() -> None:
    """A long history moved to a small window is brought down in one epoch, or refused with its reason."""
    made = Session.open(None, "moved", target=target_of("anthropic", 200_000), clock=counting_clock())
    made.say("go")
    for number in range(300):
        answer(made, call(f"c{number}"))
        made.returned(f"c{number}", f"output {number} " * 40)
    large = made.compile()
    made.target = target_of("anthropic", 12_000)
    try:
        small = made.compile()
    except OverBudget:
        pytest.fail("a person's two letters fit into any window")
    assert small.predicted <= small.budget.limit < large.predicted
    assert from_scratch(made, small).body == small.body
