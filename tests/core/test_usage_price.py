"""Usage and price: unknown stays unknown, and money adds up to the picodollar."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.core.catalog import Catalog
from foreword.core.price import FREE, Cost, cost, is_peak, picodollars, usd
from foreword.core.usage import NOTHING, Usage

MODEL = Catalog.load().model
COUNTS = st.one_of(st.none(), st.integers(0, 10**9))
USAGES = st.builds(
    Usage,
    uncached=COUNTS,
    cache_read=COUNTS,
    cache_write_short=COUNTS,
    cache_write_long=COUNTS,
    output=COUNTS,
)


def _usage(uncached: int = 0, read: int = 0, short: int = 0, long: int = 0, output: int = 0) -> Usage:
    return Usage(
        uncached=uncached, cache_read=read, cache_write_short=short, cache_write_long=long, output=output
    )


def test_total_input_is_the_whole_prompt_or_unknown() -> None:
    """The four input buckets add up; one unknown bucket makes the total unknown."""
    assert _usage(1, 20, 300, 4000, 9).total_input == 4321
    assert Usage(uncached=1, cache_read=2, cache_write_short=3, output=4).total_input is None


@given(USAGES, USAGES, USAGES)
def test_addition_is_a_commutative_monoid(a: Usage, b: Usage, c: Usage) -> None:
    """Order and grouping never matter, and the usage of no call changes nothing."""
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert sum([a, b], NOTHING) == a + b
    assert (NOTHING + Usage(uncached=1)).uncached == 1


def test_unknown_bucket_hides_only_itself() -> None:
    """A sum keeps what is known beside what is not."""
    total = Usage(uncached=5, output=None) + Usage(uncached=7, output=3)
    assert (total.uncached, total.output) == (12, None)


def test_golden_sonnet_price() -> None:
    """3 / 15 / 0.3 / 3.75 USD per million, as agents record it."""
    bill = cost(_usage(3, 18_000, 1_234, 0, 567), MODEL("claude-sonnet-4-5"))
    assert bill.picodollars is not None
    assert usd(bill.picodollars) == "0.0185415"  # 0.000009 + 0.0054 + 0.0046275 + 0.008505
    million = cost(_usage(1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000), MODEL("claude-sonnet-4-5"))
    assert million.picodollars is not None
    assert usd(million.picodollars) == "28.05"


def test_tier_is_chosen_by_the_whole_prompt_of_one_request() -> None:
    """Cached tokens count, the limit itself is below, and all tokens are billed at the tier."""
    spec = MODEL("claude-haiku-5-5")
    assert cost(_usage(read=100_000), spec).picodollars == 100_000 * 10_000
    assert cost(_usage(read=100_001), spec).picodollars == 100_001 * 50_000
    assert cost(_usage(read=100_000, uncached=1, output=10), spec).picodollars == (
        100_000 * 50_000 + 500_000 + 10 * 2_500_000
    )
    tiers = MODEL("qwen3-coder-plus")
    assert cost(_usage(uncached=32_000), tiers).picodollars == 32_000 * 1_000_000
    assert cost(_usage(uncached=130_000), tiers).picodollars == 130_000 * 3_000_000
    unknown = cost(Usage(uncached=5, output=1), spec)
    assert (unknown.picodollars, unknown.unknown) == (None, ("tier",))


def test_unknown_is_named_and_never_zero() -> None:
    """A missing count, a missing price and a missing row of prices each say so."""
    missing = cost(Usage(uncached=1, cache_read=None, cache_write_short=0, cache_write_long=0, output=1),
                   MODEL("claude-sonnet-4-5"))  # fmt: skip
    assert (missing.picodollars, missing.unknown) == (None, ("tokens.cache_read",))
    assert cost(_usage(read=1), MODEL("claude-fable-5-2")).unknown == ("price.cache_read",)
    assert cost(_usage(uncached=1), MODEL("claude-fable-5-2")).picodollars == 8_000_000
    assert cost(_usage(uncached=1), MODEL("claude-sonnet-4")).unknown == ("price",)
    assert cost(_usage(uncached=1), MODEL("gpt-4o"), multipliers=["fast"]).unknown == ("multiplier.fast",)


def test_unknown_cost_survives_addition() -> None:
    """One unknown call makes the total unknown and keeps its reason once."""
    lost = Cost(picodollars=None, unknown=("peak",))
    assert lost + Cost(picodollars=5) + lost == lost
    assert sum([Cost(picodollars=2), Cost(picodollars=3)], FREE) == Cost(picodollars=5)


def test_peak_prices() -> None:
    """Peak and off-peak differ by half; without the time the cost is unknown."""
    spec, usage = MODEL("deepseek-flash"), _usage(uncached=1_000_000)
    assert cost(usage, spec, peak=True).picodollars == picodollars("0.3")
    assert cost(usage, spec, peak=False).picodollars == picodollars("0.15")
    assert cost(usage, spec).unknown == ("peak",)


@pytest.mark.parametrize(
    "moment,expected",
    [
        (1_796_000_400, True),  # Monday 2026-11-30 01:00 UTC
        (1_796_000_399, False),  # a second earlier
        (1_796_011_200, False),  # Monday 04:00, the end is out
        (1_796_018_400, True),  # Monday 06:00
        (1_795_914_000, False),  # Sunday 01:00
        (1_795_827_600, False),  # Saturday 01:00
        (1_795_741_200, True),  # Friday 01:00
    ],
)
def test_peak_hours(moment: int, expected: bool) -> None:
    """Weekdays and hours in UTC decide, ends not included."""
    assert is_peak(MODEL("deepseek-flash"), moment) is expected
    assert is_peak(MODEL("gpt-4o"), moment) is None


def test_multipliers_apply_to_the_whole_bill() -> None:
    """Batch halves, fast doubles, and both together cancel out."""
    usage, spec = _usage(uncached=7, output=3), MODEL("claude-opus-5-5")
    plain = cost(usage, spec).picodollars
    assert plain is not None
    assert cost(usage, spec, multipliers=["batch"]).picodollars == plain // 2
    assert cost(usage, spec, multipliers=["batch", "fast"]).picodollars == plain


@given(st.integers(-(10**30), 10**30))
def test_usd_round_trips_exactly(amount: int) -> None:
    """The text is the exact amount, without exponent or trailing zeros."""
    text = usd(amount)
    assert picodollars(text) == amount
    assert "e" not in text.lower()
    assert "." not in text or not text.endswith("0")


@pytest.mark.parametrize("text", ["", "x", "1/3", "nan", "inf", "0.0000000000001"])
def test_picodollars_refuses_what_it_cannot_hold(text: str) -> None:
    """Neither words nor fractions of a picodollar pass."""
    with pytest.raises(ValueError, match="US dollars"):
        picodollars(text)


@given(
    st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7), st.sampled_from(Catalog.load().names)
)
def test_cost_equals_decimal_arithmetic(uncached: int, read: int, output: int, name: str) -> None:
    """The integer path gives what decimal arithmetic on the published prices gives."""
    spec = MODEL(name)
    bill = cost(_usage(uncached, read, output=output), spec, peak=True)
    if bill.picodollars is None:
        return
    rates = spec.price
    for tier in spec.tiers:
        rates = tier.price if uncached + read > tier.above else rates
    assert rates is not None
    expected = sum(
        Decimal(n) * Decimal(p or 0)
        for n, p in ((uncached, rates.input), (read, rates.cache_read), (output, rates.output))
    )
    assert Decimal(usd(bill.picodollars)) == expected / 1_000_000
