"""Proving logs from their stored bytes: commits, links, artifacts, erasures, and what belongs to nothing."""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import msgspec
from msgspec import Struct

from foreword.core.event import Body, Erased, Event, SessionOpened
from foreword.core.sealing import GENESIS, commit_of, decode_body, header_of, link_of
from foreword.errors import ArtifactMissing, LogCorrupt
from foreword.store import erase, log
from foreword.store.artifacts import Artifacts, address_of
from foreword.store.database import Database
from foreword.store.log import Tenant
from foreword.store.rows import ARTIFACT, COLUMNS, PAYLOAD, Row, event_of
from foreword.store.sessions import SessionRow, forks, number_of, number_or_raise, spans

LOST = """
    SELECT session FROM session s WHERE tenant = ? AND NOT EXISTS (
        SELECT 1 FROM event WHERE tenant = s.tenant AND session = s.id AND seq = coalesce(s.parent_at + 1, 0)
    )
"""


class Problem(Struct, frozen=True, kw_only=True):
    """Something that doesn't hold.

    ``code``: ``row`` (it can't be read, nor can what follows it), ``chain``, ``commit``, ``payload``,
    ``artifact``, ``session`` (its row and its first event differ), ``units`` (kept for no request), ``gone``
    (a payload is missing and no `Erased` event says so), ``orphan`` (a file that no event names),
    ``erasing`` (an erasure isn't finished), ``database``.
    ``session`` and ``seq`` None: it concerns the whole store, or the whole session.
    """

    code: str
    fault: str
    session: str | None = None
    seq: int | None = None


def readable(check: Iterator[Problem]) -> Iterator[Problem]:
    """Yield a check's problems; where SQLite itself can't go on, that is the last of them."""
    try:
        yield from check
    except apsw.Error as error:
        yield Problem(code="database", fault=f"SQLite says: {error}")


def store_problems(db: Database, artifacts: Artifacts) -> Iterator[Problem]:
    """Yield what is wrong with the store as a whole."""
    for (line,) in db.execute("PRAGMA quick_check(10)"):
        if line != "ok":
            yield Problem(code="database", fault=f"SQLite says: {line}")
    if count := erase.unfinished(db):
        yield Problem(code="erasing", fault=f"{count} erasures aren't finished; open the store for writing")
    for path in erase.unnamed(db, artifacts):
        name = path.relative_to(artifacts.folder)
        yield Problem(
            code="orphan", fault=f"no event names {name}; an append that was never acknowledged left it"
        )


def session_problems(
    db: Database, tenant: Tenant, row: SessionRow, artifacts: Artifacts
) -> Iterator[Problem]:
    """Yield what is wrong with one session, the events it shares with its parent included."""
    link, expected = GENESIS, 0
    gone: set[int] = set()
    requests: set[int] = set()
    first = spans(db, tenant.number, number_or_raise(db, tenant.number, row.id, ""))[-1].first
    try:
        for stored, event in log.rows(db, tenant, row.id, since=0, store=""):
            faults: list[tuple[str, str]] = []
            if event.seq != expected:
                faults.append(("chain", f"events {expected} to {event.seq - 1} are missing"))
            if link_of(link, header_of(event), event.commit) != event.link:
                faults.append(("chain", "its link doesn't follow from its header and the event before"))
            link, expected = event.link, event.seq + 1
            if event.kind == "request_sent":
                requests.add(event.seq)
            if event.nonce is None and stored[PAYLOAD] is None and stored[ARTIFACT] is None:
                gone.add(event.seq)
            else:
                body = _check_payload(stored, event, row.id, tenant, artifacts, faults)
                if event.seq == first and body is not None:
                    faults.extend(("session", fault) for fault in _opening_faults(body, row))
            for code, fault in faults:
                yield Problem(code=code, fault=fault, session=row.id, seq=event.seq)
    except LogCorrupt as error:
        fault = f"{error.fault}; it and the events after it weren't checked"
        yield Problem(code="row", fault=fault, session=row.id, seq=error.seq)
        return
    explained = _erased(db, tenant, row.id, artifacts) if gone else set[int]()
    for seq in sorted(gone - explained):
        fault = "its payload is gone and no event says that it was erased"
        yield Problem(code="gone", fault=fault, session=row.id, seq=seq)
    for seq in sorted(log.units_kept(db, tenant, row.id) - requests):
        yield Problem(
            code="units", fault="units are kept for it, but it is no request", session=row.id, seq=seq
        )


def _check_payload(
    stored: Row,
    event: Event,
    session: str,
    tenant: Tenant,
    artifacts: Artifacts,
    faults: list[tuple[str, str]],
) -> Body | None:
    """Return the body when it can be read, and add what is wrong with its bytes."""
    address: bytes | None = stored[ARTIFACT]
    try:
        payload = log.read_payload(stored, session, artifacts)
    except ArtifactMissing as error:
        faults.append(("artifact", f"its artifact {error.address} is missing"))
        return None
    except LogCorrupt as error:
        faults.append(("payload", error.fault))
        return None
    if payload is None or event.nonce is None:
        faults.append(("payload", "half of it is gone: the payload or its nonce"))
        return None
    if address is not None and address_of(tenant.key, payload) != address:
        faults.append(("artifact", f"its artifact {address.hex()} holds something else"))
    if commit_of(event.nonce, payload) != event.commit:
        faults.append(("commit", "its payload isn't the one that was committed"))
    try:
        return decode_body(event.kind, event.schema, payload)
    except msgspec.DecodeError as error:
        faults.append(("payload", f"it isn't a {event.kind}: {error}"))
        return None


def _opening_faults(body: Body, row: SessionRow) -> Iterator[str]:
    if not isinstance(body, SessionOpened):
        yield f"it opens the session but is a {type(body).__name__}"
        return
    for name in ("alias", "format", "source", "parent"):
        said, kept = getattr(body, name), getattr(row, name)
        if said != kept:
            yield f"the event says {name} {said!r}, the session's row {kept!r}"


def _erased(db: Database, tenant: Tenant, session: str, artifacts: Artifacts) -> set[int]:
    """Return the seqs of this log that an `Erased` event names, in this log or one that shares the event."""
    number = number_of(db, tenant.number, session)
    assert number is not None, "the caller read its rows"
    owners = {span.number: span for span in spans(db, tenant.number, number)}
    family = {*owners, *(fork for owner in owners for fork in forks(db, tenant.number, owner, since=0))}
    found: set[int] = set()
    query = f"SELECT {COLUMNS} FROM event WHERE tenant = ? AND session = ? AND kind = 'erased'"
    for member in family:
        theirs = spans(db, tenant.number, member)
        for stored in db.execute(query, (tenant.number, member)):
            body = _check_payload(stored, event_of(stored, tenant.name), session, tenant, artifacts, [])
            if isinstance(body, Erased):
                found |= {
                    seq
                    for seq in body.targets
                    for span in theirs
                    if span.first <= seq <= span.last and _holds(owners.get(span.number), seq)
                }
    return found


def _holds(span: tuple[int, int, int] | None, seq: int) -> bool:
    return span is not None and span[1] <= seq <= span[2]


def lost_sessions(db: Database, tenant: int, session: str | None) -> Iterator[Problem]:
    """Name the sessions whose own first event is missing, of all or of the one of this id."""
    one, names = ("", ()) if session is None else (" AND session = ?", (session,))
    for (name,) in db.execute(f"{LOST}{one}", (tenant, *names)):
        yield Problem(code="session", fault="its first event is missing", session=name)


def stray_events(db: Database, tenant: int) -> Iterator[Problem]:
    """Tell of events whose session is missing."""
    [[strays]] = db.execute(
        "SELECT count(*) FROM event WHERE tenant = ? AND session NOT IN (SELECT id FROM session)", (tenant,)
    )
    if strays:
        yield Problem(code="session", fault=f"{strays} events belong to a session that isn't there")
