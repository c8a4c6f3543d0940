"""Erasing payloads so that no file of the store holds them.

Three steps, each safe to repeat: rows and units are emptied and the `Erased` event appended in one
transaction, which also counts the erasure as unfinished; artifacts that no event names are shredded; the
write-ahead log is emptied. A crash between them is made good by whoever opens the store next.
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
    db.execute("UPDATE store SET erasing = erasing + 1")


def unfinished(db: Database) -> int:
    """Return how many erasures have rows emptied but files that may still hold what was in them."""
    return int(db.execute("SELECT erasing FROM store").get)


def finish(db: Database, artifacts: Artifacts) -> bool:
    """Shred and empty what unfinished erasures left; runs outside a transaction.

    Returns False when another connection still reads pages from before the erasure, so that the write-ahead
    log can't be emptied yet.

    Raises: OSError.
    """
    if unfinished(db) == 0:
        return True
    db.execute("BEGIN IMMEDIATE")  # no writer may rely on an artifact while unnamed ones are shredded
    try:
        count = unfinished(db)
        if count:
            for path in unnamed(db, artifacts):
                artifacts.shred(path)
    finally:
        db.execute("ROLLBACK")
    if count == 0:
        return True
    db.set_busy_timeout(PATIENCE_MS)
    try:
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    finally:
        db.set_busy_timeout(BUSY_MS)
    db.execute("UPDATE store SET erasing = erasing - ?", (count,))
    return True


def unnamed(db: Database, artifacts: Artifacts) -> list[Path]:
    """List the files of the artifact folder that no event names."""
    found = list(artifacts.files())  # listed first: a row that comes meanwhile only names more of them
    rows = db.execute("SELECT artifact FROM event WHERE artifact IS NOT NULL")
    named = {artifacts.path(address) for (address,) in rows}
    return [path for path in found if path not in named]
