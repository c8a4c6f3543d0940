"""The store: every session's log on one machine, in a SQLite database and a folder of artifacts."""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import apsw

from foreword.core.event import Erased, Event
from foreword.core.request import Unit
from foreword.errors import ArtifactMissing, LogCorrupt, StoreUnavailable
from foreword.store import erase, log, sessions
from foreword.store.artifacts import Artifacts
from foreword.store.connection import connect, unavailable
from foreword.store.database import Database
from foreword.store.log import Tenant
from foreword.store.place import Place, place_of
from foreword.store.rows import Packed, pack
from foreword.store.sessions import Fork, SessionRow
from foreword.store.verify import (
    Problem,
    lost_sessions,
    readable,
    session_problems,
    store_problems,
    stray_events,
)
from foreword.store.writer import Work, Writer

KEY_BYTES = 32

T = TypeVar("T")


class Store:
    """One tenant's sessions in one place. Open it with `Store.open`; safe to use from several threads.

    Several processes may have the same place open. Sessions are named by their full id (`resolve` finds it).
    """

    def __init__(self, place: Place, tenant: Tenant, writer: Writer | None) -> None:
        self.name = place.name
        self.tenant = tenant.name
        self._place = place
        self._tenant = tenant
        self._writer = writer
        self._artifacts = Artifacts(place.artifacts)
        self._local = threading.local()
        self._readers: weakref.WeakSet[Database] = weakref.WeakSet()
        self._closed = False
        self._process = os.getpid()

    @classmethod
    def open(cls, place: str | Path, *, tenant: str = "local", read_only: bool = False) -> Self:
        """Open a folder, or ``sqlite:///PATH``; make it when it isn't there and may be written.

        Raises: StoreUnavailable when it can't be opened, is another program's or of a newer Foreword.
        """
        where = place_of(place)
        db = connect(where, read_only=read_only)
        try:
            found = _tenant(db, tenant, make=not read_only)
            if found is None:
                raise StoreUnavailable(
                    where.name, f"holds no tenant {tenant!r}", "open it for writing to make one"
                )
            if read_only:
                db.close()
                return cls(where, found, None)
            store = cls(where, found, Writer(where, db))
        except apsw.Error as error:
            db.close()
            raise unavailable(where, error) from error
        except BaseException:
            db.close()
            raise
        store.finish_erasing()
        return store

    def sessions(self, session: str | None = None) -> list[SessionRow]:
        """List the tenant's sessions in the order of their making, or the one of this id alone."""
        return self._read(lambda db: sessions.listing(db, self._tenant.number, session))

    def holds(self, session: str) -> bool:
        """Whether there is a session of this id."""
        return self._read(lambda db: sessions.number_of(db, self._tenant.number, session)) is not None

    def forks(self, session: str, *, since: int = 0) -> list[Fork]:
        """List the sessions that share event ``since`` of this one, forks of forks too, in the order of their making.

        A session that isn't there has none.
        """

        def read(db: Database) -> list[Fork]:
            number = sessions.number_of(db, self._tenant.number, session)
            found = {} if number is None else sessions.forks(db, self._tenant.number, number, since=since)
            return list(found.values())

        return self._read(read)

    def busy_since(self, at: int) -> set[str]:
        """Return the ids of the sessions that hold an event of their own of this time or later.

        ``at``: microseconds since 1970 UTC. No event is decoded, but each is looked at.
        """
        return self._read(lambda db: sessions.busy_since(db, self._tenant.number, at))

    def resolve(self, name: str) -> str:
        """Return the id of the session with this id, alias, or unique beginning of one.

        Raises: UnknownSession, with names that come close.
        """
        return self._read(lambda db: sessions.resolve(db, self._tenant.number, name, self.name))

    def alias_for(self, session: str) -> str:
        """Return the alias that a new session must carry in its `SessionOpened`; a known one keeps its own.

        It isn't reserved: if another session takes it first, the append that opens this one raises
        AppendConflict, and asking again gives the next.
        """
        return self._read(lambda db: sessions.free_alias(db, self._tenant.number, session))

    def load(self, session: str, *, since: int = 0, limit: int | None = None) -> list[Event]:
        """Return the session's events from seq ``since`` on, in order; a fork's begin with its parent's.

        ``limit``: how many at most, None: all.

        Raises: UnknownSession; ArtifactMissing; LogCorrupt when one is missing or its payload can't be read.
        """

        def read(db: Database) -> list[Event]:
            return log.events(
                db, self._tenant, session, self._artifacts, since=since, limit=limit, store=self.name
            )

        try:
            return self._read(read)
        except (ArtifactMissing, LogCorrupt):
            return self._read(read)  # an erasure may have taken an artifact between its row and its file

    def grown(self, session: str, known: int) -> bool:
        """Whether the session's log holds more than ``known`` events. Raises: UnknownSession."""

        def read(db: Database) -> bool:
            number = sessions.number_or_raise(db, self._tenant.number, session, self.name)
            end = sessions.head(db, self._tenant.number, number)
            return end is not None and end.seq > known

        return self._read(read)

    def append(
        self, session: str, events: Sequence[Event], *, units: Mapping[int, Sequence[Unit]] | None = None
    ) -> None:
        """Append events sealed against the session's head; return once they are synced to disk.

        The first event of a new session is its `SessionOpened`. ``units``: the encoded units that a request
        added, by the seq of its `RequestSent`; those of earlier epochs are dropped when an epoch starts.

        Raises: AppendConflict when another writer was first (nothing is stored); UnknownSession; LogCorrupt
        when the events don't chain; StoreUnavailable.
        """
        if not events:
            return
        packed = self._packed(session, events)
        encoded = {seq: log.pack_units(added) for seq, added in (units or {}).items()}
        self._write(
            lambda db: log.append(db, self._tenant, session, packed, encoded, self._artifacts, self.name)
        )

    def erase(self, erased: Mapping[str, Event]) -> bool:
        """Remove what `Erased` events target from every file, and append them, one by session: all or nothing.

        Each is sealed against its session's head. An event that a fork shares is erased in its parent, so every session
        that shares one is named here, parents before their forks. The store's copies of their units go too.

        Returns True when no file holds them any more; False when another connection still reads an older
        state of the database, so that its write-ahead log keeps old pages until `finish_erasing` succeeds
        (it is tried again whenever the store is opened).

        Raises: AppendConflict when a session grew, or another shares a target; UnknownSession; UnknownEvent;
        LogCorrupt for an event of another kind; StoreUnavailable.
        """
        targets: dict[str, tuple[int, ...]] = {}
        for session, event in erased.items():
            if not isinstance(event.body, Erased):
                raise LogCorrupt(session, event.seq, f"it erases nothing, being a {event.kind}")
            targets[session] = event.body.targets
        packed = {session: self._packed(session, [event]) for session, event in erased.items()}

        def work(db: Database) -> None:
            erase.empty(db, self._tenant, targets, self.name)
            for session, items in packed.items():
                log.append(db, self._tenant, session, items, {}, self._artifacts, self.name)

        self._write(work)
        return self.finish_erasing()

    def finish_erasing(self) -> bool:
        """Do what earlier erasures left to do; return True when nothing is left.

        Raises: StoreUnavailable.
        """
        return self._write(lambda db: erase.finish(db, self._artifacts), alone=True)

    def sent_units(self, session: str) -> dict[int, tuple[Unit, ...]]:
        """Return the encoded units of the current epoch, by the seq of the `RequestSent` that added them.

        A seq is missing when an erasure dropped its units, or when a fork's parent has started an epoch
        since: then the requests of this epoch can't be continued and a new one must start.

        Raises: UnknownSession; LogCorrupt.
        """
        return self._read(lambda db: log.sent_units(db, self._tenant, session, self.name))

    def verify(self, session: str | None = None) -> list[Problem]:
        """Prove one session from its stored bytes, or (None) every session and the store's files.

        Raises: UnknownSession.
        """

        def prove(db: Database) -> list[Problem]:
            if session is not None:
                sessions.number_or_raise(db, self._tenant.number, session, self.name)
            listed = sessions.listing(db, self._tenant.number, session)
            checks = [lost_sessions(db, self._tenant.number, session)]
            checks += [session_problems(db, self._tenant, row, self._artifacts) for row in listed]
            if session is None:
                checks = [store_problems(db, self._artifacts), stray_events(db, self._tenant.number), *checks]
            return [problem for check in checks for problem in readable(check)]

        return self._read(prove)

    @property
    def commits(self) -> int:
        """Count the transactions this store has committed: appends that waited together share one."""
        return self._writer.commits if self._writer else 0

    def close(self) -> None:
        """Finish what is queued and close every connection; closing twice is closing once."""
        self._closed = True
        if os.getpid() != self._process:
            return  # they are those of the process before the fork
        for reader in list(self._readers):
            reader.close()
        if self._writer:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _packed(self, session: str, events: Sequence[Event]) -> list[Packed]:
        """Return events ready for their rows, with their artifacts written."""
        packed = [pack(event, session, self._tenant.key) for event in events]
        if large := {item.address: item.large for item in packed if item.address and item.large}:
            try:
                self._artifacts.write(large)
            except OSError as error:
                raise self._disk_fault(error) from error
        return packed

    def _write(self, work: Work, *, alone: bool = False) -> bool:
        self._check_process()
        if self._writer is None:
            raise StoreUnavailable(self.name, "is open for reading only", "open it without read_only")
        try:
            return self._writer.run(work, alone=alone)
        except OSError as error:
            raise self._disk_fault(error) from error

    def _read(self, work: Callable[[Database], T]) -> T:
        """Run a read in one snapshot on this thread's own connection."""
        self._check_process()
        if self._closed:
            raise StoreUnavailable(self.name, "is closed", "open it again")
        try:
            db: Database | None = getattr(self._local, "db", None)
            if db is None:
                db = connect(self._place, read_only=True)
                self._local.db = db
                self._readers.add(db)
            with db:
                return work(db)
        except apsw.Error as error:
            raise unavailable(self._place, error) from error
        except UnicodeDecodeError as error:
            fault = f"text in its database is damaged: {error}"
            raise StoreUnavailable(self.name, fault, "restore a backup") from error

    def _check_process(self) -> None:
        """Raises: StoreUnavailable after a fork, which no connection of SQLite and no thread survives."""
        if os.getpid() != self._process:
            raise StoreUnavailable(self.name, "was opened before a fork", "open it again in this process")

    def _disk_fault(self, error: OSError) -> StoreUnavailable:
        fault = f"{error.filename or self._place.artifacts}: {error.strerror or type(error).__name__}"
        return StoreUnavailable(self.name, fault, "check the disk, its free space and its permissions")


def _tenant(db: Database, name: str, *, make: bool) -> Tenant | None:
    row = db.execute("SELECT id, key FROM tenant WHERE name = ?", (name,)).fetchone()
    if row is not None:
        if not isinstance(row[1], bytes) or len(row[1]) != KEY_BYTES:
            raise apsw.CorruptError(f"the key of tenant {name!r} is damaged")
        return Tenant(number=row[0], name=name, key=row[1])
    if not make:
        return None
    key = secrets.token_bytes(KEY_BYTES)  # another process may make the tenant meanwhile: the first key stays
    db.execute("INSERT INTO tenant (name, key) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (name, key))
    return _tenant(db, name, make=False)
