"""Importing into a store: the same file again adds nothing, a grown one its rest, a changed past a fork."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from foreword.core.event import Draft, Event, kind_of
from foreword.engine.recording import RETRIES
from foreword.engine.session import Session
from foreword.errors import AppendConflict
from foreword.importers.grown import Growth, growth
from foreword.importers.imported import Flaw, Imported, import_key
from foreword.importers.read import read
from foreword.store.store import Store

_INFERRED = ("unseen_prefix", "tools_set")


class Recorded(Struct, frozen=True, kw_only=True):
    """What became of one session of a file.

    ``session``: its id in the store, a fork's own where the past had changed. ``added``: facts appended, 0:
    all were known. ``forked_from``: (session, last shared event), None: no fork was made now.
    """

    session: str
    alias: str
    imported: Imported
    events: int
    added: int
    forked_from: tuple[str, int] | None
    flaws: tuple[Flaw, ...]


def import_file(
    store: Store, path: str | Path, *, format: str | None = None, data: bytes | None = None
) -> list[Recorded]:
    """Record every session of a file.

    ``format`` None: detected. ``data``: the bytes of ``path``, as from stdin. The file is read whole before
    anything is appended, so a bad one adds nothing.
    Raises: ImportFailed; StoreError; AppendConflict.
    """
    return import_sessions(store, read(str(path), format=format, data=data))


def import_sessions(store: Store, sessions: Sequence[Imported]) -> list[Recorded]:
    """Record sessions that were read from a file, in order."""
    return [_import(store, imported) for imported in sessions]


def facts_of(events: Sequence[Event]) -> list[Event]:
    """Return the facts among a session's events, as they were appended: without the engine's and what opened it."""
    return [
        event if event.original is None else replace(event, body=event.original)
        for event in events
        if event.origin != "engine" and event.kind != "session_opened"
    ]


def _import(store: Store, imported: Imported) -> Recorded:
    """Record what the reading adds; when another writer was first, look again at what is recorded by then."""
    for _ in range(RETRIES):
        try:
            return _try(store, imported)
        except AppendConflict:
            continue
    return _try(store, imported)


def _try(store: Store, imported: Imported) -> Recorded:
    name, facts, grown = _recording(store, imported)
    forked: tuple[str, int] | None = None
    flaws = imported.flaws
    if grown.forked and grown.added and any(fact.body is None for fact in facts):
        text = (
            f"{name} holds erased events and goes on otherwise than the file: nothing was added, so that "
            f"nothing erased comes back"
        )
        flaws = (*flaws, Flaw(code="erased_past", where=imported.source, text=text))
        grown = Growth(shared=len(facts), added=(), forked=False)
    session = Session.open(
        store,
        name,
        format=imported.format,
        source=imported.source,
        project=None if store.holds(name) else imported.project,  # a session keeps the one it began with
        sub_context=imported.sub_context,
    )
    if len(facts_of(session.events)) != len(facts):
        raise AppendConflict(session.id, len(facts), len(session.events))
    if grown.forked and grown.added:
        at = facts[grown.shared - 1].seq if grown.shared else 0
        forked = (session.id, at)
        session = session.fork(at)
    if grown.added:
        session.append_once(*grown.added)
    if forked is not None:
        text = (
            f"the file tells the past of {forked[0]} otherwise after event {forked[1]}: recorded as a fork, "
            f"{session.id}"
        )
        flaws = (*flaws, Flaw(code="forked", where=imported.source, text=text))
    return Recorded(
        session=session.id,
        alias=session.alias,
        imported=imported,
        events=len(session.events),
        added=len(grown.added),
        forked_from=forked,
        flaws=flaws,
    )


def _recording(store: Store, imported: Imported) -> tuple[str, list[Event], Growth]:
    """Return the recording that the reading continues: of a session and its forks, that which agrees most."""
    best: tuple[str, list[Event], Growth] | None = None
    family = [imported.session, *(fork.id for fork in store.forks(imported.session))]
    for name in family if store.holds(imported.session) else ():
        facts = facts_of(store.load(name))
        grown = growth(_filled(facts, imported.drafts), imported.drafts)
        if not grown.forked or not grown.added:
            return name, facts, grown
        if best is None or grown.shared > best[2].shared:
            best = name, facts, grown
    return best or (imported.session, [], growth([], imported.drafts))


def _filled(facts: Sequence[Event], drafts: Sequence[Draft]) -> list[Draft | Event]:
    """Put the reading's fact where the recording's was erased, so that it compares equal and stays erased."""
    read = [draft for draft in drafts if import_key(draft) is not None]
    filled: list[Draft | Event] = []
    position = 0
    for fact in facts:
        stand_in = read[position] if fact.body is None and position < len(read) else None
        if fact.kind in _INFERRED and fact.body is None:
            filled.append(fact)
            continue
        filled.append(stand_in if stand_in is not None and kind_of(stand_in.body) == fact.kind else fact)
        position += fact.body is None or import_key(fact) is not None
    return filled
