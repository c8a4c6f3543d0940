"""What a target can be shown of a block: a picture in words where the model reads none, and no string too long.

The record keeps all of it. Decided from what the log held when the block was first sent, so its bytes stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import msgspec

from foreword.core.block import Block, Image, Message, Opaque, Text, ToolCall, ToolResult
from foreword.core.canonical import compact
from foreword.core.frame import frame
from foreword.core.target import Target
from foreword.core.view import View

_PDF = "JVBERi"
"""How a PDF begins in base64."""
NOT_READ = "A document stood here; this model reads none."
TOO_LONG = "A picture stood here; it is longer than the server takes."
NOT_DESCRIBED = "A picture stood here; this model reads no pictures, and nobody described it."
_LEAST = 64
"""Characters of a string that a cut leaves, at least; a picture's URL has fewer before its data."""
_JOINT = 2
"""Characters by which codecs join texts to one string."""

Shown = TypeVar("Shown", bound=Block)


def shown_message(message: Message, view: View, target: Target, before: int) -> Message:
    """Return a message as the target can be shown it; most are returned as they are.

    ``before``: only descriptions appended before this event count. A text of the user's that is too long becomes
    several, other texts lose the middle of the longest; so do arguments of a call, and stay JSON.
    """
    if not _affected(message.blocks, target):
        return message
    blocks: list[Block] = []
    for block in message.blocks:
        match block:
            case Text() if target.spec.max_string_chars is not None and message.role == "user":
                blocks += _split(block, target.spec.max_string_chars)
            case ToolResult():
                blocks.append(shown_result(block, view, target, before))
            case _:
                blocks.append(_shown(block, view, target, before))
    fitted = blocks if message.role == "user" else _fitted(blocks, target.spec.max_string_chars)
    return msgspec.structs.replace(message, blocks=tuple(fitted))


def shown_result(result: ToolResult, view: View, target: Target, before: int) -> ToolResult:
    """Return a tool's result as the target can be shown it, like ``shown_message``; long texts lose their middle."""
    if not _affected(result.content, target):
        return result
    content = [_shown(part, view, target, before) for part in result.content]
    return msgspec.structs.replace(result, content=tuple(_fitted(content, target.spec.max_string_chars)))


def shown_text(text: str, target: Target) -> str:
    """Return a text of the engine as the target can be shown it: a long one loses its middle."""
    limit = target.spec.max_string_chars
    return text if limit is None else _cut(text, limit)


def _affected(blocks: tuple[Block, ...], target: Target) -> bool:
    limit = target.spec.max_string_chars
    if limit is None and target.spec.vision is not False:
        return False
    if limit is not None and _joined(blocks) > limit:
        return True
    for block in blocks:
        match block:
            case Image() | Opaque():
                found = target.spec.vision is False or _too_long(block, limit)
            case ToolCall(arguments=text):
                found = limit is not None and len(text) > limit
            case ToolResult(content=content):
                found = _affected(content, target)
            case _:
                found = False
        if found:
            return True
    return False


def _shown(block: Shown, view: View, target: Target, before: int) -> Shown | Text:
    limit = target.spec.max_string_chars
    match block:
        case Image() if target.spec.vision is False:
            return _described(block, view, before)
        case Image() if _too_long(block, limit):
            return Text(text=frame("note", TOO_LONG, **_named(block)))
        case Opaque(wire=wire, form=form, raw=raw) if (
            target.spec.vision is False and wire != target.codec.wire and _PDF in raw
        ):
            named: dict[str, str | int] = {"type": form}
            return Text(text=frame("note", NOT_READ, **(named | ({"ref": block.ref} if block.ref else {}))))
        case Text(text=text) if limit is not None and len(text) > limit:
            return msgspec.structs.replace(block, text=_cut(text, limit))
        case ToolCall(arguments=text) if limit is not None and len(text) > limit:
            return msgspec.structs.replace(block, arguments=_cut_json(text, limit))
        case _:
            return block


def _described(image: Image, view: View, before: int) -> Text:
    """Return what stands for a picture: its description or a note, with its reference where the agent has a reader."""
    described, text = view.fold.described.get(image.digest, (before, ""))
    named = _named(image)
    if described >= before:
        return Text(text=frame("note", NOT_DESCRIBED, **named))
    return Text(text=frame("image", text, **named, event=described))


def _named(image: Image) -> dict[str, str | int]:
    return {"type": image.media_type or "image", **({"ref": image.ref} if image.ref is not None else {})}


def _too_long(block: Block, limit: int | None) -> bool:
    return (
        isinstance(block, Image) and limit is not None and len(block.data or block.url or "") + _LEAST > limit
    )


def _joined(blocks: Sequence[Block]) -> int:
    """Characters of the texts in one string."""
    sizes = [len(block.text) + _JOINT for block in blocks if isinstance(block, Text)]
    return max(0, sum(sizes) - _JOINT)


def _fitted(blocks: Sequence[Shown], limit: int | None) -> Sequence[Shown]:
    """Leave out the middles of the longest texts until one string holds them all."""
    over = _joined(blocks) - limit if limit is not None else 0
    fitted = list(blocks)
    longest = sorted(
        ((len(block.text), n) for n, block in enumerate(blocks) if isinstance(block, Text)), reverse=True
    )
    for size, n in longest:
        block = fitted[n]
        if over > 0 and isinstance(block, Text):
            text = _cut(block.text, max(_LEAST, size - over))
            fitted[n] = msgspec.structs.replace(block, text=text)
            over -= size - len(text)
    return fitted


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
    """Leave out the middles of the longest strings in a JSON object; any other text is told as a string."""
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        value = None
    if not isinstance(value, dict):
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
