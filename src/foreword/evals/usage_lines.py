"""Usage as any client recorded it: a provider's usage object, alone or inside a response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from foreword.codecs import codec
from foreword.core.usage import Usage
from foreword.errors import CodecError

FORMS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"promptTokenCount"}), "gemini"),
    (frozenset({"prompt_token_count"}), "gemini"),
    (frozenset({"prompt_cache_hit_tokens"}), "deepseek"),
    (frozenset({"prompt_tokens"}), "openai-chat"),
    (frozenset({"input_tokens", "input_tokens_details"}), "openai-responses"),
    (frozenset({"input_tokens"}), "anthropic"),
)
"""Members that tell whose usage object it is, the most telling first."""

SPANS = {
    "gen_ai.usage.input_tokens": "input",
    "gen_ai.usage.cache_read.input_tokens": "read",
    "gen_ai.usage.cache_creation.input_tokens": "write",
    "gen_ai.usage.output_tokens": "output",
}
"""Attributes of OpenTelemetry spans (GenAI conventions 0.66b2); the input there includes what was cached."""

_INSIDE = ("usage", "usageMetadata", "usage_metadata", "message", "response", "body", "attributes")
_PLACES = frozenset({"usage", "usageMetadata", "usage_metadata"})
_DEEPEST = 4


def usage_of(value: Any) -> Usage | None:
    """Return the usage in a response, a usage object, a span or what an SDK gave; None: there is none.

    ``value``: plain values, JSON bytes or text, an object with ``model_dump``, or a `Usage`.
    """
    if isinstance(value, Usage):
        return value
    if isinstance(value, bytes | str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return None
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        value = dump(mode="json", exclude_none=True, by_alias=True, warnings=False)
    return _search(value, _DEEPEST)


def tells_usage(value: Any, depth: int = _DEEPEST) -> bool:
    """Whether a record has a place for usage, be it empty or unreadable: then it is one of a call."""
    if not isinstance(value, Mapping):
        return False
    members = cast("Mapping[str, Any]", value)
    if not _PLACES.isdisjoint(members) or any(names <= members.keys() for names, _ in FORMS):
        return True
    return depth > 0 and any(tells_usage(members[name], depth - 1) for name in _INSIDE if name in members)


def _search(value: Any, depth: int) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    members = cast("Mapping[str, Any]", value)
    found = _read(members)
    if found is not None or depth == 0:
        return found
    inner = (_search(members[name], depth - 1) for name in _INSIDE if name in members)
    return next((usage for usage in inner if usage is not None), None)


def _read(members: Mapping[str, Any]) -> Usage | None:
    if "gen_ai.usage.input_tokens" in members:
        return _span(members)
    if "cache_read" in members and "uncached" in members:
        try:
            return msgspec.convert({name: members.get(name) for name in Usage.__struct_fields__}, Usage)
        except msgspec.ValidationError:
            return None
    wire = next((wire for names, wire in FORMS if names <= members.keys()), None)
    if wire is None:
        return None
    if "prompt_token_count" in members:
        members = {_camel(name): count for name, count in members.items()}
    try:
        return codec(wire).usage_from(members)
    except CodecError:
        return None


def _camel(name: str) -> str:
    """Write a member as the wire does; what Google's client dumps has the names of its Python fields."""
    first, *more = name.split("_")
    return first + "".join(map(str.capitalize, more))


def _span(members: Mapping[str, Any]) -> Usage | None:
    counts = {short: members.get(name) for name, short in SPANS.items()}
    if any(count is not None and (type(count) is not int or count < 0) for count in counts.values()):
        return None
    whole, read = counts["input"], counts["read"]
    write = counts["write"] or 0 if whole is not None else None  # not told: they count as uncached, and once
    return Usage(
        uncached=None if whole is None or read is None or write is None else max(0, whole - read - write),
        cache_read=read,
        cache_write_short=write,
        cache_write_long=None if write is None else 0,
        output=counts["output"],
    )
