"""Anthropic Messages, read: requests, message lists and responses to values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from foreword.codecs.anthropic_blocks import WIRE, block_form
from foreword.codecs.decoded import Mark, Request, Response
from foreword.codecs.doubts import counted
from foreword.codecs.foreign_blocks import foreign_block, no_chat_calls
from foreword.codecs.reading import At, are_blocks, others
from foreword.core.block import (
    Block,
    Image,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from foreword.core.canonical import compact, lossless
from foreword.core.request import Params
from foreword.core.usage import Usage

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_SOURCES = {"base64": {"type", "media_type", "data"}, "url": {"type", "url"}}
_USAGE = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cache_creation",
    "output_tokens",
    "output_tokens_details",
)


def decode_request(body: bytes | Mapping[str, Any]) -> Request:
    """Read a request: JSON bytes or a plain mapping. Cache marks leave the blocks and stand in `marks`.

    A top-level `cache_control` stays in `params.keys`. Raises: MalformedRequest.
    """
    at = At(WIRE)
    members = at.body(body)
    marks: list[Mark] = []
    limit = at.count(members, "max_tokens")
    if limit is None:
        raise (at / "max_tokens").fault("expected a count, got nothing")
    keys = others(members, "model", "max_tokens", "tools", "system", "messages") or {}
    tools = at.items(members.get("tools") or ())
    messages = (at / "messages").items(members.get("messages"))
    return Request(
        params=Params(model=at.string(members, "model"), max_output=limit, keys=keys),
        tools=tuple(_tool(tool, at / "tools" / i, marks, i) for i, tool in enumerate(tools)),
        system=_system(members.get("system"), at / "system", marks),
        messages=tuple(_message(each, at / "messages" / i, marks, i) for i, each in enumerate(messages)),
        marks=tuple(marks),
    )


def decode_messages(messages: Sequence[Any]) -> list[Message]:
    """Read a message list of plain values or SDK objects. Raises: MalformedRequest."""
    at = At(WIRE) / "messages"
    return [_message(message, at / i, [], i) for i, message in enumerate(at.items(messages))]


def decode_tools(tools: Sequence[Any]) -> list[ToolSpec]:
    """Read a list of tools of plain values or SDK objects, without their marks. Raises: MalformedRequest."""
    at = At(WIRE) / "tools"
    return [_tool(tool, at / i, [], i) for i, tool in enumerate(at.items(tools))]


def decode_marks(messages: Sequence[Any], system: Any, tools: Sequence[Any] | None) -> tuple[Mark, ...]:
    """Return where lists hold cache marks, in the order of a request, without reading what they mark.

    A mark inside a tool's result counts for the result. Raises: MalformedRequest.
    """
    at = At(WIRE)
    marks: list[Mark] = []
    for index, tool in enumerate((at / "tools").items(tools or ())):
        marks += [Mark(section="tool", index=index, ttl=ttl) for ttl in _ttls(tool, at / "tools" / index)]
    blocks: Sequence[Any] = () if system is None or isinstance(system, str) else (at / "system").items(system)
    for index, block in enumerate(blocks):
        marks += [Mark(section="system", index=index, ttl=ttl) for ttl in _ttls(block, at / "system" / index)]
    for index, message in enumerate((at / "messages").items(messages)):
        here = at / "messages" / index
        content: Any = here.mapping(message).get("content")
        listed: Sequence[Any] = () if content is None or isinstance(content, str) else here.items(content)
        for number, block in enumerate(listed):
            ttls = _ttls(block, here / "content" / number)
            marks += [Mark(section="message", index=index, block=number, ttl=ttl) for ttl in ttls]
    return tuple(marks)


def _ttls(value: Any, at: At) -> list[str | None]:
    members = at.mapping(value)
    found: list[str | None] = []
    _unmarked(members, at, found)
    content = members.get("content")
    if not found and members.get("type") == "tool_result" and are_blocks(content):
        for part in cast(list[Any], content):
            if isinstance(part, dict):
                _unmarked(at.mapping(part), at, found)
    return found[-1:]


def decode_response(body: Any) -> Response:
    """Read a response: JSON bytes, a plain mapping or an SDK object. Raises: MalformedResponse."""
    at = At(WIRE, response=True)
    members = at.own(at.body(body))
    if members.get("type") == "error":
        raise at.fault("an error, not a message")
    usage, counts, doubts = counted(at / "usage", members.get("usage"), usage_from)
    known = ("id", "type", "role", "model", "content", "stop_reason", "usage")
    extra = others(members, *known) or {}
    if rest := others(usage, *_USAGE):
        extra["usage"] = rest
    content = (at / "content").items(members.get("content"))
    blocks = (_block(block, at / "content" / i, []) for i, block in enumerate(content))
    return Response(
        message=Message(role="assistant", blocks=tuple(blocks), wire=WIRE),
        model=at.string(members, "model"),
        stop_reason=at.text(members, "stop_reason"),
        response_id=at.text(members, "id"),
        usage=counts,
        extra=extra or None,
        doubts=doubts,
    )


def encode_response(response: Response) -> dict[str, Any]:
    """Write a response as this wire's server would, for servers that stand in for it."""
    own = response.message.wire == WIRE
    extra = dict(response.extra or {})
    usage, rest = response.usage, extra.pop("usage", {})
    written: dict[str, Any] = {
        "input_tokens": usage.uncached,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }
    if usage.cache_write_short is not None and usage.cache_write_long is not None:
        written["cache_creation_input_tokens"] = usage.cache_write_short + usage.cache_write_long
        written["cache_creation"] = {
            "ephemeral_5m_input_tokens": usage.cache_write_short,
            "ephemeral_1h_input_tokens": usage.cache_write_long,
        }
    if usage.reasoning is not None:
        written["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    forms = [block_form(block, own=own, role="assistant").value for block in response.message.blocks]
    head = {"id": response.response_id, "type": "message", "role": "assistant", "model": response.model}
    content = [At(WIRE, response=True).body(compact(form)) for form in forms]
    body = {**head, "content": content, "stop_reason": response.stop_reason, "stop_sequence": None, **extra}
    return {**body, "usage": {name: value for name, value in written.items() if value is not None} | rest}


def usage_from(usage: Mapping[str, Any]) -> Usage:
    """Map a usage object (rulebook of the provider's SDK types, 2026-11-30).

    The input counts are disjoint on this wire. Writes that `cache_creation` does not split are of the short
    lifetime: all without it, the rest where its parts sum to less than the whole.
    Cache counts that are absent beside a known input are 0: nothing was cached. Raises: MalformedResponse.
    """
    at = At(WIRE, "usage", response=True)
    members = at.mapping(usage)
    uncached = at.count(members, "input_tokens")
    absent = None if uncached is None else 0
    read = at.count(members, "cache_read_input_tokens")
    written = at.count(members, "cache_creation_input_tokens")
    short, long = written, absent
    if members.get("cache_creation") is not None:
        split = (at / "cache_creation").mapping(members["cache_creation"])
        short = (at / "cache_creation").count(split, "ephemeral_5m_input_tokens")
        long = (at / "cache_creation").count(split, "ephemeral_1h_input_tokens")
        if written is not None and written > (short or 0) + (long or 0):
            short = written - (long or 0)
    details = (at / "output_tokens_details").mapping(members.get("output_tokens_details") or {})
    return Usage(
        uncached=uncached,
        cache_read=absent if read is None else read,
        cache_write_short=absent if short is None else short,
        cache_write_long=absent if long is None else long,
        output=at.count(members, "output_tokens"),
        reasoning=(at / "output_tokens_details").count(details, "thinking_tokens"),
    )


def _message(value: Any, at: At, marks: list[Mark], index: int) -> Message:
    members = at.mapping(value)
    no_chat_calls(members, at, "blocks of type tool_use")
    role = at.string(members, "role")
    if role not in ROLES:
        raise (at / "role").fault(f"unknown role {role!r}")
    content = members.get("content")
    blocks: list[Block] = []
    if isinstance(content, str):
        blocks += [Text(text=content)] if content else []
    elif content is not None:
        for i, item in enumerate((at / "content").items(content)):
            found: list[str | None] = []
            blocks.append(_block(item, at / "content" / i, found))
            marks += [Mark(section="message", index=index, block=i, ttl=ttl) for ttl in found]
    elif role != "system":
        raise (at / "content").fault("expected a string or a list, got nothing")
    extra = others(members, "role", "content")
    return Message(role=ROLES[role], blocks=tuple(blocks), wire=WIRE, extra=extra)


def _block(value: Any, at: At, found: list[str | None]) -> Block:
    """Read a block; the lifetimes of its cache marks are added to `found`."""
    members = _unmarked(at.mapping(value), at, found)
    kind = at.string(members, "type")
    match kind:
        case "text":
            return Text(text=at.words(members, "text"), extra=others(members, "type", "text"))
        case "thinking":
            return Thinking(
                text=at.text(members, "thinking") or "",
                signature=at.text(members, "signature") or None,
                extra=others(members, "type", "thinking", "signature"),
            )
        case "redacted_thinking":
            return Thinking(data=at.string(members, "data"), extra=others(members, "type", "data"))
        case "tool_use":
            return ToolCall(
                id=at.id(members, "id"),
                name=at.string(members, "name"),
                arguments=at.arguments(members, "input"),
                extra=others(members, "type", "id", "name", "input"),
            )
        case "tool_result":
            return _result(members, at, found)
        case "image" if "source" in members and (image := _image(members, at)) is not None:
            return image
        case _:
            return foreign_block(members, kind, at) or _opaque(members, at, kind, found)


def _result(members: dict[str, Any], at: At, found: list[str | None]) -> ToolResult:
    content = (at / "content").output(members.get("content"))
    parts: list[Text | Image | Opaque] = []
    if isinstance(content, str):
        parts += [Text(text=content)] if content else []
    else:
        for i, item in enumerate(content):
            part = _block(item, at / "content" / i, found)
            if not isinstance(part, Text | Image | Opaque):
                raise (at / "content" / i).fault("a block that can't stand in a tool result")
            parts.append(part)
    return ToolResult(
        call_id=at.id(members, "tool_use_id"),
        content=tuple(parts),
        is_error=members.get("is_error") is True,
        extra=others(members, "type", "tool_use_id", "content", "is_error"),
    )


def _image(members: dict[str, Any], at: At) -> Image | None:
    """Read a picture whose source has a word in the model; None for another (a file of the provider)."""
    source = (at / "source").mapping(members.get("source"))
    kind = str(source.get("type"))
    if set(source) != _SOURCES.get(kind):
        return None
    known = {name: (at / "source").string(source, name) for name in source if name != "type"}
    return Image(**known, extra=others(members, "type", "source"))


def _opaque(members: dict[str, Any], at: At, kind: str, found: list[str | None]) -> Opaque:
    content = members.get("content")
    if isinstance(content, list):
        items = cast(list[Any], content)
        members["content"] = [
            _unmarked((at / "content").mapping(item), at / "content", found)
            if isinstance(item, dict)
            else item
            for item in items
        ]
    return Opaque(wire=WIRE, form=kind, raw=lossless(members).decode())


def _unmarked(members: dict[str, Any], at: At, found: list[str | None]) -> dict[str, Any]:
    mark = members.pop("cache_control", None)
    if mark is not None:
        found.append((at / "cache_control").text((at / "cache_control").mapping(mark), "ttl"))
    return members


def _tool(value: Any, at: At, marks: list[Mark], index: int) -> ToolSpec:
    found: list[str | None] = []
    members = _unmarked(at.mapping(value), at, found)
    marks += [Mark(section="tool", index=index, ttl=ttl) for ttl in found]
    kind = at.text(members, "type")
    if "function" in members:
        raise at.fault("a tool of OpenAI Chat; this wire takes name, description and input_schema")
    if kind not in (None, "custom"):
        name = at.text(members, "name") or at.text(members, "mcp_server_name") or kind
        return ToolSpec(name=name or "", deferred=members.get("defer_loading") is True, extra={WIRE: members})
    rest = others(members, "name", "description", "input_schema")
    return ToolSpec(
        name=at.string(members, "name"),
        description=at.text(members, "description") or "",
        schema=(at / "input_schema").mapping(members.get("input_schema")),
        deferred=members.get("defer_loading") is True,
        extra={WIRE: rest} if rest else None,
    )


def _system(value: Any, at: At, marks: list[Mark]) -> tuple[Text, ...]:
    if value is None or isinstance(value, str):
        return (Text(text=value),) if value else ()
    texts: list[Text] = []
    for i, item in enumerate(at.items(value)):
        found: list[str | None] = []
        block = _block(item, at / i, found)
        if not isinstance(block, Text):
            raise (at / i).fault("a block that is no text")
        marks += [Mark(section="system", index=i, ttl=ttl) for ttl in found]
        texts.append(Text(text=block.text, extra={WIRE: block.extra} if block.extra else None))
    return tuple(texts)
