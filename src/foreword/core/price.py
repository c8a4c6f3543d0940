"""Price: what usage costs, exactly. Picodollars (10**-12 USD) as integers inside, decimal strings outside.

A price of 1 USD per million tokens is 1,000,000 picodollars per token, so every published price down to
0.000001 USD per million is an integer and no sum is ever rounded.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import floor

import msgspec

from foreword.core.catalog import ModelSpec, Rates, Tier
from foreword.core.usage import Usage

PICODOLLARS = 10**12
"""Picodollars in one US dollar."""

_FIRST_DAY, _LAST_DAY = 0, 253_402_300_799  # 1970-01-01 and 9999-12-31, which Python's calendar holds


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Hold a cost, or say why it is unknown.

    `picodollars` is None when anything that it depends on is unknown; `unknown` then names each such thing:
    `tokens.<bucket>`, `price.<bucket>`, `tier`, `peak`, `multiplier.<name>`. A cost of 0 is really free.
    """

    picodollars: int | None
    unknown: tuple[str, ...] = ()

    def __add__(self, other: "Cost") -> "Cost":
        """Add; unknown plus anything is unknown, with the reasons of both."""
        known = self.picodollars is not None and other.picodollars is not None
        total = (self.picodollars or 0) + (other.picodollars or 0) if known else None
        return Cost(picodollars=total, unknown=tuple(dict.fromkeys(self.unknown + other.unknown)))


FREE = Cost(picodollars=0)
"""The cost of no call at all: the neutral element of `+`."""


def cost(usage: Usage, spec: ModelSpec, *, peak: bool | None = None, multipliers: Iterable[str] = ()) -> Cost:
    """Price one call.

    The tier is chosen by the whole prompt of this one request, cached tokens included, and applies to all of
    its tokens; so price calls one by one and add the costs, never the cost of added usage.
    `peak` matters only to a model with off-peak prices (see `is_peak`); None is then an unknown.
    `multipliers` names entries of the model's multiplier table, such as "batch", "fast" or "us".
    A bucket of 0 tokens costs nothing, even where its price is unknown. `reasoning` is part of `output`.
    """
    unknown: list[str] = []
    rates = _rates(usage, spec, peak, unknown)
    total: int | Fraction = 0
    if rates is not None:
        buckets = (
            ("uncached", usage.uncached, rates.input),
            ("cache_read", usage.cache_read, rates.cache_read),
            ("cache_write_short", usage.cache_write_short, rates.cache_write_short),
            ("cache_write_long", usage.cache_write_long, rates.cache_write_long),
            ("output", usage.output, rates.output),
        )
        for name, tokens, price in buckets:
            if tokens is None:
                unknown.append(f"tokens.{name}")
            elif tokens and price is None:
                unknown.append(f"price.{name}")
            elif tokens and price is not None:
                total += tokens * per_token(price)
    for name in multipliers:
        factor = spec.multipliers.get(name)
        if factor is None:
            unknown.append(f"multiplier.{name}")
        else:
            total *= Fraction(factor)
    return Cost(picodollars=None if unknown else _whole(total), unknown=tuple(unknown))


def cost_at(usage: Usage, spec: ModelSpec, at: int | None, multipliers: Iterable[str] = ()) -> Cost:
    """Price one call by the prices of its time: those of its day, peak or off-peak.

    `at`: seconds since 1970 UTC; None: unknown, and so is the cost where the time matters (`price.date`, `peak`).
    """
    if at is None:
        bill = cost(usage, spec, multipliers=multipliers)
        return bill + Cost(picodollars=None, unknown=("price.date",)) if spec.earlier else bill
    spec = spec.priced_on(day_of(at))
    return cost(usage, spec, peak=is_peak(spec, at), multipliers=multipliers)


def tier_of(usage: Usage, spec: ModelSpec) -> int | None:
    """Return the long-context tier that a call is billed at, by its `above`; 0: the base price; None: unknown."""
    if not spec.tiers:
        return 0
    size = usage.total_input
    if size is None:
        return None
    tier = _tier(spec, size)
    return tier.above if tier is not None else 0


def rates_at(spec: ModelSpec, size: int) -> Rates | None:
    """Return the listed prices of a prompt of so many tokens, peak hours aside; None: the catalog has none."""
    tier = _tier(spec, size)
    return tier.price if tier is not None else spec.price


def day_of(unix_seconds: int) -> str:
    """Return the day (UTC, YYYY-MM-DD) of a moment; what no calendar holds is its nearest day."""
    inside = max(_FIRST_DAY, min(unix_seconds, _LAST_DAY))
    return datetime.fromtimestamp(inside, UTC).date().isoformat()


def is_peak(spec: ModelSpec, unix_seconds: int) -> bool | None:
    """Say whether a moment lies in the model's peak hours; None for a model without peak hours.

    Public holidays, on which the provider charges off-peak, are not known here: the answer errs on the dear
    side.
    """
    if spec.peak is None:
        return None
    days, seconds = divmod(unix_seconds, 86_400)
    weekday = (days + 3) % 7  # 1970-01-01 was a Thursday; Monday is 0
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    return weekday in spec.peak.weekdays and any(start <= clock < end for start, end in spec.peak.hours_utc)


def picodollars(text: str) -> int:
    """Read a decimal string of US dollars; raise ValueError when it is none or finer than a picodollar."""
    try:
        value = Fraction(Decimal(text)) * PICODOLLARS
    except (ArithmeticError, ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a decimal number of US dollars") from None
    if value.denominator != 1:
        raise ValueError(f"{text!r} US dollars is not a whole number of picodollars")
    return int(value)


def recorded(text: str) -> int | None:
    """Read a cost that another program wrote down, to the nearest picodollar; None: it is no sum of money.

    Programs that add floats write more digits than they mean, so finer parts than a picodollar are rounded.
    """
    try:
        value = Decimal(text)
    except ArithmeticError:
        return None
    if not value.is_finite() or (value and not -40 < value.adjusted() < 15) or len(text) > 100:
        return None
    return floor(Fraction(value) * PICODOLLARS + Fraction(1, 2))


def usd(amount: int) -> str:
    """Write picodollars as the exact, shortest decimal string of US dollars, never with an exponent."""
    whole, rest = divmod(abs(amount), PICODOLLARS)
    digits = f"{whole}.{rest:012d}".rstrip("0").rstrip(".")
    return f"-{digits}" if amount < 0 else digits


def _rates(usage: Usage, spec: ModelSpec, peak: bool | None, unknown: list[str]) -> Rates | None:
    if spec.price is None:
        unknown.append("price")
        return None
    if spec.tiers:
        size = usage.total_input
        if size is None:
            unknown.append("tier")
            return None
        return rates_at(spec, size)
    if spec.peak is not None and peak is not True:
        if peak is None:
            unknown.append("peak")
            return None
        return spec.peak.off_peak
    return spec.price


def _tier(spec: ModelSpec, size: int) -> Tier | None:
    return next((tier for tier in reversed(spec.tiers) if size > tier.above), None)


@cache
def per_token(price: str) -> int:
    """Turn US dollars per million tokens into picodollars per token; the catalog allows six decimals."""
    return picodollars(price) // 1_000_000


def _whole(value: int | Fraction) -> int:
    """Round half up to a picodollar; only a multiplier such as 1.1 can leave a fraction of one."""
    return value if isinstance(value, int) else floor(value + Fraction(1, 2))
