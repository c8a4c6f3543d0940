"""Ids of the items in an answer of the OpenAI Responses wire: each may stand in a request once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from foreword.core.block import Message, Opaque, Text, Thinking, ToolCall

WIRE = "openai-responses"
ITEM = "item"
"""Name under which the first text of an output message keeps the members of its item."""
ANSWERED = frozenset({"status"})
"""Members that an item of reasoning has in an answer only (error text `Unknown parameter: 'input[1].status'`, 2026)."""


def item_ids(message: Message) -> list[str]:
    """List the ids of a message's items, in order; [] on other wires.

    Source: error text `Duplicate item found with id msg_…. Remove duplicate items from your input …`, 2026.
    """
    return list(_ids(message)) if message.wire == WIRE else []


def _ids(message: Message) -> Iterator[str]:
    for block in message.blocks:
        match block:
            case Text(extra=extra):
                held: Any = (extra or {}).get(ITEM)
            case Thinking(extra=extra) | ToolCall(extra=extra):
                held = extra
            case Opaque(raw=raw):
                held = _members(raw)
            case _:
                held = None
        id_ = cast("dict[str, Any]", held).get("id") if isinstance(held, dict) else None
        if isinstance(id_, str) and id_:
            yield id_


def _members(raw: str) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
