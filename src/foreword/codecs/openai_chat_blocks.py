"""Blocks as parts and messages of the OpenAI Chat Completions wire (SDK types 3.57.0, 2026-11-30)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from foreword.codecs.known import stands
from foreword.codecs.parts import (
    NO_TITLE,
    PDF_URL,
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

WIRE: Final = "openai-chat"
IMAGE_FAMILY: Final = "openai"
ID_LIMIT = 40
"""Longest id of a call (error text `string too long. Expected a string with maximum length 40`, 2025)."""
LIMITS = {WIRE: ("max_completion_tokens", "max_tokens"), "deepseek": ("max_tokens",)}
"""Wire -> names of the output limit, its own first; a further one is an older name that some servers know."""
REASONING = {"deepseek": "reasoning_content"}
"""Wire -> the member of an assistant message in which reasoning is returned and wanted back."""
NO_OUTPUT = "(no output)"
ERROR = "[error] "
IMAGE_BELOW = "[image: in the next user message]"
SEPARATOR = "\n\n"


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """One wire message, or one part of it: its members, what a tokenizer reads, and what got lost."""

    value: dict[str, Any]
    text: str
    media_tokens: int = 0
    lost: tuple[str, ...] = ()


def part_form(block: Block, role: str, wire: str = WIRE, *, own: bool, files: bool = True) -> Form:
    """Put a block into the form of a content part; what can't stand in this role is told as text.

    `files`: the server reads pictures from its own files, as local ones do.
    """
    match block:
        case Text(text=text):
            return Form(value=_text(text) | members(block.extra, wire, own=own), text=text)
        case Image() if role == "user":
            image = shown_image(block)
            if image.data is not None:
                url = f"data:{image.media_type or 'image/png'};base64,{image.data}"
            elif fetched(image, wire, files=files):
                url = image.url
            else:
                return _told(stand_in(image), "an image without data")
            extra = members(block.extra, wire, own=own)
            inner = {"url": url, **extra.pop("image_url", {})}
            value = {"type": "image_url", "image_url": inner, **extra}
            return Form(value=value, text="", media_tokens=image_cost(image, IMAGE_FAMILY))
        case Opaque(wire=origin, raw=raw) if origin == wire and json_object(raw):
            if not stands(block, wire, role):
                return _told(misplaced(block), f"{block.form} in a message of role {role}")
            text, tokens = opaque_reading(block)
            return Form(value=msgspec.json.decode(raw, type=dict[str, Any]), text=text, media_tokens=tokens)
        case Opaque() if role == "user" and wire == WIRE and (data := pdf_of(block)) is not None:
            title = title_of(block) or NO_TITLE
            value = {"type": "file", "file": {"filename": title, "file_data": PDF_URL + data}}
            return Form(value=value, text=title, media_tokens=document_tokens(data))
        case Image() | Opaque():
            return _told(stand_in(block), f"a block of type {block.__struct_config__.tag}")
        case ToolCall(name=name, arguments=arguments):
            return _told(f"[call of {name}: {arguments}]", f"a tool call in a {role} message")
        case ToolResult(call_id=id_):
            return _told(f"[result of call {id_}] {result_text(block)}", f"a tool result in a {role} message")
        case Thinking():
            return _told("[reasoning, not shown]", "reasoning")


def content(forms: Sequence[Form], *, joined: bool) -> str | list[Any]:
    """Return a message's content: a string when it is plain text and one part or `joined`, else the parts."""
    plain = all(form.value.keys() == {"type", "text"} for form in forms)
    if plain and (joined or len(forms) == 1):
        return SEPARATOR.join(form.value["text"] for form in forms)
    return [form.value for form in forms]


def call_form(call: ToolCall, wire: str = WIRE, *, own: bool, answered: bool = False) -> Form:
    """Put a call into the wire's form. The arguments are a string there, of one JSON object.

    A custom tool takes free text under another name. `answered`: a server gives what the model wrote.
    """
    extra = members(call.extra, wire, own=own)
    kind = extra.pop("type", "function")
    free = kind == "custom"
    arguments, lost = (call.arguments, ()) if free or answered else object_arguments(call.arguments)
    inner = {"name": tool_name(call.name), "input" if free else "arguments": arguments}
    inner |= extra.pop(kind, {})
    value = {"id": call_id(call.id, ID_LIMIT), "type": kind, kind: inner, **extra}
    return Form(value=value, text=f"{call.name}\n{arguments}", lost=lost)


def result_form(result: ToolResult, wire: str = WIRE, *, own: bool) -> Form:
    """Put a result into a message of role `tool`.

    The wire holds text there and no error flag: a failed result starts with "[error] ", a picture is replaced
    by a pointer to the user message that follows, and a result without text says "(no output)", unless it
    came from this wire as it is.
    """
    forms = [
        Form(value=_text(IMAGE_BELOW), text=IMAGE_BELOW)
        if isinstance(part, Image)
        else part_form(part, "tool", wire, own=own)
        for part in result.content
        if not (isinstance(part, Text) and not part.text.strip())
    ]
    if not forms:
        silence = "" if own else NO_OUTPUT
        forms = [Form(value=_text(silence), text=silence)]
    lost = [word for form in forms for word in form.lost]
    if result.is_error:
        lost.append("is_error, told as text")
        forms[0] = Form(value=_text(ERROR + forms[0].text), text=ERROR + forms[0].text)
    value = {
        "role": "tool",
        "tool_call_id": call_id(result.call_id, ID_LIMIT),
        "content": content(forms, joined=not own),
        **members(result.extra, wire, own=own),
    }
    return Form(value=value, text=SEPARATOR.join(form.text for form in forms), lost=tuple(lost))


def images_form(
    results: Sequence[ToolResult], wire: str = WIRE, *, own: bool, files: bool = True
) -> Form | None:
    """Gather the pictures of results in one user message, each result's after a line that names its call.

    `files`: as in `part_form`.
    """
    forms: list[Form] = []
    for result in results:
        images = [part for part in result.content if isinstance(part, Image)]
        if images:
            title = f"[images of the result of call {call_id(result.call_id, ID_LIMIT)}]"
            forms.append(Form(value=_text(title), text=title))
            forms += [part_form(image, "user", wire, own=own, files=files) for image in images]
    if not forms:
        return None
    return Form(
        value={"role": "user", "content": [form.value for form in forms]},
        text=SEPARATOR.join(form.text for form in forms if form.text),
        media_tokens=sum(form.media_tokens for form in forms),
        lost=tuple(word for form in forms for word in form.lost),
    )


def result_text(result: ToolResult) -> str:
    """Return the text of a result as a message of role `tool` would say it."""
    return result_form(result, own=False).text


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _told(text: str, lost: str) -> Form:
    return Form(value=_text(text), text=text, lost=(lost,))
