"""The Anthropic Messages wire: values to units and units to one request body, in render order.

Body: ``model``, keys of the tools layer, ``tools``, keys of the system layer, ``system``, keys of the message
layer, ``messages``, then members that no cache looks at. A block is a unit; neighbouring blocks of one role
share one wire message, as the provider would merge them anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from foreword.codecs.anthropic_blocks import PLACES, WIRE, Form, Told, block_form, told
from foreword.codecs.anthropic_decode import (
    decode_messages,
    decode_request,
    decode_response,
    decode_tools,
    encode_response,
    usage_from,
)
from foreword.codecs.parts import members
from foreword.core.block import Block, Message, Text, Thinking, ToolResult, ToolSpec
from foreword.core.canonical import compact
from foreword.core.request import Layer, Params, Piece, Unit
from foreword.errors import MalformedRequest

KEY_LAYERS: dict[str, Layer] = {
    "mcp_servers": "tools",
    "speed": "system",
    "thinking": "messages",
    "tool_choice": "messages",
    "output_config": "messages",
    "output_format": "messages",
}
"""Member -> the first layer that a change of it invalidates (provider documentation, 2026-11-30)."""
COUNTED_KEYS = frozenset({"output_config", "output_format"})
"""Keys whose value (an output schema) a tokenizer sees."""
RESERVED = frozenset({"model", "max_tokens", "tools", "system", "messages"})
LAYERS: tuple[Layer, ...] = ("tools", "system", "messages")

_OPEN = {"key": b"", "tool": b'"tools":[', "system": b'"system":[', "message": b'"messages":['}
_CLOSE = {"key": b"", "tool": b"]", "system": b"]", "message": b"]}]"}


class AnthropicCodec:
    """Encode to the Anthropic Messages wire and read it. Stateless."""

    wire = WIRE
    version = 1
    message_tokens = 3
    """The provider publishes no rule; the figure of the Chat wire, corrected by calibration."""
    tools_tokens = 350
    """The low end of what is reported (300 to 700) for the hidden tool-use instructions."""
    merges = True
    system_anywhere = False

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
        for name in params.keys:
            if name in RESERVED:
                raise MalformedRequest(WIRE, f"params.keys.{name}", "written from other values")
        found = [
            _key(KEY_LAYERS[name], name, params.keys[name]) for name in params.keys if name in KEY_LAYERS
        ]
        return [_key("tools", "model", params.model), *sorted(found, key=lambda key: LAYERS.index(key.layer))]

    def tool(self, tool: ToolSpec) -> Piece:
        """Encode a tool; one of the provider's own (its type is no `custom`) is sent as its members stand."""
        extra = members(tool.extra, WIRE, own=False)
        if extra.get("type", "custom") != "custom":
            value = extra
        else:
            value: dict[str, Any] = {"name": tool.name}
            if tool.description:
                value["description"] = tool.description
            value["input_schema"] = tool.schema or {"type": "object", "properties": {}}
            value |= extra
        data = compact(value)
        return Piece(section="tool", layer="tools", role="", kind="tool", data=data, text=data.decode())

    def system(self, block: Text) -> Piece:
        """Encode a system block. Raises: MalformedRequest when it is empty, which the provider refuses."""
        if not block.text.strip():
            raise MalformedRequest(WIRE, "system", "an empty text block; leave it out")
        form = block_form(block, own=False)
        return Piece(
            section="system", layer="system", role="", kind="text", data=compact(form.value), text=form.text
        )

    def message(self, message: Message, *, thinking: bool) -> list[Piece]:
        """Encode a message, a piece a block; [] when nothing of it can be sent.

        Left out: empty text, reasoning without the provider's signature or with `thinking` False. `source` is
        the index of the block. A block that can't stand in a message of this role is told as text.
        """
        role = "system" if message.role == "developer" else message.role
        own = message.wire == WIRE
        lost = [f"member {name} of the message" for name in message.extra or () if own]
        pieces: list[Piece] = []
        for index, block in enumerate(message.blocks):
            if isinstance(block, Text) and not block.text.strip():
                continue
            if isinstance(block, Thinking) and not (thinking and _replayable(block, message, role)):
                lost.append("reasoning")
                continue
            if isinstance(block, Told) and role not in PLACES[type(block)]:
                form = told(block, role)
            else:
                form = block_form(block, own=own)
            pieces.append(_piece(role, block, form, index))
        if pieces and lost:
            pieces[0] = replace(pieces[0], lost=(*lost, *pieces[0].lost))
        return pieces

    def results(self, results: Sequence[ToolResult]) -> list[Piece]:
        """Encode results as blocks of one user message, in order; `source` is the index of the result."""
        forms = [(result, block_form(result, own=False)) for result in results]
        return [_piece("user", result, form, index) for index, (result, form) in enumerate(forms)]

    def between(self, before: Unit | None, unit: Unit) -> bytes:
        """Return the bytes between two neighbouring units, or before the first."""
        opening = _OPEN[unit.section] + (_head(unit.role) if unit.section == "message" else b"")
        if before is None:
            return b"{" + opening
        if before.section != unit.section:
            return _CLOSE[before.section] + b"," + opening
        if unit.section == "message" and before.role != unit.role:
            return b"]}," + _head(unit.role)
        return b","

    def close(self, last: Unit | None, params: Params) -> bytes:
        """Return the bytes after the last unit: closers, `max_tokens` and the members no cache looks at."""
        start = b"{" if last is None else _CLOSE[last.section] + b","
        messages = b"" if last is not None and last.section == "message" else b'"messages":[],'
        rest = {name: value for name, value in params.keys.items() if name not in KEY_LAYERS}
        return start + messages + compact({"max_tokens": params.max_output, **rest})[1:]

    def mark(self, data: bytes, ttl: str | None) -> bytes:
        """Put a cache mark on a unit's bytes. `ttl`: "5m", "1h", or None: the default (5 minutes)."""
        mark = {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}
        return data[:-1] + b',"cache_control":' + compact(mark) + b"}"


def _replayable(block: Thinking, message: Message, role: str) -> bool:
    return bool(block.signature or block.data) and message.wire in (None, WIRE) and role == "assistant"


def _head(role: str) -> bytes:
    return b'{"role":"' + role.encode() + b'","content":['


def _key(layer: Layer, name: str, value: Any) -> Piece:
    data = compact({name: value})[1:-1]
    text = data.decode() if name in COUNTED_KEYS else ""
    return Piece(section="key", layer=layer, role="", kind=name, data=data, text=text, markable=False)


def _piece(role: str, block: Block, form: Form, index: int) -> Piece:
    return Piece(
        section="message",
        layer="messages",
        role=role,
        kind=str(block.__struct_config__.tag),
        data=compact(form.value),
        text=form.text,
        media_tokens=form.media_tokens,
        markable=not isinstance(block, Thinking),
        source=index,
        lost=form.lost,
    )
