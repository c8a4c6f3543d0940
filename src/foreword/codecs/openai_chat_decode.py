"""OpenAI Chat Completions, read: requests, message lists and responses to values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foreword.codecs.chat_functions import with_tool_calls
from foreword.codecs.decoded import Request, Response
from foreword.codecs.doubts import counted
from foreword.codecs.foreign_blocks import foreign_block, foreign_part
from foreword.codecs.openai_chat_blocks import LIMITS, REASONING, WIRE, call_form, content, part_form
from foreword.codecs.parts import inline_image, members, stand_in
from foreword.codecs.reading import At, others
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
from foreword.core.canonical import lossless
from foreword.core.request import Params
from foreword.core.usage import Usage

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "user",
}
_USAGE = (
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "prompt_tokens_details",
    "completion_tokens_details",
    "prompt_cache_hit_tokens",
    "prompt_cache_miss_tokens",
    "cached_tokens",
)


def decode_request(body: bytes | Mapping[str, Any], wire: str = WIRE) -> Request:
    """Read a request: JSON bytes or a plain mapping. Leading system and developer messages become `system`.

    A `max_tokens` stays in `params.keys`, so that the limit is written under the same name again. A cache
    breakpoint on a part stays among the part's members. Raises: MalformedRequest.
    """
    at = At(wire)
    found = at.body(body)
    names = LIMITS[wire]
    limits = {name: limit for name in names if (limit := at.count(found, name)) is not None}
    keys = others(found, "model", names[0], "tools", "messages") or {}
    if names[0] in limits:
        keys = {name: value for name, value in keys.items() if name not in names}
    listed = (at / "messages").items(found.get("messages"))
    raw = [(at / "messages" / i).mapping(message) for i, message in enumerate(listed)]
    head = next(
        (i for i, each in enumerate(raw) if each.get("role") not in ("system", "developer")), len(raw)
    )
    tools = (at / "tools").items(found.get("tools") or ())
    return Request(
        params=Params(model=at.string(found, "model"), max_output=next(iter(limits.values()), 0), keys=keys),
        tools=tuple(_tool(tool, at / "tools" / i) for i, tool in enumerate(tools)),
        system=tuple(_system(raw[i], at / "messages" / i) for i in range(head)),
        messages=tuple(_message(raw[i], at / "messages" / i) for i in range(head, len(raw))),
    )


def decode_messages(messages: Sequence[Any], wire: str = WIRE) -> list[Message]:
    """Read a message list of plain values or SDK objects; a message of role `tool` becomes a user's result.

    Raises: MalformedRequest.
    """
    at = At(wire) / "messages"
    return [_message((at / i).mapping(each), at / i) for i, each in enumerate(at.items(messages))]


def decode_tools(tools: Sequence[Any], wire: str = WIRE) -> list[ToolSpec]:
    """Read a list of tools of plain values or SDK objects. Raises: MalformedRequest."""
    at = At(wire) / "tools"
    return [_tool(tool, at / i) for i, tool in enumerate(at.items(tools))]


def decode_response(body: Any, wire: str = WIRE) -> Response:
    """Read a response: JSON bytes, a plain mapping or an SDK object. Raises: MalformedResponse.

    The first choice is the message; further ones stay in `extra` under `choices`, other members of the first
    under `choice`.
    """
    at = At(wire, response=True)
    found = at.own(at.body(body))
    if found.get("error") is not None:
        raise (at / "error").fault("an error, not a completion")
    choices = (at / "choices").items(found.get("choices"))
    if not choices:
        raise (at / "choices").fault("no choice")
    place = at / "choices" / 0
    first = place.mapping(choices[0])
    usage, counts, doubts = counted(
        at / "usage", found.get("usage"), lambda members: usage_from(members, wire)
    )
    extra = others(found, "id", "model", "choices", "usage") or {}
    leftovers = {
        "choice": others(first, "index", "message", "finish_reason"),
        "usage": others(usage, *_USAGE),
    }
    extra |= {name: rest for name, rest in leftovers.items() if rest}
    if len(choices) > 1:
        extra["choices"] = [place.mapping(choice) for choice in choices[1:]]
    return Response(
        message=_message(
            {"role": "assistant", **(place / "message").mapping(first.get("message"))}, place / "message"
        ),
        model=at.string(found, "model"),
        stop_reason=place.text(first, "finish_reason"),
        response_id=at.text(found, "id"),
        usage=counts,
        extra=extra or None,
        doubts=doubts,
    )


def encode_response(response: Response, wire: str = WIRE) -> dict[str, Any]:
    """Write a response as this wire's server would, for servers that stand in for it."""
    own = response.message.wire == wire
    extra = dict(response.extra or {})
    choice, rest, more = extra.pop("choice", {}), extra.pop("usage", {}), extra.pop("choices", [])
    blocks = [block for block in response.message.blocks if not isinstance(block, Thinking)]
    forms = [
        part_form(block, "assistant", wire, own=own) for block in blocks if not isinstance(block, ToolCall)
    ]
    calls = [
        call_form(block, wire, own=own, answered=True).value
        for block in blocks
        if isinstance(block, ToolCall)
    ]
    message: dict[str, Any] = {
        "role": "assistant",
        "content": content(forms, joined=not own) if forms else None,
    }
    if calls:
        message["tool_calls"] = calls
    if name := REASONING.get(wire):
        thoughts = [block.text for block in response.message.blocks if isinstance(block, Thinking)]
        message |= {name: "".join(thoughts)} if thoughts else {}
    message |= members(response.message.extra, wire, own=own)
    first = {"index": 0, "message": message, "finish_reason": response.stop_reason, **choice}
    head = {"id": response.response_id, "object": "chat.completion", "model": response.model}
    return {**head, "choices": [first, *more], **extra, "usage": _usage(response.usage) | rest}


def usage_from(usage: Mapping[str, Any], wire: str = WIRE) -> Usage:
    """Map a usage object (rulebook of the provider's SDK types, 2026-11-30).

    `prompt_tokens` includes what was cached; writes have one lifetime, the short one. A server that counts
    hits and misses itself (DeepSeek) is taken at its word, unless the wire's own count stands beside them; one may
    count its hits beside the prompt (Moonshot, by its provider in Vercel's AI SDK, 2026-11-30). Cache counts that
    are absent beside a known prompt are 0: such a server sells no cache. Raises: MalformedResponse.
    """
    at = At(wire, "usage", response=True)
    found = at.mapping(usage)
    prompt = at.count(found, "prompt_tokens")
    inputs = (at / "prompt_tokens_details").mapping(found.get("prompt_tokens_details") or {})
    outputs = (at / "completion_tokens_details").mapping(found.get("completion_tokens_details") or {})
    absent = None if prompt is None else 0
    read = (at / "prompt_tokens_details").count(inputs, "cached_tokens")
    write = (at / "prompt_tokens_details").count(inputs, "cache_write_tokens")
    uncached = None
    if read is None:
        read = at.count(found, "prompt_cache_hit_tokens")
        uncached = at.count(found, "prompt_cache_miss_tokens")
    if read is None:
        read = at.count(found, "cached_tokens")
    if uncached is None and prompt is not None:
        # The provider documents the written tokens as unadjusted, so the parts may exceed the whole.
        uncached = max(0, prompt - (read or 0) - (write or 0))
    return Usage(
        uncached=uncached,
        cache_read=absent if read is None else read,
        cache_write_short=absent if write is None else write,
        cache_write_long=absent,
        output=at.count(found, "completion_tokens"),
        reasoning=(at / "completion_tokens_details").count(outputs, "reasoning_tokens"),
    )


def _usage(usage: Usage) -> dict[str, Any]:
    written: dict[str, Any] = {}
    if usage.total_input is not None:
        written["prompt_tokens"] = usage.total_input
        details = {"cached_tokens": usage.cache_read}
        if usage.cache_write_short or usage.cache_write_long:
            details["cache_write_tokens"] = (usage.cache_write_short or 0) + (usage.cache_write_long or 0)
        written["prompt_tokens_details"] = details
    if usage.output is not None:
        written["completion_tokens"] = usage.output
    if usage.output is not None and usage.total_input is not None:
        written["total_tokens"] = usage.output + usage.total_input
    if usage.reasoning is not None:
        written["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return written


def _message(found: dict[str, Any], at: At) -> Message:
    found = with_tool_calls(found)
    role = at.string(found, "role")
    if role not in ROLES:
        raise (at / "role").fault(f"unknown role {role!r}")
    given = found.get("content")
    if role == "tool":
        result = ToolResult(
            call_id=at.id(found, "tool_call_id"),
            content=_parts((at / "content").output(given), at / "content"),
            extra=others(found, "role", "tool_call_id", "content"),
        )
        return Message(role=ROLES[role], blocks=(result,), wire=at.wire)
    blocks = _blocks(given, at / "content")
    known = ["role", "content"]
    if role == "assistant":
        known += ["refusal", "tool_calls"]
        if (name := REASONING.get(at.wire)) is not None:
            known.append(name)
            thought = at.text(found, name)
            blocks[:0] = [] if thought is None else [Thinking(text=thought)]
        refusal = at.text(found, "refusal")
        if refusal:
            raw = lossless({"type": "refusal", "refusal": refusal}).decode()
            blocks.append(Opaque(wire=at.wire, form="refusal", raw=raw))
        listed = (at / "tool_calls").items(found.get("tool_calls") or ())
        calls = [_call(call, at / "tool_calls" / i) for i, call in enumerate(listed)]
        ids = {call.id for call in calls}  # some clients list a call among the parts of the content, too
        blocks = [block for block in blocks if not (isinstance(block, ToolCall) and block.id in ids)] + calls
    extra = others(found, *known)
    return Message(role=ROLES[role], blocks=tuple(blocks), wire=at.wire, extra=extra)


def _blocks(value: Any, at: At) -> list[Block]:
    """Read the parts of a message, those that another wire has as blocks of their own, too."""
    if value is None or isinstance(value, str):
        return [Text(text=value)] if value else []
    blocks: list[Block] = []
    for i, part in enumerate(at.items(value)):
        found = (at / i).mapping(part)
        foreign = foreign_block(found, (at / i).string(found, "type"), at / i)
        blocks.append(foreign or _part(found, at / i))
    return blocks


def _parts(value: Any, at: At) -> tuple[Text | Image | Opaque, ...]:
    if value is None or isinstance(value, str):
        return (Text(text=value),) if value else ()
    return tuple(_part((at / i).mapping(part), at / i) for i, part in enumerate(at.items(value)))


def _part(found: dict[str, Any], at: At) -> Text | Image | Opaque:
    kind = at.string(found, "type")
    if kind == "text":
        return Text(text=at.words(found, "text"), extra=others(found, "type", "text"))
    if kind == "image_url":
        given = found.get("image_url")  # some servers take the address alone
        inner = {"url": given} if isinstance(given, str) else (at / "image_url").mapping(given)
        extra = others(found, "type", "image_url") or {}
        if rest := others(inner, "url"):
            extra["image_url"] = rest
        image = Image(url=(at / "image_url").string(inner, "url"), extra=extra or None)
        return inline_image(image)
    if (foreign := foreign_part(found, kind, at)) is not None:
        return foreign
    return Opaque(wire=at.wire, form=kind, raw=lossless(found).decode())


def _call(value: Any, at: At) -> ToolCall:
    found = at.mapping(value)
    kind = at.text(found, "type") or "function"
    inner = (at / kind).mapping(found.get(kind))
    argument = "input" if kind == "custom" else "arguments"
    # `index` orders the pieces of a stream; the SDK leaves it in what it puts together, and no request takes it.
    extra = others(found, "id", "type", "index", kind) or {}
    if kind != "function":
        extra["type"] = kind
    if rest := others(inner, "name", argument):
        extra[kind] = rest
    return ToolCall(
        id=at.id(found, "id"),
        name=(at / kind).string(inner, "name"),
        arguments=(at / kind).arguments(inner, argument),
        extra=extra or None,
    )


def _tool(value: Any, at: At) -> ToolSpec:
    found = at.mapping(value)
    kind = at.string(found, "type")
    inner = (at / kind).mapping(found.get(kind))
    name = (at / kind).string(inner, "name")
    if kind != "function":
        return ToolSpec(name=name, extra={at.wire: found})
    extra = others(found, "type", "function") or {}
    if rest := others(inner, "name", "description", "parameters"):
        extra["function"] = rest
    return ToolSpec(
        name=name,
        description=(at / kind).text(inner, "description") or "",
        schema=(at / kind / "parameters").mapping(inner.get("parameters") or {}),
        extra={at.wire: extra} if extra else None,
    )


def _system(found: dict[str, Any], at: At) -> Text:
    """Read a leading message; what its text doesn't say is kept as members that win over the codec's."""
    extra = others(found, "role", "content") or {}
    if found.get("role") != "system":
        extra["role"] = found["role"]
    given = found.get("content")
    parts = _parts(given, at / "content")
    if not isinstance(given, str) and {at.mapping(part).get("type") for part in given or ()} <= {"text"}:
        extra["content"] = given or []  # nothing else may stand there
    text = "\n".join(part.text if isinstance(part, Text) else stand_in(part) for part in parts)
    return Text(text=text, extra={at.wire: extra} if extra else None)
