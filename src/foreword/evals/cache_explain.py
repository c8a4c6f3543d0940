"""Explain the cache of a recorded session: every break, what it cost, why, and what would have kept it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from foreword.core.cache_model import rules_of
from foreword.core.catalog import ModelSpec
from foreword.core.price import FREE, Cost, cost_at, usd
from foreword.core.prices import Prices
from foreword.core.usage import Usage
from foreword.evals.cache_breaks import FIXES, Between, Certainty, cause_of
from foreword.evals.calls import SECOND, Call, idle

if TYPE_CHECKING:
    from foreword.evals.cache_bodies import Parted

LEAST_SHARE = 0.05
LEAST_TOKENS = 1_024
"""A call that misses more than both of what the call before sent is a break; less is the cache's own grain."""


class Break(Struct, frozen=True, kw_only=True):
    """A call that read less than the call before had sent.

    ``expected``: the prompt of the call before. ``rewritten``: tokens of this prompt that were not read. ``lost``:
    those of them that were expected to be. ``cost``: what the lost ones cost beyond reading them. ``difference``: what
    the request bodies show, where they were kept. ``too_short``: no cache could have held what was expected; nothing
    was lost, and it counts as no break.
    """

    session: str
    step_before: int
    step: int
    where: str
    expected: int
    read: int
    rewritten: int
    lost: int
    cost: Cost
    cause: str
    certainty: Certainty
    evidence: str
    fix: str
    difference: Parted | None = None

    @property
    def too_short(self) -> bool:
        """Whether the request before was under the size from which the model's cache keeps one."""
        return self.cause == "too_short"

    @property
    def below_half(self) -> bool:
        """Whether less than half was read of what a cache could have held."""
        return not self.too_short and self.read * 2 < self.expected


def breaks_of(calls: Sequence[Call], session: str, prices: Prices) -> list[Break]:
    """Return the breaks of one session in order. A call whose cache reads are not reported is none."""
    broken = [index for index in range(1, len(calls)) if _broke(calls, index)]
    base = _base(calls, broken)
    longest = _longest(calls, set(broken))
    found: list[Break] = []
    for index in broken:
        before, after = calls[index - 1], calls[index]
        spec = prices.spec(after.model)
        gap = Between(
            calls, index, rules=rules_of(spec) if spec else None, spec=spec, base=base, longest=longest
        )
        cause, certainty, evidence = cause_of(gap)
        read = after.read or 0
        lost = 0 if cause == "too_short" else min(before.prompt, after.prompt) - read
        found.append(
            Break(
                session=session,
                step_before=before.step,
                step=after.step,
                where=after.where,
                expected=before.prompt,
                read=read,
                rewritten=after.prompt - read,
                lost=lost,
                cost=_extra(after, lost, spec),
                cause=cause,
                certainty=certainty,
                evidence=evidence,
                fix=FIXES[cause],
            )
        )
    return found


def _broke(calls: Sequence[Call], index: int) -> bool:
    expected, read = calls[index - 1].prompt, calls[index].read
    if read is None or calls[index - 1].read is None:
        return False
    lost = min(expected, calls[index].prompt) - read
    return read * 2 < expected or lost > max(LEAST_TOKENS, expected * LEAST_SHARE)


def _base(calls: Sequence[Call], broken: Iterable[int]) -> int:
    """Return the largest size that two breaks left, or one beside a compaction: what stands before the messages."""
    deep = [index for index in broken if (calls[index].read or 0) * 2 < calls[index - 1].prompt]
    left = Counter(calls[index].read or 0 for index in deep)
    compacted = {
        calls[index].read or 0
        for index in deep
        if any(note.code == "compaction" for note in calls[index].notes)
    }
    return max((read for read, times in left.items() if times > 1 or read in compacted), default=0)


def _longest(calls: Sequence[Call], broken: set[int]) -> float:
    pauses = (idle(calls[at - 1], calls[at]) for at in range(1, len(calls)) if at not in broken)
    return max((pause for pause in pauses if pause is not None), default=0.0)


def _extra(call: Call, lost: int, spec: ModelSpec | None) -> Cost:
    """Return what a call cost beyond the same call with the lost tokens read; they stand first in what was written."""
    if spec is None:
        return Cost(picodollars=None, unknown=(f"model.{call.model or ''}",))
    at = None if call.ended is None else call.ended // SECOND
    left = lost
    buckets: dict[str, int | None] = {}
    for name in ("cache_write_long", "cache_write_short", "uncached"):
        held = getattr(call.usage, name) or 0
        buckets[name] = held - min(held, left)
        left -= min(held, left)
    kept: Usage = replace(call.usage, cache_read=(call.usage.cache_read or 0) + lost, **buckets)
    paid, would = cost_at(call.usage, spec, at, call.terms), cost_at(kept, spec, at, call.terms)
    if paid.picodollars is None or would.picodollars is None:
        return Cost(picodollars=None, unknown=paid.unknown or would.unknown)
    return Cost(picodollars=paid.picodollars - would.picodollars)


def explained(breaks: Sequence[Break], calls: int) -> dict[str, Any]:
    """Return the JSON document. ``calls``: all calls looked at."""
    deep = [one for one in breaks if one.below_half]
    total = sum((one.cost for one in breaks), FREE)
    return {
        "breaks": [_row(one) for one in breaks],
        "breaks_below_half": len(deep),
        "tokens_rewritten_below_half": sum(one.rewritten for one in deep),
        "calls": calls,
        "tokens_lost": sum(one.lost for one in breaks),
        "cost_usd": None if total.picodollars is None else usd(total.picodollars),
        "by_cause": dict(Counter(one.cause for one in breaks).most_common()),
        "by_cause_below_half": dict(Counter(one.cause for one in deep).most_common()),
        "unknown_share_below_half": _share(deep),
    }


def _row(one: Break) -> dict[str, Any]:
    return {
        "session": one.session,
        "step": one.step,
        "where": one.where,
        "expected_read": one.expected,
        "read": one.read,
        "tokens_rewritten": one.rewritten,
        "tokens_lost": one.lost,
        "below_half": one.below_half,
        "cost_usd": None if one.cost.picodollars is None else usd(one.cost.picodollars),
        "cause": one.cause,
        "certainty": one.certainty,
        "evidence": one.evidence,
        "fix": one.fix,
        "difference": None if one.difference is None else to_builtins(one.difference),
    }


def _share(breaks: Sequence[Break]) -> float | None:
    return round(sum(one.cause == "unknown" for one in breaks) / len(breaks), 4) if breaks else None
