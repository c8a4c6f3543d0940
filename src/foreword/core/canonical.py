"""JSON as bytes, and digests: the one place where both are defined.

Two forms exist on purpose. ``compact`` keeps key order: it is what is sent, and a provider's cache sees the
order. ``canonical`` sorts keys: it is what is compared, when a caller may have reordered them.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from foreword.errors import InvalidText

DIGEST_BYTES = 16
_encoder = msgspec.json.Encoder()


def compact(value: Any) -> bytes:
    """Encode as JSON without spaces, keys in the given order.

    Raises: InvalidText for a lone surrogate, which UTF-8 can't hold.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError as error:
        raise InvalidText(error.object, error.start) from error


def canonical(value: Any) -> bytes:
    """Encode as JSON without spaces, keys sorted, so that equal values give equal bytes."""
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise InvalidText(error.object, error.start) from error


def digest(data: bytes) -> bytes:
    """Hash to 16 bytes: SHA-256, cut. Used for identity inside one store, never as a secret."""
    return hashlib.sha256(data).digest()[:DIGEST_BYTES]
