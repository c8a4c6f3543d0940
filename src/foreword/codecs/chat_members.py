"""What members the API of the Chat wire takes, for servers that refuse a request with any other.

Servers of this wire give members of their own with an answer (`reasoning`, `reasoning_details`, `annotations`...), and
some want them back; the vendor's refuses them with every later request. Source: SDK types openai 3.57.0, 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

Table = Mapping[str, Any]
"""Name of a member -> the table of its own members, or of the types of its items, with theirs; None: as it came."""
_BREAK: Table = {"type": None, "prompt_cache_breakpoint": None}
_PARTS: Table = {
    "text": _BREAK | {"text": None},
    "image_url": _BREAK | {"image_url": {"url": None, "detail": None}},
    "input_audio": _BREAK | {"input_audio": None},
    "file": _BREAK | {"file": None},
    "refusal": {"type": None, "refusal": None},
}
_CALLS: Table = {
    "function": {"id": None, "type": None, "function": {"name": None, "arguments": None}},
    "custom": {"id": None, "type": None, "custom": {"name": None, "input": None}},
}
_NAMED: Table = {"role": None, "content": _PARTS, "name": None}
_TOOL: Table = {**_NAMED, "tool_call_id": None}
"""Its `name` is of no type of the SDK; older clients send it, and it is taken."""
MEMBERS: Final[Mapping[str, Table]] = {
    "system": _NAMED,
    "developer": _NAMED,
    "user": _NAMED,
    "assistant": {**_NAMED, "refusal": None, "audio": {"id": None}, "tool_calls": _CALLS},
    "tool": _TOOL,
}
"""Role of a message -> its members."""
FUNCTION: Final[Table] = {
    "type": None,
    "function": {"name": None, "description": None, "parameters": None, "strict": None},
}
"""The members of a function that is offered."""


def known_members(value: dict[str, Any], table: Table) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return (a message or a function with the members that a table has, what got lost).

    An item of a type that no table has stays as it came.
    """
    lost: dict[str, None] = {}
    return _known(value, table, lost), tuple(lost)


def _known(value: Any, table: Table | None, lost: dict[str, None]) -> Any:
    if table is None:
        return value
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_known(item, table.get(str(_type(item))), lost) for item in items]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    lost |= {f"member {name}": None for name in members if name not in table}
    return {name: _known(member, table[name], lost) for name, member in members.items() if name in table}


def _type(item: Any) -> Any:
    return cast("dict[str, Any]", item).get("type") if isinstance(item, dict) else None
