"""What is not taken of a request's parameters, by the model's catalog row and by what else is asked: told before the

vendor refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from foreword.core.catalog import ModelSpec
from foreword.core.request import Params
from foreword.core.target import key_at


class Unserved(NamedTuple):
    """A member that is refused: its path in the request, its value, and what is taken there."""

    path: str
    value: Any
    takes: str


class _Asked(NamedTuple):
    """A value of a parameter, beside the others and the row of the model that is asked."""

    spec: ModelSpec
    value: Any
    params: Params


class _Limit(NamedTuple):
    """``refuses``: whether a value is refused; what a row does not say (None) is the vendor's to judge.

    ``takes``: what is taken, with the fields of the row and ``max_output`` to fill in.
    """

    path: tuple[str, ...]
    refuses: Callable[[_Asked], bool]
    takes: str


_THINKING = ("adaptive", "enabled", "between_tools")
_FORCED = ("any", "tool")
_LEAST_BUDGET = 1_024
_LEAST_TOP_P = 0.95
_CLEARS = "clear_thinking_20251015"


def _unsampled(asked: _Asked) -> bool:
    return asked.spec.sampling is False


def _no_forced(asked: _Asked) -> bool:
    return asked.spec.forced_tool_choice is False and asked.value in _FORCED


def _no_thinking(asked: _Asked) -> bool:
    known = ("adaptive", "enabled", "disabled")
    spec = asked.spec
    return spec.thinking is not None and asked.value in known and asked.value not in spec.thinking


def _no_budget(asked: _Asked) -> bool:
    return asked.spec.thinking is not None and "enabled" not in asked.spec.thinking


def _budget(asked: _Asked) -> bool:
    value = asked.value
    return _vendors(asked) and isinstance(value, int) and not _LEAST_BUDGET <= value < asked.params.max_output


def _vendors(asked: _Asked) -> bool:
    """Whether the model is of the vendor whose rules these are: other servers speak the wire, too."""
    return asked.spec.provider == "anthropic"


def _asks_thinking(asked: _Asked) -> bool:
    return _vendors(asked) and key_at(asked.params.keys, ("thinking", "type")) in _THINKING


def _heated(asked: _Asked) -> bool:
    return _asks_thinking(asked) and asked.value != 1


def _narrow(asked: _Asked) -> bool:
    low = isinstance(asked.value, int | float) and asked.value < _LEAST_TOP_P
    return low and _asks_thinking(asked)


def _forced(asked: _Asked) -> bool:
    return _asks_thinking(asked) and asked.value in _FORCED


def _clears_nothing(asked: _Asked) -> bool:
    """Without a wish, only models that take a budget do not think."""
    kind = key_at(asked.params.keys, ("thinking", "type"))
    off = kind is None and asked.spec.thinking is not None and "enabled" in asked.spec.thinking
    return (off or kind == "disabled") and any(
        isinstance(edit, Mapping) and cast("Mapping[str, Any]", edit).get("type") == _CLEARS
        for edit in _items(asked.value)
    )


def _chooses_thinking(asked: _Asked) -> bool:
    """DeepSeek: the model thinks unless it is told not to, or can't."""
    able = asked.spec.thinking is None or "enabled" in asked.spec.thinking
    on = able and key_at(asked.params.keys, ("thinking", "type")) != "disabled"
    return on and (asked.value == "required" or isinstance(asked.value, Mapping))


def _another_limit(asked: _Asked) -> bool:
    return asked.value != asked.params.max_output


def _many_stops(asked: _Asked) -> bool:
    most = asked.spec.max_stops
    return most is not None and len(_items(asked.value)) > most


def _odd_stops(asked: _Asked) -> bool:
    return any(not isinstance(stop, str) for stop in _items(asked.value))


def _blank_stops(asked: _Asked) -> bool:
    return _vendors(asked) and any(isinstance(stop, str) and not stop.strip() for stop in _items(asked.value))


def _items(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _stops(*path: str) -> tuple[_Limit, ...]:
    return (
        _Limit(path, _odd_stops, "a list of strings"),
        _Limit(path, _many_stops, "at most {max_stops} of them"),
    )


_UNSAMPLED = "nothing: it is not sampled so"
_BESIDE = "beside thinking; or ask for no thinking"
_OFF = 'beside thinking, which is on; or ask for no thinking by thinking: {{"type": "disabled"}}'
LIMITS: Mapping[str, tuple[_Limit, ...]] = {
    "anthropic": (
        *(_Limit((name,), _unsampled, _UNSAMPLED) for name in ("temperature", "top_p", "top_k")),
        _Limit(("temperature",), _heated, f"1 {_BESIDE}"),
        _Limit(("top_k",), _asks_thinking, f"nothing {_BESIDE}"),
        _Limit(("top_p",), _narrow, f"{_LEAST_TOP_P} or more {_BESIDE}"),
        _Limit(("tool_choice", "type"), _no_forced, "auto or none: it can't be made to call"),
        _Limit(("tool_choice", "type"), _forced, f"auto or none {_BESIDE}"),
        _Limit(("thinking", "type"), _no_thinking, "{thinking}"),
        _Limit(("thinking", "budget_tokens"), _no_budget, "an effort: it takes no budget for thinking"),
        _Limit(("thinking", "budget_tokens"), _budget,
               f"{_LEAST_BUDGET:,} tokens or more, and fewer than the {{max_output:,}} asked for in all (max_output, "
               "reserve_output)"),
        _Limit(("context_management", "edits"), _clears_nothing,
               f"no {_CLEARS} without thinking; ask for thinking, or leave it out"),
        *_stops("stop_sequences"),
        _Limit(("stop_sequences",), _blank_stops, "strings that are not blank"),
    ),
    "openai-chat": (
        *_stops("stop"),
        _Limit(("max_tokens",), _another_limit,
               "{max_output}, which is what max_output asks for: the key only names the limit, for servers that know "
               "no other name of it"),
    ),
    "deepseek": (
        *_stops("stop"),
        _Limit(("tool_choice",), _chooses_thinking, f"auto or none {_OFF}"),
    ),
    "gemini": _stops("generationConfig", "stopSequences"),
}  # fmt: skip
"""Wire -> its limits (provider documentation, 2026-11-30; clashes with thinking: error texts of public reports from

2025-05 to 2026-09, as in the referees); other wires name none that is known.
"""


def unserved(spec: ModelSpec, wire: str, params: Params) -> Iterator[Unserved]:
    """Yield what ``params.keys`` (request members in the wire's form) ask for and is refused."""
    for limit in LIMITS.get(wire, ()):
        value = key_at(params.keys, limit.path)
        if value is not None and limit.refuses(_Asked(spec, value, params)):
            takes = limit.takes.format(
                thinking=" or ".join(spec.thinking or ()),
                max_stops=spec.max_stops,
                max_output=params.max_output,
            )
            yield Unserved(".".join(limit.path), value, takes)


_NAMED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "anthropic": (("tool_choice", "name"),),
    "openai-chat": (("tool_choice", "function", "name"), ("tool_choice", "custom", "name")),
    "deepseek": (("tool_choice", "function", "name"),),
    "openai-responses": (("tool_choice", "name"),),
    "gemini": (("toolConfig", "functionCallingConfig", "allowedFunctionNames"),),
}
"""Wire -> the members that name a tool, or list some, which the model is made to call."""
_ELSEWHERE = ("mcp",)
"""Types of a choice whose tools a connector has."""
_WITH_TOOLS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("tool_choice",),
    "openai-chat": ("tool_choice", "parallel_tool_calls"),
    "deepseek": ("tool_choice",),
}
"""Wire -> the members that are refused where no tools are offered, save a choice of none (error texts of public

reports, as in the referees).
"""
MIXING: Mapping[str, tuple[str, ...]] = {"gemini": ("toolConfig", "includeServerSideToolInvocations")}
"""Wire -> the member that must be true where tools of the provider's own stand beside functions (error text `Please

enable tool_config.include_server_side_tool_invocations`, 2026).
"""
_OFFERS = ("mcp_servers", "functions")
"""Members by which tools are offered beside the list of them."""


def named_tools(wire: str, keys: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the path and the name of each tool that parameters make the model call."""
    if "mcp_servers" in keys or key_at(keys, ("tool_choice", "type")) in _ELSEWHERE:
        return
    for path in _NAMED.get(wire, ()):
        value = key_at(keys, path)
        for name in [value, *_items(value)]:
            if isinstance(name, str):
                yield ".".join(path), name


def with_tools(wire: str, keys: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of what is taken only beside tools, unless parameters bring some."""
    for name in _WITH_TOOLS.get(wire, ()) if keys.keys().isdisjoint(_OFFERS) else ():
        value = keys.get(name)
        if value not in (None, "none") and key_at(keys, (name, "type")) != "none":
            yield name, value
