"""The table of sessions: who they are, whose log they continue, and how a name finds one."""

from __future__ import annotations

import difflib
from itertools import count
from typing import NamedTuple

import apsw
from msgspec import Struct

from foreword.core.event import SessionOpened
from foreword.core.reference import alias_of
from foreword.errors import UnknownEvent, UnknownSession
from foreword.store.database import Database

END = 2**62
SHOWN = 5
LONGEST_NAME = 200
LAST_CHARACTER = chr(0x10FFFF)

# A `+` keeps SQLite from the index by tenant, which would lead it through every row; so does CROSS JOIN.
FORKS = """
    WITH RECURSIVE below (id) AS (
        SELECT id FROM session WHERE +tenant = ? AND parent = ? AND parent_at >= ?
        UNION
        SELECT s.id FROM below CROSS JOIN session s ON s.parent = below.id
        WHERE +s.tenant = ? AND s.parent_at >= ?
    )
    SELECT s.id, s.session, p.session, s.parent_at
    FROM below CROSS JOIN session s ON s.id = below.id CROSS JOIN session p ON p.id = s.parent ORDER BY s.id
"""
BUSY = """
    SELECT session FROM session
    WHERE tenant = ? AND id IN (SELECT session FROM event WHERE +tenant = ? AND at >= ?)
"""
BEGUN = """
    SELECT session, alias, id FROM session WHERE tenant = ? AND session BETWEEN ? AND ?
    UNION
    SELECT session, alias, id FROM session WHERE +tenant = ? AND alias BETWEEN ? AND ?
    ORDER BY id LIMIT ?
"""
LISTING = """
    SELECT s.session, s.alias, s.format, s.source, p.session, s.parent_at,
        (SELECT min(at) FROM event WHERE tenant = s.tenant AND session = s.id AND seq < first.seq + 8),
        last.at, last.seq
    FROM session s LEFT JOIN session p ON p.id = s.parent
    JOIN event first ON first.tenant = s.tenant AND first.session = s.id
        AND first.seq = (SELECT min(seq) FROM event WHERE tenant = s.tenant AND session = s.id)
    JOIN event last ON last.tenant = s.tenant AND last.session = s.id
        AND last.seq = (SELECT max(seq) FROM event WHERE tenant = s.tenant AND session = s.id)
    WHERE s.tenant = ?
"""


class SessionRow(Struct, frozen=True, kw_only=True):
    """One session as a list shows it.

    ``events``: how many it has, a fork's shared ones included. ``created_at`` and ``updated_at``: times of
    its own first and last event, microseconds since 1970 UTC; of the first eight the earliest, since an imported
    session is opened later than what it tells of. ``parent``: (session id, last shared seq).
    """

    id: str
    alias: str
    format: str
    source: str | None
    parent: tuple[str, int] | None
    events: int
    created_at: int
    updated_at: int


class Span(NamedTuple):
    """A run of seqs, first to last, whose rows belong to the session with this number."""

    number: int
    first: int
    last: int


class Fork(NamedTuple):
    """A session that continues another: their ids, and the last event that they share."""

    id: str
    parent: str
    at: int


class Head(NamedTuple):
    """What the next event of a session follows: its seq and the link before it."""

    seq: int
    link: bytes


def number_of(db: Database, tenant: int, session: str) -> int | None:
    """Return the session's number in this database, or None."""
    return db.execute("SELECT id FROM session WHERE tenant = ? AND session = ?", (tenant, session)).get


def number_or_raise(db: Database, tenant: int, session: str, store: str) -> int:
    """Return the session's number in this database.

    Raises: UnknownSession, with the names it may have meant.
    """
    number = number_of(db, tenant, session)
    if number is None:
        raise UnknownSession(session, store, close_names(db, tenant, session))
    return number


def spans(db: Database, tenant: int, number: int, *, last: int = END) -> list[Span]:
    """List where the rows of a session's log are, in seq order: a fork reads its parent's up to the fork.

    Raises: apsw.CorruptError where a parent is missing, or isn't older than its fork, so that there would be no end.
    """
    found: list[Span] = []
    while True:
        row = db.execute(
            "SELECT parent, parent_at FROM session WHERE tenant = ? AND id = ?", (tenant, number)
        ).fetchone()
        parent, at = row if row is not None else (number, 0)
        if parent is not None and not (isinstance(parent, int) and isinstance(at, int) and parent < number):
            raise apsw.CorruptError(f"the row of session {number}, or of its parent, is damaged")
        first = 0 if parent is None else at + 1
        if first <= last:
            found.append(Span(number, first, last))
        if parent is None:
            return found[::-1]
        number, last = parent, min(at, last)


def head(db: Database, tenant: int, number: int, *, last: int = END) -> Head | None:
    """Return what follows the log's last event, or the event ``last``; None: it isn't there."""
    for span in reversed(spans(db, tenant, number, last=last)):
        row = db.execute(
            "SELECT seq, link FROM event WHERE tenant = ? AND session = ? AND seq BETWEEN ? AND ? "
            "ORDER BY seq DESC LIMIT 1",
            (tenant, *span),
        ).fetchone()
        if row is not None:
            return Head(row[0] + 1, row[1])
    return None


def forks(db: Database, tenant: int, number: int, *, since: int) -> dict[int, Fork]:
    """Return by number the sessions that share event ``since`` of this one, forks of forks too, as they were made."""
    rows = db.execute(FORKS, (tenant, number, since, tenant, since))
    return {child: Fork(session, parent, at) for child, session, parent, at in rows}


def insert(db: Database, tenant: int, opened: SessionOpened, store: str) -> Head | None:
    """Make the row of a session; return what its first event follows, None for a session without a parent.

    Raises: UnknownSession or UnknownEvent when its parent isn't there; apsw.ConstraintError when its id or
    alias is taken.
    """
    parent: int | None = None
    at: int | None = None
    follows: Head | None = None
    if opened.parent is not None:
        name, at = opened.parent
        parent = number_of(db, tenant, name)
        if parent is None:
            raise UnknownSession(name, store)
        follows = head(db, tenant, parent, last=at)
        if follows is None or follows.seq != at + 1:
            end = head(db, tenant, parent)
            raise UnknownEvent(name, at, end.seq if end else 0)
    db.execute(
        "INSERT INTO session (tenant, session, alias, format, source, parent, parent_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (tenant, opened.session, opened.alias, opened.format, opened.source, parent, at),
    )
    return follows


def listing(db: Database, tenant: int, session: str | None = None) -> list[SessionRow]:
    """List every session that holds an event, in the order of their making, or the one of this id alone."""
    if session is None:
        rows = db.execute(f"{LISTING} ORDER BY s.id", (tenant,))
    else:
        rows = db.execute(f"{LISTING} AND s.session = ?", (tenant, session))
    return [
        SessionRow(
            id=session,
            alias=alias,
            format=form,
            source=source,
            parent=None if parent is None else (parent, parent_at),
            events=last + 1,
            created_at=created,
            updated_at=updated,
        )
        for session, alias, form, source, parent, parent_at, created, updated, last in rows
    ]


def busy_since(db: Database, tenant: int, at: int) -> set[str]:
    """Return the ids of the sessions that hold an event of their own of this time or later."""
    return {session for (session,) in db.execute(BUSY, (tenant, tenant, at))}


def resolve(db: Database, tenant: int, name: str, store: str) -> str:
    """Find a session by id, by alias, or by the only id or alias that begins so.

    Raises: UnknownSession, with the names it may have meant.
    """
    try:
        name.encode()
    except UnicodeEncodeError:  # half a character, which no name in the database holds
        raise UnknownSession(name, store) from None
    for column in ("session", "alias"):
        found = db.execute(
            f"SELECT session FROM session WHERE tenant = ? AND {column} = ?", (tenant, name)
        ).get
        if found is not None:
            return found
    end = name + LAST_CHARACTER
    limit = SHOWN if name else 0
    begun = db.execute(BEGUN, (tenant, name, end, tenant, name, end, limit)).fetchall()
    if len(begun) == 1:
        return begun[0][0]
    close = tuple(f"{alias} ({session})" for session, alias, _ in begun)
    raise UnknownSession(name, store, close or close_names(db, tenant, name))


def close_names(db: Database, tenant: int, name: str) -> tuple[str, ...]:
    """Return the ids and aliases that look like a name."""
    known = db.execute("SELECT session, alias FROM session WHERE tenant = ?", (tenant,))
    names = [each for row in known for each in row if len(each) <= LONGEST_NAME]
    return tuple(difflib.get_close_matches(name[:LONGEST_NAME], names, SHOWN))


def free_alias(db: Database, tenant: int, session: str) -> str:
    """Return the session's alias, or the first one derived for it that no session of the store has."""
    taken = db.execute("SELECT alias FROM session WHERE tenant = ? AND session = ?", (tenant, session)).get
    if taken is not None:
        return taken
    for attempt in count():
        alias = alias_of(session, attempt)
        if db.execute("SELECT count(*) FROM session WHERE alias = ?", (alias,)).get == 0:
            return alias
    raise AssertionError("count() has no end")
