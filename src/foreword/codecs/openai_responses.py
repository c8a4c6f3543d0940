"""The OpenAI Responses wire: values to units and units to one request body, in render order.

Body: ``model``, keys of the tools layer, ``tools``, ``instructions``, keys of the message layer, ``input``, then
members that no cache looks at. An input item is a unit. System blocks are pieces of the one string
``instructions``, joined by an empty line: a unit's bytes stand inside its quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from foreword.codecs.keys import JSON_OBJECT, key_piece, key_pieces
from foreword.codecs.late import NothingLate, compaction_members, late_piece
from foreword.codecs.links import link_of
from foreword.codecs.openai_marks import part_marked, takes_mark
from foreword.codecs.openai_responses_blocks import (
    ID_LIMIT,
    OUTPUT,
    PARTS,
    WIRE,
    Form,
    assistant_forms,
    content,
    opaque_form,
    part_form,
    result_form,
)
from foreword.codecs.openai_responses_decode import (
    decode_messages,
    decode_request,
    decode_response,
    decode_tools,
    encode_response,
    usage_from,
)
from foreword.codecs.parts import json_object, members, tool_members, tool_name
from foreword.codecs.tool_schema import function_schema
from foreword.core.block import Message, Opaque, Text, Thinking, ToolCall, ToolResult, ToolSpec
from foreword.core.canonical import compact
from foreword.core.request import Compaction, Layer, Link, Params, Piece, Unit
from foreword.core.target import key_at

KEY_LAYERS: dict[str, Layer] = {
    "prompt_cache_key": "tools",
    "service_tier": "tools",
    "reasoning": "tools",
    "text": "tools",
    "parallel_tool_calls": "tools",
    "prompt": "tools",
    "tool_choice": "messages",
}
"""Member -> the first layer that a change of it invalidates (cache diagnostics of the provider, 2026-11-30)."""
MESSAGE_ID = "msg"
"""How the provider's ids of messages begin; it refuses any other (seen 2026)."""
COUNTED_KEYS = frozenset({"text"})
"""Keys whose value (an output schema) a tokenizer sees."""
RESERVED = frozenset({"model", "max_output_tokens", "tools", "instructions", "input"})

_OPEN = {"key": b"", "tool": b'"tools":[', "system": b'"instructions":"', "message": b'"input":['}
_CLOSE = {"key": b"", "tool": b"]", "system": b'"', "message": b"]"}
_JOIN = {"key": b",", "tool": b",", "system": rb"\n\n", "message": b","}


class OpenAIResponsesCodec(NothingLate):
    """Encode to the OpenAI Responses wire and read it. Stateless."""

    wire = WIRE
    version = 3
    marks_end = True
    message_tokens = 3
    """The provider publishes no rule for items; the figure of its Chat wire, corrected by calibration."""
    tools_tokens = 0
    system_anywhere = True
    reasoning_blocks = True
    call_path = result_path = ("call_id",)
    id_limit = ID_LIMIT
    least_output = 16
    late = frozenset({"additional_tools", "configuration_update"})
    effort = ("reasoning", "effort")

    decode_request = staticmethod(decode_request)
    decode_messages = staticmethod(decode_messages)
    decode_tools = staticmethod(decode_tools)
    decode_response = staticmethod(decode_response)
    encode_response = staticmethod(encode_response)
    usage_from = staticmethod(usage_from)

    def keys(self, params: Params) -> list[Piece]:
        """Return the model and the keys that invalidate a layer, by layer, each layer in the given order.

        Raises: MalformedRequest when `params.keys` holds a member that Foreword writes itself.
        """
        keys = key_pieces(WIRE, params, KEY_LAYERS, reserved=RESERVED, counted=COUNTED_KEYS)
        return [key_piece("tools", "model", params.model), *keys]

    def tool(self, tool: ToolSpec) -> Piece:
        """Encode a tool.

        One that the caller deferred himself is in the prefix all the same, by name and description (the provider's
        page "Tool search", 2026-11-30); its parameters are not, and no tokenizer reads them.
        """
        value, lost = self._tool(tool)
        deferred = value.get("defer_loading") is True
        read = {name: member for name, member in value.items() if not (deferred and name == "parameters")}
        return Piece(
            section="tool",
            layer="tools",
            role="",
            kind="tool",
            data=compact(value),
            text=compact(read).decode(),
            markable=False,
            lost=lost,
        )

    def late_tools(self, added: Sequence[ToolSpec], removed: Sequence[str]) -> list[Piece]:
        if removed or not added:
            return []
        tools = [self._tool(tool)[0] for tool in added]
        return [
            late_piece(
                {"type": "additional_tools", "role": "developer", "tools": tools}, "developer", "late_tools"
            )
        ]

    def late_effort(self, effort: str) -> list[Piece]:
        update = {"type": "configuration_update", "reasoning": {"effort": effort}}
        return [late_piece(update, "developer", "late_effort")]

    def compaction(self, block: Opaque) -> Compaction | None:
        return None if compaction_members(block, WIRE) is None else Compaction(place="anywhere", whole=True)

    def wants_json(self, params: Params) -> bool:
        return key_at(params.keys, ("text", "format", "type")) == JSON_OBJECT

    def link(self, block: Opaque) -> Link | None:
        return link_of(block, WIRE)

    def _tool(self, tool: ToolSpec) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Write a tool as a function, and say what got lost; one of another type is sent as its members stand.

        A schema that was not written for this wire is no strict one, which the provider would assume.
        """
        extra = tool_members(tool.extra, WIRE)
        lost: tuple[str, ...] = ()
        if extra.get("type", "function") != "function":
            value = extra
        else:
            value: dict[str, Any] = {"type": "function", "name": tool_name(tool.name)}
            if tool.description:
                value["description"] = tool.description
            value["parameters"], lost = function_schema(tool.schema)
            value |= {"strict": False, **extra}
        return value, lost

    def system(self, block: Text) -> Piece:
        """Encode a system block as a piece of `instructions`."""
        data = compact(block.text)[1:-1]
        return Piece(
            section="system", layer="system", role="", kind="text", data=data, text=block.text, markable=False
        )

    def message(self, message: Message, *, thinking: bool, params: Params | None = None) -> list[Piece]:
        """Encode a message, a piece an item; [] when nothing of it can be sent.

        A message of the assistant gives its reasoning, texts and calls as items in order. When reasoning of it
        can't be sent (`thinking` False, or none of the provider's encrypted content), all of it is left out, and
        so are the item ids by which the provider would look for it. Another message gives its results as items,
        then what it says.
        """
        own = message.wire == WIRE
        if message.role == "assistant":
            thoughts = [block for block in message.blocks if isinstance(block, Thinking)]
            paired = thinking and message.wire in (None, WIRE) and all(block.signature for block in thoughts)
            forms = assistant_forms(message, paired=paired)
            # An answer that was cut may end in reasoning, which is refused without the item it led to.
            ended = max((n for n, (_, _, kind, _) in enumerate(forms, 1) if kind != "thinking"), default=0)
            pieces = [_piece(role, kind, form, index) for index, role, kind, form in forms[:ended]]
            if pieces and thoughts and not (paired and ended == len(forms)):
                pieces[0] = replace(pieces[0], lost=("reasoning", *pieces[0].lost))
            return pieces
        pieces: list[Piece] = []
        said: list[tuple[int, Form]] = []
        for index, block in enumerate(message.blocks):
            match block:
                case ToolResult() if message.role == "user":
                    pieces.append(_piece("tool", "tool_result", result_form(block, own=own), index))
                case Opaque(wire=wire, form=kind, raw=raw) if (
                    wire == WIRE and kind not in PARTS and not kind.startswith("input_") and json_object(raw)
                ):
                    pieces.append(_piece(message.role, "opaque", opaque_form(block), index))
                case Text(text=text) if not text.strip():
                    pass
                case Thinking():
                    pass
                case _:
                    said.append((index, part_form(block, message.role, own=own)))
        if said:
            pieces.append(_said(message, said, own=own))
        return pieces

    def results(self, results: Sequence[ToolResult], asked: Message | None = None) -> list[Piece]:
        """Encode results as items, in order; the kind of each is that of the call it answers."""
        kinds = {
            block.id: str((block.extra or {}).get("type", "function_call"))
            for block in (asked.blocks if asked is not None and asked.wire == WIRE else ())
            if isinstance(block, ToolCall)
        }
        forms = [
            result_form(
                result,
                own=False,
                kind=None if asked is None else kinds.get(result.call_id, "function_call") + OUTPUT,
            )
            for result in results
        ]
        return [_piece("tool", "tool_result", form, index) for index, form in enumerate(forms)]

    def opens(self, before: Unit | Piece | None, piece: Unit | Piece) -> bool:
        """Whether a piece begins a message: each one that is said is one."""
        return piece.section in ("system", "message")

    def between(self, before: Unit | None, unit: Unit) -> bytes:
        """Return the bytes between two neighbouring units, or before the first."""
        if before is None:
            return b"{" + _OPEN[unit.section]
        if before.section == unit.section:
            return _JOIN[unit.section]
        return _CLOSE[before.section] + b"," + _OPEN[unit.section]

    def close(self, last: Unit | None, params: Params) -> bytes:
        """Return the bytes after the last unit: closers, the output limit and members no cache looks at.

        An output of 0 tokens means no limit: no member.
        """
        rest = {name: value for name, value in params.keys.items() if name not in KEY_LAYERS}
        if params.max_output:
            rest = {"max_output_tokens": params.max_output} | rest
        start = b"{" if last is None else _CLOSE[last.section]
        if last is None or last.section != "message":
            start += (b"," if last else b"") + b'"input":[]'
        return start + (b"," + compact(rest)[1:] if rest else b"}")

    def mark(self, data: bytes, ttl: str | None) -> bytes:
        """Put an explicit breakpoint on an item's last part. `ttl`: "30m", "12h", or None: the default."""
        return part_marked(data, ttl)


def _said(message: Message, said: Sequence[tuple[int, Form]], *, own: bool) -> Piece:
    forms = [form for _, form in said]
    extra = members(message.extra, WIRE, own=own)
    if not str(extra.get("id", MESSAGE_ID)).startswith(MESSAGE_ID):
        del extra["id"]  # a client's own
    whole = Form(
        value={"role": message.role, "content": content(forms), **extra},
        text="\n".join(form.text for form in forms if form.text),
        media_tokens=sum(form.media_tokens for form in forms),
        lost=tuple(word for form in forms for word in form.lost),
    )
    kinds = {str(form.value["type"]) for form in forms}
    kind = "image" if "input_image" in kinds else "text" if kinds == {"input_text"} else "opaque"
    return _piece(message.role, kind, whole, said[0][0])


def _piece(role: str, kind: str, form: Form, source: int) -> Piece:
    return Piece(
        section="message",
        layer="messages",
        role=role,
        kind=kind,
        data=compact(form.value),
        text=form.text,
        media_tokens=form.media_tokens,
        markable=takes_mark(form.value),
        source=source,
        lost=form.lost,
    )
