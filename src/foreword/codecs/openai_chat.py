"""The OpenAI Chat Completions wire: values to units and units to one request body, in render order.

Body: ``model``, keys of the tools layer, ``tools``, keys of the system layer, ``messages`` (system messages
first), then members that no cache looks at. A message is a unit. A cache mark stands on the last part of a
user's message, where that has parts: a string is never made into parts for its sake.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from foreword.codecs.chat_marks import decode_marks
from foreword.codecs.chat_members import FUNCTION, MEMBERS, Table, known_members
from foreword.codecs.decoded import Mark
from foreword.codecs.keys import JSON_OBJECT, key_piece, key_pieces
from foreword.codecs.late import NothingLate
from foreword.codecs.openai_chat_blocks import (
    ID_LIMIT,
    LIMITS,
    WIRE,
    Form,
    call_form,
    content,
    images_form,
    part_form,
    result_form,
)
from foreword.codecs.openai_chat_decode import (
    decode_messages,
    decode_request,
    decode_response,
    decode_tools,
    encode_response,
    usage_from,
)
from foreword.codecs.openai_marks import part_marked, takes_mark
from foreword.codecs.parts import NAME_LIMIT, members, tool_members, tool_name
from foreword.codecs.tool_schema import function_schema
from foreword.core.block import Image, Message, Text, Thinking, ToolCall, ToolResult, ToolSpec
from foreword.core.canonical import compact
from foreword.core.request import Layer, Params, Piece, Unit
from foreword.core.target import key_at

KEY_LAYERS: dict[str, Layer] = {
    "prompt_cache_key": "tools",
    "response_format": "tools",
    "reasoning_effort": "tools",
    "verbosity": "tools",
    "service_tier": "tools",
    "functions": "tools",
    "parallel_tool_calls": "tools",
    "web_search_options": "tools",
    "thinking": "tools",
    "chat_template_kwargs": "tools",
    "tool_choice": "system",
    "function_call": "system",
}
"""Member -> the first layer that a change of it invalidates (cache diagnostics of the provider, 2026-11-30).

System messages stand in `messages` here, so a key can't come between the two: what would be of the message
layer elsewhere is of the system layer.
"""
COUNTED_KEYS = frozenset({"response_format", "functions"})
"""Keys whose value (a schema) a tokenizer sees."""
RESERVED = frozenset({"model", "tools", "messages"})
_NO_SPEAKER = re.compile(r"[\s<|\\/>]")
"""What the name of who speaks may not hold (error text `string does not match pattern`, 2025)."""

_OPEN = {"key": b"", "tool": b'"tools":[', "system": b'"messages":[', "message": b'"messages":['}
_CLOSE = {"key": b"", "tool": b"]", "system": b"]", "message": b"]"}


class OpenAIChatCodec(NothingLate):
    """Encode to the OpenAI Chat Completions wire and read it.

    ``exact``: the server refuses members that the wire's API doesn't have, so none is sent.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self.exact = exact

    wire: str = WIRE
    version = 3
    call_path = ("tool_calls", "id")
    result_path = ("tool_call_id",)
    id_limit = ID_LIMIT
    key_layers: Mapping[str, Layer] = KEY_LAYERS
    marks_end = True
    message_tokens = 3
    tools_tokens = 0
    system_anywhere = True
    effort = ("reasoning_effort",)

    decode_request = staticmethod(decode_request)
    decode_messages = staticmethod(decode_messages)
    decode_tools = staticmethod(decode_tools)
    decode_response = staticmethod(decode_response)
    encode_response = staticmethod(encode_response)
    usage_from = staticmethod(usage_from)

    @property
    def files(self) -> bool:
        """Whether the server may read pictures from its own files: local servers do, and none of them is exact."""
        return not self.exact and self.wire == WIRE

    def wants_json(self, params: Params) -> bool:
        return key_at(params.keys, ("response_format", "type")) == JSON_OBJECT

    def decode_marks(
        self, messages: Sequence[Any], system: Any, tools: Sequence[Any] | None
    ) -> tuple[Mark, ...]:
        """Return where lists hold `cache_control`; the system text stands in the messages."""
        return decode_marks(messages, tools)

    def keys(self, params: Params) -> list[Piece]:
        """Return the model and the keys that invalidate a layer, by layer, each layer in the given order.

        Raises: MalformedRequest when `params.keys` holds a member that Foreword writes itself.
        """
        reserved = RESERVED | {LIMITS[self.wire][0]}
        keys = key_pieces(self.wire, params, self.key_layers, reserved=reserved, counted=COUNTED_KEYS)
        return [key_piece("tools", "model", params.model), *keys]

    def tool(self, tool: ToolSpec) -> Piece:
        """Encode a tool as a function; one of another type of this wire is sent as its members stand."""
        extra = tool_members(tool.extra, self.wire)
        lost: tuple[str, ...] = ()
        if extra.get("type", "function") != "function":
            value = extra
        else:
            function: dict[str, Any] = {"name": tool_name(tool.name)}
            if tool.description:
                function["description"] = tool.description
            if tool.schema:
                function["parameters"], lost = function_schema(tool.schema)
            function |= extra.pop("function", {})
            value = {"type": "function", "function": function, **extra}
            value, gone = self._sent(value, FUNCTION)
            lost += gone
        data = compact(value)
        return Piece(
            section="tool",
            layer="tools",
            role="",
            kind="tool",
            data=data,
            text=data.decode(),
            markable=False,
            lost=lost,
        )

    def system(self, block: Text) -> Piece:
        """Encode a system block as a message of its own, of role `system` unless its extra says another."""
        value = {"role": "system", "content": block.text, **members(block.extra, self.wire, own=False)}
        value, lost = self._sent(value, MEMBERS.get(str(value["role"]), MEMBERS["system"]))
        return Piece(
            section="system",
            layer="system",
            role=str(value["role"]),
            kind="text",
            data=compact(value),
            text=block.text,
            markable=False,
            lost=lost,
        )

    def _sent(self, value: dict[str, Any], table: Table) -> tuple[dict[str, Any], tuple[str, ...]]:
        return known_members(value, table) if self.exact else (value, ())

    def message(self, message: Message, *, thinking: bool, params: Params | None = None) -> list[Piece]:
        """Encode a message as one piece; results in it come first, as messages of their own.

        [] when nothing of it can be sent. Reasoning is never sent: the wire takes none back. Several texts of
        an assistant are joined by an empty line, because some servers of this wire take only a string there;
        a message that came from this wire keeps its parts.
        """
        own = message.wire == self.wire
        blocks = list(enumerate(message.blocks))
        pieces: list[Piece] = []
        if message.role == "user":
            found = [(index, block) for index, block in blocks if isinstance(block, ToolResult)]
            sources = [index for index, _ in found]
            pieces = self._results([block for _, block in found], sources, own=own)
            blocks = [(index, block) for index, block in blocks if not isinstance(block, ToolResult)]
        is_call = message.role == "assistant"
        calls = [
            call_form(block, self.wire, own=own)
            for _, block in blocks
            if is_call and isinstance(block, ToolCall)
        ]
        parts = [
            part_form(block, message.role, self.wire, own=own, files=self.files)
            for _, block in blocks
            if not isinstance(block, Thinking)
            and not (is_call and isinstance(block, ToolCall))
            and not (isinstance(block, Text) and not block.text.strip())
        ]
        if not parts and not calls:
            return pieces
        value: dict[str, Any] = {"role": message.role, "content": None}
        if parts:
            value["content"] = content(parts, joined=message.role != "user" and not own)
        if calls:
            value["tool_calls"] = [call.value for call in calls]
        reasoning = self.reasoning(message, called=bool(calls), thinking=thinking, params=params)
        extra = members(message.extra, self.wire, own=own)
        if isinstance(name := extra.get("name"), str):
            extra["name"] = _NO_SPEAKER.sub("_", name)[:NAME_LIMIT] or "_"
        value, gone = self._sent(value | reasoning | extra, MEMBERS[message.role])
        thoughts = [block.text for _, block in blocks if isinstance(block, Thinking)]
        kept = not thoughts or list(reasoning.values()) == ["".join(thoughts)]
        forms = [*parts, *calls]
        # Some servers of this wire return their reasoning under this name and want it back.
        told = str(value.get("reasoning_content") or "")
        form = Form(
            value=value,
            text=_lines([told, *(form.text for form in forms)]),
            media_tokens=sum(form.media_tokens for form in forms),
            lost=(*(() if kept else ("reasoning",)), *gone, *(word for form in forms for word in form.lost)),
        )
        whole = _piece(form, "tool_call" if calls else _kind(parts), blocks[0][0])
        beside = _lines([told, *(call.text for call in calls)])
        return [*pieces, *self.said(whole, form.value, _lines(part.text for part in parts), beside)]

    def said(self, whole: Piece, value: Mapping[str, Any], text: str, beside: str) -> list[Piece]:
        """Return the pieces of a message whose members are ``value``: one.

        ``text`` and ``beside``: what a tokenizer reads in its content, and in its other members.
        """
        return [whole]

    def reasoning(
        self, message: Message, *, called: bool, thinking: bool, params: Params | None
    ) -> dict[str, str]:
        """Return the members that give an assistant's reasoning back: none on this wire."""
        return {}

    def results(self, results: Sequence[ToolResult], asked: Message | None = None) -> list[Piece]:
        """Encode results as messages of role `tool`, in order, then one user message with their pictures."""
        return self._results(results, range(len(results)), own=False)

    def _results(self, results: Sequence[ToolResult], sources: Sequence[int], *, own: bool) -> list[Piece]:
        pieces: list[Piece] = []
        for source, result in zip(sources, results, strict=True):
            form = result_form(result, self.wire, own=own)
            value, gone = self._sent(form.value, MEMBERS["tool"])
            pieces.append(_piece(replace(form, value=value, lost=(*form.lost, *gone)), "tool_result", source))
        if images := images_form(results, self.wire, own=own, files=self.files):
            shown = [any(isinstance(part, Image) for part in result.content) for result in results]
            value, gone = self._sent(images.value, MEMBERS["user"])
            form = replace(images, value=value, lost=(*images.lost, *gone))
            pieces.append(_piece(form, "image", sources[shown.index(True)]))
        return pieces

    def opens(self, before: Unit | Piece | None, piece: Unit | Piece) -> bool:
        """Whether a piece begins a message: each one that is said is one."""
        return piece.section in ("system", "message")

    def between(self, before: Unit | None, unit: Unit) -> bytes:
        """Return the bytes between two neighbouring units, or before the first."""
        if before is None:
            return b"{" + _OPEN[unit.section]
        if _OPEN[before.section] == _OPEN[unit.section]:
            return b","
        return _CLOSE[before.section] + b"," + _OPEN[unit.section]

    def close(self, last: Unit | None, params: Params) -> bytes:
        """Return the bytes after the last unit: closers, the output limit and members no cache looks at.

        The limit is `max_completion_tokens`; a `max_tokens` in `params.keys` asks for the older name, which
        some servers of this wire know only, and which an exact one refuses for models that reason (error text
        `Use 'max_completion_tokens' instead`, 2025). An output of 0 tokens means no limit: no member.
        """
        rest = {name: value for name, value in params.keys.items() if name not in self.key_layers}
        if params.max_output:
            name, *older = LIMITS[self.wire]
            limit = next((old for old in older if old in rest and not self.exact), name)
            rest = {name: value for name, value in rest.items() if name not in LIMITS[self.wire]}
            rest = {limit: params.max_output} | rest
        start = b"{" if last is None else _CLOSE[last.section]
        if last is None or last.section in ("key", "tool"):
            start += (b"," if last else b"") + b'"messages":[]'
        return start + (b"," + compact(rest)[1:] if rest else b"}")

    def mark(self, data: bytes, ttl: str | None) -> bytes:
        """Put an explicit breakpoint on a message's last part. `ttl`: "30m", "12h", or None: the default."""
        return part_marked(data, ttl)


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text)


def _kind(parts: Sequence[Form]) -> str:
    kinds = [part.value.get("type") for part in parts]
    return "image" if "image_url" in kinds else "text" if set(kinds) == {"text"} else "opaque"


def _piece(form: Form, kind: str, source: int) -> Piece:
    return Piece(
        section="message",
        layer="messages",
        role=str(form.value["role"]),
        kind=kind,
        data=compact(form.value),
        text=form.text,
        media_tokens=form.media_tokens,
        markable=takes_mark(form.value),
        source=source,
        lost=form.lost,
    )
