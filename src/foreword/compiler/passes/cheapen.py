"""Clear old results for the price alone, when the policy asks for it: everything would still fit.

Only what reads back whole and was sent before is taken out; summaries wait until the window asks for them. On a cold
cache the next request is written whole anyway, so that is the moment to act first, then send.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from foreword.compiler.compile import Compiled
from foreword.compiler.layout import Layout
from foreword.compiler.passes.externalize import rewrite_draft
from foreword.compiler.passes.reduce import clearable, oldest_kept
from foreword.compiler.policy import Policy
from foreword.compiler.pricing import bill, is_cold, priced
from foreword.compiler.read_tool import read_tool_name
from foreword.core.economics import LEAST
from foreword.core.event import Draft, Replacement, Rewritten, Why
from foreword.core.item import Interaction


class _Old:
    """What may be cleared of the first ``items`` of an epoch, by its first ``units``, which were sent.

    It only grows, so that a step costs what is new in it. ``asked``: what the placeholders depend on. ``sizes``: of
    events behind those items, the tokens of all before, and their own. ``first``: tokens before the first result that
    may be cleared, None: none may. ``removed``: tokens that clearing all of them frees.
    """

    def __init__(self, asked: tuple[Policy, str]) -> None:
        self.asked = asked
        self.units = self.items = self.tokens = self.removed = 0
        self.sizes: dict[int, tuple[int, int]] = {}
        self.first: int | None = None
        self.found: list[tuple[tuple[bool, int], Replacement]] = []

    def grow(self, compiled: Compiled, items: int) -> None:
        """Walk on to the last unit that was sent, and to ``items``."""
        for unit in compiled.layout.units[self.units : compiled.frozen]:
            if unit.section == "message" and unit.category != "summary" and unit.events:
                before, own = self.sizes.get(unit.events[0], (self.tokens, 0))
                self.sizes[unit.events[0]] = before, own + unit.tokens
            self.tokens += unit.tokens
        self.units = compiled.frozen
        for item in compiled.view.fold.items[self.items : items]:
            sized = {seq: self.sizes.pop(seq) for seq in item.events if seq in self.sizes}
            if not isinstance(item, Interaction) or item.seq == compiled.epoch.body.block:
                continue
            for order, replacement in clearable(
                compiled, item, {seq: own for seq, (_, own) in sized.items()}
            ):
                before = sized[replacement.events[0]][0]
                self.first = before if self.first is None else min(self.first, before)
                self.removed += replacement.tokens_removed
                self.found.append((order, replacement))
        self.items = max(self.items, items)


_OLD: WeakKeyDictionary[Layout, _Old] = WeakKeyDictionary()
"""As long as the layout is in use: what it holds was sent, and changes no more in its epoch."""


def cheapen(compiled: Compiled) -> list[Draft]:
    """Propose one big clear that pays by the square-root rule; [] when none does, or nobody asked."""
    policy, view = compiled.policy, compiled.view
    if not policy.price_trigger or compiled.predicted < LEAST or view.fold.rebuild > compiled.epoch.seq:
        return []
    if not compiled.frozen or compiled.target.reader == "none":
        return []
    old = _old(compiled)
    if (
        old.first is None
        or not bill(compiled, behind=compiled.counted - old.first, removed=old.removed).worth
    ):
        return []
    why: Why = "cold" if is_cold(view, compiled.target.spec.cache_ttl_short) else "price"
    cleared = [replacement for _, replacement in sorted(old.found, key=lambda one: one[0])]
    return priced(compiled, [rewrite_draft("cleared", why, cleared, epoch=True)])


def _old(compiled: Compiled) -> _Old:
    items = min(
        oldest_kept(compiled.view.fold.items, compiled.policy.keep_interactions), compiled.frozen_items
    )
    asked = compiled.policy, read_tool_name(compiled.view)
    old = _OLD.get(compiled.layout)
    if old is None or old.asked != asked or old.units > compiled.frozen or old.items > items:
        old = _OLD[compiled.layout] = _Old(asked)
    old.grow(compiled, items)
    return old


def why_of(drafts: Sequence[Draft]) -> Why:
    """Return the reason of the epoch that goes with rewrites: theirs."""
    return next(draft.body.why for draft in drafts if isinstance(draft.body, Rewritten))
