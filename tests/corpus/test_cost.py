"""Recorded sessions are billed once a call, and as their own tools billed them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import pytest

from foreword.core.ledger import Row, Totals, grouped, once, rows, total
from foreword.core.price import usd
from foreword.core.prices import Prices
from foreword.importers.read import read

FOLDER = Path(os.environ.get("FOREWORD_DATA", ""))
PRICES = Prices()

CALLS = {
    "claude_code/large-01.jsonl": 198, "claude_code/large-02.jsonl": 226, "claude_code/large-03.jsonl": 290,
    "claude_code/large-04.jsonl": 169, "claude_code/medium-01.jsonl": 118, "claude_code/medium-02.jsonl": 57,
    "claude_code/medium-03.jsonl": 57, "claude_code/medium-04.jsonl": 84,
    "claude_code/medium-05-untrimmed.jsonl": 66, "claude_code/small-01.jsonl": 23, "claude_code/small-02.jsonl": 28,
    "claude_code/small-03.jsonl": 10, "claude_code/small-04.jsonl": 4, "claude_code/viewer-medium.jsonl": 20,
    "codex/rollout-01.jsonl": 180, "codex/rollout-03.jsonl": 56, "codex/rollout-05.jsonl": 35,
    "pi/large-session.jsonl": 453,
}  # fmt: skip
"""Model calls of each file by the table beside the data, failed ones among them."""
WRITES = {
    "claude_code/large-01.jsonl": (1_837, 412_970), "claude_code/large-03.jsonl": (1_269_717, 0),
}  # fmt: skip
"""Tokens written to the cache for 5 minutes and for 1 hour."""


def ledger(name: str) -> list[Row]:
    """Return the rows of every session of a file."""
    return list(
        once(
            row
            for one in read(str(FOLDER / name))
            for row in rows(one.drafts, session=one.session, prices=PRICES)
        )
    )


def _billed_rightly(sums: Totals, listed: Iterable[Row]) -> None:
    """Groups by any key add up to the whole; nothing is unknown without a name."""
    calls = list(listed)
    for key in ("step", "turn", "session", "model"):
        parts = grouped(calls, lambda row, key=key: str(getattr(row, key))).values()
        assert (sum(part.cost for part in parts), sum(part.calls for part in parts)) == (
            sums.cost,
            sums.calls,
        )
    assert all(bool(row.cost.unknown) == (row.cost.picodollars is None) for row in calls)


@pytest.mark.parametrize("name", CALLS)
def test_usage_is_counted_once_a_call(name: str) -> None:
    """As many rows as the file's own table has calls, however many records tell of each."""
    listed = ledger(name)
    assert len(listed) == CALLS[name]
    _billed_rightly(total(listed), listed)


@pytest.mark.parametrize("name", WRITES)
def test_cache_writes_are_split_by_lifetime(name: str) -> None:
    """Both prices of one session are kept apart."""
    used = total(ledger(name)).usage
    assert (used.cache_write_short, used.cache_write_long) == WRITES[name]


def test_recorded_costs_are_reproduced() -> None:
    """Every cost that pi wrote down comes out of the catalog's prices: 30.3302 USD, no mismatch."""
    sums = total(ledger("pi/large-session.jsonl"))
    assert (sums.calls, sums.mismatches, sums.unknown) == (453, 0, 0)
    assert usd(sums.cost) == usd(sums.recorded)
    assert round(Decimal(usd(sums.cost)), 4) == Decimal("30.3302")
