"""Erasing: the payloads of events and of all that was derived from them, here, in the parents and in the forks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.core.block import pictures
from foreword.core.event import Described, Draft, Erased, Event
from foreword.core.item import Interaction
from foreword.core.reference import blocks_of
from foreword.core.view import View
from foreword.errors import AppendConflict, ErasureIncomplete, NotErasable

if TYPE_CHECKING:
    from foreword.engine.session import Session
    from foreword.store.store import Store

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
    """See ``Session.erase``: what a fork shares is erased where it was said, and from there in every fork.

    One transaction for all of them, so that a crash leaves no fork behind with what was derived there.
    """
    for seq in wanted:
        event = session.event(seq)
        if event.kind not in ERASABLE:
            raise NotErasable(session.id, seq, event.kind)
    if not wanted:
        return ()
    session.flush()
    store = session.store
    if store is None:
        body = _erased(session.view, wanted, reason, ())
        session.take(session.seal(Draft(body=body)))
        return body.targets
    for _ in range(_RETRIES):
        bodies, events = _family(session, store, wanted, reason)
        try:
            complete = store.erase(events)
        except AppendConflict:
            session.reload()
            continue
        session.reload()
        targets = bodies[session.id].targets
        if not complete:
            raise ErasureIncomplete(store.name, targets)
        return targets
    raise AppendConflict(session.id, session.view.position, session.view.position)


def _family(
    session: Session, store: Store, wanted: set[int], reason: str
) -> tuple[dict[str, Erased], dict[str, Event]]:
    """Return what is erased in each session that holds one of these events, parents first, and the sealed events."""
    asked, opened, top = {session.id: wanted}, {session.id: session}, session
    while (parent := _parent(top)) and (shared := {seq for seq in asked[top.id] if seq <= parent[1]}):
        top = top.relative(parent[0])
        asked[top.id], opened[top.id] = shared, top
    bodies = {top.id: _erased(top.view, asked[top.id], reason, ())}
    events = {top.id: top.seal(Draft(body=bodies[top.id]))}
    for fork in store.forks(top.id):
        above = bodies.get(fork.parent)
        shared = {seq for seq in above.targets if seq <= fork.at} if above is not None else set[int]()
        if above is None or not shared:
            continue
        member = opened.get(fork.id) or session.relative(fork.id)
        answers = tuple(answer for answer in above.answers if answer[0] <= fork.at)
        bodies[fork.id] = _erased(member.view, shared | asked.get(fork.id, set()), reason, answers)
        events[fork.id] = member.seal(Draft(body=bodies[fork.id]))
    return bodies, events


def _parent(session: Session) -> tuple[str, int] | None:
    opened = session.view.fold.opened
    return opened.parent if opened is not None else None


def _erased(view: View, wanted: set[int], reason: str, inherited: tuple[tuple[int, int, int], ...]) -> Erased:
    """Return what is erased in one log. ``inherited``: what the parent's erased results answered."""
    gone = wanted | derived(view, wanted)
    answers = tuple(sorted({*inherited, *_answers(view, gone)}))
    return Erased(targets=tuple(sorted(gone)), reason=reason, answers=answers)


def derived(view: View, wanted: set[int]) -> set[int]:
    """All that still stands of what the engine made from these events, and of answers with a provider's summary of any.

    Causes point backwards, so one pass finds the first; what a summary says can't be read, so it may say anything.
    The description of a picture goes with the last event that shows it; one that a fork shares is its parent's, and
    goes by its word.
    """
    opened = view.fold.opened
    own = 0 if opened is None or opened.parent is None else opened.parent[1] + 1
    events = view.fold.events
    gone = set(wanted)
    shown = _shown(view) if view.fold.described else {}
    for block in view.fold.compactions:
        covered = {seq for item in view.fold.items[: block.covers] for seq in item.events}
        if covered & wanted:
            gone.add(block.seq)
    for event in events:
        if isinstance(event.body, Described):
            made = event.seq >= own and shown.get(event.body.picture, set()) <= gone
        else:
            made = bool(gone.intersection(event.causes))
        if made and event.origin == "engine" and event.kind in ERASABLE:
            gone.add(event.seq)
    return {seq for seq in gone - wanted if events[seq].body is not None}


def _shown(view: View) -> dict[str, set[int]]:
    """Return the events that show each picture, by its digest."""
    found: dict[str, set[int]] = {}
    for event in view.fold.events:
        for image in pictures(blocks_of(event.body)) if event.body is not None else ():
            found.setdefault(image.digest, set()).add(event.seq)
    return found


def _answers(view: View, wanted: set[int]) -> tuple[tuple[int, int, int], ...]:
    return tuple(
        (seq, item.seq, position)
        for item in view.fold.items
        if isinstance(item, Interaction)
        for position, seq in enumerate(item.result_seqs)
        if seq in wanted
    )
