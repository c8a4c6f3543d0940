"""Blocks as input items of the OpenAI Responses wire (SDK types 3.57.0, 2026-11-30)."""

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
from foreword.core.block import Block, Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from foreword.core.item_ids import ANSWERED, ITEM

WIRE: Final = "openai-responses"
IMAGE_FAMILY: Final = "openai"
ID_LIMIT = 64
"""Longest id of a call (error text `string too long. Expected a string with maximum length 64`, 2026)."""
NO_OUTPUT = "(no output)"
ERROR = "[error] "
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Item of a call -> the member that holds its arguments, as a string."""
OUTPUT = "_output"
"""What an item of a call and the item of its result differ in."""
SERVED = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"}
)
"""Calls that the provider ran itself: their item can't stand without its id."""
ID_OPTIONAL = frozenset({"shell_call", "apply_patch_call", "tool_search_call"})
"""Other calls that pair by `call_id`; without their id they stand without their reasoning, too."""
PARTS = frozenset({"input_file", "input_audio", "refusal", "output_text"})
"""Unknown blocks that are parts of a message; every other one is an item of its own."""
PART = "part"
"""Name under which a further text of an output message keeps its place in it, counted from 0."""


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """One input item, or one part of a message: its members, what a tokenizer reads, and what got lost."""

    value: dict[str, Any]
    text: str
    media_tokens: int = 0
    lost: tuple[str, ...] = ()


def part_form(block: Block, role: str, *, own: bool) -> Form:
    """Put a block into the form of a content part; what can't stand in this role is told as text."""
    match block:
        case Text(text=text):
            return Form(value=_text(text) | members(block.extra, WIRE, own=own), text=text)
        case Image() if role in ("user", "tool"):
            return _image(block, own=own)
        case Opaque(wire=wire, raw=raw) if wire == WIRE and json_object(raw):
            if not stands(block, WIRE, role):
                return told(misplaced(block), f"{block.form} in a message of role {role}")
            return opaque_form(block)
        case Opaque() if role in ("user", "tool") and (data := pdf_of(block)) is not None:
            title = title_of(block) or NO_TITLE
            value = {"type": "input_file", "filename": title, "file_data": PDF_URL + data}
            return Form(value=value, text=title, media_tokens=document_tokens(data))
        case Image() | Opaque():
            return told(stand_in(block), f"a block of type {block.__struct_config__.tag}")
        case ToolCall(name=name, arguments=arguments):
            return told(f"[call of {name}: {arguments}]", f"a tool call in a {role} message")
        case ToolResult(call_id=id_):
            text = result_form(block, own=False).text
            return told(f"[result of call {id_}] {text}", f"a tool result in a {role} message")
        case Thinking():
            return told("[reasoning, not shown]", "reasoning")


def content(forms: Sequence[Form]) -> str | list[Any]:
    """Return the content of a message or of an output: a string when it is one plain text, else the parts."""
    if len(forms) == 1 and forms[0].value.keys() == {"type", "text"}:
        return str(forms[0].value["text"])
    return [form.value for form in forms]


def opaque_form(block: Opaque) -> Form:
    """Send an unknown part or item as it came."""
    text, tokens = opaque_reading(block)
    return Form(value=msgspec.json.decode(block.raw, type=dict[str, Any]), text=text, media_tokens=tokens)


def told(text: str, lost: str) -> Form:
    """Tell something as a text part."""
    return Form(value=_text(text), text=text, lost=(lost,))


def reasoning_form(block: Thinking, *, answered: bool = False) -> Form:
    """Put reasoning of this wire into its item, with the members that came with it.

    Those of the answer alone are refused in a request. `answered`: a server gives them.
    """
    left_out = frozenset[str]() if answered else ANSWERED
    extra = {name: member for name, member in (block.extra or {}).items() if name not in left_out}
    value: dict[str, Any] = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": block.text}] if block.text and not block.extra else [],
        **extra,
        "encrypted_content": block.signature,
    }
    return Form(value=value, text=block.text)


def call_form(call: ToolCall, *, own: bool, paired: bool, answered: bool = False) -> Form:
    """Put a call into its item. The arguments are a string there, of one JSON object; a custom tool takes free text.

    `paired`: it stands with the reasoning that led to it. Without that its item id is left out, since the
    provider looks for the reasoning by it. `answered`: a server gives what the model wrote.
    """
    extra = members(call.extra, WIRE, own=own)
    kind = extra.pop("type", "function_call")
    if not paired:
        extra.pop("id", None)
    argument = CALLS.get(kind, "arguments")
    free = answered or argument != "arguments"
    arguments, lost = (call.arguments, ()) if free else object_arguments(call.arguments)
    value = {
        "type": kind,
        "call_id": call_id(call.id, ID_LIMIT),
        "name": tool_name(call.name),
        argument: arguments,
    }
    return Form(value=value | extra, text=f"{call.name}\n{arguments}", lost=lost)


def result_form(result: ToolResult, *, own: bool, kind: str | None = None) -> Form:
    """Put a result into its item. `kind`: the type that its call asks for; None: what the result itself says.

    The wire has no error flag: a failed result starts with "[error] ". A result without content says
    "(no output)", unless it came from this wire as it is.
    """
    forms = [
        part_form(part, "tool", own=own)
        for part in result.content
        if not (isinstance(part, Text) and not part.text.strip())
    ]
    lost = [word for form in forms for word in form.lost]
    if not forms:
        silence = "" if own else NO_OUTPUT
        forms = [Form(value=_text(silence), text=silence)]
    if result.is_error:
        lost.append("is_error, told as text")
        first = forms[0]
        if first.value.get("type") == "input_text":
            text = ERROR + first.text
            forms[0] = Form(value=first.value | {"text": text}, text=text)
        else:
            forms.insert(0, Form(value=_text(ERROR.strip()), text=ERROR.strip()))
    value = {
        "type": "function_call" + OUTPUT,
        "call_id": call_id(result.call_id, ID_LIMIT),
        "output": content(forms),
        **members(result.extra, WIRE, own=own),
    }
    if kind is not None:
        value["type"] = kind
    return Form(
        value=value,
        text="\n".join(form.text for form in forms if form.text),
        media_tokens=sum(form.media_tokens for form in forms),
        lost=tuple(lost),
    )


def assistant_forms(
    message: Message, *, paired: bool, answered: bool = False
) -> list[tuple[int, str, str, Form]]:
    """Put an assistant's message into items: (index of the block, role, kind, form) each.

    `paired` False: its reasoning is left out, and with it every item id that the provider would look the
    reasoning up by. Texts that came in one output message return in one; one of no text is left out, except behind
    the reasoning that must not lose it and in what a server answers (`answered`).
    """
    own = message.wire == WIRE
    found: list[tuple[int, str, str, Form]] = []
    for index, block in enumerate(message.blocks):
        match block:
            case Thinking():
                if paired:
                    found.append((index, "assistant", "thinking", reasoning_form(block, answered=answered)))
            case Text(text=text):
                extra = members(block.extra, WIRE, own=own)
                if paired and extra.get(PART) and found and "content" in found[-1][3].value:
                    found[-1] = (*found[-1][:3], _joined(found[-1][3], text, extra))
                elif text.strip() or (paired and ITEM in extra):
                    found.append((index, "assistant", "text", said_form(text, extra, paired=paired)))
            case ToolCall():
                form = call_form(block, own=own, paired=paired, answered=answered)
                found.append((index, "assistant", "tool_call", form))
            case Opaque(wire=wire, form=kind, raw=raw) if (
                wire == WIRE and json_object(raw) and stands(block, WIRE, "assistant")
            ):
                found.append((index, "assistant", "opaque", _item(block, kind, paired=paired)))
            case Image() | Opaque() | ToolResult():
                form = part_form(block, "assistant", own=own)
                value = {"role": "assistant", "content": form.text}
                found.append((index, "assistant", "text", msgspec.structs.replace(form, value=value)))
    return [
        each
        for n, each in enumerate(found)
        if answered or each[2] != "text" or each[3].text.strip() or (n and found[n - 1][2] == "thinking")
    ]


def said_form(text: str, extra: dict[str, Any], *, paired: bool) -> Form:
    """Put a text of an assistant into a message item.

    One with an id is an output message, whose content is a list; one without takes a string.
    """
    rest = {name: value for name, value in extra.items() if name not in (ITEM, PART)}
    item = dict(extra.get(ITEM) or {})
    if not paired:
        item = {"phase": item["phase"]} if "phase" in item else {}
        rest = {}
    listed = "id" in item or bool(rest)
    value = {
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, **rest}] if listed else text,
    }
    return Form(value=value | item, text=text)


def _joined(form: Form, text: str, extra: dict[str, Any]) -> Form:
    rest = {name: value for name, value in extra.items() if name != PART}
    before: Any = form.value["content"]
    parts = [{"type": "output_text", "text": before}] if isinstance(before, str) else before
    value = form.value | {"content": [*parts, {"type": "output_text", "text": text, **rest}]}
    return Form(value=value, text=f"{form.text}\n{text}")


def _item(block: Opaque, kind: str, *, paired: bool) -> Form:
    form = opaque_form(block)
    if kind == "reasoning":
        value = {name: member for name, member in form.value.items() if name not in ANSWERED}
        return msgspec.structs.replace(form, value=value)
    if paired or kind not in SERVED | ID_OPTIONAL | {"message"}:
        return form
    if kind in ID_OPTIONAL:
        value = {name: member for name, member in form.value.items() if name != "id"}
        return msgspec.structs.replace(form, value=value)
    text = form.text if kind == "message" else f"[{kind}: {form.text}]"
    role = form.value.get("role", "assistant")
    return Form(value={"role": role, "content": text}, text=text, lost=(f"an item of type {kind}",))


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _image(block: Image, *, own: bool) -> Form:
    image = shown_image(block)
    if image.data is not None:
        url = f"data:{image.media_type or 'image/png'};base64,{image.data}"
    elif fetched(image, WIRE):
        url = image.url
    else:
        return told(stand_in(image), "an image without data")
    value = {"type": "input_image", "detail": "auto", "image_url": url, **members(block.extra, WIRE, own=own)}
    return Form(value=value, text="", media_tokens=image_cost(image, IMAGE_FAMILY))
