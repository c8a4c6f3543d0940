"""count_tokens and its kin: counts of texts and of whole requests."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from foreword.core.block import Message, Text, ToolSpec
from foreword.core.usage import Usage
from tests.field_cases import wire_forms
from tests.field_cases.bench import MEMBERS, SETTINGS, Bench, Room, flat
from tests.field_cases.cases import Case, Unsupported
from tests.field_cases.model import caps_of, counter_of
from tests.field_cases.outcome import Outcome
from tests.field_cases.recording import made_up_tools

SEARCH = ToolSpec(
    name="tool_search_tool_bm25",
    extra={"anthropic": {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}},
)
"""The provider's own search: where it is, nobody else need tell the names of deferred tools."""
PARTS = {"tools": "tools", "instructions": "system", "response_format": "response_format"}


def count_tokens(case: Case, room: Room) -> Outcome:
    case.only("texts", "method", "tokenizer", "model_caps")
    if case.input.get("method") not in (None, "no_tokenizer"):
        raise Unsupported(f"method {case.input['method']}")
    counter = counter_of(caps_of(case), case.input.get("method"))
    counter.count("warm")
    counts: list[dict[str, Any]] = []
    for text in case.input["texts"]:
        start = time.perf_counter()
        tokens = counter.count(text)
        seconds = time.perf_counter() - start
        counts.append({"tokens": tokens, "seconds": seconds, "method": _method(counter.exact)})
    return Outcome(values={"counts": counts})


def _method(exact: bool) -> str:
    return "exact" if exact else "estimate"


def count_requests(case: Case, room: Room) -> Outcome:
    case.only("requests", "model_caps")
    counts: list[dict[str, Any]] = []
    for number, request in enumerate(case.input["requests"]):
        known = {
            "messages",
            "system",
            "tools",
            "tool_schema_chars",
            "deferred_tools",
            "response_format_chars",
        }
        if unknown := request.keys() - known - {"image", "images", "in"}:
            raise Unsupported(f"request with {', '.join(sorted(unknown))}")
        counts.append(_count(case, room, number, request))
    return Outcome(values={"counts": counts})


def _count(case: Case, room: Room, number: int, request: dict[str, Any]) -> dict[str, Any]:
    """Count one request as compiled."""
    keys = _response_format(case.wire, request.get("response_format_chars", 0))
    bench = Bench(case, room, name=f"request {number}", keys=keys)
    words = request.get("messages", ["look"])
    messages = [wire_forms.user(bench.wire, one) if isinstance(one, str) else one for one in words]
    if "system" in request:
        bench.session.instruct(request["system"])
    if "image" in request:
        messages += _images(bench.wire, request)
    tools = made_up_tools(request.get("tools"), schema_chars=request.get("tool_schema_chars", 0))
    if "deferred_tools" in request and bench.wire == "anthropic":
        tools.append(SEARCH)
    if tools:
        bench.session.offer(tools)
    if request.get("deferred_tools"):
        bench.defer(request["deferred_tools"], schema_chars=request.get("tool_schema_chars", 0))
    bench.record(messages)
    return _counted(bench)


def _counted(bench: Bench) -> dict[str, Any]:
    """Count the request as compiled, by its parts."""
    compiled = bench.session.compile()
    parts: dict[str, int] = {"system": 0, "messages": 0, "tools": 0, "response_format": 0}
    for unit in compiled.units:
        # Of the keys, only the form of the answer is said to the model, so only that has tokens.
        name = "response_format" if unit.section == "key" else PARTS.get(unit.category, "messages")
        parts[name] += unit.tokens
    return {"tokens": compiled.counted, "parts": parts, "method": _method(bench.target.counter.exact)}


def count_tokens_messages(case: Case, room: Room) -> Outcome:
    """Count one list of messages, or each of several, with the counter that the product uses for the model."""
    case.only(*MEMBERS, "tokenizer", settings=SETTINGS)
    listed = next(case.input[name] for name in ("messages", "items", "contents") if name in case.input)
    counts: list[dict[str, Any]] = []
    for number, messages in enumerate(listed if isinstance(listed[0], list) else [listed]):
        bench = Bench(case, room, name=f"count {number}")
        counter = counter_of(bench.caps)
        bench.session.target = bench.target = msgspec.structs.replace(bench.target, counter=counter)
        record = flat(bench.wire, messages)
        bench.begin(record)
        start = time.perf_counter()
        bench.record(record)
        counts.append({**_counted(bench), "seconds": time.perf_counter() - start})
    return Outcome(values={"counts": counts})


def _images(wire: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    image = {"media_type": "image/png", "data": request["image"]}
    count = request.get("images", 1)
    if request.get("in", "user") in ("user", "message", "user_message"):
        return [wire_forms.pictures(wire, [image] * count)]
    if request["in"] != "tool_result":
        raise Unsupported(f"an image in {request['in']}")
    made: list[dict[str, Any]] = []
    for number in range(count):
        made += wire_forms.calls(wire, [(f"shot_{number}", "shot", "{}")])
        made += wire_forms.results(wire, [(f"shot_{number}", "shot", image)])
    return made


def _response_format(wire: str, characters: int) -> dict[str, Any]:
    if not characters:
        return {}
    schema = {"type": "object", "properties": {"x": {"type": "string", "description": _words(characters)}}}
    match wire:
        case "openai-chat" | "deepseek":
            inner = {"name": "answer", "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": inner}}
        case "openai-responses":
            return {"text": {"format": {"type": "json_schema", "name": "answer", "schema": schema}}}
        case "anthropic":
            return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
        case _:
            return {"generationConfig": {"responseMimeType": "application/json", "responseSchema": schema}}


def _words(characters: int) -> str:
    return ("word " * (characters // 5 + 1))[:characters]


def count_with_feedback(case: Case, room: Room) -> Outcome:
    """Count a text as the engine predicts it, before and after usage for it was reported."""
    case.only("text", "actual_usage_input", "model_caps")
    bench = Bench(case, room)
    counter = counter_of(bench.caps)
    bench.session.target = bench.target = msgspec.structs.replace(bench.target, counter=counter)
    bench.session.say(case.input["text"])
    first = bench.session.compile()
    method = _method(counter.exact)
    counts = [{"tokens": first.predicted, "method": method, "name": counter.name}]
    for number, actual in enumerate(case.input["actual_usage_input"]):
        if number:
            bench.session.say(".")
            bench.session.compile()
        answer = Message(role="assistant", blocks=(Text(text="."),))
        usage = Usage(uncached=actual, cache_read=0, cache_write_short=0, cache_write_long=0, output=1)
        bench.session.answered(answer, usage=usage)
    bench.session.say(".")
    learned = bench.session.compile().budget.predict(first.counted, grown=False)
    counts.append({"tokens": learned, "method": method, "name": counter.name})
    return Outcome(values={"counts": counts, "actual": case.input["actual_usage_input"]})


COUNTING = {
    "count_tokens": count_tokens,
    "count_tokens_messages": count_tokens_messages,
    "count_requests": count_requests,
    "count_with_feedback": count_with_feedback,
}
