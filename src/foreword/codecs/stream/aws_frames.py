"""Amazon's event-stream framing, read incrementally: binary messages that each hold an event of a model's own stream.

A message is: length of all (4 bytes, big-endian), length of the headers (4), CRC-32 of these 8 bytes, headers, payload,
CRC-32 of all before it (smithy.io, AWS event stream specification). A header is: length of its name (1), name, kind of
its value (1), value. Bedrock puts each event as base64 into the member `bytes` of a JSON payload.
"""

from __future__ import annotations

from binascii import crc32

import msgspec
from msgspec import Struct

from foreword.codecs.stream.sse import ServerEvent
from foreword.codecs.stream.streamed import MALFORMED

AWS_FIRST = (b"\x00", b"\x01")
"""What the length of a message begins with; no text does."""
_PRELUDE = 12
_LEAST = _PRELUDE + 4
_LARGEST = (24 << 20) + (128 << 10) + _LEAST
"""Largest payload and headers that the specification allows."""
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Kind of a header's value -> its bytes; kinds 6 (bytes) and 7 (text) say their length in 2 bytes before it."""
_TEXT = 7


class _Damaged(ValueError):
    """The bytes are no message."""


class _Chunk(Struct):
    event: bytes = msgspec.field(name="bytes")


class _Told(Struct):
    message: str = ""


class AwsFrames:
    """Bytes in, whole events out, as `EventStream` gives them; the text of an event is in its data.

    An exception of the service is an event of the name `error` in Anthropic's form. So is a message that is damaged,
    of type `MALFORMED`; nothing is read behind it.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._damaged = False

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Take the next bytes; return the events that they end."""
        self._rest += data
        events: list[ServerEvent] = []
        at = 0
        try:
            while not self._damaged and (end := self._behind(at)) is not None:
                event = _event(bytes(self._rest[at:end]))
                at = end
                if event is not None:
                    events.append(event)
        except (ValueError, msgspec.MsgspecError) as error:
            self._damaged = True
            events.append(_error(MALFORMED, f"no message of an event stream: {error}"))
        del self._rest[:at]
        if self._damaged:
            self._rest.clear()
        return events

    def end(self) -> None:
        """Drop what stands unfinished: a message that is cut says nothing that can be trusted."""
        self._rest.clear()

    def _behind(self, at: int) -> int | None:
        """Return the place behind the message that begins here; None: not all of it has come."""
        prelude = self._rest[at : at + _PRELUDE]
        if len(prelude) < _PRELUDE:
            return None
        if crc32(prelude[:8]) != int.from_bytes(prelude[8:]):
            raise _Damaged("its prelude has another checksum")
        size, headers = int.from_bytes(prelude[:4]), int.from_bytes(prelude[4:8])
        if not _LEAST + headers <= size <= _LARGEST:
            raise _Damaged(f"it says to have {size:,} bytes, {headers:,} of them headers")
        return at + size if len(self._rest) >= at + size else None


def _event(message: bytes) -> ServerEvent | None:
    """Return the event that a whole message holds; None: it holds none of ours."""
    if crc32(message[:-4]) != int.from_bytes(message[-4:]):
        raise _Damaged("it has another checksum")
    behind = _PRELUDE + int.from_bytes(message[4:8])
    named = _headers(message[_PRELUDE:behind])
    payload = message[behind:-4]
    match named.get(":message-type"):
        case "event":
            if named.get(":event-type") != "chunk":
                return None
            return ServerEvent(data=msgspec.json.decode(payload, type=_Chunk).event)
        case "exception":
            return _error(named.get(":exception-type", ""), _message(payload))
        case "error":
            return _error(named.get(":error-code", ""), named.get(":error-message", ""))
        case kind:
            raise _Damaged(f"its type is {kind!r}")


def _headers(data: bytes) -> dict[str, str]:
    """Return the headers whose value is a text."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        name, at = _taken(data, at + 1, data[at])
        kind, at = _taken(data, at, 1)
        size = _SIZES.get(kind[0])
        if size is None:
            length, at = _taken(data, at, 2)
            size = int.from_bytes(length)
        value, at = _taken(data, at, size)
        if kind[0] == _TEXT:
            found[name.decode()] = value.decode()
    return found


def _taken(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    if at + size > len(data):
        raise _Damaged("its headers are cut")
    return data[at : at + size], at + size


def _message(payload: bytes) -> str:
    try:
        return msgspec.json.decode(payload, type=_Told).message
    except msgspec.MsgspecError:
        return ""


def _error(kind: str, message: str) -> ServerEvent:
    told = {"type": "error", "error": {"type": kind, "message": message}}
    return ServerEvent(data=msgspec.json.encode(told), event="error")
