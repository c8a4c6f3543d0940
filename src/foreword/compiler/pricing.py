"""What a rewrite costs and saves, worked out from the request it changes and written into its event."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from foreword.compiler.compile import Compiled
from foreword.core.economics import EpochPrice, epoch_price, growth_of, worth
from foreword.core.event import Answered, Draft, Replacement, Rewritten
from foreword.core.price import usd
from foreword.core.view import View


class Bill(Struct, frozen=True, kw_only=True):
    """A rewrite's figures. ``suffix``: counted tokens behind the first change, which are written again.

    ``price`` None: the catalog lacks a price. ``prompt`` and ``growth`` in the model's own tokens.
    """

    suffix: int
    price: EpochPrice | None
    prompt: int
    growth: int

    @property
    def worth(self) -> bool:
        return self.price is not None and worth(self.price, prompt=self.prompt, growth=self.growth)

    @property
    def delta_usd(self) -> str | None:
        """Change of the bill until the next epoch, in dollars; below 0 is saved."""
        return None if self.price is None else usd(self.price.delta(self.growth))


def idle_seconds(view: View) -> int:
    """Return the seconds from the last response to the newest event: time is what the log says it is.

    0 without a response, and where clocks went backwards.
    """
    events = view.fold.events
    answered = next((event for event in reversed(events) if isinstance(event.body, Answered)), None)
    return max(0, events[-1].at - answered.at) // 1_000_000 if answered is not None else 0


def is_cold(view: View, ttl: int | None) -> bool:
    """Whether the provider has forgotten the last request. ``ttl``: seconds, None: it says no time."""
    return ttl is not None and bool(view.fold.sent) and idle_seconds(view) > ttl


def bill(compiled: Compiled, *, behind: int, removed: int) -> Bill:
    """Work out what it costs to take ``removed`` counted tokens out of the ``behind`` that stand from the first on.

    No model writes the replacements, so there is no call to pay.
    """
    suffix = max(0, behind - removed)
    factor = compiled.budget.factor
    spec = compiled.target.spec
    prompt = compiled.predicted
    grown, times = compiled.view.fold.growth
    return Bill(
        suffix=suffix,
        price=epoch_price(
            spec,
            prompt=prompt,
            suffix=int(suffix * factor),
            removed=int(removed * factor),
            cold=is_cold(compiled.view, spec.cache_ttl_short),
        ),
        prompt=prompt,
        growth=growth_of(int(grown * factor), times),
    )


def _bill_of(compiled: Compiled, replacements: Sequence[Replacement]) -> Bill:
    changed = {seq for replacement in replacements for seq in replacement.events}
    removed = sum(replacement.tokens_removed for replacement in replacements)
    units = compiled.units
    first = next((i for i, unit in enumerate(units) if not changed.isdisjoint(unit.events)), len(units))
    return bill(compiled, behind=sum(unit.tokens for unit in units[first:]), removed=removed)


def priced(compiled: Compiled, drafts: Sequence[Draft]) -> list[Draft]:
    """Write the figures of one epoch into its rewrites: at the first, so that they add up."""
    bodies = [draft.body for draft in drafts if isinstance(draft.body, Rewritten)]
    figures = _bill_of(compiled, [replacement for body in bodies for replacement in body.replacements])
    made: list[Draft] = []
    told = False
    for draft in drafts:
        if isinstance(draft.body, Rewritten):
            body = msgspec.structs.replace(
                draft.body,
                suffix_rewritten=0 if told else figures.suffix,
                price_delta_usd="0" if told else figures.delta_usd,
            )
            draft, told = msgspec.structs.replace(draft, body=body), True
        made.append(draft)
    return made
