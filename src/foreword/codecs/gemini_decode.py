"""Gemini generateContent, read: requests, contents and responses to values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from foreword.codecs.decoded import Request, Response
from foreword.codecs.doubts import counted
from foreword.codecs.foreign_blocks import foreign_block, foreign_part
from foreword.codecs.gemini_parts import SIGNATURE, WIRE, message_forms
from foreword.codecs.gemini_plain import TYPE, foreign, plain
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
from foreword.core.canonical import compact, lossless
from foreword.core.request import Params
from foreword.core.usage import Usage

T = TypeVar("T")
ROLES: dict[str, Role] = {"user": "user", "model": "assistant", "function": "user"}
_WORDS = {"text", "thought", SIGNATURE}
"""Members of a part that is words; one of these alone is none of another kind though its text is null."""
_USAGE = (
    "promptTokenCount",
    "cachedContentTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
)


def decode_request(body: bytes | Mapping[str, Any]) -> Request:
    """Read a request: JSON bytes or a plain mapping. Its model stands in the URL: it is "" here.

    The output limit leaves `generationConfig`, whose other members stay in `params.keys`.
    Raises: MalformedRequest.
    """
    at = At(WIRE)
    found = plain(body, at)
    config = (at / "generationConfig").mapping(found.get("generationConfig") or {})
    limit = (at / "generationConfig").count(config, "maxOutputTokens")
    keys = others(found, "model", "tools", "systemInstruction", "contents") or {}
    if "generationConfig" in keys:
        keys["generationConfig"] = {name: config[name] for name in config if name != "maxOutputTokens"}
        if limit is not None and not keys["generationConfig"]:
            del keys["generationConfig"]
    tools = (at / "tools").items(found.get("tools") or ())
    return Request(
        params=Params(model=at.text(found, "model") or "", max_output=limit or 0, keys=keys),
        tools=tuple(spec for i, tool in enumerate(tools) for spec in _tools(tool, at / "tools" / i)),
        system=_system(found.get("systemInstruction"), at / "systemInstruction"),
        messages=tuple(decode_messages(_listed(found.get("contents")))),
    )


def decode_messages(messages: Sequence[Any]) -> list[Message]:
    """Read a list of contents, plain values or SDK objects; a string is what the user says.

    Raises: MalformedRequest.
    """
    at = At(WIRE) / "contents"
    return [_message(content, at / i) for i, content in enumerate(at.items(messages))]


def decode_tools(tools: Sequence[Any]) -> list[ToolSpec]:
    """Read a list of tools of plain values or SDK objects, a spec for each function declared in them.

    Raises: MalformedRequest.
    """
    at = At(WIRE) / "tools"
    return [spec for i, tool in enumerate(at.items(tools)) for spec in _tools(plain(tool, at / i), at / i)]


def decode_response(body: Any) -> Response:
    """Read a response: JSON bytes, a plain mapping or an SDK object. Raises: MalformedResponse.

    The first candidate is the message; further ones stay in `extra` under `candidates`, other members of the
    first under `candidate`. A candidate without content is an empty message.
    """
    at = At(WIRE, response=True)
    found = at.own(plain(body, at))
    if found.get("error") is not None:
        raise (at / "error").fault("an error, not a response")
    candidates = (at / "candidates").items(found.get("candidates") or ())
    if not candidates:
        feedback = (at / "promptFeedback").mapping(found.get("promptFeedback") or {})
        raise (at / "candidates").fault(f"no candidate; blockReason: {feedback.get('blockReason')}")
    place = at / "candidates" / 0
    first = place.mapping(candidates[0])
    usage, counts, doubts = counted(at / "usageMetadata", found.get("usageMetadata"), usage_from)
    known = ("candidates", "modelVersion", "responseId", "usageMetadata", "sdkHttpResponse")
    extra = others(found, *known) or {}
    leftovers = {
        "candidate": others(first, "index", "content", "finishReason"),
        "usage": others(usage, *_USAGE),
    }
    extra |= {name: rest for name, rest in leftovers.items() if rest}
    if len(candidates) > 1:
        extra["candidates"] = list(candidates[1:])
    content = (place / "content").mapping(first.get("content") or {})
    return Response(
        message=_message({**content, "role": "model"}, place / "content"),
        model=at.text(found, "modelVersion") or "",
        stop_reason=place.text(first, "finishReason"),
        response_id=at.text(found, "responseId"),
        usage=counts,
        extra=extra or None,
        doubts=doubts,
    )


def encode_response(response: Response) -> dict[str, Any]:
    """Write a response as this wire's server would, for servers that stand in for it."""
    extra = dict(response.extra or {})
    candidate, rest, more = extra.pop("candidate", {}), extra.pop("usage", {}), extra.pop("candidates", [])
    forms = message_forms(response.message, thinking=True, answered=True)
    parts = [At(WIRE, response=True).body(compact(form.value)) for _, _, form in forms]
    first = {
        "content": {"role": "model", "parts": parts},
        "finishReason": response.stop_reason,
        "index": 0,
        **candidate,
    }
    head = {"candidates": [first, *more], "modelVersion": response.model, "responseId": response.response_id}
    return {**head, **extra, "usageMetadata": _usage(response.usage) | rest}


def usage_from(usage: Mapping[str, Any]) -> Usage:
    """Map a usage object (rulebook of the provider's SDK types, 2026-11-30).

    `promptTokenCount` includes what was cached, but not what server tools added. Thoughts are output beside
    the candidates', unless the total shows that these include them. Writing the cache is not counted: 0.
    Cache counts that are absent beside a known prompt are 0. Raises: MalformedResponse.
    """
    at = At(WIRE, "usageMetadata", response=True)
    found = plain(usage, at)
    prompt, cached, served, said, thoughts, total = (at.count(found, name) for name in _USAGE)
    absent = None if prompt is None else 0
    output = said
    if thoughts is not None or (said is None and total is not None):
        output = (said or 0) + (thoughts or 0)
        if thoughts and said and total == (prompt or 0) + (served or 0) + said:
            output = said
    return Usage(
        uncached=None if prompt is None else max(0, prompt - (cached or 0)) + (served or 0),
        cache_read=absent if cached is None else cached,
        cache_write_short=absent,
        cache_write_long=absent,
        output=output,
        reasoning=thoughts,
    )


def _usage(usage: Usage) -> dict[str, Any]:
    said, prompt = usage.output, usage.total_input
    total = None if said is None or prompt is None else said + prompt
    written = {
        "promptTokenCount": usage.total_input,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": None if usage.output is None else usage.output - (usage.reasoning or 0),
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": total,
    }
    return {name: value for name, value in written.items() if value is not None}


def _listed(contents: Any) -> Sequence[Any]:
    """Return contents as a list; a single one may stand without it."""
    return [contents] if isinstance(contents, str | Mapping) else contents or ()


def _message(value: Any, at: At) -> Message:
    found = {"parts": [{"text": value}]} if isinstance(value, str) else plain(value, at)
    role = at.text(found, "role") or "user"
    if role not in ROLES:
        raise (at / "role").fault(f"unknown role {role!r}")
    if "content" in found:
        raise (at / "content").fault("a message of another wire; this one takes a list of parts")
    parts = (at / "parts").items(found.get("parts") or ())
    blocks = [_part((at / "parts" / i).mapping(part), at / "parts" / i) for i, part in enumerate(parts)]
    return Message(role=ROLES[role], blocks=tuple(blocks), wire=WIRE, extra=others(found, "role", "parts"))


def _part(found: dict[str, Any], at: At) -> Block:
    if foreign(found) and (block := _typed(found, at, foreign_block)) is not None:
        return block
    if "text" in found and (found["text"] is not None or found.keys() <= _WORDS):
        text = at.text(found, "text") or ""
        if found.get("thought") is True:
            extra = others(found, "text", "thought", SIGNATURE)
            return Thinking(text=text, signature=at.text(found, SIGNATURE) or None, extra=extra)
        return Text(text=text, extra=others(found, "text"))
    if found.get("functionCall") is not None:
        return _call(found, (at / "functionCall").mapping(found["functionCall"]), at)
    if found.get("functionResponse") is not None:
        return _result(found, (at / "functionResponse").mapping(found["functionResponse"]), at)
    return _media(found, at)


def _call(found: dict[str, Any], inner: dict[str, Any], at: At) -> ToolCall:
    place = at / "functionCall"
    name = place.string(inner, "name")
    extra = others(found, "functionCall") or {}
    if rest := others(inner, "id", "name", "args"):
        extra["functionCall"] = rest
    return ToolCall(
        id=place.text(inner, "id") or name,
        name=name,
        arguments=place.arguments(inner, "args") or "{}",
        extra=extra or None,
    )


def _result(found: dict[str, Any], inner: dict[str, Any], at: At) -> ToolResult:
    place = at / "functionResponse"
    name = place.id(inner, "name")
    given: Any = inner.get("response", {})
    response = (
        (place / "response").mapping(given)
        if isinstance(given, Mapping)
        else {"output": (place / "response").told(given)}
    )
    kept = others(inner, "id", "name", "response", "parts") or {}
    id_ = place.text(inner, "id") or name
    if name and id_ != name:
        kept["name"] = name
    [(member, told)] = response.items() if len(response) == 1 else [("", response)]
    if member in ("output", "error") and isinstance(told, str):
        text = told
    else:
        text = (place / "response").told(response)
        kept["response"] = response
    content: list[Text | Image | Opaque] = [Text(text=text)] if text else []
    parts = (place / "parts").items(inner.get("parts") or ())
    content += [
        _inside((place / "parts" / i).mapping(part), place / "parts" / i) for i, part in enumerate(parts)
    ]
    extra = others(found, "functionResponse") or {}
    if kept:
        extra["functionResponse"] = kept
    return ToolResult(call_id=id_, content=tuple(content), is_error=member == "error", extra=extra or None)


def _inside(found: dict[str, Any], at: At) -> Text | Image | Opaque:
    """Read a part of a result: a medium, or a part of another wire."""
    return (_typed(found, at, foreign_part) if foreign(found) else None) or _media(found, at)


def _typed(
    found: dict[str, Any], at: At, read: Callable[[dict[str, Any], str, At], T | None]
) -> T | Text | None:
    """Read a part that names its type, as those of other wires do; None: it is this wire's all the same."""
    kind = at.string(found, TYPE)
    if kind == "text" and isinstance(found.get("text"), str):
        return Text(text=found["text"])
    part = read(found, kind, at)
    if part is None and not at.response:
        raise at.fault(f"a part of type {kind}; parts of this wire name no type")
    return part


def _media(found: dict[str, Any], at: At) -> Image | Opaque:
    """Read a part that is no text: a picture, or one that this model has no word for."""
    for name, source in (("inlineData", "data"), ("fileData", "fileUri")):
        if found.get(name) is None:
            continue
        inner = (at / name).mapping(found[name])
        kind = (at / name).text(inner, "mimeType")
        if inner.keys() <= {"mimeType", source} and (
            kind or ("image/" if name == "fileData" else "")
        ).startswith("image/"):
            where = {"data" if name == "inlineData" else "url": (at / name).string(inner, source)}
            return Image(media_type=kind, **where, extra=others(found, name))
    form = next((name for name in found if name != SIGNATURE), "empty")
    return Opaque(wire=WIRE, form=form, raw=lossless(found).decode())


def _tools(value: Any, at: At) -> list[ToolSpec]:
    """Read the functions that a tool declares, and what else stands in it as a tool of its own."""
    found = at.mapping(value)
    place = at / "functionDeclarations"
    declared = place.items(found.get("functionDeclarations") or ())
    specs = [_function(place.mapping(each), place / i) for i, each in enumerate(declared)]
    rest = others(found, "functionDeclarations")
    if rest and ("name" in rest or "function" in rest):
        raise at.fault("a tool of another wire; this one takes functions as members of functionDeclarations")
    return [*specs, ToolSpec(name=next(iter(rest)), extra={WIRE: rest})] if rest else specs


def _function(found: dict[str, Any], at: At) -> ToolSpec:
    schema = (at / "parameters").mapping(found.get("parametersJsonSchema") or found.get("parameters") or {})
    # `parameters` is the older form of a schema: it stays a member, and wins.
    extra = others(found, "name", "description", "parametersJsonSchema")
    return ToolSpec(
        name=at.string(found, "name"),
        description=at.text(found, "description") or "",
        schema=schema,
        extra={WIRE: extra} if extra else None,
    )


def _system(value: Any, at: At) -> tuple[Text, ...]:
    if value is None or isinstance(value, str):
        return (Text(text=value),) if value else ()
    parts = (at / "parts").items(at.mapping(value).get("parts") or ())
    texts: list[Text] = []
    for i, part in enumerate(parts):
        found = (at / "parts" / i).mapping(part)
        rest = others(found, "text", TYPE)
        text = (at / "parts" / i).string(found, "text")
        texts.append(Text(text=text, extra={WIRE: rest} if rest else None))
    return tuple(texts)
