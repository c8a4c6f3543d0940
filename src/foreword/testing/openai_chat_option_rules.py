"""OpenAI Chat Completions: rules on tools, limits and other options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from foreword.testing.openai_cache_options import cache_faults
from foreword.testing.openai_chat_request import ChatRequest
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, text_of

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MAX_STOPS = 4
CACHE_LIFETIMES = ("30m",)


def _tool_bodies(request: ChatRequest) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for index, tool in enumerate(request.tools):
        kind = text_of(tool.get("type"))
        if kind in request.forms.TOOLS and isinstance(tool.get(kind), dict):
            yield index, kind, mapping(tool[kind])


def _no_tools(request: ChatRequest) -> Iterator[Fault]:
    if request.body.get("tools") == []:
        yield fault("tools")


def _tool_kind(request: ChatRequest) -> Iterator[Fault]:
    for index, tool in enumerate(request.tools):
        kind = text_of(tool.get("type"))
        if kind and kind not in request.forms.TOOLS:
            yield fault(f"tools[{index}].type", kind=kind)


def _tool_name(request: ChatRequest) -> Iterator[Fault]:
    for index, kind, body in _tool_bodies(request):
        name = body.get("name")
        if isinstance(name, str) and not TOOL_NAME.fullmatch(name):
            yield fault(f"tools[{index}].{kind}.name")


def _tool_names_unique(request: ChatRequest) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, kind, body in _tool_bodies(request):
        name = text_of(body.get("name"))
        if name in seen:
            yield fault(f"tools[{index}].{kind}.name", name=name)
        seen.add(name)


def _tool_schema(request: ChatRequest) -> Iterator[Fault]:
    for index, _, body in _tool_bodies(request):
        schema = mapping(body.get("parameters"))
        if schema and schema.get("type") != "object":
            yield fault(f"tools[{index}].function.parameters", name=body.get("name"), kind=schema.get("type"))


def _choice(request: ChatRequest) -> Iterator[Fault]:
    choice = request.body.get("tool_choice")
    if isinstance(choice, str) and choice not in request.forms.CHOICES:
        yield fault("tool_choice", choice=choice)


def _choice_name(request: ChatRequest) -> Iterator[Fault]:
    choice = mapping(request.body.get("tool_choice"))
    name = mapping(choice.get(text_of(choice.get("type")))).get("name")
    names = {text_of(body.get("name")) for _, _, body in _tool_bodies(request)}
    if text_of(choice.get("type")) in request.forms.TOOLS and text_of(name) not in names:
        yield fault("tool_choice", name=name)


def _choice_alone(request: ChatRequest) -> Iterator[Fault]:
    if request.body.get("tool_choice") not in (None, "none") and "tools" not in request.body:
        yield fault("tool_choice")


def _output_positive(request: ChatRequest) -> Iterator[Fault]:
    limit = request.output_limit
    if limit and limit[1] < 1:
        yield fault(limit[0], asked=limit[1])


def _output_model(request: ChatRequest) -> Iterator[Fault]:
    limit, most = request.output_limit, request.facts.max_output
    if limit and most is not None and limit[1] > most:
        yield fault(limit[0], asked=limit[1], most=most)


def _effort(request: ChatRequest) -> Iterator[Fault]:
    effort = request.body.get("reasoning_effort")
    if isinstance(effort, str) and effort not in request.forms.EFFORTS:
        yield fault("reasoning_effort", effort=effort)


def _sampling(request: ChatRequest) -> Iterator[Fault]:
    for name in ("temperature", "top_p"):
        if request.body.get(name) not in (None, 1) and not request.facts.sampling:
            yield fault(name, value=request.body[name])


def _stops(request: ChatRequest) -> Iterator[Fault]:
    stops = request.body.get("stop")
    if isinstance(stops, list):
        stops = cast("list[object]", stops)
        if len(stops) > MAX_STOPS or not all(isinstance(stop, str) for stop in stops):
            yield fault("stop", count=len(stops))


def _stream_options(request: ChatRequest) -> Iterator[Fault]:
    if request.body.get("stream_options") is not None and request.body.get("stream") is not True:
        yield fault("stream_options")


def _cache_options(request: ChatRequest) -> Iterator[Fault]:
    yield from cache_faults(request.body, CACHE_LIFETIMES)


def _window(request: ChatRequest) -> Iterator[Fault]:
    limit = request.output_limit
    asked = limit[1] if limit else 0
    facts, tokens = request.facts, request.input_tokens
    over_input = facts.max_input is not None and tokens > facts.max_input
    if over_input or tokens + asked > facts.window:
        most = facts.max_input if over_input else facts.window
        yield fault("messages", window=most, total=tokens + asked, tokens=tokens, asked=asked)


OPTION_RULES: tuple[Rule[ChatRequest], ...] = (
    Rule(
        code="no_tools",
        text="Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty "
        "array instead.",
        section="5.1",
        evidence="I",
        check=_no_tools,
    ),
    Rule(
        code="tool_kind",
        text="Invalid value: '{kind}'. Supported values are: 'function' and 'custom'.",
        section="5.1",
        evidence="T",
        check=_tool_kind,
    ),
    Rule(
        code="tool_name",
        text="Invalid '{path}': string does not match pattern. Expected a string that matches the "
        "pattern '^[a-zA-Z0-9_-]+$'.",
        section="5.1",
        evidence="I",
        check=_tool_name,
    ),
    Rule(
        code="tool_names_unique",
        text="Invalid '{path}': tool names must be unique, found '{name}' twice.",
        section="5.1",
        evidence="I",
        check=_tool_names_unique,
    ),
    Rule(
        code="tool_schema",
        text="Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', "
        "got 'type: \"{kind}\"'.",
        section="5.1",
        evidence="I",
        check=_tool_schema,
    ),
    Rule(
        code="choice",
        text="Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'.",
        section="5.1",
        evidence="T",
        check=_choice,
    ),
    Rule(
        code="choice_name",
        text="Tool choice '{name}' not found in 'tools' parameter.",
        section="5.1",
        evidence="I",
        check=_choice_name,
    ),
    Rule(
        code="choice_alone",
        text="Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        section="5.1",
        evidence="I",
        check=_choice_alone,
    ),
    Rule(
        code="output_positive",
        text="Invalid '{path}': integer below minimum value. Expected a value >= 1, but got {asked} instead.",
        section="5.1",
        evidence="I",
        check=_output_positive,
    ),
    Rule(
        code="output_model",
        text="{path} is too large: {asked}. This model supports at most {most} completion tokens.",
        section="10",
        evidence="L",
        check=_output_model,
    ),
    Rule(
        code="effort",
        text="Invalid value: '{effort}'. Supported values are: 'none', 'minimal', 'low', 'medium', "
        "'high', 'xhigh', and 'max'.",
        section="5.1",
        evidence="T",
        check=_effort,
    ),
    Rule(
        code="sampling",
        text="Unsupported value: '{path}' does not support {value} with this model. Only the default (1) "
        "value is supported.",
        section="10",
        evidence="I",
        check=_sampling,
    ),
    Rule(
        code="stops",
        text="Invalid 'stop': expected a string or at most 4 strings, got {count}.",
        section="5.1",
        evidence="T",
        check=_stops,
    ),
    Rule(
        code="stream_options",
        text="The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        section="4",
        evidence="I",
        check=_stream_options,
    ),
    Rule(
        code="cache_options",
        text="Invalid value: '{value}' at '{path}'. Supported values are: {allowed}.",
        section="2.2",
        evidence="T",
        check=_cache_options,
    ),
    Rule(
        code="window",
        text="This model's maximum context length is {window} tokens. However, you requested {total} tokens "
        "({tokens} in the messages, {asked} in the completion). Please reduce the length of the messages or "
        "completion.",
        section="8",
        evidence="F",
        check=_window,
        error_code="context_length_exceeded",
    ),
)
