"""What a response says about its bill beside the six buckets: terms, hidden summaries, and what does not add up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from foreword.codecs.anthropic_decode import usage_from
from foreword.core.usage import Usage
from foreword.errors import MalformedResponse

TERMS: dict[str, dict[tuple[str, str], str]] = {
    "anthropic": {
        ("service_tier", "batch"): "batch",
        ("speed", "fast"): "fast",
        ("inference_geo", "us"): "us",
    },
    "openai-chat": {("service_tier", "batch"): "batch"},
    "openai-responses": {("service_tier", "batch"): "batch"},
}
"""Wire -> (member, value) -> the catalog's name of what multiplies the bill.

Anthropic states all three in the usage (SDK 2.14.0 types), OpenAI its tier in the response (SDK 3.57.0 types).
"""


class Billing(Struct, frozen=True, kw_only=True):
    """`terms`: names of multipliers. `compactions`: tokens of the provider's own summaries, not in the usage."""

    terms: tuple[str, ...] = ()
    compactions: tuple[Usage, ...] = ()


NO_MORE = Billing()
"""Of a response whose bill is its usage."""


def billing_of(wire: str, members: Mapping[str, Any]) -> Billing:
    """Read the members of a response, its usage under `usage`; what is not of the expected form is passed over."""
    usage = _mapping(members.get("usage"))
    terms = tuple(
        name
        for (member, value), name in TERMS.get(wire, {}).items()
        if usage.get(member, members.get(member)) == value
    )
    iterations: Any = usage.get("iterations") if wire == "anthropic" else None
    entries = cast("list[Any]", iterations) if isinstance(iterations, list) else []
    spent = [_spent(entry) for entry in map(_mapping, entries) if entry.get("type") == "compaction"]
    return Billing(terms=terms, compactions=tuple(one for one in spent if one is not None))


def doubts(wire: str, usage: Mapping[str, Any]) -> tuple[str, ...]:
    """Name what in a usage object does not add up: `cache_split_mismatch`, `cached_over_prompt`.

    A split of cache writes that is not their total loses no token: the rest counts as short-lived.
    """
    found: list[str] = []
    if wire == "anthropic" and isinstance(usage.get("cache_creation"), Mapping):
        split = _mapping(usage["cache_creation"])
        written = sum(
            _count(split, name) for name in ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
        )
        whole = usage.get("cache_creation_input_tokens")
        if whole is not None and written != whole:
            found.append("cache_split_mismatch")
    for prompt, details in (
        ("prompt_tokens", "prompt_tokens_details"),
        ("input_tokens", "input_tokens_details"),
    ):
        inside = _mapping(usage.get(details))
        if _count(inside, "cached_tokens") + _count(inside, "cache_write_tokens") > _count(usage, prompt):
            found.append("cached_over_prompt")
    return tuple(found)


def _spent(entry: Mapping[str, Any]) -> Usage | None:
    try:
        return usage_from(entry)
    except MalformedResponse:
        return None


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _count(members: Mapping[str, Any], name: str) -> int:
    value = members.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
