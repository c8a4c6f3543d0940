"""The cache gate: does a repeated task still read as much from the prompt cache as it did?

The median of several runs is held against a baseline less a tolerance: caching is best effort at some providers
(1.7 % of the calls of one missed by themselves in recorded sessions), so a single run says little.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal

from msgspec import Struct

from foreword.core.ledger import once, rows
from foreword.core.prices import Prices
from foreword.core.usage import Usage
from foreword.importers.imported import Imported

Reason = Literal["below", "all_zero", "no_usage"]


class Run(Struct, frozen=True, kw_only=True):
    """One run of the task. ``calls`` with usage, ``unknown`` without; ``input``, ``cache_read``: tokens, added up."""

    name: str
    calls: int
    unknown: int
    input: int
    cache_read: int

    @property
    def hit_rate(self) -> float | None:
        """Cache reads as a share of all prompts; None: no prompt is known."""
        return self.cache_read / self.input if self.input else None


class Gate(Struct, frozen=True, kw_only=True):
    """The verdict. ``ok`` False has a ``reason``; ``text`` says it with the figures and the next move.

    ``median``: of the runs' hit rates, None: none is known. ``threshold``: baseline less tolerance.
    """

    ok: bool
    median: float | None
    baseline: float
    tolerance: float
    threshold: float
    reason: Reason | None
    text: str
    runs: tuple[Run, ...]


def run_of(name: str, usages: Iterable[Usage | None]) -> Run:
    """Add up the calls of one run; a call whose prompt or cache reads are unknown is counted as unknown."""
    calls = unknown = size = read = 0
    for usage in usages:
        if usage is None or usage.total_input is None or usage.cache_read is None:
            unknown += 1
            continue
        calls += 1
        size += usage.total_input
        read += usage.cache_read
    return Run(name=name, calls=calls, unknown=unknown, input=size, cache_read=read)


def run_of_sessions(name: str, sessions: Iterable[Imported]) -> Run:
    """Add up the calls of a run that left session records; a call that several of them hold counts once."""
    prices = Prices()
    listed = [row for one in sessions for row in rows(one.drafts, session=one.session, prices=prices)]
    return run_of(name, [row.usage for row in once(listed)])


def gate(runs: Sequence[Run], *, baseline: float, tolerance: float) -> Gate:
    """Judge the runs: their median hit rate must not be under ``baseline`` - ``tolerance`` (shares, 0 to 1).

    All-zero reads fail whatever the threshold, and so does a run without usage: both mean that nothing was measured.
    Raises: ValueError for a share outside of 0 to 1, or without a run.
    """
    if not runs:
        raise ValueError("no run was given")
    for name, share in (("baseline", baseline), ("tolerance", tolerance)):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} {share} is no share from 0 to 1")
    threshold = max(0.0, round(baseline - tolerance, 9))
    rates = [run.hit_rate for run in runs if run.hit_rate is not None]
    middle = median(rates) if rates else None
    reason = _reason(runs, middle, threshold)
    return Gate(
        ok=reason is None,
        median=None if middle is None else round(middle, 6),
        baseline=baseline,
        tolerance=tolerance,
        threshold=threshold,
        reason=reason,
        text=_text(runs, middle, threshold, reason),
        runs=tuple(runs),
    )


def _reason(runs: Sequence[Run], middle: float | None, threshold: float) -> Reason | None:
    if middle is None or any(run.hit_rate is None for run in runs):
        return "no_usage"
    if not any(run.cache_read for run in runs):
        return "all_zero"
    return "below" if middle < threshold else None


def _text(runs: Sequence[Run], middle: float | None, threshold: float, reason: Reason | None) -> str:
    many = f"{len(runs)} run{'s' if len(runs) != 1 else ''}"
    match reason:
        case "no_usage":
            empty = ", ".join(run.name for run in runs if run.hit_rate is None)
            return f"no call with known usage in {empty}: nothing was measured; record the responses' usage"
        case "all_zero":
            calls = sum(run.calls for run in runs)
            return (
                f"0 tokens were read from the cache in all {calls} calls of {many}: a usage field probably changed its "
                f"name, or caching is off; look at one raw response"
            )
        case "below":
            return (
                f"median hit rate {middle:.1%} of {many} is under {threshold:.1%}; "
                f"`foreword diff` of two successive requests says what changed"
            )
        case None:
            return f"median hit rate {middle:.1%} of {many}, {threshold:.1%} needed"
