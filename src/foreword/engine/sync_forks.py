"""Forks that sync made: their names, and the one that a list belongs to which contradicts a log.

A process that is started again opens its session by the first name, and a caller goes to and fro between two versions
of his past. Both come back to a list that was recorded before: it goes on there, where its answers have their usage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from foreword.core.event import Event, SessionOpened
from foreword.engine.last_list import FACTS, Recorded
from foreword.engine.matching import Side, compare
from foreword.store.store import Store

if TYPE_CHECKING:
    from foreword.engine.session import Session

ORIGIN = "sync"
"""Of the event that opens such a fork: others are their caller's own, and no list of another session goes there."""

LOOKED = 16
"""Forks that are looked at, the newest: a caller who edits his past before each call waits for them each time."""

PEEKED = 16
"""Events of its own by which a fork is ruled out that begins with another message, before its log is read."""


def free_name(store: Store, session: str) -> str:
    """Return a name for a fork that no session has, in few looks also among thousands."""
    root = _root(session)
    taken, free = 0, 1
    while store.holds(f"{root}~{free}"):
        taken, free = free, 2 * free
    while free - taken > 1:
        middle = (taken + free) // 2
        taken, free = (middle, free) if store.holds(f"{root}~{middle}") else (taken, middle)
    return f"{root}~{free}"


def fork_for(session: Session, given: Side, differs: int) -> tuple[Session, int, bool]:
    """Return the session for a list that contradicts event ``differs``; its last shared event; whether it was known.

    A name is chosen before the forks are looked at: a process that takes it meanwhile, for the same edit, is met there.
    """
    store = session.store
    if store is None:
        at = fork_place(session, differs)
        return session.fork(at, origin=ORIGIN), at, False
    while True:
        name = free_name(store, session.id)
        near = nearest(session, given, differs)
        base = session if near.session == session.id else session.relative(near.session)
        if near.differs is None:
            return base, near.shared, True
        at = fork_place(base, near.differs)
        made = base.fork(at, name, origin=ORIGIN)
        if [event.kind for event in made.events[at + 1 : at + 2]] == ["session_opened"]:
            return made, min(at, near.shared), False
        # Else another process was first with the name, for an edit at another place.


class Near(Struct, frozen=True):
    """A log that a list goes on in. ``shared``: the last event that it shares with the log which the list contradicts.

    ``differs``: event that the list contradicts here, too, so that it is to be forked; None: the list only adds.
    """

    session: str
    shared: int
    differs: int | None


def nearest(session: Session, given: Side, differs: int) -> Near:
    """Return the log to which a list only adds, else the one that agrees with it longest, so that most is shared.

    ``given``: the whole list, which contradicts event ``differs`` here. It is looked for among the forks that sync
    made of the same log, and that log itself; of several the one that holds most of the list, then the newest.
    """
    store = session.store
    near = Near(session.id, len(session.events) - 1, differs)
    if store is None:
        return near
    own, top, forks = _kin(session, store, differs)
    following = _following(session.events[:own], given)
    best = (False, len(compare(Recorded(session.events), given).known))
    for name in (*forks, top):
        if name == session.id or _says_other(store.load(name, since=own, limit=PEEKED), following):
            continue
        events = store.load(name)
        opened = [(event.origin, event.body) for event in events[own:]]
        if any(isinstance(b, SessionOpened) and b.session != top and o != ORIGIN for o, b in opened):
            continue
        compared = compare(Recorded(events), given)
        rank = (compared.differs is None, len(compared.known))
        if rank > best:
            pairs = zip(session.events, events, strict=False)
            shared = next((n for n, (one, other) in enumerate(pairs) if one.link != other.link), own)
            begun = any(event.kind in FACTS for event in events[shared:])
            if begun or shared - 1 == fork_place(session, differs):  # else it waits for another list's facts
                near, best = Near(name, shared - 1, compared.differs), rank
    return near


def left_behind(session: Session, differs: int) -> list[Event]:
    """Return what a list may repeat that contradicts event ``differs`` here: this log and its kin, newest last."""
    if session.store is None:
        return list(session.events)
    _, top, forks = _kin(session, session.store, differs)
    others = [name for name in (top, *reversed(forks)) if name != session.id]
    return [event for name in others for event in session.store.load(name)] + list(session.events)


def _kin(session: Session, store: Store, differs: int) -> tuple[int, str, list[str]]:
    """Return where what a list shares ends, the first log, and its forks that are looked at, newest first."""
    own = next((e.seq + 1 for e in reversed(session.events[:differs]) if e.kind in FACTS), 1)
    top = _top(session, own)
    made = f"{_root(top)}~"
    forks = [fork.id for fork in store.forks(top, since=own - 1) if fork.id.startswith(made)]
    return own, top, forks[: -LOOKED - 1 : -1]


def fork_place(session: Session, differs: int) -> int:
    """Return the last event to share with a new fork: where this one was itself only opened, they become siblings."""
    return next(e.seq for e in reversed(session.events[:differs]) if not e.seq or e.kind != "session_opened")


def _following(shared: Sequence[Event], given: Side) -> Sequence[bytes]:
    """Return what the first message says that a list adds to a shared past; (): that isn't as plain as that."""
    recorded = Recorded(shared)
    compared = compare(recorded, given)
    if compared.differs is not None or recorded.gone or given.fold.compactions:
        return ()
    return next((place.keys for place in given.places if place.seq not in compared.known), ())


def _says_other(own: Sequence[Event], following: Sequence[bytes]) -> bool:
    """Whether the first message of a fork is another for certain; of two that are joined one may begin the other."""
    first = Side([event for event in own if event.kind in ("said", "answered")][:1])
    keys = first.places[0].keys if first.places and not first.gone else ()
    return any(one != other for one, other in zip(keys, following, strict=False))


def _top(session: Session, own: int) -> str:
    """Return the log from which sync forked this one, over any others, at event ``own`` or behind it."""
    top = session.id
    for seq, opened in reversed(session.view.fold.openings):
        if opened.parent is None or seq < own or session.events[seq].origin != ORIGIN:
            break
        top = opened.parent[0]
    return top


def _root(session: str) -> str:
    return session.split("~")[0]
