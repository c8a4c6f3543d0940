"""What holds of any history holds of those with hosted and deferred tools, switches and blind models, too."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from foreword.core.target import Target
from foreword.engine.session import Session
from foreword.store import Store
from tests.histories import TIGHT, counting_clock, examples
from tests.wide_walk import TARGETS, WIDE, WideWalk

pytestmark = pytest.mark.no_cover  # measured lines would take four times as long; others measure them


def walked(seed: str, target: Target, store: Store | None = None) -> None:
    """Walk a random history; every request on the way is checked."""
    rng = random.Random(seed)
    policy = msgspec.structs.replace(
        TIGHT, layout=rng.choice(("own", "provider")), language_directive=rng.random() < 0.3
    )

    def opened(name: str) -> Session:
        return Session.open(store, name, target=target, policy=policy, clock=counting_clock())

    walk = WideWalk(
        rng, opened("history"), describes=rng.random() < 0.5, reopen=opened if store is not None else None
    )
    walk.run(["say", *rng.choices(WIDE, k=40), "ask"])


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(examples(1, 300)))
def test_wide_histories(name: str, seed: int) -> None:
    """In memory, from every kind of target on."""
    walked(f"wide {name} {seed}", TARGETS[name])


@pytest.mark.parametrize("seed", range(examples(3, 300)))
def test_wide_histories_in_a_store(seed: int, tmp_path: Path) -> None:
    """In a store, opened again on the way; and the store verifies."""
    with Store.open(tmp_path) as store:
        walked(f"wide {seed}", random.Random(seed).choice(list(TARGETS.values())), store)
        assert store.verify() == []
