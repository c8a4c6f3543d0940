"""OpenAI Chat Completions: every rule that its referee enforces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

from foreword.testing import openai_chat_forms as forms
from foreword.testing.form import Misform, Problem
from foreword.testing.openai_chat_request import ChatRequest
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, text_of

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MAX_STOPS = 4
INSTRUCTIONS = frozenset({"system", "developer"})

_KIND_NAMES = {
    "str": "a string",
    "obj": "an object",
    "list": "an array",
    "int": "an integer",
    "num": "a number",
    "bool": "a boolean",
}


def _misformed(request: ChatRequest, problem: Problem) -> Iterator[Fault]:
    for path, misform in _misforms(request):
        if misform.problem == problem:
            wanted = [_KIND_NAMES.get(kind, kind) for kind in misform.wanted.split("|") if kind != "null"]
            yield fault(path, wanted=" or ".join(wanted))


def _misforms(request: ChatRequest) -> Iterator[tuple[str, Misform]]:
    yield from ((misform.path, misform) for misform in request.misforms)
    for at, message in enumerate(request.messages):
        yield from ((f"messages[{at}].{m.path}".rstrip("."), m) for m in message.misforms)


def _misplaced(request: ChatRequest, *, known: bool) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        for found in message.misplaced:
            if found.known == known:
                allowed = ", ".join(f"'{kind}'" for kind in sorted(forms.ROLE_PARTS.get(message.role, ())))
                yield fault(f"messages[{at}].{found.path}", kind=found.kind, allowed=allowed)


def _no_messages(request: ChatRequest) -> Iterator[Fault]:
    if request.body.get("messages") == []:
        yield fault("messages")


def _role(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        if message.role and message.role not in forms.MESSAGES:
            yield fault(f"messages[{at}].role", role=message.role)


def _empty_parts(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        if message.data.get("content") == []:
            yield fault(f"messages[{at}].content")


def _null_content(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        said = [
            message.data.get(name) for name in ("content", "tool_calls", "function_call", "refusal", "audio")
        ]
        if message.role == "assistant" and all(part is None for part in said):
            yield fault(f"messages[{at}].content")


def _no_calls(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        if message.data.get("tool_calls") == []:
            yield fault(f"messages[{at}].tool_calls")


def _empty_call_id(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        for index, call in enumerate(message.data.get("tool_calls") or ()):
            if mapping(call).get("id") == "":
                yield fault(f"messages[{at}].tool_calls[{index}].id")


def _unanswered(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        if message.role != "assistant":
            continue
        answered: set[str] = set()
        for after in request.messages[at + 1 :]:
            if after.role != "tool":
                break
            answered.add(text_of(after.data.get("tool_call_id")))
        missing = [call for call in message.calls if call and call not in answered]
        if missing:
            yield fault(f"messages[{at}]", ids=", ".join(missing))


def _orphans(request: ChatRequest) -> Iterator[Fault]:
    called: set[str] = set()
    for at, message in enumerate(request.messages):
        used = message.data.get("tool_call_id")
        if message.role != "tool":
            called = set(message.calls) if message.role == "assistant" else set()
        elif isinstance(used, str) and used not in called:
            yield fault(f"messages[{at}].role", id=used)


def _alternation(request: ChatRequest) -> Iterator[Fault]:
    if not request.strict_alternation:
        return
    spoken = [
        (at, message.role) for at, message in enumerate(request.messages) if message.role not in INSTRUCTIONS
    ]
    for (_, before), (at, after) in pairwise(spoken):
        if before == after and after in {"user", "assistant"}:
            yield fault(f"messages[{at}].role")


def _tool_bodies(request: ChatRequest) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for index, tool in enumerate(request.tools):
        kind = text_of(tool.get("type"))
        if kind in forms.TOOLS and isinstance(tool.get(kind), dict):
            yield index, kind, mapping(tool[kind])


def _no_tools(request: ChatRequest) -> Iterator[Fault]:
    if request.body.get("tools") == []:
        yield fault("tools")


def _tool_kind(request: ChatRequest) -> Iterator[Fault]:
    for index, tool in enumerate(request.tools):
        kind = text_of(tool.get("type"))
        if kind and kind not in forms.TOOLS:
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
    if isinstance(choice, str) and choice not in forms.CHOICES:
        yield fault("tool_choice", choice=choice)


def _choice_name(request: ChatRequest) -> Iterator[Fault]:
    choice = mapping(request.body.get("tool_choice"))
    name = mapping(choice.get(text_of(choice.get("type")))).get("name")
    names = {body.get("name") for _, _, body in _tool_bodies(request)}
    if choice.get("type") in forms.TOOLS and name not in names:
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
    if isinstance(effort, str) and effort not in forms.EFFORTS:
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


def _breakpoint(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        content = message.data.get("content")
        for index, part in enumerate(content if isinstance(content, list) else ()):
            mark = mapping(part).get("prompt_cache_breakpoint")
            if mark is not None and mapping(mark).get("mode") != "explicit":
                yield fault(f"messages[{at}].content[{index}].prompt_cache_breakpoint.mode")


def _window(request: ChatRequest) -> Iterator[Fault]:
    limit = request.output_limit
    asked = limit[1] if limit else 0
    facts, tokens = request.facts, request.input_tokens
    over_input = facts.max_input is not None and tokens > facts.max_input
    if over_input or tokens + asked > facts.window:
        most = facts.max_input if over_input else facts.window
        yield fault("messages", window=most, total=tokens + asked, tokens=tokens, asked=asked)


RULES: tuple[Rule[ChatRequest], ...] = (
    Rule(
        code="member_missing",
        text="Missing required parameter: '{path}'.",
        section="5.1",
        evidence="T",
        check=lambda request: _misformed(request, "missing"),
    ),
    Rule(
        code="member_kind",
        text="Invalid type for '{path}': expected {wanted}.",
        section="5.1",
        evidence="T",
        check=lambda request: _misformed(request, "type"),
    ),
    Rule(
        code="member_unknown",
        text="Unrecognized request argument supplied: {path}",
        section="5.1",
        evidence="F",
        check=lambda request: _misformed(request, "extra"),
    ),
    Rule(
        code="part_kind",
        text="Invalid value: '{kind}' at '{path}' is not a supported type",
        section="5.1",
        evidence="T",
        check=lambda request: _misplaced(request, known=False),
    ),
    Rule(
        code="part_role",
        text="Invalid value: '{kind}' at '{path}'. Supported values are: {allowed}.",
        section="5.1",
        evidence="T",
        check=lambda request: _misplaced(request, known=True),
    ),
    Rule(
        code="no_messages",
        text="Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty "
        "array instead.",
        section="5.1",
        evidence="I",
        check=_no_messages,
    ),
    Rule(
        code="role",
        text="Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', "
        "'tool', and 'developer'.",
        section="5.1",
        evidence="T",
        check=_role,
    ),
    Rule(
        code="empty_parts",
        text="Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty "
        "array instead.",
        section="5.1",
        evidence="I",
        check=_empty_parts,
    ),
    Rule(
        code="null_content",
        text="Invalid value for 'content': expected a string, got null.",
        section="5.1",
        evidence="T",
        check=_null_content,
    ),
    Rule(
        code="no_calls",
        text="Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty "
        "array instead.",
        section="5.1",
        evidence="I",
        check=_no_calls,
    ),
    Rule(
        code="empty_call_id",
        text="Invalid '{path}': empty string. Expected a string with minimum length 1, but got an empty "
        "string instead.",
        section="5.1",
        evidence="I",
        check=_empty_call_id,
    ),
    Rule(
        code="call_unanswered",
        text="An assistant message with 'tool_calls' must be followed by tool messages responding to each "
        "'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
        section="5.1",
        evidence="F",
        check=_unanswered,
    ),
    Rule(
        code="result_orphan",
        text="Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'.",
        section="5.1",
        evidence="F",
        check=_orphans,
    ),
    Rule(
        code="alternation",
        text="Conversation roles must alternate user/assistant/user/assistant/...",
        section="5.1",
        evidence="I",
        check=_alternation,
    ),
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
        code="breakpoint",
        text="Invalid value at '{path}'. Supported values are: 'explicit'.",
        section="2.2",
        evidence="T",
        check=_breakpoint,
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
