"""The neutral labels of the cases, and the one thing of the product that each stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foreword.core.block import ToolCall
from foreword.core.event import Answered, Event, Repaired, Rewritten, ToolReturned, ToolsSet
from foreword.core.item import Interaction
from foreword.core.outcome import CallOutcome
from foreword.engine.session import Session
from foreword.errors import OverBudget


def _tools_changed(events: Sequence[Event]) -> list[Event]:
    """Every setting of the tools but the first: the engine records one only where the set differs."""
    return [event for event in events if isinstance(event.body, ToolsSet)][1:]


def _rewritten(how: str) -> Callable[[Sequence[Event]], list[Event]]:
    def found(events: Sequence[Event]) -> list[Event]:
        return [event for event in events if isinstance(event.body, Rewritten) and event.body.how == how]

    return found


EVENTS: dict[str, Callable[[Sequence[Event]], list[Event]]] = {
    "tools_changed": _tools_changed,
    "compaction": _rewritten("summarized"),
    "prune": _rewritten("cleared"),
}
"""Label of an event -> the events of a session that are such."""

FIELDS = {"tools_changed": frozenset({"cause"})}
"""Label of an event -> the members of it that the product's has under the same name."""

FLAWS = {
    "torn_line": "torn_record",
    "malformed_line": "damaged_record",
    "chain_broken": "gap",
    "abandoned_branch": "branch",
}
"""Code of an importer's flaw -> label of a warning."""

WARNINGS = frozenset(
    {*FLAWS.values(), "cache_prefix_too_short", "cache_marker_budget", "cache_split_mismatch"}
)
"""Labels of warnings that the product has; its own codes but for those of an importer."""

RAISED: dict[str, type[Exception]] = {"over_budget": OverBudget}


def error_numbers(error: Exception | None) -> dict[str, int]:
    """Return the numbers that an error carries, under their neutral names."""
    if not isinstance(error, OverBudget):
        return {}
    system = sum(tokens for name, _, tokens in error.required if name == "instructions")
    return {
        "system_tokens": system,
        "window": error.window,
        "reserve_output": error.reserve_output,
        "needed": error.needed,
    }


def _found(session: Session, id_: str) -> tuple[Interaction, int] | None:
    for item in session.view.fold.items:
        if isinstance(item, Interaction):
            recorded = [block for block in item.recorded.blocks if isinstance(block, ToolCall)]
            for position, call in enumerate(recorded):
                if call.id == id_:
                    return item, position
    return None


def result_handle(session: Session, id_: str) -> str | None:
    """Return the product's reference to the result of a call; None: it has no result."""
    found = _found(session, id_)
    seq = None if found is None else found[0].result_seqs[found[1]]
    return None if seq is None else f"{session.alias}#{seq}"


def call_outcome(session: Session, id_: str, at: int | None = None) -> CallOutcome | None:
    """Return what the record knows of a call, at a time in microseconds or now; None: no such call then."""
    return next((one for one in session.outcomes(at) if one.call_id == id_), None)


def recorded_results(events: Sequence[Event], id_: str) -> int:
    """Count the stored results of a call; while there is none, what stands in for one: that it runs, or is open."""
    found, stand_ins = 0, 0
    for event in events:
        if isinstance(event.body, ToolReturned):
            ended = event.body.run != "running"
            found += event.body.result.call_id == id_ and ended
            stand_ins += event.body.result.call_id == id_ and not ended
        elif isinstance(event.body, Repaired) and event.body.fault == "open_call":
            answered = events[event.body.event].body
            calls = answered.message.blocks if isinstance(answered, Answered) else ()
            asked = [block.id for block in calls if isinstance(block, ToolCall)]
            stand_ins += asked[event.body.call] == id_
    return found or stand_ins
