"""Checks of what is no text: pictures and files, in a request or named there by a handle."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from foreword.core.block import Block, Image, Opaque, ToolResult
from foreword.core.event import Answered, Event, Said, ToolReturned
from tests.field_cases.checks.comparing import Check, compare
from tests.field_cases.outcome import Outcome
from tests.field_cases.request import Request, strings

FILES = frozenset(
    {"document", "file", "fileData", "inlineData", "input_audio", "input_file", "container_upload"}
)
"""Forms of blocks, on any wire, that hold or name a file and for which the product has no word of its own."""


def media_present_or_handled(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        media = [(event.seq, block) for event in outcome.record for block in _media(event)]
        compare(args, sum(_stands(request, seq, block) for seq, block in media))


def _media(event: Event) -> list[Image | Opaque]:
    match event.body:
        case Said(message=message) | Answered(message=message):
            return list(_within(message.blocks))
        case ToolReturned(result=result):
            return list(_within(result.content))
        case _:
            return []


def _within(blocks: tuple[Block, ...]) -> Iterator[Image | Opaque]:
    for block in blocks:
        match block:
            case ToolResult(content=content):
                yield from _within(content)
            case Image():
                yield block
            case Opaque(form=form) if form in FILES:
                yield block
            case _:
                pass


def _stands(request: Request, seq: int, block: Image | Opaque) -> bool:
    """Whether a request has the data or the address of a block, or a handle of the event that it came with."""
    longest = "" if isinstance(block, Image) else max(strings(json.loads(block.raw)), key=len)
    # Some wires write a file as a URL of its data, others as the data alone.
    found = block.data or block.url if isinstance(block, Image) else longest.rpartition(";base64,")[2]
    texts = list(strings(request.body))
    handle = re.compile(rf"\w+#{seq}(?!\d)")
    return any((bool(found) and str(found) in text) or handle.search(text) for text in texts)


MEDIA: dict[str, Check] = {"media_present_or_handled": media_present_or_handled}
