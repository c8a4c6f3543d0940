"""Erasing payloads so that no file of the store holds them.

Three steps, each safe to repeat: rows and units are emptied and the `Erased` event appended in one
transaction, which also counts the erasure as unfinished; artifacts that no event names are shredded; the
database is written anew and its write-ahead log emptied. A crash between them is made good by whoever opens
the store next.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw

from foreword.errors import UnknownEvent
from foreword.store.artifacts import Artifacts
from foreword.store.connection import BUSY_MS
from foreword.store.database import Database
from foreword.store.log import Tenant
from foreword.store.sessions import forks, head, number_or_raise, spans

PATIENCE_MS = 1_000
"""How long emptying the write-ahead log waits for readers of older pages."""


def empty(db: Database, tenant: Tenant, session: str, targets: Sequence[int], store: str) -> None:
    """Remove nonce and payload of events, and every stored unit that may repeat them.

    An event that a fork shares is emptied where it is kept, in the parent's rows.

    Raises: UnknownSession; UnknownEvent.
    """
    number = number_or_raise(db, tenant.number, session, store)
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
    db.executemany(
        "DELETE FROM units WHERE tenant = ? AND session = ?", [(tenant.number, number) for number in touched]
    )
    db.execute("UPDATE store SET erasures_begun = erasures_begun + 1")


def unfinished(db: Database) -> int:
    """Return how many erasures have rows emptied but files that may still hold what was in them."""
    return int(db.execute("SELECT erasures_begun - erasures_finished FROM store").get)


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
        _rebuild(db)
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


def _rebuild(db: Database) -> None:
    """Write the database anew, in order.

    ``secure_delete`` clears the cell that goes, but not copies that SQLite left in the gaps of other pages
    when it once moved that row between them; a page written anew has no such gap.
    """
    db.pragma("temp_store", "FILE")  # a copy as large as the database; it holds nothing of what was erased
    try:
        db.execute("VACUUM")
    finally:
        db.pragma("temp_store", "MEMORY")


def unnamed(db: Database, artifacts: Artifacts) -> list[Path]:
    """List the files of the artifact folder that no event names."""
    found = list(artifacts.files())  # listed first: a row that comes meanwhile only names more of them
    rows = db.execute("SELECT artifact FROM event WHERE artifact IS NOT NULL")
    named = {artifacts.path(address) for (address,) in rows}
    return [path for path in found if path not in named]
