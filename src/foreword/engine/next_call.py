"""What a call is likely to cost before its bill comes: from its size, its cache marks and the calls before it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from foreword.compiler.compile import Compiled
from foreword.core.cache_model import SECOND
from foreword.core.catalog import ModelSpec, Rates
from foreword.core.ledger import Row
from foreword.core.price import Cost, cost_at, day_of, picodollars
from foreword.core.prices import Prices
from foreword.core.usage import Usage

SHORT_TTL = 300
"""Seconds for which a cache is taken to hold where the catalog doesn't say: the shortest that any provider sells."""
LONG = "1h"
"""The one TTL of a cache mark that buys the long life."""


class NextCall(Struct, frozen=True, kw_only=True):
    """A request that no bill has come for. ``tokens``: by its model. ``grown``: it only adds to the one before.

    ``long``: tokens up to its last mark for the long life; what of them is not read is written for that.
    """

    model: str
    tokens: int
    long: int = 0
    grown: bool = False

    @classmethod
    def of(cls, compiled: Compiled) -> NextCall:
        """Return what a request is that may be handed out."""
        return cls(
            model=compiled.target.params.model,
            tokens=compiled.predicted,
            long=_long(compiled),
            grown=compiled.grown,
        )


def likely_cost(call: NextCall, own: Sequence[Row], spec: ModelSpec, prices: Prices, now: int) -> Cost:
    """Predict what a call will cost. ``own``: the session's calls before. ``now``: microseconds since 1970 UTC.

    What the last call was sent counts as read from the cache when that call used it and its time to live has
    not passed, all else at the dearer of input and cache write, with the life that the request's marks ask for. The
    output is taken to be as long as the session's answers were on average; before the first one it is left out.
    """
    seconds = now // SECOND
    last = next((row for row in reversed(own) if row.kind == "call" and row.input), None)
    kept = 0
    if last is not None and _same_model(last.model, call.model, prices):
        kept = min(_cached(call, last, spec, now), call.tokens)
    outputs = [row.usage.output for row in own if row.usage is not None and row.usage.output]
    price = spec.priced_on(day_of(seconds)).price
    fresh = call.tokens - kept
    long = max(0, call.long - kept) if _dearer(price, "cache_write_long") else 0
    short = fresh - long if _dearer(price, "cache_write_short") else 0
    usage = Usage(
        uncached=fresh - long - short,
        cache_read=kept,
        cache_write_short=short,
        cache_write_long=long,
        output=sum(outputs) // len(outputs) if outputs else 0,
    )
    return cost_at(usage, spec, seconds)


def _same_model(model: str | None, other: str, prices: Prices) -> bool:
    """Whether two names mean one row of the catalog, as a request's and the dated one of its answer do."""
    known, asked = prices.spec(model), prices.spec(other)
    return (
        model is None or model == other or (known is not None and asked is not None and known.id == asked.id)
    )


def _cached(call: NextCall, last: Row, spec: ModelSpec, now: int) -> int:
    """Return how many tokens of the request the provider should still hold from the call before."""
    if last.usage is None or last.at is None or not call.grown:
        return 0
    used = (
        (last.usage.cache_read or 0)
        + (last.usage.cache_write_short or 0)
        + (last.usage.cache_write_long or 0)
    )
    alive = now - last.at < (spec.cache_ttl_short or SHORT_TTL) * SECOND
    return (last.input or 0) if used and alive else 0


def _dearer(price: Rates | None, write: str) -> bool:
    """Whether the price of a write is known to be above that of plain input."""
    written: str | None = getattr(price, write, None)
    if price is None or written is None or price.input is None:
        return False
    return picodollars(written) > picodollars(price.input)


def _long(compiled: Compiled) -> int:
    """Return the tokens up to the last mark for the long life; all of them where the provider sets it at the end."""
    automatic = compiled.target.params.keys.get("cache_control")
    if isinstance(automatic, dict) and automatic.get("ttl") == LONG:
        return compiled.predicted
    end = max((index for index, ttl in compiled.breakpoints.items() if ttl == LONG), default=-1)
    if end < 0:
        return 0
    counted = sum(compiled.unit(index).tokens for index in range(end + 1))
    return min(compiled.predicted, -(-counted * compiled.predicted // compiled.counted))
