"""References to tools in blocks of a provider's own tool search: what they name is loaded from there on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from foreword.core.block import Block, Opaque

_FORM = "tool_reference"
_FOUND = "tool_search_tool_result"
_CALL = "server_tool_use"
_NAMES = "tool_search_tool_"


def referenced(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the names of the tools that opaque blocks load, in order, as the wire has them.

    Source of the form, ``{"type": "tool_reference", "tool_name": ...}`` at any depth: SDK types anthropic 2.14.0.
    """
    for block in blocks:
        if isinstance(block, Opaque) and _FORM in block.raw:
            yield from _names(_value(block.raw))


def of_search(block: Opaque) -> bool:
    """Whether a block asks for a tool search, or is what one found (same source)."""
    if block.form != _CALL or _NAMES not in block.raw:
        return block.form in (_FORM, _FOUND)
    called = _value(block.raw)
    return isinstance(called, dict) and str(cast("dict[str, Any]", called).get("name")).startswith(_NAMES)


def _value(raw: str) -> Any:
    """Read a block; one that is no JSON that a provider takes is told in words, which load nothing: None."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        name = members.get("tool_name")
        if members.get("type") == _FORM and isinstance(name, str):
            yield name
        value = list(members.values())
    if isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _names(inner)
