"""Erasing payloads so that no file of the store holds them.

Three steps, each safe to repeat: rows and units are emptied and the `Erased` events of all sessions that share
what goes appended in one transaction, which also counts the erasure as unfinished; artifacts that no event names
are shredded; the database is written anew and its write-ahead log emptied. A crash between them is made good by
whoever opens the store next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from foreword.errors import AppendConflict, UnknownEvent
from foreword.store.artifacts import Artifacts
from foreword.store.connection import BUSY_MS
from foreword.store.database import Database
from foreword.store.log import Tenant
from foreword.store.scratch import scratching
from foreword.store.sessions import forks, head, number_or_raise, spans

PATIENCE_MS = 1_000
"""How long emptying the write-ahead log waits for readers of older pages."""


def empty(db: Database, tenant: Tenant, wanted: Mapping[str, Sequence[int]], store: str) -> None:
    """Remove nonce and payload of events, by session, and every stored unit that may repeat them.

    An event that a fork shares is emptied where it is kept, in the parent's rows.

    Raises: UnknownSession; UnknownEvent; AppendConflict when another session shares one of them.
    """
    numbers = {number_or_raise(db, tenant.number, session, store): session for session in wanted}
    touched: set[int] = set()
    for number, session in numbers.items():
        touched |= _empty(db, tenant, number, session, wanted[session])
    for number in touched - numbers.keys():
        name = db.execute("SELECT session FROM session WHERE id = ?", (number,)).get
        end = head(db, tenant.number, number)
        raise AppendConflict(name, 0, end.seq if end else 0)
    db.executemany(
        "DELETE FROM units WHERE tenant = ? AND session = ?", [(tenant.number, number) for number in touched]
    )
    db.execute("UPDATE store SET erasures_begun = erasures_begun + 1")


def _empty(db: Database, tenant: Tenant, number: int, session: str, targets: Sequence[int]) -> set[int]:
    """Empty events of one session; return all that share one of them."""
    parts = spans(db, tenant.number, number)
    touched = {number}
    for seq in targets:
        owner = next((span.number for span in parts if span.first <= seq <= span.last), None)
        if owner is not None:
            db.execute(
                "UPDATE event SET nonce = NULL, payload = NULL, artifact = NULL "
                "WHERE tenant = ? AND session = ? AND seq = ?",
                (tenant.number, owner, seq),
            )
        if owner is None or db.changes() == 0:
            end = head(db, tenant.number, number)
            raise UnknownEvent(session, seq, end.seq if end else 0)
        touched |= {owner, *forks(db, tenant.number, owner, since=seq)}
    return touched


def unfinished(db: Database) -> int:
    """Return how many erasures have rows emptied but files that may still hold what was in them.

    Raises: apsw.CorruptError.
    """
    rows = db.execute("SELECT erasures_begun - erasures_finished FROM store").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][0], int):
        raise apsw.CorruptError("the count of its erasures is damaged")
    return rows[0][0]


def finish(db: Database, artifacts: Artifacts) -> bool:
    """Shred, rebuild and empty what unfinished erasures left; runs outside a transaction.

    Returns False when another connection holds the database, or still reads pages from before the erasure, so
    that the write-ahead log can't be emptied yet.

    Raises: OSError.
    """
    if unfinished(db) == 0:
        return True
    try:
        begun = _shred_unnamed(db, artifacts)
        _rebuild(db, artifacts)
        db.set_busy_timeout(PATIENCE_MS)
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        # An erasure that another process began since then is not among those that end here.
        db.execute("UPDATE store SET erasures_finished = max(erasures_finished, ?)", (begun,))
    except apsw.BusyError:
        return False
    finally:
        db.set_busy_timeout(BUSY_MS)
    return True


def _shred_unnamed(db: Database, artifacts: Artifacts) -> int:
    """Shred under the write lock, so that no writer relies on a file that goes; return the erasures begun."""
    db.execute("BEGIN IMMEDIATE")
    try:
        for path in unnamed(db, artifacts):
            artifacts.shred(path)
        return int(db.execute("SELECT erasures_begun FROM store").get)
    finally:
        db.execute("ROLLBACK")


def _rebuild(db: Database, artifacts: Artifacts) -> None:
    """Write the database anew, in order.

    ``secure_delete`` clears the cell that goes, but not copies that SQLite left in the gaps of other pages
    when it once moved that row between them; a page written anew has no such gap.
    """
    with scratching(db.filename, artifacts) as another:  # the copy holds what may be erased later
        another.set_busy_timeout(BUSY_MS)
        another.execute("VACUUM")


def unnamed(db: Database, artifacts: Artifacts) -> list[Path]:
    """List the files of the artifact folder that no event names."""
    found = list(artifacts.files())  # listed first: a row that comes meanwhile only names more of them
    # Of the rows themselves: by a damaged index, files would go that are named.
    rows = db.execute("SELECT artifact FROM event NOT INDEXED WHERE typeof(artifact) = 'blob'")
    named = {artifacts.path(address) for (address,) in rows}
    return [path for path in found if path not in named]
