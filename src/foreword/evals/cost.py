"""The bill of sessions: what every call cost, added up, as a document and as a table of rows."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from foreword.core.ledger import Fact, Kind, Phase, Row, Totals, grouped, once, rewrites, rows, total
from foreword.core.price import day_of, usd
from foreword.core.prices import Prices
from foreword.core.unreported import Estimate

KEYS: dict[str, Callable[[Row], str]] = {
    "model": lambda row: row.model or UNKNOWN,
    "session": lambda row: row.session,
    "step": lambda row: f"{row.session} step {row.step}",
    "turn": lambda row: f"{row.session} turn {row.turn}",
    "day": lambda row: UNKNOWN if row.at is None else day_of(row.at // 1_000_000),
    "user": lambda row: row.user or UNKNOWN,
    "project": lambda row: row.project or UNKNOWN,
    "kind": lambda row: row.kind,
    "status": lambda row: row.status,
}
"""What calls can be added up by."""
UNKNOWN = "(unknown)"
PHASES: tuple[Phase, ...] = ("cold", "warm", "epoch")
BUCKETS = ("uncached", "cache_read", "cache_write_short", "cache_write_long", "output", "reasoning")
COLUMNS = (
    "session", "step", "turn", "at", "model", "kind", "status", *BUCKETS, "cost_usd", "recorded_cost_usd", "unknown",
    "phase", "first_token_ms", "total_ms", "tier", "peak", "terms", "project", "user", "estimated_input",
    "estimated_output", "estimated_cost_usd", "doubts",
)  # fmt: skip
"""Columns of the CSV file, in order."""


class Billed(msgspec.Struct, frozen=True, kw_only=True):
    """A session whose calls are to be billed: its id, its facts in log order, the project it belongs to.

    ``sub_context``: another agent began it; a log says so itself.
    """

    session: str
    facts: Sequence[Fact]
    project: str | None = None
    sub_context: bool = False


def bill(
    sessions: Iterable[Billed], prices: Prices, by: str | None = None
) -> tuple[dict[str, Any], list[Row]]:
    """Return the bill of several sessions, and its rows; a call that several of them hold counts once.

    ``by``: a key of `KEYS` to add up by as well, under ``groups``.
    """
    counts: Counter[str] = Counter()
    listed: list[Row] = []
    for one in sessions:
        kind: Kind = "sub_context" if one.sub_context else "call"
        listed += rows(one.facts, session=one.session, prices=prices, kind=kind, project=one.project)
        counts.update(rewrites(one.facts))
    listed = list(once(listed))
    document = figures(total(listed))
    document |= {
        "first_token_ms": _first_tokens(listed),
        "rewrites": dict(counts),
        "by_model": {name: figures(sums) for name, sums in grouped(listed, KEYS["model"]).items()},
    }
    if by is not None:
        document["groups"] = {name: figures(sums) for name, sums in grouped(listed, KEYS[by]).items()}
    document["steps"] = [described(row) for row in listed]
    return document, listed


def figures(sums: Totals) -> dict[str, Any]:
    """Return totals for a document. ``cost_usd`` None: of no call is the cost known.

    ``lacking``: calls with usage that don't tell a bucket, by its name. ``estimated_cost_usd``: of ``estimated`` calls
    without a whole usage, beside ``cost_usd`` and never in it; None: of none.
    """
    known = sums.unknown < sums.calls or not sums.calls
    return {
        "calls": sums.calls,
        "input": sums.usage.total_input if sums.counted else None,
        "usage": msgspec.to_builtins(sums.usage) if sums.counted else None,
        "cost_usd": usd(sums.cost) if known else None,
        "recorded_cost_usd": usd(sums.recorded) if sums.recorded_calls else None,
        "mismatches": sums.mismatches,
        "unknown": sums.unknown,
        "unknown_names": list(sums.unknown_names),
        "without_usage": sums.calls - sums.counted,
        "lacking": sums.lacking,
        "estimated": sums.estimated,
        "estimated_cost_usd": usd(sums.estimated_cost) if sums.estimated else None,
        "doubts": sums.doubts,
        "cache_hit_rate": None if sums.hit_rate is None else round(sums.hit_rate, 6),
        "peak_input": sums.peak_input if sums.counted else None,
        "statuses": sums.statuses,
        "kinds": sums.kinds,
    }


def described(row: Row) -> dict[str, Any]:
    """Return one call for a document; money as decimal strings, times in ISO 8601, None: unknown."""
    return {
        "session": row.session,
        "step": row.step,
        "turn": row.turn,
        "at": iso_time(row.at),
        "model": row.model,
        "kind": row.kind,
        "status": row.status,
        "usage": None if row.usage is None else msgspec.to_builtins(row.usage),
        "input": row.input,
        "cost_usd": None if row.cost.picodollars is None else usd(row.cost.picodollars),
        "recorded_cost_usd": None if row.recorded is None else usd(row.recorded),
        "mismatch": row.mismatch,
        "unknown": list(row.cost.unknown),
        "estimate": None if row.estimate is None else estimated(row.estimate),
        "doubts": list(row.doubts),
        "phase": row.phase,
        "first_token_ms": row.first_token_ms,
        "total_ms": row.total_ms,
        "tier": row.tier,
        "peak": row.peak,
        "terms": list(row.terms),
        "project": row.project,
        "user": row.user,
    }


def estimated(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate for a document. ``cost_usd`` None: the model's price is not known."""
    known = estimate.cost.picodollars
    return {
        "input": estimate.usage.total_input,
        "output": estimate.usage.output,
        "cost_usd": None if known is None else usd(known),
    }


def as_csv(listed: Iterable[Row]) -> str:
    """Return rows as CSV (RFC 4180) under `COLUMNS`; an unknown value is an empty cell.

    Text that a spreadsheet would run as a formula gets an apostrophe before it: names come from recorded files.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in listed:
        one = described(row)
        cells = {
            **one,
            **(one["usage"] or {}),
            "unknown": " ".join(one["unknown"]),
            "terms": " ".join(one["terms"]),
            "doubts": " ".join(one["doubts"]),
            **{f"estimated_{name}": value for name, value in (one["estimate"] or {}).items()},
        }
        writer.writerow([_plain(cells.get(name)) for name in COLUMNS])
    return out.getvalue()


def _plain(value: object) -> object:
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value


def _first_tokens(listed: Sequence[Row]) -> dict[str, dict[str, int]] | None:
    """Return how long the first token took, by phase; None: no call says."""
    found: dict[str, dict[str, int]] = {}
    for phase in PHASES:
        times = sorted(
            row.first_token_ms for row in listed if row.phase == phase and row.first_token_ms is not None
        )
        if times:
            middle, late = times[(len(times) - 1) // 2], times[(len(times) * 95 + 99) // 100 - 1]
            found[phase] = {"calls": len(times), "p50": middle, "p95": late}
    return found or None


def iso_time(at: int | None) -> str | None:
    """Write microseconds since 1970 UTC in ISO 8601; None: unknown, or beyond the calendar."""
    if at is None:
        return None
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    except OverflowError:
        return None
    return moment.isoformat().replace("+00:00", "Z")
