"""Price lists of one's own: what they may say, what they replace, and how a bad one is refused."""

from __future__ import annotations

import pytest

from foreword.core.catalog import Catalog, Rates
from foreword.core.price import cost, cost_at, day_of, tier_of, usd
from foreword.core.prices import Prices
from foreword.core.usage import Usage
from foreword.errors import CatalogError

MILLION = Usage(
    uncached=1_000_000, cache_read=1_000_000, cache_write_short=1_000_000, cache_write_long=1_000_000,
    output=1_000_000,
)  # fmt: skip


def billed(prices: Prices, model: str, used: Usage = MILLION) -> str | tuple[str, ...]:
    """Return what usage costs, or what is unknown."""
    spec = prices.spec(model)
    assert spec is not None
    bill = cost(used, spec)
    return bill.unknown if bill.picodollars is None else usd(bill.picodollars)


def test_one_price_for_every_model() -> None:
    """Members at the top hold for all models, in the catalog or not."""
    prices = Prices.read("input = 1\noutput = 5.5\ncache_read = 0.1\ncache_write = 1.25\n", "mine.toml")
    assert billed(prices, "claude-sonnet-4-5") == billed(prices, "of-our-own") == "9.1"


def test_a_row_replaces_the_whole_price_of_its_model() -> None:
    """A bucket that it leaves out is unknown, other models keep the catalog's, and an alias finds the row."""
    prices = Prices.read('{"claude-sonnet-4-5": {"input": "7", "output": 0}}', "mine.json")
    few = Usage(uncached=1_000_000, cache_read=0, cache_write_short=0, cache_write_long=0, output=3)
    assert billed(prices, "claude-sonnet-4-5-20250929", few) == "7"
    assert billed(prices, "vendor/claude-sonnet-4-5", few) == "7"
    assert billed(prices, "claude-sonnet-4-5") == (
        "price.cache_read",
        "price.cache_write_short",
        "price.cache_write_long",
    )
    assert billed(prices, "claude-opus-4-5") == billed(Prices(), "claude-opus-4-5")
    assert Prices().spec("of-our-own") is None


def test_prices_for_the_rest_and_for_the_two_cache_lifetimes() -> None:
    """A star row stands for models without a row; 5m and 1h are other names of short and long."""
    prices = Prices.read('["*"]\ninput = 1\n["a"]\ncache_write_5m = 2\ncache_write_1h = 4\n', "p")
    assert prices.spec("b").price == Rates(input="1")
    assert prices.spec("a").price == Rates(cache_write_short="2", cache_write_long="4")


def test_tiers_and_multipliers() -> None:
    """The whole request is billed at the tier of its prompt; factors are laid over the catalog's."""
    text = """
    [claude-sonnet-4-5]
    input = 3
    output = 15
    tiers = [{ above = 200000, input = 6, output = 22.5, cache_write = 7.5 }]
    multipliers = { night = 0.25 }
    """
    spec = Prices.read(text, "p").spec("claude-sonnet-4-5")
    assert spec is not None
    large = Usage(uncached=210_000, cache_read=0, cache_write_short=5_000, cache_write_long=0, output=0)
    assert cost(large, spec).picodollars == 1_297_500_000_000
    assert (tier_of(large, spec), tier_of(Usage(), spec)) == (200_000, None)
    assert usd(cost(large, spec, multipliers=("batch", "night")).picodollars or 0) == "0.1621875"


@pytest.mark.parametrize(
    "text",
    [
        "input = ", "{", "[1]", "input = -1", "input = true", "input = nan", "input = inf", 'input = "dear"',
        "input = 0.0000001", "input = 1e999999999", "colour = 1", "[m]\nmiss = 1", "m = 3", "[m]\ntiers = 3",
        "[m]\ntiers = [3]", "[m]\ntiers = [{ input = 3 }]", '[m]\nmultipliers = "batch"',
        "[m.multipliers]\nbatch = []", "[" * 5_000, "", "{}", '{"m": {}}',
    ],
)  # fmt: skip
def test_a_bad_list_is_refused_with_its_place(text: str) -> None:
    """One error, which names the file; nothing is guessed."""
    with pytest.raises(CatalogError, match="prices mine"):
        Prices.read(text, "mine")


def test_earlier_prices_are_checked_with_the_row() -> None:
    """Days must be days and rise; past prices must be prices."""
    row = '[[model]]\nid = "claude-sonnet-5-5"\nearlier = [{ until = "%s", price = { input = "%s" } }]\n'
    assert Catalog.load().override(row % ("2026-01-01", "9")).model("claude-sonnet-5-5").earlier
    for bad in (("soon", "9"), ("2026-01-01", "dear")):
        with pytest.raises(CatalogError):
            Catalog.load().override(row % bad)


def test_a_day_before_the_first_change_has_the_first_price() -> None:
    """Of several changes the first that lies after the day counts."""
    row = (
        '[[model]]\nid = "m"\nprovider = "p"\nwires = ["openai-chat"]\nwindow = 9\nsource = "s"\nas_of = "2026-11-30"\n'
        'price = { input = "1" }\nearlier = [{ until = "2026-02-01", price = { input = "3" } }, '
        '{ until = "2026-05-01", price = { input = "2" } }]\n'
    )
    spec = Catalog.load().override(row).model("m")
    days = ("2020-01-01", "2026-01-31", "2026-02-01", "2026-04-30", "2026-05-01", "2030-01-01")
    assert [spec.priced_on(day).price.input for day in days] == ["3", "3", "2", "2", "1", "1"]
    few = Usage(uncached=1_000_000, cache_read=0, cache_write_short=0, cache_write_long=0, output=0)
    assert [cost_at(few, spec, at).picodollars for at in (-(10**30), 10**30)] == [3 * 10**12, 10**12]
    assert (day_of(0), day_of(10**30)) == ("1970-01-01", "9999-12-31")
