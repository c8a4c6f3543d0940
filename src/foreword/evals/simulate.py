"""Simulate policies on an agent that does not exist: a system text, and a step that adds the same size each time.

Step k, from 0, sends the system text and what k steps have added. ``full`` sends all of it; ``full-no-cache`` the
same without a cache; ``compact-every-step`` keeps the last ``keep`` steps and puts a summary in place of the older
ones, which is written anew at each step, so that only the system text is the same from request to request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from foreword.core.cache_model import CacheRules, CacheUnit, Moment, Outcome, rules_of, simulate
from foreword.core.catalog import Catalog, ModelSpec, Rates
from foreword.core.price import FREE, cost, usd

STEP_SECONDS = 30
"""Time between two calls: well within every life."""
MARKED = CacheRules(kind="marks")
"""A cache without minimum, look-back or end: for prices that name no model."""


class Synthetic(Struct, frozen=True, kw_only=True):
    """An agent's session in sizes: tokens of the system text, tokens that a step adds, number of steps.

    ``keep``: steps that a compaction leaves whole; ``summary``: tokens of what stands for the others.
    """

    system: int
    step: int
    steps: int
    keep: int = 8
    summary: int = 800


Request = list[CacheUnit]


def _system(session: Synthetic) -> CacheUnit:
    return CacheUnit(digest=b"system", tokens=session.system, layer="system", mark="short")


def _step(session: Synthetic, number: int) -> CacheUnit:
    return CacheUnit(digest=b"step %d" % number, tokens=session.step)


def _marked(request: Request) -> Request:
    return [*request[:-1], replace(request[-1], mark="short")]


def _full(session: Synthetic) -> Iterator[Request]:
    steps = [_step(session, number) for number in range(session.steps)]
    for number in range(session.steps):
        yield _marked([_system(session), *steps[:number]])


def _compacted(session: Synthetic) -> Iterator[Request]:
    for number in range(session.steps):
        kept = range(max(0, number - session.keep), number)
        summary = CacheUnit(
            digest=b"summary %d" % number, tokens=session.summary if number > session.keep else 0
        )
        yield [_system(session), summary, *(_step(session, at) for at in kept)]


POLICIES: dict[str, tuple[Callable[[Synthetic], Iterator[Request]], bool]] = {
    "full-no-cache": (_full, False),
    "full": (_full, True),
    "compact-every-step": (_compacted, True),
}
"""Name -> its requests, and whether there is a cache."""


def nameless() -> ModelSpec:
    """Return a model of which nothing is known: its cache has no limits."""
    return Catalog.load().assumed("", wire="openai-chat", window=1)


def priced(spec: ModelSpec, miss: str, hit: str) -> ModelSpec:
    """Return a model at US dollars per million tokens read from the cache or not; writing costs nothing extra."""
    rates = Rates(input=miss, cache_read=hit, cache_write_short=miss)
    return replace(spec, price=rates, tiers=(), peak=None, earlier=())


def row(session: Synthetic, policy: str, spec: ModelSpec) -> dict[str, Any]:
    """Return what a policy sends, reads and costs in one session, at the listed price; output is not counted.

    ``epochs``: requests that changed what was sent before them. A member of a part that is not built is None.
    """
    make, cached = POLICIES[policy]
    times = (Moment.at(number * STEP_SECONDS * 1_000_000) for number in range(session.steps))
    outcomes = simulate(make(session), times, rules_of(spec) or MARKED)
    epochs = sum(outcome.changed is not None for outcome in outcomes)
    if not cached:
        outcomes = [Outcome(uncached=outcome.total) for outcome in outcomes]
    bill = sum((cost(outcome.usage(), spec, peak=True) for outcome in outcomes), FREE)
    sizes = [outcome.total for outcome in outcomes]
    return {
        "policy": policy,
        "model": spec.id or None,
        "window": None,
        "tokens_in": sum(sizes),
        "last_step_tokens": sizes[-1],
        "peak": max(sizes),
        "cache_read": sum(outcome.read for outcome in outcomes),
        "cost_usd": None if bill.picodollars is None else usd(bill.picodollars),
        "cost_unknown": list(bill.unknown),
        "read_back_usd": None,
        "epochs": epochs,
        "survival": None,
    }
