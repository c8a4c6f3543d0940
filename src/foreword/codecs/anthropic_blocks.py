"""Blocks as members of the Anthropic Messages wire (rulebook: provider SDK types 2.14.0, 2026-11-30)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from foreword.codecs.parts import (
    call_id,
    image_cost,
    json_object,
    members,
    object_arguments,
    opaque_reading,
    shown_image,
    stand_in,
    tool_name,
    utf8,
)
from foreword.core.block import Block, Image, Opaque, Text, Thinking, ToolCall, ToolResult

WIRE: Final = "anthropic"
IMAGE_FAMILY: Final = "claude-5"
ID_LIMIT = 64
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
PLACES: dict[type[Block], set[str]] = {
    Image: {"user"},
    ToolCall: {"assistant"},
    ToolResult: {"user"},
}
"""The roles in whose messages a block may stand; elsewhere it is told as text. Others may stand anywhere."""
Told = Image | ToolCall | ToolResult


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """A block in the wire's form: its members, what a tokenizer reads in it, and what got lost."""

    value: Any
    text: str
    media_tokens: int = 0
    lost: tuple[str, ...] = ()


def block_form(block: Block, *, own: bool) -> Form:
    """Put one block into the wire's form, wherever it is to stand.

    `own`: the foreign members in it are this wire's. An empty text gives an empty text: leaving it out is the
    message's business.
    """
    match block:
        case Text(text=text):
            extra = members(block.extra, WIRE, own=own)
            return Form(value={"type": "text", "text": text, **extra}, text=text)
        case Thinking():
            return _thinking(block, own=own)
        case Image():
            return _image(block, own=own)
        case ToolCall():
            return _call(block, own=own)
        case ToolResult():
            return _result(block, own=own)
        case Opaque(wire=wire, raw=raw):
            if wire != WIRE or not json_object(raw):
                return _told(stand_in(block), f"a block of type {block.form}")
            text, tokens = opaque_reading(block)
            return Form(value=msgspec.Raw(utf8(raw.strip())), text=text, media_tokens=tokens)


def told(block: Told, role: str) -> Form:
    """Tell a block as text, because it can't stand in a message of this role."""
    match block:
        case ToolCall(name=name, arguments=arguments):
            return _told(f"[call of {name}: {arguments}]", f"a tool call in a {role} message")
        case ToolResult(call_id=id_):
            text = _result(block, own=False).text
            return _told(f"[result of call {id_}] {text}".rstrip(), f"a tool result in a {role} message")
        case Image():
            return _told(stand_in(block), f"an image in a {role} message")


def _told(text: str, lost: str) -> Form:
    return Form(value={"type": "text", "text": text}, text=text, lost=(lost,))


NO_OUTPUT = "(no output)"
"""What the model reads of a tool that said nothing: it should not take silence for a result that is missing."""


def _thinking(block: Thinking, *, own: bool) -> Form:
    extra = members(block.extra, WIRE, own=own)
    if block.data is not None:
        return Form(value={"type": "redacted_thinking", "data": block.data, **extra}, text="")
    value = {"type": "thinking", "thinking": block.text, "signature": block.signature or "", **extra}
    return Form(value=value, text=block.text)


def _image(block: Image, *, own: bool) -> Form:
    image = shown_image(block)
    if image.data is not None and image.media_type in IMAGE_TYPES:
        source = {"type": "base64", "media_type": image.media_type, "data": image.data}
    elif image.data is None and image.url is not None:
        source = {"type": "url", "url": image.url}
    else:
        return _told(stand_in(image), f"an image of type {image.media_type or 'unknown'}")
    value = {"type": "image", "source": source, **members(block.extra, WIRE, own=own)}
    return Form(value=value, text="", media_tokens=image_cost(image, IMAGE_FAMILY))


def _call(block: ToolCall, *, own: bool) -> Form:
    arguments, lost = object_arguments(block.arguments)
    extra = members(block.extra, WIRE, own=own)
    value = {
        "type": "tool_use",
        "id": call_id(block.id, ID_LIMIT),
        "name": tool_name(block.name),
        "input": msgspec.Raw(utf8(arguments)),
    }
    return Form(value={**value, **extra}, text=f"{block.name}\n{arguments}", lost=lost)


def _result(block: ToolResult, *, own: bool) -> Form:
    forms = [
        (part, block_form(part, own=own))
        for part in block.content
        if not (isinstance(part, Text) and not part.text.strip())
    ]
    value: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id(block.call_id, ID_LIMIT)}
    match forms:
        case [] if not own:
            value["content"] = NO_OUTPUT
        case []:
            pass  # as it came from this wire
        case [(Text(), Form(value={"type": "text", "text": text, **rest}))] if not rest:
            value["content"] = text
        case _:
            value["content"] = [form.value for _, form in forms]
    if block.is_error:
        value["is_error"] = True
    return Form(
        value={**value, **members(block.extra, WIRE, own=own)},
        text="\n".join(form.text for _, form in forms if form.text) or ("" if own else NO_OUTPUT),
        media_tokens=sum(form.media_tokens for _, form in forms),
        lost=tuple(word for _, form in forms for word in form.lost),
    )
