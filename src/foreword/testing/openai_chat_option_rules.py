"""OpenAI Chat Completions: rules on tools, limits and other options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from foreword.testing.openai_cache_options import cache_faults
from foreword.testing.openai_chat_request import ChatRequest
from foreword.testing.openai_limits import many_tools, metadata_faults, names_json
from foreword.testing.openai_schemas import function_fault, strict_fault
from foreword.testing.option_values import out_of_range, stray_values
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, text_of

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
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


def _schema_form(request: ChatRequest) -> Iterator[Fault]:
    for index, kind, body in _tool_bodies(request):
        problem = function_fault(body.get("parameters"), strict=body.get("strict") is True)
        if problem:
            yield fault(f"tools[{index}].{kind}.parameters", name=body.get("name"), problem=problem)


def _answer_schema(request: ChatRequest) -> Iterator[Fault]:
    asked = mapping(mapping(request.body.get("response_format")).get("json_schema"))
    problem = strict_fault(asked.get("schema")) if asked.get("strict") is True else None
    if problem:
        yield fault("response_format", name=asked.get("name"), problem=problem)


def _json_word(request: ChatRequest) -> Iterator[Fault]:
    asked = mapping(request.body.get("response_format")).get("type") == "json_object"
    if asked and not names_json(message.data.get("content") for message in request.messages):
        yield fault("messages")


def _choice(request: ChatRequest) -> Iterator[Fault]:
    choice = request.body.get("tool_choice")
    kind = text_of(mapping(choice).get("type"))
    if isinstance(choice, str) and choice not in request.forms.CHOICES:
        yield fault("tool_choice", choice=choice, allowed=_listed(request.forms.CHOICES))
    elif isinstance(choice, dict) and kind not in request.forms.CHOICE_TYPES:
        yield fault("tool_choice.type", choice=kind, allowed=_listed(request.forms.CHOICE_TYPES))


def _listed(names: frozenset[str]) -> str:
    each = [f"'{name}'" for name in sorted(names)]
    return ", ".join([*each[:-1], f"and {each[-1]}"]) if each[1:] else each[0]


def _choice_name(request: ChatRequest) -> Iterator[Fault]:
    choice = mapping(request.body.get("tool_choice"))
    name = mapping(choice.get(text_of(choice.get("type")))).get("name")
    names = {text_of(body.get("name")) for _, _, body in _tool_bodies(request)}
    if text_of(choice.get("type")) in request.forms.TOOLS and text_of(name) not in names:
        yield fault("tool_choice", name=name)


def _choice_alone(request: ChatRequest) -> Iterator[Fault]:
    if request.body.get("tool_choice") not in (None, "none") and "tools" not in request.body:
        yield fault("tool_choice")


def _parallel_alone(request: ChatRequest) -> Iterator[Fault]:
    if "parallel_tool_calls" in request.body and "tools" not in request.body:
        yield fault("parallel_tool_calls")


def _output_twice(request: ChatRequest) -> Iterator[Fault]:
    if None not in (request.body.get("max_tokens"), request.body.get("max_completion_tokens")):
        yield fault("max_tokens")


def _output_name(request: ChatRequest) -> Iterator[Fault]:
    if request.body.get("max_tokens") is not None and not request.facts.sampling:
        yield fault("max_tokens")


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
        if len(stops) > request.forms.MOST_STOPS or not all(isinstance(stop, str) for stop in stops):
            yield fault("stop", count=len(stops), most=request.forms.MOST_STOPS)


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
        error_code="empty_array",
    ),
    Rule(
        code="tool_kind",
        text="Invalid value: '{kind}'. Supported values are: 'function' and 'custom'.",
        section="5.1",
        evidence="T",
        check=_tool_kind,
        error_code="invalid_value",
    ),
    Rule(
        code="tool_name",
        text="Invalid '{path}': string does not match pattern. Expected a string that matches the "
        "pattern '^[a-zA-Z0-9_-]+$'.",
        section="5.1",
        evidence="F",
        check=_tool_name,
        error_code="invalid_value",
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
        error_code="invalid_function_parameters",
    ),
    Rule(
        code="schema_form",
        text="Invalid schema for function '{name}': {problem}",
        section="5.1",
        evidence="F",
        check=_schema_form,
        error_code="invalid_function_parameters",
    ),
    Rule(
        code="answer_schema",
        text="Invalid schema for response_format '{name}': {problem}",
        section="5.1",
        evidence="F",
        check=_answer_schema,
    ),
    Rule(
        code="json_word",
        text="'{path}' must contain the word 'json' in some form, to use 'response_format' of type "
        "'json_object'.",
        section="5.1",
        evidence="F",
        check=_json_word,
    ),
    Rule(
        code="tools_many",
        text="Invalid '{path}': array too long. Expected an array with maximum length {limit}, but got an "
        "array with length {count} instead.",
        section="5.1",
        evidence="F",
        check=lambda request: many_tools(request.body),
        error_code="array_above_max_length",
    ),
    Rule(
        code="metadata",
        text="Invalid '{path}': expected {problem}.",
        section="5.1",
        evidence="T",
        check=lambda request: metadata_faults(request.body),
    ),
    Rule(
        code="choice",
        text="Invalid value: '{choice}'. Supported values are: {allowed}.",
        section="5.1",
        evidence="T",
        check=_choice,
        error_code="invalid_value",
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
        code="parallel_alone",
        text="Invalid value for '{path}': '{path}' is only allowed when 'tools' are specified.",
        section="5.1",
        evidence="F",
        check=_parallel_alone,
    ),
    Rule(
        code="output_twice",
        text="Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        section="5.1",
        evidence="F",
        check=_output_twice,
        error_code="invalid_parameter_combination",
    ),
    # Of a model that takes no sampling either: those that reason (public report, 2025-07).
    Rule(
        code="output_name",
        text="Unsupported parameter: '{path}' is not supported with this model. Use 'max_completion_tokens' instead.",
        section="5.1",
        evidence="F",
        check=_output_name,
        error_code="unsupported_parameter",
    ),
    Rule(
        code="output_positive",
        text="Invalid '{path}': integer below minimum value. Expected a value >= 1, but got {asked} instead.",
        section="5.1",
        evidence="I",
        check=_output_positive,
        error_code="integer_below_min_value",
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
        error_code="invalid_value",
    ),
    Rule(
        code="sampling",
        text="Unsupported value: '{path}' does not support {value} with this model. Only the default (1) "
        "value is supported.",
        section="10",
        evidence="I",
        check=_sampling,
        error_code="unsupported_value",
    ),
    Rule(
        code="stops",
        text="Invalid 'stop': expected a string or at most {most} strings, got {count}.",
        section="5.1",
        evidence="T",
        check=_stops,
    ),
    Rule(
        code="option_value",
        text="Invalid value: '{value}'. Supported values are: {allowed}.",
        section="5.1",
        evidence="T",
        check=lambda request: stray_values(request.body, request.forms.VALUES),
        error_code="invalid_value",
    ),
    Rule(
        code="option_range",
        text="Invalid '{path}': decimal {word} value. Expected a value {side}, but got {value} instead.",
        section="5.1",
        evidence="T",
        check=lambda request: out_of_range(request.body, request.forms.RANGES),
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
        error_code="invalid_value",
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
