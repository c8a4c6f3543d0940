"""What two values say beside how they are written: the texts of calls as values, empty members out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

_DETAIL = frozenset({"detail", "media_resolution", "mediaResolution"})
_PICTURES = frozenset({"url", "image_url", "file_id", "inlineData", "inline_data", "fileData", "file_data"})


def parsed(value: Any) -> Any:
    """Read JSON texts of calls as values, since a stored call may be encoded again."""
    if isinstance(value, Mapping):
        return {
            name: _json(member)
            if name in ("arguments", "input") and isinstance(member, str)
            else parsed(member)
            for name, member in cast("Mapping[str, Any]", value).items()
        }
    return [parsed(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


def plainest(value: Any) -> Any:
    """Write a value in its plainest form: empty members out, one text part as its string, whole floats as integers."""
    if isinstance(value, Mapping):
        members = {name: plainest(member) for name, member in cast("Mapping[str, Any]", value).items()}
        bare = {
            name: member
            for name, member in members.items()
            if member not in (None, "", [], {}, False)
            and not (name in _DETAIL and _PICTURES & members.keys())
        }
        if bare.get("type") == "message":
            del bare["type"]
        if bare.keys() == {"content"}:
            return bare["content"]
        only_text = bare.keys() == {"type", "text"} and str(bare["type"]).endswith("text")
        return bare["text"] if only_text or bare.keys() == {"text"} else dict(sorted(bare.items()))
    if isinstance(value, list):
        items = [plainest(item) for item in cast("list[Any]", value)]
        return items[0] if len(items) == 1 and isinstance(items[0], str) else items
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
