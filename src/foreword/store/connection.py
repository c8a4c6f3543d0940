"""Connections to the database, and SQLite's errors in our words."""

from __future__ import annotations

import time
from typing import cast
from urllib.parse import quote

import apsw

from foreword.errors import StoreUnavailable
from foreword.store.database import Database
from foreword.store.migrations import APPLICATION_ID, STEPS, migrate, version_of
from foreword.store.place import Place

SAFE_SQLITE = (3, 51, 3)
"""SQLite 3.7.0 to 3.51.2 can corrupt a WAL that two connections reset (sqlite.org/wal.html#walresetbug)."""

BUSY_MS = 10_000
CACHE_KIB = 16_384

# Fault of SQLite -> next move. The first row that fits counts.
MOVES: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, "free some space; nothing of this append was stored"),
    (apsw.ReadOnlyError, "open it read-only, or make its folder and files writable"),
    (apsw.NotADBError, "name a folder of Foreword, or a new one"),
    (apsw.CorruptError, "restore a backup; `foreword verify` names what is damaged"),
    (apsw.BusyError, "another process holds it; end that process or try again"),
    (apsw.LockedError, "another process holds it; end that process or try again"),
    (apsw.CantOpenError, "check that its folder exists and can be written"),
    (apsw.PermissionsError, "make its folder and files writable"),
    (apsw.IOError, "check the disk and its free space"),
)


def unavailable(place: Place, error: apsw.Error) -> StoreUnavailable:
    """Translate an error of SQLite."""
    move = next((move for kind, move in MOVES if isinstance(error, kind)), "run `foreword verify`")
    return StoreUnavailable(place.name, str(error) or type(error).__name__, move)


def connect(place: Place, *, read_only: bool) -> Database:
    """Open the database, made or migrated when it may be written.

    A database of a newer Foreword, or of another program, is refused before anything is written to it.

    Raises: StoreUnavailable.
    """
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")) < SAFE_SQLITE:
        raise StoreUnavailable(place.name, f"SQLite {version} can corrupt it", "install apsw 3.51.3 or later")
    if not place.exists():
        if read_only:
            move = "check the path; `foreword import FILE` makes one"
            raise StoreUnavailable(place.name, "holds no store", move)
        place.make()
    try:
        return _reading(place) if read_only else _writing(place)
    except apsw.Error as error:
        raise unavailable(place, error) from error


def _open(name: str, flags: int) -> Database:
    return cast(Database, apsw.Connection(name, flags=flags))


def _writing(place: Place) -> Database:
    db = _open(str(place.database), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    try:
        db.set_busy_timeout(BUSY_MS)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # until we know that it is ours to write
        _recognise(db, place)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        _use_wal(db)
        db.pragma("synchronous", "FULL")
        db.pragma("foreign_keys", True)
        db.pragma("secure_delete", True)
        db.pragma(
            "temp_store", "MEMORY"
        )  # no sorter or journal of a statement on disk, where erasing can't reach
        db.pragma("cache_size", -CACHE_KIB)
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def _reading(place: Place) -> Database:
    """Open for reading alone; without a WAL beside it, a folder that can't be written is no hindrance."""
    try:
        db = _open(str(place.database), apsw.SQLITE_OPEN_READONLY)
        version_of(db)
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        log = place.database.with_name(f"{place.database.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        name = f"file:{quote(str(place.database))}?immutable=1"
        db = _open(name, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        db.set_busy_timeout(BUSY_MS)
        db.pragma("temp_store", "MEMORY")
        db.pragma("cache_size", -CACHE_KIB)
        _recognise(db, place)
        if version_of(db) < len(STEPS):
            fault = f"schema {version_of(db)} is older than this Foreword's {len(STEPS)}"
            raise StoreUnavailable(place.name, fault, "open it once for writing, which brings it up to date")
    except BaseException:
        db.close()
        raise
    return db


def _recognise(db: Database, place: Place) -> None:
    with db:  # one snapshot: another process may be making the tables right now
        version, application = version_of(db), int(db.pragma("application_id"))
        empty = db.execute("SELECT count(*) FROM sqlite_schema").get == 0
    if application != APPLICATION_ID and not empty:
        fault = "is a SQLite database of another program"
        raise StoreUnavailable(place.name, fault, "name a folder of Foreword, or a new one")
    if version > len(STEPS):
        fault = f"schema {version} is newer than this Foreword's {len(STEPS)}"
        raise StoreUnavailable(place.name, fault, "upgrade foreword; nothing was changed")


def _use_wal(db: Database) -> None:
    """Switch to write-ahead logging; SQLite answers busy at once when two processes switch together."""
    until = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            db.pragma("journal_mode", "WAL")
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return
