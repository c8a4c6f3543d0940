"""Show: a session's context at its end and at each step, in rows that a person can read."""

from __future__ import annotations

from collections import Counter
from typing import Any

from foreword.errors import ForewordError
from foreword.evals.facts import rows_of
from foreword.evals.stats import stats
from foreword.importers.imported import Imported

BEGINS = 120


class NoStep(ForewordError):
    """The session has no step of this number; ``steps``: how many it has."""

    def __init__(self, session: str, step: int, steps: int) -> None:
        self.session = session
        self.step = step
        self.steps = steps
        there = f"it has steps 1 to {steps}" if steps else "it has none"
        super().__init__(f"session {session} has no step {step}: {there}")


def overview(imported: Imported) -> dict[str, Any]:
    """Return what fills the context by category, and for each step what it added and how its news begin."""
    measured = stats(imported)
    begins: dict[int, str] = {}
    calls: Counter[int] = Counter()
    for row in rows_of(imported.drafts):
        calls[row.step] += row.category == "call"
        if row.category in ("person", "said") or (
            row.category in ("answer", "call") and row.step not in begins
        ):
            begins[row.step] = row.text[:BEGINS]
    return {
        "session": imported.session,
        "format": imported.format,
        "steps": measured["steps"],
        "tokens": measured["tokens"],
        "by_step": [
            {**step, "calls": calls[step["step"]], "begins": begins.get(step["step"], "")}
            for step in measured["by_step"]
        ],
    }


def show_step(imported: Imported, step: int) -> dict[str, Any]:
    """Return what a step's call read anew and what it answered, block by block.

    The step after the last call holds what no call has read yet. Raises: NoStep.
    """
    rows = rows_of(imported.drafts)
    last = max((row.step for row in rows), default=0)
    if not 1 <= step <= last:
        raise NoStep(imported.session, step, last)
    answers = ("answer", "reasoning", "call")
    read = [row for row in rows if row.step < step or (row.step == step and row.category not in answers)]
    return {
        "session": imported.session,
        "format": imported.format,
        "steps": last,
        "step": step,
        "context": sum(row.tokens for row in read),
        "new": sum(row.tokens for row in read if row.step == step),
        "rows": [
            {
                "category": row.category,
                "tool": row.tool,
                "call": row.call,
                "tokens": row.tokens,
                "is_error": row.is_error,
                "text": row.text,
            }
            for row in rows
            if row.step == step
        ],
    }
