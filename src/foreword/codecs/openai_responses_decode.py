"""OpenAI Responses, read: requests, item lists and responses to values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foreword.codecs.decoded import Request, Response
from foreword.codecs.doubts import counted
from foreword.codecs.openai_responses_blocks import WIRE, assistant_forms
from foreword.codecs.openai_responses_items import read_items, read_output
from foreword.codecs.reading import At, others
from foreword.core.block import Message, Text, ToolSpec
from foreword.core.request import Params
from foreword.core.usage import Usage

COMPACTED = "response.compaction"
"""What the compact endpoint gives: an output without a model."""
STATES = frozenset({"completed", "failed", "in_progress", "cancelled", "queued", "incomplete"})
_RESPONSE = ("id", "object", "model", "output", "usage", "status", "incomplete_details", "error")
_USAGE = ("input_tokens", "output_tokens", "total_tokens", "input_tokens_details", "output_tokens_details")


def decode_request(body: bytes | Mapping[str, Any]) -> Request:
    """Read a request: JSON bytes or a plain mapping. `instructions` become the one system block.

    System and developer items stay messages, since they may stand anywhere. Raises: MalformedRequest.
    """
    at = At(WIRE)
    found = at.body(body)
    instructions = at.text(found, "instructions")
    given: Any = found.get("input")
    listed = [{"role": "user", "content": given}] if isinstance(given, str) else given or ()
    tools = (at / "tools").items(found.get("tools") or ())
    keys = others(found, "model", "tools", "instructions", "input", "max_output_tokens") or {}
    return Request(
        params=Params(
            model=at.string(found, "model"), max_output=at.count(found, "max_output_tokens") or 0, keys=keys
        ),
        tools=tuple(_tool(tool, at / "tools" / i) for i, tool in enumerate(tools)),
        system=(Text(text=instructions),) if instructions else (),
        messages=tuple(read_items((at / "input").items(listed), at / "input")),
    )


def decode_messages(messages: Sequence[Any]) -> list[Message]:
    """Read a list of input items, plain values or SDK objects. Raises: MalformedRequest."""
    at = At(WIRE) / "input"
    return list(read_items(at.items(messages), at))


def decode_tools(tools: Sequence[Any]) -> list[ToolSpec]:
    """Read a list of tools of plain values or SDK objects. Raises: MalformedRequest."""
    at = At(WIRE) / "tools"
    return [_tool(tool, at / i) for i, tool in enumerate(at.items(tools))]


def decode_response(body: Any) -> Response:
    """Read a response: JSON bytes, a plain mapping or an SDK object. Raises: MalformedResponse.

    The stop reason is the status, or the reason of an incomplete one. Null members are left out.
    """
    at = At(WIRE, response=True)
    found = at.own(at.body(body))
    if found.get("error") is not None:
        raise (at / "error").fault("an error, not a response")
    output = (at / "output").items(found.get("output"))
    blocks = [
        block
        for i, item in enumerate(output)
        for block in read_output((at / "output" / i).mapping(item), at / "output" / i)
    ]
    details = (at / "incomplete_details").mapping(found.get("incomplete_details") or {})
    reason = (at / "incomplete_details").text(details, "reason")
    usage, counts, doubts = counted(at / "usage", found.get("usage"), usage_from)
    extra = others(found, *_RESPONSE) or {}
    if rest := others(usage, *_USAGE):
        extra["usage"] = rest
    return Response(
        message=Message(role="assistant", blocks=tuple(blocks), wire=WIRE),
        model="" if found.get("object") == COMPACTED else at.string(found, "model"),
        stop_reason=reason or at.text(found, "status"),
        response_id=at.text(found, "id"),
        usage=counts,
        extra=extra or None,
        doubts=doubts,
    )


def encode_response(response: Response) -> dict[str, Any]:
    """Write a response as this wire's server would, for servers that stand in for it."""
    extra = dict(response.extra or {})
    rest = extra.pop("usage", {})
    output: list[Any] = []
    for _, _, _, form in assistant_forms(response.message, paired=True, answered=True):
        item = form.value
        if "role" in item:
            item = {"type": "message", "id": f"msg_{len(output)}", "status": "completed", **item}
            if isinstance(item["content"], str):
                item["content"] = [{"type": "output_text", "text": item["content"], "annotations": []}]
        output.append(item)
    stop = response.stop_reason
    states = {"status": stop} if stop is None or stop in STATES else {"status": "incomplete"}
    details = {"reason": stop} if stop is not None and stop not in STATES else None
    head = {"id": response.response_id, "object": "response", "model": response.model, **states}
    head |= {"error": None, "incomplete_details": details, "output": output}
    return {**head, **extra, "usage": _usage(response.usage) | rest}


def usage_from(usage: Mapping[str, Any]) -> Usage:
    """Map a usage object (rulebook of the provider's SDK types, 2026-11-30).

    `input_tokens` includes what was cached. Written tokens that their details don't split are of the short lifetime
    (30 minutes, beside 12 hours). Cache counts that are absent beside a known input are 0. Raises: MalformedResponse.
    """
    at = At(WIRE, "usage", response=True)
    found = at.mapping(usage)
    total = at.count(found, "input_tokens")
    place = at / "input_tokens_details"
    inputs = place.mapping(found.get("input_tokens_details") or {})
    outputs = (at / "output_tokens_details").mapping(found.get("output_tokens_details") or {})
    absent = None if total is None else 0
    read, written = place.count(inputs, "cached_tokens"), place.count(inputs, "cache_write_tokens")
    short, long = written, absent
    if inputs.get("cache_write_tokens_details") is not None:
        split = (place / "cache_write_tokens_details").mapping(inputs["cache_write_tokens_details"])
        short = (place / "cache_write_tokens_details").count(split, "ttl_30m_tokens")
        long = (place / "cache_write_tokens_details").count(split, "ttl_12h_tokens")
        if written is not None and written > (short or 0) + (long or 0):
            short = written - (long or 0)
    # The provider documents the written tokens as unadjusted, so the parts may exceed the whole.
    uncached = None if total is None else max(0, total - (read or 0) - ((short or 0) + (long or 0)))
    return Usage(
        uncached=uncached,
        cache_read=absent if read is None else read,
        cache_write_short=absent if short is None else short,
        cache_write_long=absent if long is None else long,
        output=at.count(found, "output_tokens"),
        reasoning=(at / "output_tokens_details").count(outputs, "reasoning_tokens"),
    )


def _usage(usage: Usage) -> dict[str, Any]:
    written: dict[str, Any] = {}
    short, long = usage.cache_write_short or 0, usage.cache_write_long or 0
    if usage.total_input is not None:
        written["input_tokens"] = usage.total_input
        details: dict[str, Any] = {"cached_tokens": usage.cache_read, "cache_write_tokens": short + long}
        if long:
            details["cache_write_tokens_details"] = {"ttl_30m_tokens": short, "ttl_12h_tokens": long}
        written["input_tokens_details"] = details
    if usage.output is not None:
        written["output_tokens"] = usage.output
    if usage.output is not None and usage.total_input is not None:
        written["total_tokens"] = usage.output + usage.total_input
    if usage.reasoning is not None:
        written["output_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return written


def _tool(value: Any, at: At) -> ToolSpec:
    found = at.mapping(value)
    kind = at.string(found, "type")
    if kind != "function":
        return ToolSpec(
            name=at.text(found, "name") or at.text(found, "server_label") or kind, extra={WIRE: found}
        )
    extra = others(found, "type", "name", "description", "parameters") or {}
    # Without the member the provider's default holds, which is not the codec's.
    extra.setdefault("strict", None)
    if extra["strict"] is False:
        del extra["strict"]
    return ToolSpec(
        name=at.string(found, "name"),
        description=at.text(found, "description") or "",
        schema=(at / "parameters").mapping(found.get("parameters") or {}),
        extra={WIRE: extra} if extra else None,
    )
