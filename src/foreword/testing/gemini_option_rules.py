"""Gemini generateContent: rules on tools, limits and other options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from foreword.testing import gemini_forms as forms
from foreword.testing.gemini_request import GeminiRequest
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import text_of

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
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
