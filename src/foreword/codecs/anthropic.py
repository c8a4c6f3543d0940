"""The Anthropic Messages wire: values to units and units to one request body, in render order.

Body: ``model``, keys of the tools layer, ``tools``, keys of the system layer, ``system``, keys of the message
layer, ``messages``, then members that no cache looks at. A block is a unit; neighbouring blocks of one role
share one wire message, as the provider would merge them anyway.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from foreword.codecs.anthropic_blocks import (
    ID_LIMIT,
    PLACES,
    TOOLSET,
    WIRE,
    Form,
    Told,
    beside,
    block_form,
    in_toolset,
    told,
)
from foreword.codecs.anthropic_decode import (
    decode_marks,
    decode_messages,
    decode_request,
    decode_response,
    decode_tools,
    encode_response,
    usage_from,
)
from foreword.codecs.decoded import Mark
from foreword.codecs.keys import key_piece, key_pieces
from foreword.codecs.late import (
    ANTHROPIC_BETAS,
    INLINE_TOOLS,
    LATE_EFFORT,
    PLAIN_COMPACTION,
    SIGNED_COMPACTION,
    TOOL_CHANGES,
    NothingLate,
    compaction_members,
    late_piece,
    named_betas,
)
from foreword.codecs.links import link_of
from foreword.codecs.parts import members, tool_members, tool_name
from foreword.codecs.tool_schema import function_schema
from foreword.core.block import Block, Message, Opaque, Text, Thinking, ToolCall, ToolResult, ToolSpec
from foreword.core.canonical import compact
from foreword.core.request import Compaction, Layer, Link, Params, Piece, Unit
from foreword.core.target import key_at
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
_UNMARKABLE = frozenset({"mcp_tool_listing", "fallback"})
"""Blocks without a member for a cache mark (SDK types anthropic 2.14.0); thinking has none either."""
RESERVED = frozenset({"model", "max_tokens", "tools", "system", "messages"})
PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""The name of a property in a tool's schema (error text `Property keys should match pattern`, 2026)."""
EFFORT = "late_effort"
DEFERRED = "defer_loading"

_OPEN = {"key": b"", "tool": b'"tools":[', "system": b'"system":[', "message": b'"messages":['}
_CLOSE = {"key": b"", "tool": b"]", "system": b"]", "message": b"]}]"}


class AnthropicCodec(NothingLate):
    """Encode to the Anthropic Messages wire and read it. Stateless."""

    wire = WIRE
    version = 3
    message_tokens = 3
    """The provider publishes no rule; the figure of the Chat wire, corrected by calibration."""
    tools_tokens = 350
    """The low end of what is reported (300 to 700) for the hidden tool-use instructions."""
    system_anywhere = False
    reasoning_blocks = True
    refuses_moved = True
    call_path = ("id",)
    result_path = ("tool_use_id",)
    id_limit = ID_LIMIT
    late = frozenset({"tool_addition", "tool_removal", "output_config", DEFERRED})
    effort = ("output_config", "effort")
    task_budget = ("output_config", "task_budget")

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
        """Encode a tool."""
        value, lost = self._tool(tool)
        data = compact(value)
        return Piece(
            section="tool", layer="tools", role="", kind="tool", data=data, text=data.decode(), lost=lost
        )

    def _tool(self, tool: ToolSpec) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Write a tool, and say what got lost; one of the provider's own (its type is no `custom`) is sent as its

        members stand.
        """
        extra = tool_members(tool.extra, WIRE)
        extra.pop(DEFERRED, None)
        lost: tuple[str, ...] = ()
        if extra.get("type", "custom") != "custom":
            value = extra
        else:
            value: dict[str, Any] = {"name": tool_name(tool.name)}
            if tool.description:
                value["description"] = tool.description
            value["input_schema"], lost = function_schema(tool.schema, full=False, key=PROPERTY)
            value |= extra
        return value | {DEFERRED: True} if tool.deferred else value, lost

    def searches(self, tool: ToolSpec) -> bool:
        kind = tool_members(tool.extra, WIRE).get("type")
        return isinstance(kind, str) and kind.startswith("tool_search_tool_")

    def system(self, block: Text) -> Piece:
        """Encode a system block. Raises: MalformedRequest when it is empty, which the provider refuses."""
        if not block.text.strip():
            raise MalformedRequest(WIRE, "system", "an empty text block; leave it out")
        form = block_form(block, own=False)
        return Piece(
            section="system", layer="system", role="", kind="text", data=compact(form.value), text=form.text
        )

    def message(self, message: Message, *, thinking: bool, params: Params | None = None) -> list[Piece]:
        """Encode a message, a piece a block; [] when nothing of it can be sent.

        Left out: empty text, reasoning without the provider's signature or with `thinking` False, and reasoning
        that led to nothing which is sent. `source` is the index of the block. A block that can't stand in a
        message of this role is told as text.
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
                form = block_form(block, own=own, role=role)
            pieces.append(_piece(role, block, form, index))
        while pieces and pieces[-1].kind == "thinking":
            pieces.pop()  # an answer that was cut there: no message may end in reasoning
            lost.append("reasoning")
        for index, block in enumerate(message.blocks):
            if isinstance(block, ToolResult) and role == "user":
                pieces += _beside(block, index, own=own)
        if pieces and lost:
            pieces[0] = replace(pieces[0], lost=(*lost, *pieces[0].lost))
        return pieces

    def results(self, results: Sequence[ToolResult], asked: Message | None = None) -> list[Piece]:
        """Encode results as blocks of one user message, in order, then what failed ones hold beside text.

        `source` is the index of the result. A result names the toolset of its call, or none.
        """
        own = asked is not None and asked.wire == WIRE
        sets = {
            block.id: members(block.extra, WIRE, own=own).get(TOOLSET)
            for block in (asked.blocks if asked is not None else ())
            if isinstance(block, ToolCall)
        }
        pieces = [
            _piece("user", result, in_toolset(block_form(result, own=False), sets.get(result.call_id)), index)
            for index, result in enumerate(results)
        ]
        for index, result in enumerate(results):
            pieces += _beside(result, index, own=False)
        return pieces

    def late_tools(self, added: Sequence[ToolSpec], removed: Sequence[str]) -> list[Piece]:
        gone = [
            {"type": "tool_removal", "tool": {"type": "tool_reference", "name": tool_name(name)}}
            for name in removed
        ]
        new = [
            {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": self._tool(tool)[0]}}
            for tool in added
        ]
        return [
            *(_late(block, TOOL_CHANGES) for block in gone),
            *(_late(block, TOOL_CHANGES, INLINE_TOOLS) for block in new),
        ]

    def late_effort(self, effort: str) -> list[Piece]:
        """Say it in a system message of its own: its bytes are the members of that message, up to the closer."""
        value: dict[str, Any] = {"output_config": {"effort": effort}, "content": []}
        piece = late_piece(value, "system", EFFORT, betas=(LATE_EFFORT,))
        return [replace(piece, data=piece.data[1:-2])]

    def decode_marks(
        self, messages: Sequence[Any], system: Any, tools: Sequence[Any] | None
    ) -> tuple[Mark, ...]:
        return decode_marks(messages, system, tools)

    def compaction(self, block: Opaque) -> Compaction | None:
        found = compaction_members(block, WIRE)
        if found is None:
            return None
        place = "nowhere" if not found.get("content") else "first" if found.get("signature") else "anywhere"
        return Compaction(place=place, tools=bool(found.get("tool_changes")))

    def link(self, block: Opaque) -> Link | None:
        return link_of(block, WIRE)

    def thinks_first(self, params: Params) -> bool:
        """Whether thinking is asked for by a budget (error text `a final assistant message must start with a thinking

        block`, public reports from 2025-05 on); adaptive thinking wants nothing there.
        """
        return key_at(params.keys, ("thinking", "type")) == "enabled"

    def betas(self, params: Params) -> tuple[str, ...]:
        return named_betas(params.keys, ANTHROPIC_BETAS)

    def opens(self, before: Unit | Piece | None, piece: Unit | Piece) -> bool:
        """Whether a piece begins a message: neighbours of one role share one."""
        return piece.section == "message" and (
            before is None or (before.section, before.role) != (piece.section, piece.role)
        )

    def between(self, before: Unit | None, unit: Unit) -> bytes:
        """Return the bytes between two neighbouring units, or before the first."""
        opening = _OPEN[unit.section] + (_head(unit) if unit.section == "message" else b"")
        if before is None:
            return b"{" + opening
        if before.section != unit.section:
            return _CLOSE[before.section] + b"," + opening
        if unit.section == "message" and before.kind == EFFORT and unit.role == before.role:
            return b""
        if unit.section == "message" and before.role != unit.role:
            return b"]}," + _head(unit)
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


def _head(unit: Unit) -> bytes:
    """Open a message; one that changes the effort brings its own members up to its content."""
    return b'{"role":"' + unit.role.encode() + (b'",' if unit.kind == EFFORT else b'","content":[')


def _late(value: dict[str, Any], *betas: str) -> Piece:
    return late_piece(value, "system", str(value["type"]), betas=betas, markable=True)


def _piece(role: str, block: Block, form: Form, index: int) -> Piece:
    return Piece(
        section="message",
        layer="messages",
        role=role,
        kind=str(block.__struct_config__.tag),
        data=compact(form.value),
        text=form.text,
        media_tokens=form.media_tokens,
        markable=not isinstance(block, Thinking)
        and not (isinstance(block, Opaque) and block.form in _UNMARKABLE),
        source=index,
        lost=form.lost,
        betas=_block_betas(block),
    )


def _beside(result: ToolResult, index: int, *, own: bool) -> list[Piece]:
    return [_piece("user", block, form, index) for block, form in beside(result, own=own)]


def _block_betas(block: Block) -> tuple[str, ...]:
    if not isinstance(block, Opaque) or block.wire != WIRE:
        return ()
    if block.form in ("tool_addition", "tool_removal"):
        inline = '"tool_definition"' in block.raw
        return (TOOL_CHANGES, INLINE_TOOLS) if inline else (TOOL_CHANGES,)
    found = compaction_members(block, WIRE)
    if found is None:
        return ()
    return (SIGNED_COMPACTION if found.get("signature") else PLAIN_COMPACTION,)
