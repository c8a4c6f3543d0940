"""Gemini generateContent: rules on tools, limits and other options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import cast

from foreword.testing import gemini_forms as forms
from foreword.testing.gemini_request import GeminiRequest
from foreword.testing.option_values import Ranges, out_of_range
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.schema_nodes import nodes
from foreword.testing.wire import mapping, objects, text_of

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
MAX_STOPS = 5
JSON_MEDIA = ("application/json", "text/x.enum")
RANGES: Ranges = {"temperature": (0, 2), "topP": (0, 1)}
FORCED_MODES = frozenset({"ANY", "VALIDATED"})


def _name(request: GeminiRequest) -> Iterator[Fault]:
    for path, declared in request.declarations:
        if not NAME.fullmatch(text_of(declared.get("name"))):
            yield fault(f"{path}.name")


def _names_unique(request: GeminiRequest) -> Iterator[Fault]:
    seen: set[str] = set()
    for path, declared in request.declarations:
        name = text_of(declared.get("name"))
        if name and name in seen:
            yield fault(f"{path}.name", name=name)
        seen.add(name)


def _schema_one(request: GeminiRequest) -> Iterator[Fault]:
    for path, declared in request.declarations:
        if "parameters" in declared and "parametersJsonSchema" in declared:
            yield fault(path)


def _mixed(request: GeminiRequest) -> Iterator[Fault]:
    kinds = {kind for tool in objects(request.body.get("tools")) for kind in tool}
    told = mapping(request.body.get("toolConfig")).get("includeServerSideToolInvocations") is True
    mixed = "functionDeclarations" in kinds and kinds & forms.BUILT_IN
    # Older models have answers of their own to this.
    if mixed and not told and request.facts.signs_calls:
        yield fault("tools")


def _array_items(request: GeminiRequest) -> Iterator[Fault]:
    for path, declared in request.declarations:
        for context, node in nodes(declared.get("parameters")):
            if text_of(node.get("type")).upper() == "ARRAY" and "items" not in node:
                where = "".join(
                    f"[{name}]" if before == "properties" else f".{name}"
                    for before, name in pairwise(("", *context))
                )
                yield fault(f"{path}.parameters{where}.items")


def _json_tools(request: GeminiRequest) -> Iterator[Fault]:
    media = text_of(request.generation.get("responseMimeType"))
    if media == "application/json" and request.declarations and not request.facts.signs_calls:
        yield fault("generation_config.response_mime_type", media=media)


def _ranges(request: GeminiRequest) -> Iterator[Fault]:
    for found in out_of_range(request.generation, RANGES):
        yield found._replace(path=f"generation_config.{found.path}")


def _stops(request: GeminiRequest) -> Iterator[Fault]:
    stops = request.generation.get("stopSequences")
    if isinstance(stops, list) and len(stops) > MAX_STOPS:
        yield fault("generation_config.stop_sequences", limit=MAX_STOPS)


def _schema_media(request: GeminiRequest) -> Iterator[Fault]:
    asked = [name for name in ("responseSchema", "responseJsonSchema") if name in request.generation]
    media = request.generation.get("responseMimeType")
    if asked and media not in JSON_MEDIA:
        yield fault("generation_config.response_schema", media=media)


def _mode(request: GeminiRequest) -> Iterator[Fault]:
    mode = request.calling.get("mode")
    if isinstance(mode, str) and mode not in forms.MODES:
        yield fault("tool_config.function_calling_config.mode", mode=mode)


def _allowed_mode(request: GeminiRequest) -> Iterator[Fault]:
    if (
        request.calling.get("allowedFunctionNames")
        and text_of(request.calling.get("mode")) not in FORCED_MODES
    ):
        yield fault("tool_config.function_calling_config.allowed_function_names")


def _allowed_names(request: GeminiRequest) -> Iterator[Fault]:
    declared = {text_of(each.get("name")) for _, each in request.declarations}
    allowed = request.calling.get("allowedFunctionNames")
    for index, name in enumerate(cast("list[object]", allowed) if isinstance(allowed, list) else []):
        if text_of(name) not in declared:
            yield fault(f"tool_config.function_calling_config.allowed_function_names[{index}]", name=name)


def _cached_alone(request: GeminiRequest) -> Iterator[Fault]:
    repeated = [name for name in ("systemInstruction", "tools", "toolConfig") if name in request.body]
    if request.body.get("cachedContent") and repeated:
        yield fault("cached_content")


def _thinking_level(request: GeminiRequest) -> Iterator[Fault]:
    level = request.thinking.get("thinkingLevel")
    if isinstance(level, str) and level.upper() not in forms.LEVELS:
        yield fault("generation_config.thinking_config.thinking_level", level=level)


def _thinking_one(request: GeminiRequest) -> Iterator[Fault]:
    if "thinkingLevel" in request.thinking and "thinkingBudget" in request.thinking:
        yield fault("generation_config.thinking_config")


def _output_positive(request: GeminiRequest) -> Iterator[Fault]:
    asked = request.generation.get("maxOutputTokens")
    if isinstance(asked, int) and asked < 1:
        yield fault("generation_config.max_output_tokens")


def _size(request: GeminiRequest) -> Iterator[Fault]:
    if request.size > request.facts.max_body_bytes:
        yield fault("", limit=request.facts.max_body_bytes)


def _window(request: GeminiRequest) -> Iterator[Fault]:
    most = request.facts.max_input or request.facts.window
    if request.input_tokens > most:
        yield fault("contents", tokens=request.input_tokens, most=most)


OPTION_RULES: tuple[Rule[GeminiRequest], ...] = (
    Rule(
        code="tool_name",
        text="* GenerateContentRequest.{path}: Invalid function name. Must start with a letter or an "
        "underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes "
        "(-), with a maximum length of 128.",
        section="7",
        evidence="I",
        check=_name,
    ),
    Rule(
        code="tool_names_unique",
        text="Duplicate function declaration found: {name}",
        section="7",
        evidence="I",
        check=_names_unique,
    ),
    Rule(
        code="schema_one",
        text="* GenerateContentRequest.{path}: only one of parameters and parameters_json_schema may be set",
        section="7",
        evidence="I",
        check=_schema_one,
    ),
    # With the reports of 2026-03 to 2026-09 on Gemini 3.1 to 3.6.
    Rule(
        code="tools_mixed",
        text="Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function "
        "calling.",
        section="7",
        evidence="F",
        check=_mixed,
    ),
    Rule(
        code="array_items",
        text="* GenerateContentRequest.{path}: missing field.",
        section="7",
        evidence="F",
        check=_array_items,
    ),
    Rule(
        code="json_tools",
        text="Function calling with a response mime type: '{media}' is unsupported",
        section="7",
        evidence="I",
        check=_json_tools,
    ),
    Rule(
        code="schema_media",
        text="* GenerateContentRequest.{path}: only allowed for a response_mime_type of 'application/json'.",
        section="7",
        evidence="I",
        check=_schema_media,
    ),
    Rule(
        code="option_range",
        text="* GenerateContentRequest.{path}: must be in the range [{least}, {most}].",
        section="7",
        evidence="I",
        check=_ranges,
    ),
    Rule(
        code="stops",
        text="* GenerateContentRequest.{path}: at most {limit} stop sequences are allowed.",
        section="7",
        evidence="D",
        check=_stops,
    ),
    Rule(
        code="calling_mode",
        text="Invalid value at '{path}' "
        '(type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), "{mode}"',
        section="7",
        evidence="I",
        check=_mode,
    ),
    Rule(
        code="allowed_mode",
        text="Function calling config is set without ANY or VALIDATED mode, so allowed_function_names must "
        "be empty.",
        section="7",
        evidence="I",
        check=_allowed_mode,
    ),
    Rule(
        code="allowed_names",
        text="Function calling config allows a function that is not declared: {name}",
        section="7",
        evidence="I",
        check=_allowed_names,
    ),
    Rule(
        code="cached_alone",
        text="CachedContent can not be used with GenerateContent request setting system_instruction, tools "
        "or tool_config.",
        section="2.4",
        evidence="I",
        check=_cached_alone,
    ),
    Rule(
        code="thinking_level",
        text="Invalid value at '{path}' "
        '(type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), "{level}"',
        section="7",
        evidence="T",
        check=_thinking_level,
    ),
    Rule(
        code="thinking_one",
        text="You can only set only one of thinking budget and thinking level.",
        section="7",
        evidence="I",
        check=_thinking_one,
    ),
    Rule(
        code="output_positive",
        text="* GenerateContentRequest.{path}: max_output_tokens must be positive.",
        section="7",
        evidence="I",
        check=_output_positive,
    ),
    Rule(
        code="size",
        text="Request payload size exceeds the limit: {limit} bytes.",
        section="8",
        evidence="F",
        check=_size,
    ),
    Rule(
        code="window",
        text="The input token count ({tokens}) exceeds the maximum number of tokens allowed ({most}).",
        section="8",
        evidence="F",
        check=_window,
        counting=False,
    ),
)
