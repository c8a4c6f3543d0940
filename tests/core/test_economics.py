"""Economics: the measured figures of the square-root rule, its guards, and money without rounding."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from foreword.core.catalog import Catalog, ModelSpec, Rates
from foreword.core.economics import (
    GROWTH,
    LEAST,
    EpochPrice,
    epoch_price,
    growth_of,
    worth,
)
from foreword.core.price import usd
from foreword.core.usage import Usage

MODEL = Catalog.load().model


def priced(model: str, *, suffix: int = 10_000, removed: int = 1_000, cold: bool = False) -> EpochPrice:
    found = epoch_price(MODEL(model), prompt=150_000, suffix=suffix, removed=removed, cold=cold)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "model, thousands",
    [
        ("claude-opus-5-5", 25),
        ("gpt-6.1-sol", 25),
        ("deepseek-v4-flash", 36),
        ("claude-sonnet-4-6", 17),
        ("gemini-3.5-flash", 15),
    ],
)
def test_what_a_clear_must_take_out(model: str, thousands: int) -> None:
    """A plain clear that leaves a suffix of 10,000 tokens pays from these sizes on (measured 2026-11-30)."""
    paying = (size for size in range(1_000, 100_000) if worth(priced(model, removed=size), prompt=150_000))
    assert round(next(paying) / 1_000) == thousands


@pytest.mark.parametrize(
    "model, times",
    [
        ("claude-opus-5-5", Fraction(24)),
        ("claude-fable-5-1", Fraction(49)),
        ("claude-opus-4-8", Fraction(23, 2)),
        ("deepseek-v4-flash", Fraction(49)),
    ],
)
def test_calls_until_a_cut_has_paid(model: str, times: Fraction) -> None:
    """Cutting k tokens before a suffix of s pays after this many times s/k requests (rulebook 2.6)."""
    price = priced(model, suffix=20_000, removed=10_000)
    assert Fraction(price.cost, price.per_call) == 2 * times


def test_comparing_with_the_sessions_end_would_cut_too_often() -> None:
    """The rule refuses a cut that pays before a session's expected end, since the next cut comes before that."""
    price = priced("claude-opus-5-5", removed=5_000)
    expected_calls = 110
    assert price.per_call * expected_calls > price.cost
    assert not worth(price, prompt=150_000)
    assert price.calls(GROWTH) == 3


def test_short_sessions_are_left_alone() -> None:
    """Under 60,000 tokens nothing is rewritten for its price, however much it would take out."""
    price = priced("claude-opus-5-5", removed=50_000)
    assert worth(price, prompt=LEAST)
    assert not worth(price, prompt=LEAST - 1)


def test_on_a_cold_cache_a_clear_saves_at_once() -> None:
    """What is taken out need not be written (1.25 times input on this model), and the suffix is written anyway."""
    price = priced("claude-opus-4-8", removed=10_000, cold=True)
    assert price.rewrite == 0
    assert usd(price.at_once + price.per_call) == "0.0625"  # 10,000 x 5 USD per million x 1.25
    assert price.cost < 0
    assert worth(price, prompt=LEAST)


def test_on_a_cold_cache_a_summary_nearly_pays_for_itself() -> None:
    """The call reads at the price of input what would else be written at 1.25 times that."""
    spec = MODEL("claude-opus-5-5")
    call = Usage(uncached=100_000, cache_read=0, cache_write_short=0, cache_write_long=0, output=2_000)
    price = epoch_price(spec, prompt=110_000, suffix=12_000, removed=98_000, call=call, cold=True)
    assert price is not None
    assert price.cost <= price.call // 4


def test_a_read_of_unknown_price_is_not_priced_as_input() -> None:
    """Nobody knows then what a rewrite saves."""
    spec = MODEL("claude-sonnet-4-6")
    assert spec.price is not None
    unknown = replace(spec, price=replace(spec.price, cache_read=None))
    assert epoch_price(unknown, prompt=150_000, suffix=10_000, removed=1_000) is None


def test_the_tier_of_the_prompt_counts() -> None:
    """A long-context tier raises the price of the same rewrite."""
    spec = MODEL("gpt-6.1-sol")
    assert spec.tiers
    short = epoch_price(spec, prompt=100_000, suffix=10_000, removed=5_000)
    long = epoch_price(spec, prompt=spec.tiers[0].above + 1, suffix=10_000, removed=5_000)
    assert short is not None
    assert long is not None
    assert long.rewrite > short.rewrite


def test_a_price_that_is_unknown_stays_unknown() -> None:
    """Without a price there is no figure, and 0 is not invented."""
    spec = ModelSpec(id="m", provider="p", wires=("openai-chat",), window=1_000, source="here", as_of="")
    assert epoch_price(spec, prompt=100, suffix=10, removed=10) is None
    half = ModelSpec(
        id="m", provider="p", wires=("openai-chat",), window=1_000, source="here", as_of="",
        price=Rates(input="1"),
    )  # fmt: skip
    call = Usage(uncached=1, cache_read=0, cache_write_short=0, cache_write_long=0, output=1)
    assert epoch_price(half, prompt=100, suffix=10, removed=10, call=call) is None


@given(
    removed=st.integers(1, 10**6), suffix=st.integers(0, 10**6), growth=st.integers(1, 10**4),
    model=st.sampled_from(["claude-opus-5-5", "deepseek-v4-flash", "gpt-6.1-sol"]),
)  # fmt: skip
def test_the_rule_against_exact_arithmetic(removed: int, suffix: int, growth: int, model: str) -> None:
    """For any sizes the rule is removed >= root of 2·c·growth/r, and what is worth it never makes the bill larger.

    Up to the calls of the last, unfinished cycle that whole calls leave out.
    """
    price = epoch_price(MODEL(model), prompt=LEAST, suffix=suffix, removed=removed)
    assert price is not None
    r = Fraction(price.per_call, removed)
    assert worth(price, prompt=LEAST, growth=growth) == (removed**2 >= 2 * Fraction(price.cost) * growth / r)
    if worth(price, prompt=LEAST, growth=growth):
        assert price.delta(growth) <= price.per_call


def test_growth_is_what_a_session_shows() -> None:
    """The mean of what calls add; a few steps say nothing yet."""
    assert growth_of(5_000, 4) == 1_250
    assert growth_of(3_000, 3) == GROWTH
    assert growth_of(0, 0) == GROWTH
