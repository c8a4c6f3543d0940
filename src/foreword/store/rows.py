"""Events as rows. A column is NULL where the header holds its usual value, so that rows stay small."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from foreword.core.event import Event, Trust
from foreword.core.sealing import commit_of, encode_body
from foreword.errors import LogCorrupt
from foreword.store import zstd
from foreword.store.artifacts import address_of

INLINE = 4096
"""Bytes of a payload that still stand in the row; a longer one becomes an artifact."""

SMALL = 1024
"""Bytes below which compressing a payload costs more time at each load than it saves space."""

PLAIN, PACKED = b"\0", b"\1"

# The usual values. They are part of the stored form: they never change, whatever the defaults of a draft do.
SCHEMA, ACTOR, ORIGIN, TRUST = 1, "caller", "library", "operator"

COLUMNS = (
    "seq, kind, schema, at, actor, origin, trust, subject, audience, causes, "
    '"commit", link, nonce, payload, artifact'
)
PAYLOAD, ARTIFACT = 13, 14  # places in a row read with COLUMNS
INSERT = f"INSERT INTO event (tenant, session, {COLUMNS}) VALUES (?, ?{', ?' * 15})"

Row = tuple[Any, ...]

_encode = msgspec.json.Encoder().encode
_decode_names = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_seqs = msgspec.json.Decoder(tuple[int, ...]).decode


class Header(Struct, frozen=True, array_like=True, gc=False):
    """The columns of a row, each checked for its kind. NULL: the usual value."""

    seq: int
    kind: str
    schema: int | None
    at: int
    actor: str | None
    origin: str | None
    trust: Trust | None
    subject: str | None
    audience: str | None
    causes: str | None
    commit: bytes
    link: bytes
    nonce: bytes | None
    payload: bytes | None
    artifact: bytes | None


class Packed(Struct, frozen=True, kw_only=True, gc=False):
    """An event ready for its row. ``large``: its payload, when that goes to the artifact ``address``."""

    event: Event
    payload: bytes | None
    address: bytes | None
    large: bytes | None


def pack(event: Event, session: str, key: bytes) -> Packed:
    """Encode an event's payload for storage; an erased event has none.

    Raises: LogCorrupt when the event's commit isn't that of its body.
    """
    if event.body is None or event.nonce is None:
        return Packed(event=event, payload=None, address=None, large=None)
    payload = encode_body(event.original or event.body)
    if commit_of(event.nonce, payload) != event.commit:
        raise LogCorrupt(session, event.seq, "its commit doesn't match its body")
    if len(payload) > INLINE:
        return Packed(event=event, payload=None, address=address_of(key, payload), large=payload)
    stored = PLAIN + payload
    if len(payload) >= SMALL:
        stored = min(stored, PACKED + zstd.compress(payload), key=len)
    return Packed(event=event, payload=stored, address=None, large=None)


def unpack(stored: bytes) -> bytes:
    """Return the payload that stands in a row.

    Raises: ZstdError.
    """
    return zstd.decompress(stored[1:]) if stored[:1] == PACKED else stored[1:]


def row_of(packed: Packed, tenant: int, session: int) -> Row:
    """Return the values for ``INSERT``."""
    event = packed.event
    return (
        tenant,
        session,
        event.seq,
        event.kind,
        None if event.schema == SCHEMA else event.schema,
        event.at,
        None if event.actor == ACTOR else event.actor,
        None if event.origin == ORIGIN else event.origin,
        None if event.trust == TRUST else event.trust,
        event.subject,
        _encode(event.audience).decode() if event.audience else None,
        _encode(event.causes).decode() if event.causes else None,
        event.commit,
        event.link,
        event.nonce,
        packed.payload,
        packed.address,
    )


def event_of(row: Row, tenant: str) -> Event:
    """Return the event of a row read with ``COLUMNS``, without its body.

    Raises: msgspec.DecodeError when a value isn't of its column's kind.
    """
    header = msgspec.convert(row, Header, builtin_types=(bytes,))  # so that text is none, not base64 of some
    return Event(
        seq=header.seq,
        kind=header.kind,
        schema=header.schema or SCHEMA,
        at=header.at,
        actor=header.actor or ACTOR,
        origin=header.origin or ORIGIN,
        trust=header.trust or TRUST,
        tenant=tenant,
        subject=header.subject,
        audience=_decode_names(header.audience) if header.audience else (),
        causes=_decode_seqs(header.causes) if header.causes else (),
        commit=header.commit,
        link=header.link,
        nonce=header.nonce,
        body=None,
    )
