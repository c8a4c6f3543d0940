"""Blocks as members of the Anthropic Messages wire (rulebook: provider SDK types 2.14.0, 2026-11-30)."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final, cast

import msgspec

from foreword.codecs.known import stands
from foreword.codecs.links import MCP, link_of
from foreword.codecs.parts import (
    PDF,
    call_id,
    document_tokens,
    fetched,
    image_cost,
    json_object,
    members,
    misplaced,
    object_arguments,
    opaque_reading,
    pdf_of,
    shown_image,
    stand_in,
    title_of,
    tool_name,
)
from foreword.core.block import Block, Image, Opaque, Text, Thinking, ToolCall, ToolResult
from foreword.core.canonical import compact, utf8

WIRE: Final = "anthropic"
IMAGE_FAMILY: Final = "claude-5"
ID_LIMIT = 64
_SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
PLACES: dict[type[Block], set[str]] = {
    Image: {"user"},
    ToolCall: {"assistant"},
    ToolResult: {"user"},
}
"""The roles in whose messages a block may stand; elsewhere it is told as text. Others may stand anywhere."""
Told = Image | ToolCall | ToolResult
CITATIONS = "citations"
"""A member of texts that only the model's may have (anthropic-version 2026-10-21)."""
TOOLSET = "toolset_name"
"""A member of calls, which the result repeats."""
BESIDE = frozenset({"image", "document", "search_result"})
"""Blocks that a user's message takes as well as a result does."""


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """A block in the wire's form: its members, what a tokenizer reads in it, and what got lost."""

    value: Any
    text: str
    media_tokens: int = 0
    lost: tuple[str, ...] = ()


def block_form(block: Block, *, own: bool, role: str = "user") -> Form:
    """Put one block into the wire's form, as it stands in a message of `role` ("tool": in a result).

    `own`: the foreign members in it are this wire's. An empty text gives an empty text: leaving it out is the
    message's business.
    """
    match block:
        case Text(text=text):
            extra = members(block.extra, WIRE, own=own)
            cited = role != "assistant" and extra.pop(CITATIONS, None)
            lost = (f"citations in a message of role {role}",) if cited else ()
            return Form(value={"type": "text", "text": text, **extra}, text=text, lost=lost)
        case Thinking():
            return _thinking(block, own=own)
        case Image():
            return _image(block, own=own)
        case ToolCall():
            return _call(block, own=own)
        case ToolResult():
            return _result(block, own=own)
        case Opaque(wire=wire, raw=raw):
            if wire != WIRE and role in ("user", "tool") and (data := pdf_of(block)) is not None:
                return _pdf(block, data)
            if wire != WIRE or not json_object(raw):
                return _told(stand_in(block), f"a block of type {block.form}")
            if not stands(block, WIRE, role):
                return _told(misplaced(block), f"{block.form} in a message of role {role}")
            text, tokens = opaque_reading(block)
            return Form(value=msgspec.Raw(utf8(_fit(block).strip())), text=text, media_tokens=tokens)


def _fit(block: Opaque) -> str:
    """Return a block as it came, with an id that the provider takes: calls that it runs itself have a pattern.

    A call and its answer get the same one. Source: `server_id` and `call_id` of the referee.
    """
    link = link_of(block, WIRE)
    if link is None:
        return block.raw
    id_ = call_id(link.id, ID_LIMIT)
    if link.kind != MCP and not _SERVER_ID.fullmatch(id_):
        id_ = "srvtoolu_" + hashlib.sha256(link.id.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    if id_ == link.id:
        return block.raw
    found = msgspec.json.decode(block.raw, type=dict[str, msgspec.Raw])
    found["tool_use_id" if link.answers else "id"] = msgspec.Raw(compact(id_))
    return msgspec.json.encode(found).decode()


def told(block: Told, role: str) -> Form:
    """Tell a block as text, because it can't stand in a message of this role."""
    match block:
        case ToolCall(name=name, arguments=arguments):
            return _told(f"[call of {name}: {arguments}]", f"a tool call in a {role} message")
        case ToolResult(call_id=id_):
            text = _result(msgspec.structs.replace(block, is_error=False), own=False).text
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
    elif image.data is None and fetched(image, WIRE):
        source = {"type": "url", "url": image.url}
    else:
        return _told(stand_in(image), f"an image of type {image.media_type or 'unknown'}")
    value = {"type": "image", "source": source, **members(block.extra, WIRE, own=own)}
    return Form(value=value, text="", media_tokens=image_cost(image, IMAGE_FAMILY))


def _pdf(block: Opaque, data: str) -> Form:
    title = title_of(block)
    source = {"type": "base64", "media_type": PDF, "data": data}
    value = {"type": "document", "source": source, **({"title": title} if title else {})}
    return Form(value=value, text=title, media_tokens=document_tokens(data))


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


def in_toolset(form: Form, toolset: Any) -> Form:
    """Return a result's form that names the toolset of its call; None: the call is of none."""
    value = {name: member for name, member in form.value.items() if name != TOOLSET}
    return msgspec.structs.replace(form, value=value if toolset is None else value | {TOOLSET: toolset})


def _result(block: ToolResult, *, own: bool) -> Form:
    forms = [
        (part, block_form(part, own=own, role="tool"))
        for part in block.content
        if not (isinstance(part, Text) and not part.text.strip())
    ]
    if block.is_error:
        forms = [
            (part, form if _kind(part, form) == "text" else _pointer(part, form)) for part, form in forms
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


def beside(result: ToolResult, *, own: bool) -> list[tuple[Block, Form]]:
    """Return what has to stand behind the results because it can't stand in this one; [] when there is nothing.

    A failed result takes text only (error text `all content must be type "text" if "is_error" is true`, 2026).
    """
    if not result.is_error:
        return []
    forms = [(part, block_form(part, own=own)) for part in result.content]
    shown: list[tuple[Block, Form]] = [(part, form) for part, form in forms if _kind(part, form) in BESIDE]
    title = Text(text=f"[of the failed result of call {call_id(result.call_id, ID_LIMIT)}]")
    return [(title, block_form(title, own=False)), *shown] if shown else []


def _pointer(part: Text | Image | Opaque, form: Form) -> Form:
    kind = _kind(part, form)
    if kind not in BESIDE:
        return _told(f"[{kind}, not shown: a failed result holds text only]", f"{kind} in a failed result")
    text = f"[{kind}: below]"
    return Form(value={"type": "text", "text": text}, text=text)


def _kind(part: Text | Image | Opaque, form: Form) -> str:
    """Return the type of the block that a part became; one of this wire's own goes out as it came."""
    if isinstance(part, Opaque) and not isinstance(form.value, dict):
        return part.form
    return str(cast("dict[str, Any]", form.value)["type"])
