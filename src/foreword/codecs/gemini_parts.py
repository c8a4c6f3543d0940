"""Blocks as parts of the Gemini generateContent wire (SDK types 3.6.1, 2026-11-30)."""

from __future__ import annotations

import base64
from typing import Any, Final

import msgspec

from foreword.codecs.parts import (
    PDF,
    call_id,
    document_tokens,
    fetched,
    image_cost,
    json_object,
    lettered_name,
    members,
    object_arguments,
    opaque_reading,
    pdf_of,
    shown_image,
    stand_in,
)
from foreword.core.block import Block, Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from foreword.core.canonical import utf8

WIRE: Final = "gemini"
IMAGE_FAMILY: Final = "gemini"
ID_LIMIT = 64
SIGNATURE = "thoughtSignature"
UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode()
"""What stands for the signature of a call that this provider didn't sign (seen accepted, 2026-11)."""
SEPARATOR = "\n\n"


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """One part: its members, what a tokenizer reads in it, and what got lost."""

    value: dict[str, Any]
    text: str
    media_tokens: int = 0
    lost: tuple[str, ...] = ()


def message_forms(
    message: Message, *, thinking: bool, answered: bool = False
) -> list[tuple[int, Block, Form]]:
    """Put a message into parts: (index of the block, the block, form) each.

    Signatures stand on the very part they came on. When they can't be sent (`thinking` False, or another
    wire's message), or none came, the first call of an assistant's message carries the placeholder instead, except
    in what a server answers (`answered`). Results come first, as the provider wants them right after the calls.
    """
    own = message.wire == WIRE
    signed = thinking and own
    sealed = thinking and message.wire in (
        None,
        WIRE,
    )  # a caller's own blocks hold a seal, and no members of the wire
    assistant = message.role == "assistant"
    found: list[tuple[int, Block, Form]] = []
    unsigned = assistant and not answered
    for index, block in enumerate(message.blocks):
        form = _part(
            block,
            assistant=assistant,
            user=message.role == "user",
            own=own,
            signed=sealed if isinstance(block, Thinking) else signed,
        )
        if form is None:
            continue
        if unsigned and isinstance(block, ToolCall):
            unsigned = False
            signature = form.value.get(SIGNATURE) or UNSIGNED
            form = msgspec.structs.replace(form, value=form.value | {SIGNATURE: signature})
        found.append((index, block, form))
    return (
        sorted(found, key=lambda each: not isinstance(each[1], ToolResult))
        if message.role == "user"
        else found
    )


def _part(block: Block, *, assistant: bool, user: bool, own: bool, signed: bool) -> Form | None:
    match block:
        case Text(text=text):
            extra = _kept(block.extra, own=own, signed=signed)
            return (
                Form(value={"text": text, **extra}, text=text) if text.strip() or SIGNATURE in extra else None
            )
        case Thinking(text=text, signature=signature):
            if not (signed and assistant and signature):
                return None
            value = {"text": text, "thought": True, SIGNATURE: signature, **(block.extra or {})}
            return Form(value=value, text=text)
        case ToolCall(name=name, arguments=arguments):
            if not assistant:
                return _told(
                    f"[call of {name}: {arguments}]", "a tool call outside of an assistant's message"
                )
            return call_form(block, own=own, signed=signed)
        case ToolResult(call_id=id_):
            if not user:
                text = result_form(block, own=own).text
                return _told(f"[result of call {id_}] {text}", "a tool result outside of a user message")
            return result_form(block, own=own)
        case Image():
            return image_form(block, own=own)
        case Opaque(wire=wire, raw=raw):
            if wire != WIRE and not assistant and (data := pdf_of(block)) is not None:
                value = {"inlineData": {"mimeType": PDF, "data": data}}
                return Form(value=value, text="", media_tokens=document_tokens(data))
            if wire != WIRE or not json_object(raw):
                return _told(stand_in(block), f"a block of type {block.form}")
            text, tokens = opaque_reading(block)
            value = msgspec.json.decode(raw, type=dict[str, Any])
            if not signed:
                value.pop(SIGNATURE, None)
            return Form(value=value, text=text, media_tokens=tokens)


def call_form(call: ToolCall, *, own: bool, signed: bool) -> Form:
    """Put a call into a part. An id that is the function's name stands for none, as old models give none."""
    arguments, lost = object_arguments(call.arguments)
    extra = _kept(call.extra, own=own, signed=signed)
    inner = {
        **_id(call.id, call.name),
        "name": lettered_name(call.name),
        "args": msgspec.Raw(utf8(arguments)),
        **extra.pop("functionCall", {}),
    }
    value = {"functionCall": inner, **extra}
    return Form(value=value, text=f"{call.name}\n{arguments}", lost=lost)


def result_form(result: ToolResult, *, own: bool, name: str | None = None) -> Form:
    """Put a result into a part; `name`: of the function, None: as the result itself says, else its id.

    The answer stands in `output`, a failure in `error`; pictures are parts of the response.
    """
    extra = members(result.extra, WIRE, own=own)
    inner: dict[str, Any] = dict(extra.pop("functionResponse", {}))
    given = str(inner.get("name") or result.call_id) if name is None else name
    named = lettered_name(given)
    forms = [
        (part, image_form(part, own=own) if isinstance(part, Image) else _part(part, **_INSIDE))
        for part in result.content
    ]
    parts = [form for part, form in forms if form and not isinstance(part, Text) and "text" not in form.value]
    texts = [form for part, form in forms if form and (isinstance(part, Text) or "text" in form.value)]
    text = SEPARATOR.join(form.text for form in texts)
    value = {
        **_id(result.call_id, given),
        "name": named,
        "response": {"error" if result.is_error else "output": text},
        **({"parts": [form.value for form in parts]} if parts else {}),
    }
    return Form(
        value={"functionResponse": value | inner | {"name": named}, **extra},
        text=text,
        media_tokens=sum(form.media_tokens for form in parts),
        lost=tuple(word for _, form in forms if form for word in form.lost),
    )


_INSIDE = {"assistant": False, "user": False, "own": False, "signed": False}


def image_form(block: Image, *, own: bool) -> Form:
    """Put a picture into a part: its bytes, or where they are."""
    image = shown_image(block)
    kind = {"mimeType": image.media_type} if image.media_type else {}
    if image.data is not None:
        value = {"inlineData": {"mimeType": image.media_type or "image/png", "data": image.data}}
    elif fetched(image, WIRE):
        value = {"fileData": {**kind, "fileUri": image.url}}
    else:
        return _told(stand_in(image), "an image without data")
    extra = members(block.extra, WIRE, own=own)
    return Form(value=value | extra, text="", media_tokens=image_cost(image, IMAGE_FAMILY))


def _kept(extra: dict[str, Any] | None, *, own: bool, signed: bool) -> dict[str, Any]:
    found = members(extra, WIRE, own=own)
    if not signed:
        found.pop(SIGNATURE, None)
    return found


def _id(id_: str, name: str) -> dict[str, str]:
    return {} if id_ in ("", name) else {"id": call_id(id_, ID_LIMIT)}


def _told(text: str, lost: str) -> Form:
    return Form(value={"text": text}, text=text, lost=(lost,))
