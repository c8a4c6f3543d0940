"""What both wires of OpenAI take as options of the prompt cache (rulebook 2.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foreword.testing.rule import Fault, fault
from foreword.testing.wire import mapping

_MODES = ("implicit", "explicit")
_RETENTIONS = ("in_memory", "24h")


_PART_LIFETIMES = ("30m", "12h")


def mark_fault(mark: object) -> tuple[str, str] | None:
    """Name the member of a part's breakpoint that has none of its values, and these; None: all is well, or no mark.

    The SDK's type is one for both wires; a request's own lifetimes differ.
    """
    if mark is None:
        return None
    if mapping(mark).get("mode") != "explicit":
        return "mode", "'explicit'"
    ttl = mapping(mark).get("ttl")
    return ("ttl", ", ".join(_PART_LIFETIMES)) if ttl is not None and ttl not in _PART_LIFETIMES else None


def cache_faults(body: Mapping[str, Any], lifetimes: Sequence[str]) -> Iterator[Fault]:
    """Yield each option that has none of its values; ``lifetimes``: those that the wire takes for a request."""
    options = mapping(body.get("prompt_cache_options"))
    for path, value, allowed in (
        ("prompt_cache_options.mode", options.get("mode"), _MODES),
        ("prompt_cache_options.ttl", options.get("ttl"), lifetimes),
        ("prompt_cache_retention", body.get("prompt_cache_retention"), _RETENTIONS),
    ):
        if value is not None and value not in allowed:
            yield fault(path, value=value, allowed=", ".join(allowed))
