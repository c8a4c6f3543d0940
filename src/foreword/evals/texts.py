"""The texts of an event and of a unit, decoded, as a search sees them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from foreword.core.block import Block, Opaque, Text, Thinking, ToolCall, ToolResult
from foreword.core.event import (
    Answered,
    Body,
    InstructionsSet,
    Noticed,
    Pinned,
    Repaired,
    Revoked,
    Rewritten,
    Said,
    ToolPrinted,
    ToolReturned,
    ToolsSet,
)

DEEPEST = 60


def texts_of(body: Body) -> Iterator[str]:
    """Yield each text of an event: of its blocks, decoded arguments included."""
    match body:
        case Said() | Answered():
            for block in body.message.blocks:
                yield from _block(block)
        case ToolReturned():
            yield from _block(body.result)
        case InstructionsSet():
            for block in body.blocks:
                yield block.text
        case ToolsSet():
            for tool in body.tools:
                yield tool.name
                yield tool.description
                yield from strings(tool.schema)
        case Pinned() | Noticed() | Revoked() | Repaired() | ToolPrinted():
            yield body.text
        case Rewritten():
            for replacement in body.replacements:
                yield replacement.text
        case _:
            pass


def unit_texts(data: bytes) -> Iterator[str]:
    """Yield each text in the bytes of a unit, and those inside strings that hold JSON, as arguments do."""
    for form in (data, b"{" + data + b"}", b"[" + data + b"]", b'"' + data + b'"'):
        try:
            value = msgspec.json.decode(form)
        except (msgspec.DecodeError, RecursionError):
            continue
        yield from strings(value)
        return
    yield data.decode("utf-8", "replace")


def strings(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield each string in a JSON value, names of members too; nothing from below 60 levels."""
    if depth > DEEPEST:
        return
    if isinstance(value, str):
        yield value
        if value[:1] in ("{", "["):
            yield from _inner(value, depth)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield str(name)
            yield from strings(member, depth + 1)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from strings(member, depth + 1)


def _inner(text: str, depth: int) -> Iterator[str]:
    try:
        value = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return
    yield from strings(value, depth + 1)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Text() | Thinking():
            yield block.text
        case ToolCall():
            yield block.name
            yield from strings(block.arguments)
        case ToolResult():
            for part in block.content:
                yield from _block(part)
        case Opaque():
            yield from strings(block.raw)
        case _:
            pass
