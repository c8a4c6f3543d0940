"""What a response says about its bill beside the six buckets: terms, hidden summaries, and what does not add up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from foreword.codecs.anthropic_decode import usage_from
from foreword.codecs.decoded import Response
from foreword.codecs.doubts import doubts
from foreword.core.usage import Usage
from foreword.errors import MalformedResponse

_OPENAI = {
    ("service_tier", tier): tier for tier in ("batch", "flex", "scale", "priority", "fast", "ultrafast")
}
TERMS: dict[str, dict[tuple[str, str], str]] = {
    "anthropic": {
        ("service_tier", "batch"): "batch",
        ("service_tier", "priority"): "priority",
        ("speed", "fast"): "fast",
        ("inference_geo", "us"): "us",
    },
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "gemini": {("serviceTier", tier): tier for tier in ("flex", "priority")},
}
"""Wire -> (member, value) -> the name of what multiplies the bill.

A name without a figure in the catalog makes the cost unknown: the listed price would be wrong. Anthropic and Gemini
state theirs in the usage (types of the SDKs 2.14.0 and 3.6.1), OpenAI its tier in the response (SDK 3.57.0).
"""


class Billing(Struct, frozen=True, kw_only=True):
    """`terms`: names of multipliers. `compactions`: tokens of the provider's own summaries, not in the usage.

    `doubts`: what in the usage does not add up, by name.
    """

    terms: tuple[str, ...] = ()
    compactions: tuple[Usage, ...] = ()
    doubts: tuple[str, ...] = ()


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
    found = tuple(one for one in spent if one is not None)
    return Billing(terms=terms, compactions=found, doubts=doubts(wire, usage))


def billing_from(wire: str, response: Response | None) -> Billing:
    """Read a decoded response; None: nothing of one came."""
    if response is None:
        return NO_MORE
    return replace(billing_of(wire, response.extra or {}), doubts=response.doubts)


def _spent(entry: Mapping[str, Any]) -> Usage | None:
    try:
        return usage_from(entry)
    except MalformedResponse:
        return None


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
