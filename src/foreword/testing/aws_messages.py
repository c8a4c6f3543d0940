"""Amazon's event-stream framing, as a service writes it (smithy.io, AWS event stream specification)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from zlib import crc32

import msgspec

TEXT = b"\x07"
PADDING = "abcdefghijklmnop"
JSON = {":content-type": "application/json"}


def message(headers: Mapping[str, str], payload: object) -> bytes:
    """Write one message: headers that are texts, and a payload of JSON."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    body = msgspec.json.encode(payload)
    prelude = (16 + len(head) + len(body)).to_bytes(4) + len(head).to_bytes(4)
    checked = prelude + crc32(prelude).to_bytes(4) + head + body
    return checked + crc32(checked).to_bytes(4)


def chunk(event: bytes) -> bytes:
    """Write an event of a model's stream; Bedrock pads it, so that its length tells nothing of the text."""
    payload = {"bytes": b64encode(event).decode(), "p": PADDING[: 1 + len(event) % len(PADDING)]}
    return message({":event-type": "chunk", **JSON, ":message-type": "event"}, payload)


def exception(kind: str, text: str) -> bytes:
    """Write an exception that ends a stream."""
    return message({":exception-type": kind, **JSON, ":message-type": "exception"}, {"message": text})


def _header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + TEXT + len(value.encode()).to_bytes(2) + value.encode()
