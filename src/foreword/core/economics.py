"""Economics of a rewrite: what an epoch costs now, what it saves until the next one, and whether it is worth it.

The square-root rule, in absolute tokens. What was taken out grows back at ``growth`` tokens a call, so the next
rewrite comes whether the session ends soon or not, and only the calls until then may be counted: comparing with
the session's end cuts far too often. A cost c that comes once per cycle, against tokens that are read again at a
price r in every call, is least per call when a cycle is √(2·c·growth/r) tokens long: a rewrite pays as soon as
it takes out that many. Measured over 42 recorded sessions (2026-11-30) this is within 7 to 14 % of an oracle
that knows lengths and gaps. Read-backs are not in these figures.
"""

from __future__ import annotations

from msgspec import Struct

from foreword.core.catalog import ModelSpec
from foreword.core.price import cost, per_token, rates_at
from foreword.core.usage import Usage

GROWTH = 1_306
"""Tokens that a call adds, where a session has not shown its own pace: the mean of those 42 sessions."""

LEAST = 60_000
"""Tokens of a prompt under which nothing saved more than 5 % of a session's cost; such sessions are left alone."""


class EpochPrice(Struct, frozen=True, kw_only=True):
    """What a rewrite costs and saves. Money in picodollars, sizes in the model's tokens.

    ``rewrite``: for writing ``suffix`` tokens again that would have been read; 0 on a cold cache, where they are
    written anyway. ``call``: for the model call that writes a summary. ``at_once``: saved in the next call beyond
    a later one's saving, since ``removed`` tokens would have been written, not read. ``per_call``: saved in each call
    until the next epoch.
    """

    suffix: int
    removed: int
    rewrite: int
    call: int
    at_once: int
    per_call: int

    @property
    def cost(self) -> int:
        """What is paid now, less what a cold cache saves at once; below 0: it pays for itself on the spot."""
        return self.rewrite + self.call - self.at_once

    def calls(self, growth: int) -> int:
        """Return the calls until what was removed has grown back, when the next epoch comes."""
        return self.removed // max(1, growth)

    def delta(self, growth: int) -> int:
        """Return the change of the bill until the next epoch: below 0 is saved."""
        return self.cost - self.calls(growth) * self.per_call


def epoch_price(
    spec: ModelSpec,
    *,
    prompt: int,
    suffix: int,
    removed: int,
    call: Usage | None = None,
    cold: bool = False,
) -> EpochPrice | None:
    """Price a rewrite that takes ``removed`` tokens out of ``prompt`` and leaves ``suffix`` behind the first change.

    ``call``: usage of the call that writes a summary, None: no model is asked. ``cold``: the cache has expired, so
    the next request is written whole. Listed prices at the tier of ``prompt``: off-peak halves both sides alike.
    Without a price for cache writes, what is written costs the price of the input. None: the catalog lacks a price that
    this needs.
    """
    rates = rates_at(spec, prompt)
    if rates is None or rates.input is None or rates.cache_read is None:
        return None
    read = per_token(rates.cache_read)
    write = per_token(rates.cache_write_short if rates.cache_write_short is not None else rates.input)
    asked = cost(call, spec, peak=True).picodollars if call is not None else 0
    if asked is None:
        return None
    return EpochPrice(
        suffix=suffix,
        removed=removed,
        rewrite=0 if cold else suffix * max(0, write - read),
        call=asked,
        at_once=removed * max(0, write - read) if cold else 0,
        per_call=removed * read,
    )


def worth(price: EpochPrice, *, prompt: int, growth: int = GROWTH) -> bool:
    """Whether a rewrite pays by the square-root rule: removed² · r ≥ 2 · c · growth, in exact integers.

    Never in a prompt under ``LEAST`` tokens, never when nothing is removed, and not where reading is free.
    """
    if price.removed <= 0 or prompt < LEAST:
        return False
    if price.cost <= 0:
        return True
    return price.removed * price.per_call >= 2 * price.cost * max(1, growth)


def growth_of(grown: int, times: int) -> int:
    """Return the tokens that a call adds, from requests that ``times`` grew by ``grown`` tokens in all.

    ``GROWTH`` when these are too few to say it. A request smaller than the one before begins anew and is none.
    """
    return max(1, grown // times) if times >= _ENOUGH else GROWTH


_ENOUGH = 4
"""Steps that say a session's own pace."""
