"""Compiling step by step and from scratch give the same legal bytes, whatever the history."""

from __future__ import annotations

import random
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foreword.core.target import Target
from foreword.engine.session import Session
from foreword.store import Store
from tests.histories import BOUND, OPERATIONS, TIGHT, Walk, counting_clock, examples, target_of

TARGETS = {
    "anthropic": target_of("anthropic"),
    "anthropic, small window": target_of("anthropic", 6_000),
    "anthropic, bound thinking": target_of("anthropic", 9_000, model=BOUND),
    "openai-chat": target_of("openai-chat"),
    "openai-chat, small window": target_of("openai-chat", 6_000),
    "anthropic, no reader": target_of("anthropic", 9_000, reader="none"),
    "openai-chat, shell": target_of("openai-chat", 9_000, reader="shell"),
}
SLOW = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], derandomize=True
)
operations = st.lists(st.sampled_from(OPERATIONS), max_size=40).map(lambda names: ["say", *names, "ask"])


def walk_in_memory(target: Target, rng: random.Random) -> Walk:
    session = Session.open(None, "history", target=target, policy=TIGHT, clock=counting_clock())
    return Walk(rng, session, seed=rng.randint(0, 3))


@pytest.mark.parametrize("name", TARGETS)
@settings(SLOW, max_examples=examples(25, 2_000))
@given(names=operations, rng=st.randoms(use_true_random=False))
def test_step_by_step_is_from_scratch(name: str, names: list[str], rng: random.Random) -> None:
    """Every request of a random history in memory is legal, grown, tiled, and equal from scratch."""
    walk_in_memory(TARGETS[name], rng).run(names)


@pytest.mark.parametrize("name", TARGETS)
def test_seeded_histories(name: str) -> None:
    """The same holds of longer histories from fixed seeds, kept in a real store and opened again on the way."""
    for seed in range(examples(6, 300)):
        rng = random.Random(f"{name} {seed}")
        target = TARGETS[name]
        with tempfile.TemporaryDirectory() as folder, Store.open(folder) as store:

            def opened(session: str, store: Store = store) -> Session:
                return Session.open(store, session, target=target, policy=TIGHT)

            walk = Walk(rng, opened("history"), seed=seed, reopen=opened)
            walk.run(["say", *rng.choices(OPERATIONS, k=60), "ask"])
            assert store.verify() == []
