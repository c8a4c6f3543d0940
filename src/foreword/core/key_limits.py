"""What a model does not take of a request's parameters, by its catalog row: told before the vendor refuses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from foreword.core.catalog import ModelSpec
from foreword.core.target import key_at


class Unserved(NamedTuple):
    """A member that the model refuses: its path in the request, its value, and what the model takes there."""

    path: str
    value: Any
    takes: str


class _Limit(NamedTuple):
    """``refuses``: whether a row refuses a value; what a row does not say (None) is the vendor's to judge."""

    path: tuple[str, ...]
    refuses: Callable[[ModelSpec, Any], bool]
    takes: str


def _samples(spec: ModelSpec, _: Any) -> bool:
    return spec.sampling is False


def _forced(spec: ModelSpec, value: Any) -> bool:
    return spec.forced_tool_choice is False and value in ("any", "tool")


def _thinks(spec: ModelSpec, value: Any) -> bool:
    known = ("adaptive", "enabled", "disabled")
    return spec.thinking is not None and value in known and value not in spec.thinking


def _counts_thinking(spec: ModelSpec, _: Any) -> bool:
    return spec.thinking is not None and "enabled" not in spec.thinking


LIMITS: Mapping[str, tuple[_Limit, ...]] = {
    "anthropic": (
        *(_Limit((name,), _samples, "nothing: it is not sampled so") for name in ("temperature", "top_p", "top_k")),
        _Limit(("tool_choice", "type"), _forced, "auto or none: it can't be made to call"),
        _Limit(("thinking", "type"), _thinks, "{thinking}"),
        _Limit(("thinking", "budget_tokens"), _counts_thinking, "an effort: it takes no budget for thinking"),
    )
}  # fmt: skip
"""Wire -> its limits (provider documentation, 2026-11-30); other wires name none that the catalog knows."""


def unserved(spec: ModelSpec, wire: str, keys: Mapping[str, Any]) -> Iterator[Unserved]:
    """Yield what ``keys`` (request members in the wire's form) ask for and the model refuses."""
    for limit in LIMITS.get(wire, ()):
        value = key_at(keys, limit.path)
        if value is not None and limit.refuses(spec, value):
            takes = limit.takes.format(thinking=" or ".join(spec.thinking or ()))
            yield Unserved(".".join(limit.path), value, takes)
