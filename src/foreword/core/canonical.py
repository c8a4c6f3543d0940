"""JSON as bytes, and digests: the one place where both are defined.

Three forms exist on purpose. ``compact`` keeps key order: it is what is sent, and a provider's cache sees the
order. ``lossless`` is the same for what the log keeps, whatever its text. ``canonical`` sorts keys: it is what is
compared, when a caller may have reordered them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from foreword.errors import InvalidNumber, InvalidText

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


def lossless(value: Any) -> bytes:
    """Encode what is to be kept as it came: as ``compact`` does, a lone surrogate as its escape, which reads back.

    Raises: InvalidNumber for NaN and infinities, which JSON can't say.
    """
    try:
        data = _encoder.encode(value)
    except UnicodeEncodeError:
        data = None
    # The encoder writes null for such a number, and for nothing else that isn't null.
    if data is None or b"null" in data:
        value = msgspec.to_builtins(value)
        check_numbers(value)
    if data is None:
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "backslashreplace"
        )
    return data


def read(data: bytes | str) -> Any:
    """Read JSON; an escaped lone surrogate gives a text that holds it.

    Raises: msgspec.DecodeError.
    """
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        try:
            return json.loads(data, parse_constant=_no_number)
        except (ValueError, RecursionError):
            pass
        raise


def finite(value: Any) -> Any:
    """Return a JSON value with null for each NaN and infinity, which Python reads `1e999` as."""
    try:
        check_numbers(value)
    except InvalidNumber:
        return _with_null(value)
    return value


def _with_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_null(member) for name, member in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_with_null(item) for item in cast("Sequence[Any]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _no_number(name: str) -> None:
    raise ValueError(name)


def check_numbers(value: Any) -> None:
    """Look through a JSON value. Raises: InvalidNumber for NaN and infinities."""
    pending = [value]
    while pending:
        found = pending.pop()
        if isinstance(found, float) and not math.isfinite(found):
            raise InvalidNumber(found)
        if isinstance(found, dict):
            pending += cast("dict[str, Any]", found).values()
        elif isinstance(found, list | tuple):
            pending += cast("Sequence[Any]", found)


def canonical(value: Any) -> bytes:
    """Encode as JSON without spaces, keys sorted, so that equal values give equal bytes."""
    return utf8(json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")))


def utf8(text: str) -> bytes:
    """Return a text's bytes. Raises: InvalidText for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidText(error.object, error.start) from error


def digest(data: bytes) -> bytes:
    """Hash to 16 bytes: SHA-256, cut. Used for identity inside one store, never as a secret."""
    return hashlib.sha256(data).digest()[:DIGEST_BYTES]
