"""References to tools in blocks of a provider's own tool search: what they name is loaded from there on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from foreword.core.block import Block, Opaque

_FORM = "tool_reference"


def referenced(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the names of the tools that opaque blocks load, in order, as the wire has them.

    Source of the form, ``{"type": "tool_reference", "tool_name": ...}`` at any depth: SDK types anthropic 2.14.0.
    """
    for block in blocks:
        if isinstance(block, Opaque) and _FORM in block.raw:
            yield from _names(msgspec.json.decode(block.raw))


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
