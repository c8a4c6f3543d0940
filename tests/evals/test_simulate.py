"""Policies on a session in sizes: the worked example's arithmetic, to the digit."""

import pytest

from foreword.core.catalog import Catalog
from foreword.evals.simulate import POLICIES, Synthetic, nameless, priced, row

EXAMPLE = Synthetic(system=3_000, step=1_500, steps=40, keep=8, summary=800)


@pytest.mark.parametrize(
    "policy, tokens, last, read, cost",
    [
        ("full-no-cache", 1_290_000, 61_500, 0, "0.1935"),
        ("full", 1_290_000, 61_500, 1_228_500, "0.0129105"),
        ("compact-every-step", 570_800, 15_800, 117_000, "0.068421"),
    ],
)
def test_the_worked_example(policy: str, tokens: int, last: int, read: int, cost: str) -> None:
    """0.15 USD a million without a hit, 0.003 with one: compacting at each step costs five times the full history."""
    made = row(EXAMPLE, policy, priced(nameless(), "0.15", "0.003"))
    assert (made["tokens_in"], made["last_step_tokens"], made["peak"]) == (tokens, last, last)
    assert (made["cache_read"], made["cost_usd"]) == (read, cost)


def test_epochs_are_requests_that_change_what_was_sent() -> None:
    """A full history never does; a summary written anew does at every step but the first."""
    epochs = {policy: row(EXAMPLE, policy, nameless())["epochs"] for policy in POLICIES}
    assert epochs == {"full-no-cache": 0, "full": 0, "compact-every-step": 39}


def test_a_model_brings_its_cache_and_its_price() -> None:
    """Opus 4.8: 61,500 tokens written at 6.25, the others read at 0.5. A prefix under 4,096 is no hit on Gemini."""
    opus = row(EXAMPLE, "full", Catalog.load().model("claude-opus-4-8"))
    assert (opus["cache_read"], opus["cost_usd"]) == (1_228_500, "0.998625")
    gemini = row(EXAMPLE, "compact-every-step", Catalog.load().model("gemini-3.8-flash"))
    assert gemini["cache_read"] == 0


def test_what_is_not_known_is_none() -> None:
    """Without a price there is no cost, and parts that are not built have no figure."""
    made = row(EXAMPLE, "full", nameless())
    assert [made[name] for name in ("model", "window", "cost_usd", "read_back_usd", "survival")] == [None] * 5
    assert made["cost_unknown"]
