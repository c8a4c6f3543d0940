"""Compiling step by step and from scratch give the same legal bytes, whatever the history."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foreword.compiler.policy import Policy
from foreword.core.block import ToolSpec
from foreword.core.catalog import Catalog
from foreword.core.event import EpochStarted, Event
from foreword.core.fold import Fold
from foreword.core.target import Target
from foreword.engine.session import Session
from foreword.store import Store
from tests.histories import BOUND, MODELS, OPERATIONS, TIGHT, Walk, counting_clock, examples, target_of

ALTERNATING = Catalog.load().override('[[model]]\nid = "gpt-6.1-sol"\nstrict_alternation = true\n')
pytestmark = pytest.mark.no_cover  # measured lines would take four times as long; others measure them
TARGETS = {
    "anthropic": target_of("anthropic"),
    "anthropic, small window": target_of("anthropic", 6_000),
    "anthropic, bound thinking": target_of("anthropic", 6_000, model=BOUND),
    "openai-chat": target_of("openai-chat"),
    "openai-chat, small window": target_of("openai-chat", 6_000),
    "openai-chat, turns": target_of("openai-chat", catalog=ALTERNATING),
    "openai-chat, turns, small window": target_of("openai-chat", 6_000, catalog=ALTERNATING),
    "anthropic, no reader": target_of("anthropic", 9_000, reader="none"),
    "openai-chat, shell": target_of("openai-chat", 9_000, reader="shell"),
    "openai-responses": target_of("openai-responses"),
    "openai-responses, small window": target_of("openai-responses", 6_000),
    "deepseek": target_of("deepseek"),
    "deepseek, small window": target_of("deepseek", 6_000),
    "gemini": target_of("gemini"),
    "gemini, small window": target_of("gemini", 6_000),
}
SLOW = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], derandomize=True
)
operations = st.lists(st.sampled_from(OPERATIONS), max_size=40).map(lambda names: ["say", *names, "ask"])


LOOP = ("answer", "results", "answer", "results", "answer", "results")
"""What an agent mostly does; much of it fills a small window."""


def walk_in_memory(target: Target, rng: random.Random) -> Walk:
    session = Session.open(None, "history", target=target, policy=TIGHT, clock=counting_clock())
    return Walk(rng, session, seed=rng.randint(0, 3))


@pytest.mark.parametrize("name", TARGETS)
@settings(SLOW, max_examples=examples(8, 7_000))
@given(names=operations, rng=st.randoms(use_true_random=False))
def test_step_by_step_is_from_scratch(name: str, names: list[str], rng: random.Random) -> None:
    """Every request of a random history in memory is legal, grown, tiled, and equal from scratch."""
    walk_in_memory(TARGETS[name], rng).run(names)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(examples(3, 300)))
def test_stored_histories(name: str, seed: int, tmp_path: Path) -> None:
    """The same holds of histories in a real store, opened again on the way; and the store verifies."""
    rng = random.Random(f"{name} {seed}")
    with Store.open(tmp_path) as store:

        def opened(session: str) -> Session:
            return Session.open(store, session, target=TARGETS[name], policy=TIGHT)

        walk = Walk(rng, opened("history"), seed=seed, reopen=opened)
        walk.run(["say", *rng.choices(OPERATIONS, k=50), "ask"])
        assert store.verify() == []


@pytest.mark.parametrize("name", [name for name in TARGETS if "small" in name or "bound" in name])
@pytest.mark.parametrize("seed", range(examples(1, 200)))
def test_long_loops_in_small_windows(name: str, seed: int) -> None:
    """The same holds of long loops of calls and results, which small windows force to be rewritten."""
    rng = random.Random(f"long {name} {seed}")
    walk = walk_in_memory(TARGETS[name], rng)
    others = ("say", "pin", "late", "told", "fork", "instruct", "revoke")
    for _ in range(24):
        walk.run([*LOOP, *rng.choices((*LOOP, *others), k=2)])
    epochs = [event.body for event in walk.session.events if isinstance(event.body, EpochStarted)]
    assert "hard" in [epoch.why for epoch in epochs] or walk.refused


policies = st.builds(
    Policy,
    name=st.just("random"),
    result_tokens=st.sampled_from((0, 50, 400, 8_000)),
    result_share=st.floats(0.02, 0.9),
    batch_share=st.floats(0.0, 0.9),
    excerpt_tokens=st.integers(10, 2_000),
    excerpt_share=st.floats(0.005, 0.2),
    keep_interactions=st.integers(0, 8),
    low_water=st.floats(0.1, 0.95),
    clear_over=st.integers(0, 400),
    summary_ratio=st.floats(0.01, 0.5),
    summary_share=st.floats(0.01, 0.5),
    stage_tokens=st.sampled_from((0, 200, 30_000)),
    min_gain=st.floats(0.0, 0.4),
    reserve_tool_result=st.floats(0.0, 0.3),
    uncalibrated_factor=st.floats(1.5, 2.0),
)


@pytest.mark.parametrize("wire", MODELS)
@settings(SLOW, max_examples=examples(6, 2_500))
@given(
    policy=policies,
    window=st.integers(1_500, 30_000),
    reader=st.sampled_from(("tool", "shell", "none")),
    names=operations,
    rng=st.randoms(use_true_random=False),
)
def test_random_policies_and_budgets(
    wire: str, policy: Policy, window: int, reader: str, names: list[str], rng: random.Random
) -> None:
    """Whatever the numbers of a policy and the size of a window: legal requests, or a typed refusal."""
    target = target_of(wire, window, reader=reader)
    session = Session.open(None, "history", target=target, policy=policy, clock=counting_clock())
    Walk(rng, session, seed=rng.randint(0, 9)).run(names)


def test_a_request_is_read_without_folding_its_log_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log goes on by the event of the request itself; its bytes and headers are there all the same."""
    made = Session.open(None, "s", target=TARGETS["anthropic"])
    made.offer([ToolSpec(name="bash"), ToolSpec(name="rare", deferred=True)])
    made.say("go")
    compiled = made.compile()
    folded: list[int] = []

    class Counted(Fold):
        def __init__(self, events: Iterable[Event]) -> None:
            folded.append(1)
            super().__init__(events)

    monkeypatch.setattr("foreword.core.view.Fold", Counted)
    assert b'"rare"' in compiled.body
    assert compiled.betas == ()
    assert folded == []
    assert compiled.view.fold.items
    assert folded == [1]
