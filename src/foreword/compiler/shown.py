"""What a target can be shown of a block: a picture in words where the model reads none, and no string too long.

The record keeps all of it. Decided from what the log held when the block was first sent, so its bytes stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import msgspec

from foreword.core.block import Block, Image, Message, Text, ToolCall, ToolResult
from foreword.core.canonical import compact
from foreword.core.frame import frame
from foreword.core.reference import blocks_of
from foreword.core.target import Target
from foreword.core.view import View

NOT_DESCRIBED = "A picture stood here; this model reads no pictures, and nobody described it."
_LEAST = 64
"""Characters of a string that a cut leaves, at least."""

Shown = TypeVar("Shown", bound=Block)


def shown_message(message: Message, seq: int, view: View, target: Target, before: int) -> Message:
    """Return a message as the target can be shown it; most are returned as they are.

    ``seq``: the event that holds it; ``before``: only descriptions appended before this event count. A text of the
    user's that is too long becomes several; arguments of a call lose the middle of their longest texts and stay JSON.
    """
    if not _affected(message.blocks, target):
        return message
    blocks: list[Block] = []
    for block in message.blocks:
        match block:
            case Text() if target.spec.max_string_chars is not None and message.role == "user":
                blocks += _split(block, target.spec.max_string_chars)
            case ToolResult():
                blocks.append(shown_result(block, seq, view, target, before))
            case _:
                blocks.append(_shown(block, seq, view, target, before))
    return msgspec.structs.replace(message, blocks=tuple(blocks))


def shown_result(result: ToolResult, seq: int, view: View, target: Target, before: int) -> ToolResult:
    """Return a tool's result as the target can be shown it, like ``shown_message``; a long text loses its middle."""
    if not _affected(result.content, target):
        return result
    content = tuple(_shown(part, seq, view, target, before) for part in result.content)
    return msgspec.structs.replace(result, content=content)


def _affected(blocks: tuple[Block, ...], target: Target) -> bool:
    limit = target.spec.max_string_chars
    if limit is None and target.spec.vision is not False:
        return False
    for block in blocks:
        match block:
            case Image():
                found = target.spec.vision is False
            case Text(text=text) | ToolCall(arguments=text):
                found = limit is not None and len(text) > limit
            case ToolResult(content=content):
                found = _affected(content, target)
            case _:
                found = False
        if found:
            return True
    return False


def _shown(block: Shown, seq: int, view: View, target: Target, before: int) -> Shown | Text:
    limit = target.spec.max_string_chars
    match block:
        case Image() if target.spec.vision is False:
            return _described(block, seq, view, target, before)
        case Text(text=text) if limit is not None and len(text) > limit:
            return msgspec.structs.replace(block, text=_cut(text, limit))
        case ToolCall(arguments=text) if limit is not None and len(text) > limit:
            return msgspec.structs.replace(block, arguments=_cut_json(text, limit))
        case _:
            return block


def _described(image: Image, seq: int, view: View, target: Target, before: int) -> Text:
    """Return what stands for a picture: its description or a note, with its reference where the agent has a reader."""
    fold = view.fold
    described, text = fold.described.get(image.digest, (before, ""))
    body = fold.events[seq].body
    places = (
        [place for place, block in enumerate(blocks_of(body)) if block == image] if body is not None else []
    )
    named: dict[str, str | int] = {"type": image.media_type or "image"}
    if places and fold.opened is not None and target.reader != "none":
        named["ref"] = f"{fold.opened.alias}#{seq}.{places[0]}"
    if described >= before:
        return Text(text=frame("note", NOT_DESCRIBED, **named))
    return Text(text=frame("image", text, **named, event=described))


def _split(block: Text, limit: int) -> Iterator[Text]:
    for start in range(0, max(1, len(block.text)), limit):
        yield msgspec.structs.replace(block, text=block.text[start : start + limit])


def _cut(text: str, limit: int) -> str:
    """Leave out the middle of a text, so that with a word on it at most ``limit`` characters are left."""
    if len(text) <= limit:
        return text
    kept = max(0, limit - _LEAST) // 2
    note = f"[{len(text) - 2 * kept} characters left out]"
    return f"{text[:kept]}{note}{text[len(text) - kept :]}"[:limit]


def _cut_json(text: str, limit: int) -> str:
    """Leave out the middles of the longest strings in a JSON text; one that can't be read is told as a string."""
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        value = {"arguments": text}
    longest = limit
    while longest >= _LEAST:
        made = compact(_mapped(value, lambda string, most=longest: _cut(string, most))).decode()
        if len(made) <= limit:
            return made
        longest //= 2
    return compact({"arguments": f"[{len(text)} characters left out]"}).decode()


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(item, change) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: _mapped(item, change) for name, item in members.items()}
    return value
