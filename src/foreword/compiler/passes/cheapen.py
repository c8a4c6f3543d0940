"""Clear old results for the price alone, when the policy asks for it: everything would still fit.

Only what reads back whole is taken out; summaries wait until the window asks for them. On a cold cache the next
request is written whole anyway, so that is the moment to act first, then send.
"""

from __future__ import annotations

from collections.abc import Sequence

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.check import CutPoints
from foreword.compiler.passes.externalize import rewrite_draft
from foreword.compiler.passes.reduce import levels, plan_of, sizes_of
from foreword.compiler.pricing import bill, is_cold, priced
from foreword.core.economics import LEAST
from foreword.core.event import Draft, Rewritten, Why


def cheapen(compiled: Compiled) -> list[Draft]:
    """Propose one big clear that pays by the square-root rule; [] when none does, or nobody asked."""
    policy, view = compiled.policy, compiled.view
    if not policy.price_trigger or compiled.predicted < LEAST or view.fold.rebuild > compiled.epoch.seq:
        return []
    last_sent = view.fold.sent[-1].seq if view.fold.sent else -1
    if compiled.epoch.seq > last_sent or compiled.target.reader == "none":
        return []
    level = levels(policy.keep_interactions, policy.summary_ratio)[0]
    plan = plan_of(compiled, level, sizes_of(compiled), CutPoints(view, compiled.target), 0)
    if not plan.cleared or not bill(compiled, plan.cleared).worth:
        return []
    why: Why = "cold" if is_cold(view, compiled.target.spec.cache_ttl_short) else "price"
    return priced(compiled, [rewrite_draft("cleared", why, plan.cleared, epoch=True)])


def why_of(drafts: Sequence[Draft]) -> Why:
    """Return the reason of the epoch that goes with rewrites: theirs."""
    return next(draft.body.why for draft in drafts if isinstance(draft.body, Rewritten))
