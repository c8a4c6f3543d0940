"""OpenAI Responses: rules on tools, limits and other options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from foreword.testing import openai_responses_forms as forms
from foreword.testing.openai_cache_options import cache_faults
from foreword.testing.openai_limits import many_tools, metadata_faults, names_json
from foreword.testing.openai_responses_item_rules import NAME, quoted
from foreword.testing.openai_responses_request import ResponsesRequest
from foreword.testing.openai_schemas import function_fault, strict_fault
from foreword.testing.option_values import out_of_range, stray_values
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, objects, text_of

LEAST_OUTPUT = 16
CACHE_LIFETIMES = ("30m", "12h")
TRUNCATIONS = frozenset({"auto", "disabled"})


def _offered(request: ResponsesRequest) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every tool with its place: those of the request, and those that an item brings later."""
    yield from ((f"tools[{index}]", tool) for index, tool in enumerate(request.tools))
    for at, item in enumerate(request.items):
        if item.kind in {"additional_tools", "tool_search_output"}:
            later = enumerate(objects(item.data.get("tools")))
            yield from ((f"input[{at}].tools[{index}]", tool) for index, tool in later)


def _tool_kind(request: ResponsesRequest) -> Iterator[Fault]:
    for path, tool in _offered(request):
        kind = text_of(tool.get("type"))
        if kind and kind not in forms.TOOLS and kind not in forms.HOSTED_TOOLS:
            yield fault(f"{path}.type", kind=kind)


def _tool_name(request: ResponsesRequest) -> Iterator[Fault]:
    for path, tool in _offered(request):
        name = tool.get("name")
        if text_of(tool.get("type")) in forms.TOOLS and isinstance(name, str) and not NAME.fullmatch(name):
            yield fault(f"{path}.name")


def _tool_names_unique(request: ResponsesRequest) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, tool in enumerate(request.tools):
        name = text_of(tool.get("name"))
        if name and name in seen:
            yield fault(f"tools[{index}].name", name=name)
        seen.add(name)


def _tool_schema(request: ResponsesRequest) -> Iterator[Fault]:
    for path, tool in _offered(request):
        schema = mapping(tool.get("parameters"))
        if tool.get("type") == "function" and schema and schema.get("type") != "object":
            yield fault(f"{path}.parameters", name=tool.get("name"), kind=schema.get("type"))


def _schema_form(request: ResponsesRequest) -> Iterator[Fault]:
    for path, tool in _offered(request):
        function = tool.get("type") == "function"
        problem = function_fault(tool.get("parameters"), strict=tool.get("strict") is True)
        if function and problem:
            yield fault(f"{path}.parameters", name=tool.get("name"), problem=problem)


def _format(request: ResponsesRequest) -> dict[str, Any]:
    return mapping(mapping(request.body.get("text")).get("format"))


def _answer_schema(request: ResponsesRequest) -> Iterator[Fault]:
    asked = _format(request)
    problem = strict_fault(asked.get("schema")) if asked.get("strict") is True else None
    if problem:
        yield fault("text.format.schema", name=asked.get("name"), problem=problem)


def _json_word(request: ResponsesRequest) -> Iterator[Fault]:
    # The instructions are not looked at, and what a conversation holds is for the server to know.
    if _format(request).get("type") != "json_object" or request.body.get("conversation"):
        return
    if not names_json(item.data.get("content") for _, item in request.context):
        yield fault("text.format")


def _choice(request: ResponsesRequest) -> Iterator[Fault]:
    choice = request.body.get("tool_choice")
    kind = text_of(mapping(choice).get("type"))
    if isinstance(choice, str) and choice not in forms.CHOICES:
        yield fault("tool_choice", choice=choice, allowed=quoted(forms.CHOICES))
    elif isinstance(choice, dict) and kind not in forms.CHOICE_TYPES:
        yield fault("tool_choice.type", choice=kind, allowed=quoted(forms.CHOICE_TYPES))


def _background(request: ResponsesRequest) -> Iterator[Fault]:
    if request.body.get("background") is True and not request.stored:
        yield fault("background")


def _include(request: ResponsesRequest) -> Iterator[Fault]:
    wished = request.body.get("include")
    for index, name in enumerate(cast("list[object]", wished) if isinstance(wished, list) else []):
        if name not in forms.INCLUDES:
            yield fault(f"include[{index}]", name=name, allowed=quoted(forms.INCLUDES))


def _compacting(request: ResponsesRequest) -> Iterator[Fault]:
    for index, edit in enumerate(objects(request.body.get("context_management"))):
        if edit.get("type") != "compaction":
            yield fault(f"context_management[{index}].type", kind=edit.get("type"))


def _choice_name(request: ResponsesRequest) -> Iterator[Fault]:
    choice = mapping(request.body.get("tool_choice"))
    names = {text_of(tool.get("name")) for _, tool in _offered(request)}
    if text_of(choice.get("type")) in forms.TOOLS and text_of(choice.get("name")) not in names:
        yield fault("tool_choice", name=choice.get("name"))


def _output_least(request: ResponsesRequest) -> Iterator[Fault]:
    asked = request.integer("max_output_tokens")
    if asked is not None and asked < LEAST_OUTPUT:
        yield fault("max_output_tokens", asked=asked)


def _output_model(request: ResponsesRequest) -> Iterator[Fault]:
    asked, most = request.integer("max_output_tokens"), request.facts.max_output
    if asked is not None and most is not None and asked > most:
        yield fault("max_output_tokens", asked=asked, most=most)


def _effort(request: ResponsesRequest) -> Iterator[Fault]:
    effort = request.reasoning.get("effort")
    if effort is not None and text_of(effort) not in forms.EFFORTS:
        yield fault("reasoning.effort", effort=effort)


def _context(request: ResponsesRequest) -> Iterator[Fault]:
    context = request.reasoning.get("context")
    if context is not None and text_of(context) not in forms.CONTEXTS:
        yield fault("reasoning.context", context=context)


def _truncation(request: ResponsesRequest) -> Iterator[Fault]:
    truncation = request.body.get("truncation")
    if isinstance(truncation, str) and truncation not in TRUNCATIONS:
        yield fault("truncation", truncation=truncation)


def _sampling(request: ResponsesRequest) -> Iterator[Fault]:
    for name in ("temperature", "top_p"):
        if request.body.get(name) not in (None, 1) and not request.facts.sampling:
            yield fault(name)


def _stream_options(request: ResponsesRequest) -> Iterator[Fault]:
    if request.body.get("stream_options") is not None and request.body.get("stream") is not True:
        yield fault("stream_options")


def _cache_options(request: ResponsesRequest) -> Iterator[Fault]:
    yield from cache_faults(request.body, CACHE_LIFETIMES)


def _window(request: ResponsesRequest) -> Iterator[Fault]:
    if request.input_tokens > request.input_limit and request.body.get("truncation") != "auto":
        yield fault("input")


OPTION_RULES: tuple[Rule[ResponsesRequest], ...] = (
    Rule(
        code="tool_kind",
        text="Invalid value: '{kind}' at '{path}' is not a supported type of tool.",
        section="5.2",
        evidence="T",
        check=_tool_kind,
        error_code="invalid_value",
    ),
    Rule(
        code="tool_name",
        text="Invalid '{path}': string does not match pattern. Expected a string that matches the "
        "pattern '^[a-zA-Z0-9_-]+$'.",
        section="5.2",
        evidence="F",
        check=_tool_name,
        error_code="invalid_value",
    ),
    Rule(
        code="tool_names_unique",
        text="Invalid '{path}': tool names must be unique, found '{name}' twice.",
        section="5.2",
        evidence="I",
        check=_tool_names_unique,
    ),
    Rule(
        code="tool_schema",
        text="Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', "
        "got 'type: \"{kind}\"'.",
        section="5.2",
        evidence="I",
        check=_tool_schema,
        error_code="invalid_function_parameters",
    ),
    Rule(
        code="schema_form",
        text="Invalid schema for function '{name}': {problem}",
        section="5.2",
        evidence="F",
        check=_schema_form,
        error_code="invalid_function_parameters",
    ),
    Rule(
        code="answer_schema",
        text="Invalid schema for response_format '{name}': {problem}",
        section="5.2",
        evidence="F",
        check=_answer_schema,
        error_code="invalid_json_schema",
    ),
    Rule(
        code="json_word",
        text="Response input messages must contain the word 'json' in some form to use 'text.format' of type "
        "'json_object'.",
        section="5.2",
        evidence="F",
        check=_json_word,
    ),
    Rule(
        code="tools_many",
        text="Invalid '{path}': array too long. Expected an array with maximum length {limit}, but got an "
        "array with length {count} instead.",
        section="5.2",
        evidence="F",
        check=lambda request: many_tools(request.body),
        error_code="array_above_max_length",
    ),
    Rule(
        code="metadata",
        text="Invalid '{path}': expected {problem}.",
        section="5.2",
        evidence="T",
        check=lambda request: metadata_faults(request.body),
    ),
    Rule(
        code="option_value",
        text="Invalid value: '{value}'. Supported values are: {allowed}.",
        section="5.2",
        evidence="T",
        check=lambda request: stray_values(request.body, forms.VALUES),
        error_code="invalid_value",
    ),
    Rule(
        code="option_range",
        text="Invalid '{path}': decimal {word} value. Expected a value {side}, but got {value} instead.",
        section="5.2",
        evidence="T",
        check=lambda request: out_of_range(request.body, forms.RANGES),
    ),
    Rule(
        code="background",
        text="Background mode requires store=true.",
        section="5.2",
        evidence="I",
        check=_background,
    ),
    Rule(
        code="include",
        text="Invalid value: '{name}'. Supported values are: {allowed}.",
        section="5.2",
        evidence="T",
        check=_include,
        error_code="invalid_value",
    ),
    Rule(
        code="compacting",
        text="Invalid value: '{kind}'. Supported values are: 'compaction'.",
        section="5.3",
        evidence="T",
        check=_compacting,
        error_code="invalid_value",
    ),
    Rule(
        code="choice",
        text="Invalid value: '{choice}'. Supported values are: {allowed}.",
        section="5.2",
        evidence="T",
        check=_choice,
        error_code="invalid_value",
    ),
    Rule(
        code="choice_name",
        text="Tool choice '{name}' not found in 'tools' parameter.",
        section="5.2",
        evidence="I",
        check=_choice_name,
    ),
    Rule(
        code="output_least",
        text="Invalid '{path}': integer below minimum value. Expected a value >= 16, but got {asked} "
        "instead.",
        section="5.2",
        evidence="I",
        check=_output_least,
        error_code="integer_below_min_value",
    ),
    Rule(
        code="output_model",
        text="{path} is too large: {asked}. This model supports at most {most} output tokens.",
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
        code="reasoning_context",
        text="Invalid value: '{context}'. Supported values are: 'auto', 'current_turn', and 'all_turns'.",
        section="5.2",
        evidence="T",
        check=_context,
        error_code="invalid_value",
    ),
    Rule(
        code="truncation",
        text="Invalid value: '{truncation}'. Supported values are: 'auto' and 'disabled'.",
        section="5.2",
        evidence="T",
        check=_truncation,
        error_code="invalid_value",
    ),
    Rule(
        code="sampling",
        text="Unsupported parameter: '{path}' is not supported with this model.",
        section="10",
        evidence="I",
        check=_sampling,
        error_code="unsupported_parameter",
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
        text="Your input exceeds the context window of this model. Please adjust your input and try again.",
        section="8",
        evidence="F",
        check=_window,
        error_code="context_length_exceeded",
        counting=False,
    ),
)
