"""Reading a request without trusting its form: the parts that the wires share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, TypeVar, cast

import msgspec

from foreword.core.canonical import lossless
from foreword.core.surrogates import mended_json

T = TypeVar("T")

# Not rendered for the model, or of unknown size there (rulebook 9.3).
UNCOUNTED = frozenset(
    {"type", "id", "signature", "encrypted_content", "encrypted_index", "data", "file_id", "tool_use_id"}
    | {"cache_control", "prompt_cache_breakpoint", "tool_call_id"}
)


# What reading a body that is no JSON object, or one nested too deep, raises.
UNREADABLE = (msgspec.DecodeError, RecursionError)


def opened(body: bytes, listed: str = "messages") -> tuple[dict[str, Any], list[bytes]]:
    """Parse a body; return its members, and the raw bytes of each item of `listed`. Raises `UNREADABLE`.

    Items stay raw so that those seen before need no second decoding; they are not checked yet. A `listed`
    member that is not a list is decoded like any other.
    """
    raw = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    items = raw.pop(listed, None)
    members: dict[str, Any] = {name: msgspec.json.decode(value) for name, value in raw.items()}
    if items is None:
        return members, []
    try:
        each = msgspec.json.decode(items, type=list[msgspec.Raw])
    except msgspec.ValidationError:
        return {**members, listed: msgspec.json.decode(items)}, []
    return {**members, listed: each}, [bytes(item) for item in each]


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; nothing if it is no list."""
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", item) for item in cast("list[object]", value) if isinstance(item, dict)]


def text_of(value: object) -> str:
    """Return a string, or "" for anything else."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    """Return an object, or {} for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def whole(value: T) -> T:
    """Return a JSON value without halves of characters: a record may hold them, what a service says never does."""
    return msgspec.json.decode(mended_json(lossless(value).decode()))


def compact(value: object) -> bytes:
    """Encode as JSON without spaces, members in the order they came."""
    return msgspec.json.encode(value)


def digest(value: Mapping[str, Any], *, without: str) -> bytes:
    """Digest an object without its cache marks, whatever the order of its own members.

    Members of nested objects keep their order: it is part of what the model reads.
    """
    return blake2b(compact(_bare(value, without)), digest_size=16).digest()


def strings(value: object) -> Iterator[str]:
    """Yield every text that the model would read in a value of unknown form."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            members = cast("dict[str, object]", item)
            stack.extend(part for name, part in members.items() if name not in UNCOUNTED)
        elif isinstance(item, list):
            stack.extend(cast("list[object]", item))


def _bare(value: Mapping[str, Any], without: str) -> dict[str, Any]:
    bare = {name: value[name] for name in sorted(value) if name != without}
    content = bare.get("content")
    if isinstance(content, list):
        bare["content"] = [
            _bare(cast("dict[str, Any]", item), without) if isinstance(item, dict) else item
            for item in cast("list[object]", content)
        ]
    return bare
