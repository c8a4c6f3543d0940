"""Sealing: an event's payload, and the two hashes that bind it to the log.

``commit`` is H(nonce || payload): the nonce lives and dies with the payload, so an erased payload leaves a chain that
verifies and a hash that betrays nothing. ``link`` chains header and commit to the event before
(docs/decisions/0001-event-and-commitment.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from operator import attrgetter
from typing import Annotated, Any

import msgspec

from foreword.core.canonical import lossless, read
from foreword.core.event import Body, Draft, Event, Trust, kind_of
from foreword.core.surrogates import mended
from foreword.errors import InvalidText, InvalidValue

GENESIS = b"\0" * 32
NONCE_BYTES = 16
SCHEMA = 1

_encoder = msgspec.json.Encoder()
"""Members stand in the order of their definition, those of plain dictionaries as they were given: a tool's schema
must come back from the log with its keys in the order that was sent."""

_decoder: msgspec.json.Decoder[Body] = msgspec.json.Decoder(Body)
_HEADER = (
    "seq", "kind", "schema", "at", "actor", "origin", "trust", "tenant", "subject", "audience", "causes",
)  # fmt: skip
"""The header fields that the chain covers, in their fixed order."""
_header: Callable[[Event], tuple[Any, ...]] = attrgetter(*_HEADER)
_At = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_header_decoder = msgspec.json.Decoder(
    tuple[int, str, int, _At, str, str, Trust, str, str | None, tuple[str, ...], tuple[int, ...]]
)
_NO_TEXT = (bytes, bytearray, datetime, date, time, timedelta)
"""What the encoder would write as a string, though it is none."""


def encode_body(body: Body) -> bytes:
    """Return the payload: JSON with the tag inside.

    Raises: InvalidNumber.
    """
    return lossless(body)


def decode_body(kind: str, schema: int, payload: bytes) -> Body:
    """Read a payload of any schema version ever written.

    Raises: msgspec.DecodeError (the store translates it: it knows the place).
    """
    del kind, schema  # one schema so far; upcasters join here, keyed by (kind, schema)
    try:
        return _decoder.decode(payload)
    except msgspec.DecodeError:
        return msgspec.convert(read(payload), Body)


def commit_of(nonce: bytes, payload: bytes) -> bytes:
    """Return H(nonce || payload)."""
    return hashlib.sha256(nonce + payload).digest()


def link_of(previous: bytes, header: tuple[Any, ...], commit: bytes) -> bytes:
    """Return the chain hash over the previous link, every header field and the commit."""
    return hashlib.sha256(previous + _encoder.encode(header) + commit).digest()


def header_of(event: Event) -> tuple[Any, ...]:
    """Return the header fields that the chain covers, in their fixed order."""
    return _header(event)


def seal(draft: Draft, *, seq: int, at: int, tenant: str, previous: bytes, nonce: bytes) -> Event:
    """Make the event that follows ``previous`` (the link before it, or ``GENESIS``).

    Raises: InvalidNumber; InvalidValue for what would not be read again; InvalidText for a header that can't be
    written.
    """
    payload, body = _readable(draft.body)
    commit = commit_of(nonce, payload)
    event = Event(
        seq=seq,
        kind=kind_of(draft.body),
        schema=SCHEMA,
        at=at if draft.at is None else draft.at,
        actor=draft.actor,
        origin=draft.origin,
        trust=draft.trust,
        tenant=tenant,
        subject=draft.subject,
        audience=draft.audience,
        causes=draft.causes,
        commit=commit,
        link=b"",
        nonce=nonce,
        body=None,
    )
    header = header_of(event)
    _check_header(event.kind, header)
    event = msgspec.structs.replace(event, link=link_of(previous, header, commit))
    return with_body(event, body, payload)


def _readable(body: Body) -> tuple[bytes, Body]:
    """Return the payload and the body that is read from it: structs don't check what they are made of."""
    kind = kind_of(body)
    try:
        payload = encode_body(body)
        known = decode_body(kind, SCHEMA, payload)
        if known != body:  # a dict where a struct belongs, say: what is followed is what will be read
            msgspec.convert(msgspec.to_builtins(body, builtin_types=_NO_TEXT), Body)
            body, payload = known, encode_body(known)
    except (TypeError, msgspec.DecodeError) as error:
        fault, _, place = str(error).partition(" - at `$")
        raise InvalidValue(kind, place.strip(".`"), fault, _move(type(body))) from error
    return payload, body


def _move(struct: type) -> str:
    return f"help({struct.__module__}.{struct.__qualname__}) shows what each field takes"


def _check_header(kind: str, header: tuple[Any, ...]) -> None:
    try:
        _header_decoder.decode(_encoder.encode(header))
    except UnicodeEncodeError as error:
        raise InvalidText(error.object, error.start) from error
    except (TypeError, msgspec.DecodeError) as error:
        fault, _, place = str(error).partition(" - at `$[")
        place = place.partition("]")[0]
        raise InvalidValue(kind, _HEADER[int(place)] if place else "", fault, _move(Draft)) from error


def with_body(event: Event, body: Body, payload: bytes) -> Event:
    """Return the event with its body, mended where it can't be sent as it came."""
    shown = mended(body, payload)
    return msgspec.structs.replace(event, body=shown, original=None if shown is body else body)
