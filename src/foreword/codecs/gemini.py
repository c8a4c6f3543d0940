"""The Gemini generateContent wire: values to units and units to one request body, in render order.

Body: keys of the tools layer, ``tools``, ``systemInstruction``, keys of the message layer, ``contents``, then
members that no cache looks at. A part is a unit; neighbouring parts of one role share one content. The model
stands in the URL: its key unit has no bytes, and says the model by its role, so that its digest changes with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from foreword.codecs.gemini_decode import (
    decode_messages,
    decode_request,
    decode_response,
    decode_tools,
    encode_response,
    usage_from,
)
from foreword.codecs.gemini_parts import ID_LIMIT, SIGNATURE, WIRE, Form, message_forms, result_form
from foreword.codecs.keys import key_pieces
from foreword.codecs.late import NothingLate
from foreword.codecs.parts import lettered_name, members, tool_members
from foreword.core.block import Block, Message, Text, Thinking, ToolCall, ToolResult, ToolSpec
from foreword.core.canonical import compact
from foreword.core.request import Layer, Params, Piece, Unit

KEY_LAYERS: dict[str, Layer] = {"cachedContent": "tools", "toolConfig": "messages"}
"""Member -> the first layer that a change of it invalidates (assumption: the provider publishes no list)."""
COUNTED = ("responseSchema", "responseJsonSchema", "responseFormat")
"""Members of `generationConfig` whose value (an output schema) a tokenizer sees."""
RESERVED = frozenset({"model", "tools", "systemInstruction", "contents"})
FUNCTION, SERVED = "tool", "served_tool"
"""Kinds of tool units: functions share one list, a tool of the provider's own stands beside it."""

_OPEN = {
    "key": b"",
    FUNCTION: b'"tools":[{"functionDeclarations":[',
    SERVED: b'"tools":[',
    "system": b'"systemInstruction":{"parts":[',
    "message": b'"contents":[',
}
_CLOSE = {"key": b"", FUNCTION: b"]}]", SERVED: b"]", "system": b"]}", "message": b"]}]"}
_NEXT_TOOL = {
    (FUNCTION, FUNCTION): b",",
    (FUNCTION, SERVED): b"]},",
    (SERVED, FUNCTION): b',{"functionDeclarations":[',
    (SERVED, SERVED): b",",
}


class GeminiCodec(NothingLate):
    """Encode to the Gemini generateContent wire and read it. Stateless."""

    wire = WIRE
    version = 3
    reasoning_blocks = True
    call_path = ("functionCall", "id")
    result_path = ("functionResponse", "id")
    id_limit = ID_LIMIT
    message_tokens = 3
    """The provider publishes no rule; the figure of the Chat wire, corrected by calibration."""
    tools_tokens = 0
    system_anywhere = False

    decode_request = staticmethod(decode_request)
    decode_messages = staticmethod(decode_messages)
    decode_tools = staticmethod(decode_tools)
    decode_response = staticmethod(decode_response)
    encode_response = staticmethod(encode_response)
    usage_from = staticmethod(usage_from)

    def keys(self, params: Params) -> list[Piece]:
        """Return the model, without bytes, and the keys that invalidate a layer, by layer, in the given order.

        The output's schema stands in the envelope, where no unit is: it is counted with the model.
        Raises: MalformedRequest when `params.keys` holds a member that Foreword writes itself.
        """
        text = _schemas(params)
        model = Piece(
            section="key", layer="tools", role=params.model, kind="model", data=b"", text=text, markable=False
        )
        return [model, *key_pieces(WIRE, params, KEY_LAYERS, reserved=RESERVED)]

    def tool(self, tool: ToolSpec) -> Piece:
        """Encode a tool as a function's declaration; one of the provider's own is sent as its members stand."""
        extra = tool_members(tool.extra, WIRE)
        served = bool(extra) and not tool.description and not tool.schema and tool.name in extra
        value: dict[str, Any] = {"name": lettered_name(tool.name)}
        if tool.description:
            value["description"] = tool.description
        if tool.schema and "parameters" not in extra:
            value["parametersJsonSchema"] = tool.schema
        data = compact(extra if served else value | extra)
        return Piece(
            section="tool",
            layer="tools",
            role="",
            kind=SERVED if served else FUNCTION,
            data=data,
            text=data.decode(),
            markable=False,
        )

    def system(self, block: Text) -> Piece:
        """Encode a system block as a part of `systemInstruction`."""
        value = {"text": block.text, **members(block.extra, WIRE, own=False)}
        return Piece(
            section="system",
            layer="system",
            role="",
            kind="text",
            data=compact(value),
            text=block.text,
            markable=False,
        )

    def message(self, message: Message, *, thinking: bool, params: Params | None = None) -> list[Piece]:
        """Encode a message, a piece a part; [] when nothing of it can be sent.

        Left out: empty text, and reasoning without a signature of the provider or with `thinking` False. The
        wire has no system messages among the contents: such a one is the user's.
        """
        role = "assistant" if message.role == "assistant" else "user"
        lost = [f"member {name} of the message" for name in message.extra or () if message.wire == WIRE]
        if role != message.role:
            lost.append(f"a {message.role} message, sent as a user's")
        forms = message_forms(message, thinking=thinking)
        sent = {index for index, _, _ in forms}
        if any(_thought(block) and index not in sent for index, block in enumerate(message.blocks)):
            lost.append("reasoning")
        pieces = [_piece(role, block, form, index) for index, block, form in forms]
        if pieces and lost:
            pieces[0] = replace(pieces[0], lost=(*lost, *pieces[0].lost))
        return pieces

    def results(self, results: Sequence[ToolResult], asked: Message | None = None) -> list[Piece]:
        """Encode results as parts of one user content, in order, each with the name of the function it is of."""
        calls = asked.blocks if asked is not None else ()
        names = {call.id: call.name for call in calls if isinstance(call, ToolCall)}
        forms = [
            (result, result_form(result, own=False, name=names.get(result.call_id))) for result in results
        ]
        return [_piece("user", result, form, index) for index, (result, form) in enumerate(forms)]

    def reasoning_member(self, params: Params) -> str:
        return SIGNATURE

    def opens(self, before: Unit | Piece | None, piece: Unit | Piece) -> bool:
        """Whether a piece begins a message: neighbours of one role share one."""
        return piece.section == "message" and (
            before is None or (before.section, before.role) != (piece.section, piece.role)
        )

    def between(self, before: Unit | None, unit: Unit) -> bytes:
        """Return the bytes between two neighbouring units, or before the first."""
        if before is None:
            return b"{" + _opening(unit)
        if before.section == unit.section == "tool":
            return _NEXT_TOOL[before.kind, unit.kind]
        if before.section != unit.section:
            return _closing(before) + _opening(unit)
        if unit.section == "message" and before.role != unit.role:
            return b"]}," + _head(unit.role)
        return b"," if before.data else b""

    def close(self, last: Unit | None, params: Params) -> bytes:
        """Return the bytes after the last unit: closers, `generationConfig` and members no cache looks at.

        An output of 0 tokens means no limit: no member.
        """
        rest = {name: value for name, value in params.keys.items() if name not in KEY_LAYERS}
        if params.max_output:
            config = cast(Mapping[str, Any], rest.get("generationConfig") or {})
            rest = {"generationConfig": {**config, "maxOutputTokens": params.max_output}} | {
                name: value for name, value in rest.items() if name != "generationConfig"
            }
        if last is not None and last.section == "message":
            start = _CLOSE["message"]
        else:
            start = (b"{" if last is None else _closing(last)) + b'"contents":[]'
        return start + (b"," + compact(rest)[1:] if rest else b"}")

    def mark(self, data: bytes, ttl: str | None) -> bytes:
        """Return the bytes unchanged: the wire has no cache marks."""
        return data


def _kind(unit: Unit) -> str:
    return unit.kind if unit.section == "tool" else unit.section


def _opening(unit: Unit) -> bytes:
    return _OPEN[_kind(unit)] + (_head(unit.role) if unit.section == "message" else b"")


def _closing(unit: Unit) -> bytes:
    """Close what stands before another section; the model's key has no bytes to set apart."""
    return _CLOSE[_kind(unit)] + b"," if unit.data else b""


def _head(role: str) -> bytes:
    return b'{"role":"' + (b"model" if role == "assistant" else b"user") + b'","parts":['


def _thought(block: Block) -> bool:
    return isinstance(block, Thinking)


def _schemas(params: Params) -> str:
    config = cast(Mapping[str, Any], params.keys.get("generationConfig") or {})
    return "\n".join(compact(config[name]).decode() for name in COUNTED if config.get(name) is not None)


def _piece(role: str, block: Block, form: Form, index: int) -> Piece:
    return Piece(
        section="message",
        layer="messages",
        role=role,
        kind=str(block.__struct_config__.tag),
        data=compact(form.value),
        text=form.text,
        media_tokens=form.media_tokens,
        markable=False,
        source=index,
        lost=form.lost,
    )
