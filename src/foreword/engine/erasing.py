"""Erasing: the payloads of events and of all that was derived from them, here, in the parents and in the forks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.core.block import pictures
from foreword.core.event import Described, Draft, Erased
from foreword.core.item import Interaction
from foreword.core.reference import blocks_of
from foreword.core.view import View
from foreword.errors import AppendConflict, ErasureIncomplete, NotErasable

if TYPE_CHECKING:
    from foreword.engine.session import Session

ERASABLE = frozenset(
    (
        "said",
        "answered",
        "tool_printed",
        "tool_returned",
        "rewritten",
        "noticed",
        "described",
        "language_detected",
        "changed",
        "pinned",
        "instructions_set",
        "tools_set",
        "repaired",
        "foreign_noted",
    )
)
"""Kinds of events that hold content. The others are the log's structure."""

_RETRIES = 50


def erase(session: Session, wanted: set[int], reason: str) -> tuple[int, ...]:
    """See ``Session.erase``: what a fork shares is erased where it was said, and from there in every fork."""
    for seq in wanted:
        event = session.event(seq)
        if event.kind not in ERASABLE:
            raise NotErasable(session.id, seq, event.kind)
    session.flush()
    opened = session.view.fold.opened
    parent = opened.parent if opened is not None else None
    shared = {seq for seq in wanted if parent is not None and seq <= parent[1]}
    if shared and parent is not None and session.store is not None:
        erase(session.relative(parent[0]), shared, reason)
        session.reload()
        _erase_here(session, wanted - shared, reason, ())
        return tuple(sorted(session.view.fold.erased))
    return _erase_here(session, wanted, reason, ())


def _erase_here(
    session: Session, wanted: set[int], reason: str, inherited: tuple[tuple[int, int, int], ...]
) -> tuple[int, ...]:
    """Erase here and then in the forks. ``inherited``: what the parent's erased results answered."""
    opened = session.view.fold.opened
    parent = opened.parent if opened is not None and session.store is not None else None
    wanted = wanted | _derived(session.view, wanted, parent[1] + 1 if parent is not None else 0)
    if not wanted:
        return ()
    answers = tuple(sorted({*inherited, *_answers(session.view, wanted)}))
    body = Erased(targets=tuple(sorted(wanted)), reason=reason, answers=answers)
    for _ in range(_RETRIES):
        event = session.seal(Draft(body=body))
        if session.store is None:
            session.take(event)
            return body.targets
        try:
            complete = session.store.erase(session.id, body.targets, event)
        except AppendConflict:
            session.reload()
            continue
        for row in session.store.sessions():
            if row.parent is not None and row.parent[0] == session.id and min(wanted) <= row.parent[1]:
                shared = {seq for seq in wanted if seq <= row.parent[1]}
                _erase_here(session.relative(row.id), shared, reason, answers)
        session.reload()
        if not complete:
            raise ErasureIncomplete(session.store.name, body.targets)
        return body.targets
    raise AppendConflict(session.id, session.view.position, session.view.position)


def _derived(view: View, wanted: set[int], own: int) -> set[int]:
    """All that the engine made from these events, and each answer with a provider's summary of any of them.

    Causes point backwards, so one pass finds the first; what a summary says can't be read, so it may say anything.
    The description of a picture goes with the last event that shows it; one before event ``own`` is the parent's, and
    goes by its word.
    """
    events = view.fold.events
    gone = set(wanted)
    for block in view.fold.compactions:
        covered = {seq for item in view.fold.items[: block.covers] for seq in item.events}
        if covered & wanted:
            gone.add(block.seq)
    for event in events:
        if isinstance(event.body, Described):
            derived = event.seq >= own and _holders(view, event.body.picture) <= gone
        else:
            derived = bool(gone.intersection(event.causes))
        if derived and event.origin == "engine" and event.kind in ERASABLE:
            gone.add(event.seq)
    return {seq for seq in gone - wanted if events[seq].body is not None}


def _holders(view: View, picture: str) -> set[int]:
    """Return the events that show the picture of this digest."""
    return {
        event.seq
        for event in view.fold.events
        if event.body is not None
        and any(image.digest == picture for image in pictures(blocks_of(event.body)))
    }


def _answers(view: View, wanted: set[int]) -> tuple[tuple[int, int, int], ...]:
    return tuple(
        (seq, item.seq, position)
        for item in view.fold.items
        if isinstance(item, Interaction)
        for position, seq in enumerate(item.result_seqs)
        if seq in wanted
    )
