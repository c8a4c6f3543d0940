"""Appending to a session's log and reading it, on a connection inside a transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise

import apsw
import msgspec

from foreword.core.event import Event, SessionOpened
from foreword.core.request import Unit
from foreword.core.sealing import GENESIS, commit_of, decode_body, header_of, link_of, with_body
from foreword.errors import AppendConflict, ArtifactMissing, LogCorrupt, UnknownSession
from foreword.store import zstd
from foreword.store.artifacts import Artifacts
from foreword.store.database import Database
from foreword.store.rows import (
    ARTIFACT,
    COLUMNS,
    INSERT,
    PAYLOAD,
    Packed,
    Row,
    event_of,
    row_of,
    unpack,
)
from foreword.store.sessions import Head, head, insert, number_of, number_or_raise, spans

_encode_units = msgspec.msgpack.Encoder().encode
_decode_units = msgspec.msgpack.Decoder(tuple[Unit, ...]).decode

SELECT = f"SELECT {COLUMNS} FROM event WHERE tenant = ? AND session = ? AND seq BETWEEN ? AND ? ORDER BY seq"


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """The tenant a store was opened for: its number in the database, its name, its secret key."""

    number: int
    name: str
    key: bytes


def append(
    db: Database,
    tenant: Tenant,
    session: str,
    packed: Sequence[Packed],
    units: Mapping[int, bytes],
    artifacts: Artifacts,
    store: str,
) -> None:
    """Insert events that follow the session's head, the session's own row with its first one.

    Raises: AppendConflict when the first doesn't follow the head; LogCorrupt when a later one doesn't follow
    the one before it; UnknownSession when the session has no row and the first event opens none.
    """
    first = packed[0].event
    number, follows = _follows(db, tenant, session, first, store)
    if first.seq != follows.seq or not _links(follows.link, first):
        raise AppendConflict(session, first.seq, follows.seq)
    for before, after in pairwise(packed):
        if after.event.seq != before.event.seq + 1 or not _links(before.event.link, after.event):
            raise LogCorrupt(session, after.event.seq, f"it doesn't follow event {before.event.seq}")
    for item in packed:
        if item.event.tenant != tenant.name:
            fault = f"it was sealed for tenant {item.event.tenant!r}, the store is opened for {tenant.name!r}"
            raise LogCorrupt(session, item.event.seq, fault)
    # Under the write lock no erasure sweeps the folder: what is there stays, what was swept is written again.
    artifacts.write(
        {
            item.address: item.large
            for item in packed
            if item.address and item.large and not artifacts.has(item.address)
        }
    )
    db.executemany(INSERT, [row_of(item, tenant.number, number) for item in packed])
    epochs = [item.event.seq for item in packed if item.event.kind == "epoch_started"]
    if epochs:
        db.execute(
            "DELETE FROM units WHERE tenant = ? AND session = ? AND seq < ?",
            (tenant.number, number, epochs[-1]),
        )
    db.executemany(
        "INSERT INTO units (tenant, session, seq, data) VALUES (?, ?, ?, ?)",
        [(tenant.number, number, seq, data) for seq, data in units.items() if not epochs or seq > epochs[-1]],
    )


def _follows(db: Database, tenant: Tenant, session: str, first: Event, store: str) -> tuple[int, Head]:
    number = number_of(db, tenant.number, session)
    if number is not None:
        end = head(db, tenant.number, number)
        return number, end or Head(0, GENESIS)
    if not isinstance(first.body, SessionOpened) or first.body.session != session:
        raise UnknownSession(session, store)
    try:
        start = insert(db, tenant.number, first.body, store)
    except apsw.ConstraintError as error:  # another process took the alias since `alias_for`
        raise AppendConflict(session, first.seq, first.seq) from error
    return db.last_insert_rowid(), start or Head(0, GENESIS)


def _links(previous: bytes, event: Event) -> bool:
    return link_of(previous, header_of(event), event.commit) == event.link


def rows(
    db: Database, tenant: Tenant, session: str, *, since: int, store: str
) -> Iterator[tuple[Row, Event]]:
    """Yield the rows of a session's log from seq ``since`` on, each with its event without a body.

    A fork's shared events come first.

    Raises: UnknownSession; LogCorrupt for a row that isn't of its form.
    """
    number = number_or_raise(db, tenant.number, session, store)
    seq = since
    for span in spans(db, tenant.number, number):
        if span.last < since:
            continue
        try:
            for row in db.execute(SELECT, (tenant.number, span.number, max(span.first, since), span.last)):
                seq = row[0]
                yield row, event_of(row, tenant.name)
                seq += 1
        except (UnicodeDecodeError, msgspec.DecodeError) as error:
            raise LogCorrupt(session, seq, f"its row can't be read: {error}") from error


def events(
    db: Database,
    tenant: Tenant,
    session: str,
    artifacts: Artifacts,
    *,
    since: int,
    limit: int | None = None,
    store: str,
) -> list[Event]:
    """Return a session's events from seq ``since`` on, one for each seq: by these they are looked up.

    ``limit``: how many at most, None: all.

    Raises: UnknownSession; ArtifactMissing; LogCorrupt, also when one is missing between others.
    """
    found: list[Event] = []
    for row, event in islice(rows(db, tenant, session, since=since, store=store), limit):
        if event.seq != since + len(found):
            raise LogCorrupt(session, since + len(found), "it is missing, and later ones are there")
        found.append(read_event(row, event, session, artifacts))
    if limit is not None and len(found) == limit:
        return found
    own = spans(db, tenant.number, number_or_raise(db, tenant.number, session, store))[-1].first
    if since + len(found) <= own:
        raise LogCorrupt(
            session, since + len(found), "it is missing, and so is all that the session holds itself"
        )
    return found


def read_payload(row: Row, session: str, artifacts: Artifacts) -> bytes | None:
    """Return the payload of a row read with ``COLUMNS``; None: erased.

    Raises: ArtifactMissing; LogCorrupt.
    """
    seq: int = row[0]
    stored: bytes | None = row[PAYLOAD]
    address: bytes | None = row[ARTIFACT]
    try:
        if address is not None:
            return artifacts.read(address)
        return None if stored is None else unpack(stored)
    except FileNotFoundError as error:
        raise ArtifactMissing(address.hex() if address else "", str(artifacts.folder)) from error
    except (OSError, zstd.ZstdError) as error:
        raise LogCorrupt(session, seq, f"its payload can't be read: {error}") from error


def read_event(row: Row, event: Event, session: str, artifacts: Artifacts) -> Event:
    """Return the event with its body. A payload that isn't the committed one is never handed out.

    Raises: ArtifactMissing; LogCorrupt.
    """
    payload = read_payload(row, session, artifacts)
    if payload is None:
        return event
    if commit_of(event.nonce or b"", payload) != event.commit:
        raise LogCorrupt(session, event.seq, "its payload isn't the one that was committed")
    try:
        body = decode_body(event.kind, event.schema, payload)
    except msgspec.DecodeError as error:
        raise LogCorrupt(session, event.seq, f"its payload isn't a {event.kind}: {error}") from error
    return with_body(event, body, payload)


def pack_units(units: Sequence[Unit]) -> bytes:
    """Encode the units that one request added."""
    return zstd.compress(_encode_units(units))


def sent_units(db: Database, tenant: Tenant, session: str, store: str) -> dict[int, tuple[Unit, ...]]:
    """Return the units of the current epoch by the seq of the request that added them.

    Raises: UnknownSession; LogCorrupt.
    """
    number = number_or_raise(db, tenant.number, session, store)
    parts = spans(db, tenant.number, number)
    epoch = max((_last_epoch(db, tenant, *span) for span in parts), default=-1)
    found: dict[int, tuple[Unit, ...]] = {}
    for span in parts:
        for seq, data in db.execute(
            "SELECT seq, data FROM units WHERE tenant = ? AND session = ? AND seq BETWEEN ? AND ?",
            (tenant.number, span.number, max(span.first, epoch), span.last),
        ):
            try:
                found[seq] = _decode_units(zstd.decompress(data))
            except (zstd.ZstdError, msgspec.DecodeError) as error:
                raise LogCorrupt(session, seq, f"its units can't be read: {error}") from error
    return found


def _last_epoch(db: Database, tenant: Tenant, number: int, first: int, last: int) -> int:
    seq = db.execute(
        "SELECT max(seq) FROM event WHERE kind = 'epoch_started' AND tenant = ? AND session = ? "
        "AND seq BETWEEN ? AND ?",
        (tenant.number, number, first, last),
    ).get
    return -1 if seq is None else seq


def units_kept(db: Database, tenant: Tenant, session: str) -> set[int]:
    """Return the seqs for which the session itself keeps units."""
    number = number_of(db, tenant.number, session)
    kept = db.execute("SELECT seq FROM units WHERE tenant = ? AND session = ?", (tenant.number, number))
    return {seq for (seq,) in kept}
