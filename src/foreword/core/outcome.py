"""Outcomes: what a log knows of each tool call. Whether its run came to an end and how it went are two things.

A missing result is no failure and a missing exit code is no success: what nothing tells stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import UNSET, Struct

from foreword.core.event import Answered, Event, ToolReturned
from foreword.core.fold import Fold
from foreword.core.item import Interaction
from foreword.core.view import View

Status = Literal[
    "never_started", "running", "succeeded", "failed", "unknown", "truncated_not_run", "cancelled"
]
RunState = Literal["never_started", "running", "completed", "unknown"]
Standing = Literal[
    "cut",
    "waiting",
    "unmarked",
    "begun",
    "lost",
    "erased",
    "background",
    "stopped",
    "error",
    "no_code",
    "no_flag",
    "fine",
]

WORDS: Mapping[Standing, tuple[Status, RunState]] = {
    "cut": ("truncated_not_run", "never_started"),
    "waiting": ("never_started", "never_started"),
    "unmarked": ("unknown", "unknown"),
    "begun": ("running", "running"),
    "lost": ("unknown", "unknown"),
    "erased": ("unknown", "unknown"),
    "background": ("running", "running"),
    "stopped": ("cancelled", "completed"),
    "error": ("failed", "completed"),
    "no_code": ("unknown", "completed"),
    "no_flag": ("unknown", "completed"),
    "fine": ("succeeded", "completed"),
}
"""What the log has of a call -> how it went, and whether its run came to an end.

No result: ``cut``, its answer was cut off; ``waiting``, starts are marked and it has no mark; ``unmarked``, they are
not; ``begun``; ``lost``, begun and then closed by a repair. A result: ``erased``; ``background``, another follows;
``stopped`` from outside; ``error``, by its flag or an exit code that is not 0; ``no_code``, the code is not known;
``no_flag``, it stands in a list of messages whose wire has no flag for an error, and no exit code was given.
"""

_NO_ERROR_FLAG = frozenset({"openai-chat", "openai-responses", "deepseek"})
"""Wires whose tool results look the same when they failed; also the names of the formats of their lists."""


class CallOutcome(Struct, frozen=True, kw_only=True):
    """What is known of one call.

    ``call_id`` as recorded, which may repeat; ``event`` and ``position``: the answer that asked for it, and which of
    its calls. ``run``: whether it came to its end, whatever came of it. ``exit_code`` None: there is none, or it is
    not known; ``status`` tells these apart. ``standing``: what these were read from, a key of ``WORDS``.
    """

    call_id: str
    event: int
    position: int
    status: Status
    run: RunState
    standing: Standing
    exit_code: int | None

    @property
    def retryable(self) -> bool:
        """Whether it may be run without asking anyone: nothing of it ever happened, by the log's start marks."""
        return self.status == "never_started"


def outcomes(view: View, *, at: int | None = None) -> list[CallOutcome]:
    """Return the outcome of every call, in order, by the events up to time ``at`` (microseconds; None: all)."""
    fold = view.fold
    if at is not None:  # an erasure stays: it says which call an erased result had answered
        fold = Fold(event for event in fold.events if event.at <= at or event.kind == "erased")
    events = {event.seq: event for event in fold.events}
    return [
        outcome_of(events, item, position)
        for item in fold.items
        if isinstance(item, Interaction)
        for position in range(len(item.calls))
    ]


def outcome_of(
    events: Mapping[int, Event] | Sequence[Event], item: Interaction, position: int
) -> CallOutcome:
    """Return the outcome of one call. ``events``: those of its log, by seq."""
    seq = item.ends.get(position, item.result_seqs[position])
    last = events[seq] if seq is not None else None
    standing = _standing(item, position, events[item.seq], last)
    status, run = WORDS[standing]
    code = last.body.exit_code if last is not None and isinstance(last.body, ToolReturned) else None
    return CallOutcome(
        call_id=item.recorded_ids[position],
        event=item.seq,
        position=position,
        status=status,
        run=run,
        standing=standing,
        exit_code=code if isinstance(code, int) else None,
    )


def _standing(item: Interaction, position: int, asked: Event, last: Event | None) -> Standing:
    if last is not None and isinstance(last.body, ToolReturned):
        source = item.recorded.wire if last.origin == "sync" else last.origin.partition(":")[0]
        return _returned(last.body, source)
    if last is not None and last.body is None:
        return "erased"
    if position in item.started:
        return "begun" if last is None else "lost"
    answer = asked.body
    assert isinstance(answer, Answered)
    if answer.partial:
        return "cut"
    return "waiting" if answer.start_marks else "unmarked"


def _returned(body: ToolReturned, source: str | None) -> Standing:
    if body.run == "running":
        return "background"
    if body.run == "cancelled":
        return "stopped"
    if body.result.is_error or (isinstance(body.exit_code, int) and body.exit_code != 0):
        return "error"
    if body.exit_code is None:
        return "no_code"
    return "no_flag" if body.exit_code is UNSET and source in _NO_ERROR_FLAG else "fine"
