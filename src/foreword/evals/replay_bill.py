"""The bill of a replay: what each request would have used and cost, so that the steps add up to the report."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from foreword.core.catalog import ModelSpec
from foreword.core.price import FREE, cost, usd
from foreword.core.usage import NOTHING, Usage


def with_unseen(usage: Usage, unseen: int, spec: ModelSpec, *, first: bool) -> Usage:
    """Add the prefix that the record lacks and that stands before all that was sent.

    The first call pays for it in full, as a cache write where the model prices one; later ones read it. What is
    unknown stays so.
    """
    if not first:
        return usage + replace(NOTHING, cache_read=unseen)
    if usage.cache_write_long:
        return usage + replace(NOTHING, cache_write_long=unseen)
    if usage.cache_write_short or (spec.price is not None and spec.price.cache_write_short is not None):
        return usage + replace(NOTHING, cache_write_short=unseen)
    return usage + replace(NOTHING, uncached=unseen)


def costs(usages: Sequence[Usage], spec: ModelSpec) -> dict[str, str | None]:
    """Return ``total``, ``input`` and ``output`` in USD at the listed price; None: not known.

    Input and output add up to the total exactly, and so do the steps.
    """
    total = sum((cost(usage, spec, peak=True) for usage in usages), FREE)
    given = sum((cost(replace(usage, output=0), spec, peak=True) for usage in usages), FREE)
    if total.picodollars is None or given.picodollars is None:
        return dict.fromkeys(("total", "input", "output"))
    parts = (total.picodollars, given.picodollars, total.picodollars - given.picodollars)
    return dict(zip(("total", "input", "output"), map(usd, parts), strict=True))


def tokens(usages: Sequence[Usage]) -> dict[str, int | None]:
    """Return the tokens ``sent``, those of them read, written and neither, and those of the answers; None: unknown."""
    whole = sum(usages, NOTHING)
    return {
        "sent": whole.total_input,
        "cache_read": whole.cache_read,
        "cache_write": whole.written,
        "uncached": whole.uncached,
        "output": whole.output,
    }
