"""Logs made by hand for the tests of the store."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import apsw

from foreword.core.block import Message, Text
from foreword.core.canonical import digest
from foreword.core.event import Body, Draft, Erased, Event, Said, SessionOpened
from foreword.core.request import Unit
from foreword.core.sealing import GENESIS, seal
from foreword.store import Store

AT = 1_790_000_000_000_000


def said(text: str) -> Said:
    """Return a person's message."""
    return Said(message=Message(role="user", blocks=(Text(text=text),)))


def chain(
    bodies: Sequence[Body], *, after: Event | None = None, tenant: str = "local", **header: object
) -> list[Event]:
    """Seal bodies one after the other, behind an event or from the start."""
    events: list[Event] = []
    for body in bodies:
        seq, previous = (0, GENESIS) if after is None else (after.seq + 1, after.link)
        draft = Draft(body=body, **header)  # pyright: ignore[reportArgumentType]
        after = seal(draft, seq=seq, at=AT + seq, tenant=tenant, previous=previous, nonce=os.urandom(16))
        events.append(after)
    return events


def start(store: Store, session: str, *bodies: Body) -> list[Event]:
    """Open a session in the store with some more events behind its first."""
    opened = SessionOpened(session=session, alias=store.alias_for(session))
    events = chain([opened, *bodies], tenant=store.tenant)
    store.append(session, events)
    return events


def fork(store: Store, session: str, parent: str, at: Event, *bodies: Body) -> list[Event]:
    """Open a session that continues another behind one of its events; return its own events."""
    opened = SessionOpened(session=session, alias=store.alias_for(session), parent=(parent, at.seq))
    events = chain([opened, *bodies], after=at, tenant=store.tenant)
    store.append(session, events)
    return events


def more(store: Store, session: str, *bodies: Body) -> list[Event]:
    """Append to a session behind what it holds now."""
    events = chain(bodies, after=store.load(session)[-1], tenant=store.tenant)
    store.append(session, events)
    return events


def erase(store: Store, session: str, *targets: int, reason: str = "asked") -> bool:
    """Erase events of a session with the event that says so."""
    return store.erase({session: erased(store, session, *targets, reason=reason)})


def erased(store: Store, session: str, *targets: int, reason: str = "asked") -> Event:
    """Seal the event that says that others of a session are erased."""
    body = Erased(targets=targets, reason=reason)
    [event] = chain([body], after=store.load(session)[-1], tenant=store.tenant)
    return event


def steps(store: Store, ask: Callable[[], object]) -> int:
    """Count the steps of SQLite's machine that a read takes."""
    store.sessions("none")  # which opens this thread's connection
    counted: list[int] = []
    reader: apsw.Connection = store._local.db

    def note(event: dict[str, Any]) -> None:
        counted.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    reader.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
    ask()
    reader.trace_v2(0, None)
    assert counted
    return sum(counted)


def unit(text: str, *events: int) -> Unit:
    """Return a unit of a message."""
    data = text.encode()
    return Unit(
        section="message",
        layer="messages",
        role="user",
        kind="text",
        data=data,
        digest=digest(data),
        tokens=len(data) // 4,
        exact=False,
        markable=True,
        category="history",
        events=events,
        by="journal",
        why="said",
    )
