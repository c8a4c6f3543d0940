"""Reading the JSON of events, which nobody vouches for."""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec

from foreword.codecs.reading import At

_decode = msgspec.json.Decoder().decode


def loaded(data: bytes, at: At) -> Any:
    """Decode the data of an event.

    Bytes that aren't UTF-8 become U+FFFD, as the event-stream format says; escaped halves of characters, which
    senders that count in UTF-16 make, are let through for `Grown` to join. Raises: MalformedResponse.
    """
    try:
        return _decode(data)
    except (msgspec.MsgspecError, RecursionError):
        try:
            return json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise at.fault(f"no JSON that can be read: {error}") from error


def mapping(value: Any, at: At) -> dict[str, Any]:
    """Return a JSON object. Raises: MalformedResponse."""
    if not isinstance(value, dict):
        raise at.fault(f"expected an object, got {'nothing' if value is None else type(value).__name__}")
    return cast(dict[str, Any], value)


def items(value: Any, at: At) -> list[Any]:
    """Return a JSON list; null or absent: an empty one. Raises: MalformedResponse."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise at.fault(f"expected a list, got {type(value).__name__}")
    return cast(list[Any], value)


def parsed_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is; None for any other text."""
    try:
        value = _decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None
    return cast(dict[str, Any], value) if isinstance(value, dict) else None


def well_formed(value: Any) -> Any:
    """Return a JSON value with halves of characters, which UTF-8 can't hold, as U+FFFD."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
