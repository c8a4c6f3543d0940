"""Items of the OpenAI Responses wire, read to messages.

Neighbouring items of the model (reasoning, messages, calls) become one message of the assistant, as a response
would have given them; every other item is a message of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from foreword.codecs.foreign_blocks import foreign_block, foreign_part, no_chat_calls
from foreword.codecs.known import KNOWN
from foreword.codecs.openai_responses_blocks import CALLS, ITEM, OUTPUT, PART, PARTS, WIRE
from foreword.codecs.parts import inline_image
from foreword.codecs.reading import At, others
from foreword.core.block import Block, Image, Message, Opaque, Role, Text, Thinking, ToolCall, ToolResult
from foreword.core.canonical import lossless

ROLES: dict[str, Role] = {
    "user": "user",
    "system": "system",
    "developer": "developer",
    "assistant": "assistant",
}
ITEM_ROLES: dict[str, Role] = {
    "reasoning": "assistant",
    "compaction": "assistant",
    "item_reference": "assistant",
    "mcp_list_tools": "assistant",
    "mcp_approval_request": "assistant",
    "program": "assistant",
    "additional_tools": "developer",
    "configuration_update": "developer",
}
"""Whose message an item of no role stands in. Calls are the assistant's, all others the user's."""


def read_items(items: Sequence[Any], at: At) -> Iterator[Message]:
    """Read input items to messages. Raises: CodecError of `at`."""
    turn: list[Block] = []
    for i, item in enumerate(items):
        place = at / i
        found = place.mapping(item)
        role = _role(found, place)
        if role == "assistant":
            turn += read_output(found, place)
            continue
        if turn:
            yield Message(role="assistant", blocks=tuple(turn), wire=WIRE)
            turn = []
        yield _input(found, role, place)
    if turn:
        yield Message(role="assistant", blocks=tuple(turn), wire=WIRE)


def _role(found: dict[str, Any], at: At) -> Role:
    kind = at.text(found, "type") or "message"
    if kind == "message":
        no_chat_calls(found, at, "items of type function_call")
        role = at.string(found, "role")
        if role not in ROLES:
            raise (at / "role").fault(f"unknown role {role!r}")
        return ROLES[role]
    return ITEM_ROLES.get(kind, "assistant" if kind.endswith("_call") else "user")


def _input(found: dict[str, Any], role: Role, at: At) -> Message:
    """Read an item that isn't the model's."""
    kind = at.text(found, "type") or "message"
    if kind.removesuffix(OUTPUT) in CALLS and kind.endswith(OUTPUT):
        extra = others(found, "type", "call_id", "output") or {}
        if kind.removesuffix(OUTPUT) != "function_call":
            extra["type"] = kind
        parts = _parts((at / "output").output(found.get("output")), at / "output")
        result = ToolResult(call_id=at.id(found, "call_id"), content=parts, extra=extra or None)
        return Message(role="user", blocks=(result,), wire=WIRE)
    if kind != "message":
        return Message(role=role, blocks=(_opaque(found, kind),), wire=WIRE)
    blocks = _blocks(found.get("content"), at / "content")
    return Message(role=role, blocks=blocks, wire=WIRE, extra=others(found, "role", "content"))


def read_output(found: dict[str, Any], at: At) -> list[Block]:
    """Read an item of the model. Raises: CodecError of `at`."""
    kind = at.text(found, "type") or "message"
    if kind == "message" and found.get("role") in (None, "assistant"):
        return _said(found, at)
    if kind == "reasoning":
        texts = [
            (at / name / i).text(part, "text") or ""
            for name in ("summary", "content")
            for i, value in enumerate((at / name).items(found.get(name) or ()))
            for part in [(at / name / i).mapping(value)]
        ]
        extra = others(found, "type", "encrypted_content")
        return [
            Thinking(
                text="\n".join(texts), signature=at.text(found, "encrypted_content") or None, extra=extra
            )
        ]
    if kind in CALLS:
        argument = CALLS[kind]
        extra = others(found, "type", "call_id", "name", argument) or {}
        if kind != "function_call":
            extra["type"] = kind
        return [
            ToolCall(
                id=at.id(found, "call_id"),
                name=at.string(found, "name"),
                arguments=at.arguments(found, argument),
                extra=extra or None,
            )
        ]
    return [_opaque(found, kind)]


def _said(found: dict[str, Any], at: At) -> list[Block]:
    """Read a message of the model: a text for each part; one with any other part stays whole."""
    content: Any = found.get("content")
    item = others(found, "role", "content") or {}
    if isinstance(content, str):
        return [Text(text=content, extra={ITEM: item} if item else None)]
    parts = [(at / "content" / i).mapping(part) for i, part in enumerate((at / "content").items(content))]
    foreign = [foreign_block(part, str(part.get("type")), at / "content" / i) for i, part in enumerate(parts)]
    if any(foreign):
        return [
            block or _part(part, at / "content" / i)
            for i, (block, part) in enumerate(zip(foreign, parts, strict=True))
        ]
    if not parts or any(part.get("type") != "output_text" for part in parts):
        return [_opaque(found, "message")]
    texts: list[Block] = []
    for i, part in enumerate(parts):
        place: dict[str, Any] = {PART: i} if i else {ITEM: item}
        rest = others(part, "type", "text") or {}
        texts.append(Text(text=(at / "content" / i).words(part, "text"), extra=place | rest))
    return texts


def _blocks(value: Any, at: At) -> tuple[Block, ...]:
    """Read the parts of a message, those that another wire has as blocks of their own, too."""
    if value is None or isinstance(value, str):
        return (Text(text=value),) if value else ()
    blocks: list[Block] = []
    for i, part in enumerate(at.items(value)):
        found = (at / i).mapping(part)
        foreign = foreign_block(found, (at / i).string(found, "type"), at / i)
        blocks.append(foreign or _part(found, at / i))
    return tuple(blocks)


def _parts(value: Any, at: At) -> tuple[Text | Image | Opaque, ...]:
    if value is None or isinstance(value, str):
        return (Text(text=value),) if value else ()
    return tuple(_part((at / i).mapping(part), at / i) for i, part in enumerate(at.items(value)))


def _part(found: dict[str, Any], at: At) -> Text | Image | Opaque:
    kind = at.string(found, "type")
    if kind in ("input_text", "output_text"):
        rest = others(found, "type", "text") if kind == "input_text" else None
        return Text(text=at.words(found, "text"), extra=rest)
    if kind == "input_image" and found.get("file_id") is None:
        extra = others(found, "type", "image_url") or {}
        if extra.get("detail") == "auto":
            del extra["detail"]
        return inline_image(Image(url=at.text(found, "image_url"), extra=extra or None))
    if kind in KNOWN[WIRE] and kind not in PARTS and not kind.startswith("input_"):
        raise at.fault(f"an item of type {kind} among the parts of a message; it stands in the list itself")
    return foreign_part(found, kind, at) or _opaque(found, kind)


def _opaque(found: dict[str, Any], kind: str) -> Opaque:
    return Opaque(wire=WIRE, form=kind, raw=lossless(found).decode())
