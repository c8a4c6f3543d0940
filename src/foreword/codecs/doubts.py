"""What in a usage object, as a provider wrote it, does not add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from foreword.codecs.reading import At, whole
from foreword.core.usage import Usage
from foreword.errors import MalformedResponse

UNREADABLE = "usage_unreadable"
_SPLITS = {
    "anthropic": (
        "",
        "cache_creation_input_tokens",
        "cache_creation",
        ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"),
    ),
    "openai-responses": (
        "input_tokens_details",
        "cache_write_tokens",
        "cache_write_tokens_details",
        ("ttl_30m_tokens", "ttl_12h_tokens"),
    ),
}
"""Wire -> how its usage splits cache writes by lifetime: the object ("": itself), the whole, the split, its parts."""


def counted(
    at: At, usage: Any, read: Callable[[Mapping[str, Any]], Usage]
) -> tuple[dict[str, Any], Usage, tuple[str, ...]]:
    """Return the members of a response's usage, the counts that `read` finds, and what in them is doubtful.

    A usage that can't be read is unknown (`usage_unreadable`): the answer beside it is whole, and paid for.
    """
    members: dict[str, Any] = {}
    try:
        members = at.mapping(usage or {})
        return members, read(members), doubts(at.wire, members)
    except MalformedResponse:
        return members, Usage(), (UNREADABLE,)


def doubts(wire: str, usage: Mapping[str, Any]) -> tuple[str, ...]:
    """Name what in a usage object does not add up: `cache_split_mismatch`, `cached_over_prompt`.

    A split of cache writes that is not their total loses no token: the rest counts as short-lived.
    """
    found: list[str] = []
    if wire in _SPLITS:
        inside, total, split, parts = _SPLITS[wire]
        place = _mapping(usage.get(inside)) if inside else usage
        if isinstance(place.get(split), Mapping) and place.get(total) is not None:
            written = sum(_count(_mapping(place[split]), name) for name in parts)
            if written != _count(place, total):
                found.append("cache_split_mismatch")
    for prompt, details in (
        ("prompt_tokens", "prompt_tokens_details"),
        ("input_tokens", "input_tokens_details"),
    ):
        members = _mapping(usage.get(details))
        cached = _count(members, "cached_tokens") or _count(usage, "cached_tokens")
        known = usage.get(prompt) is not None
        if known and cached + _count(members, "cache_write_tokens") > _count(usage, prompt):
            found.append("cached_over_prompt")
    return tuple(found)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _count(members: Mapping[str, Any], name: str) -> int:
    return whole(members.get(name)) or 0
