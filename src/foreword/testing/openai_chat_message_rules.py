"""OpenAI Chat Completions: rules on the form of a request, on messages, and on calls and results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from foreword.testing.form import Misform, Problem
from foreword.testing.openai_cache_options import mark_fault
from foreword.testing.openai_chat_request import ChatRequest
from foreword.testing.openai_limits import image_fault
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, objects, text_of

# It was 40 until 2026: a request with 51 letters passed in 2026-07 (public report with a recording).
LONGEST_CALL_ID = 64
CALL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
SPEAKER_NAME = re.compile(r"[^\s<|\\/>]{1,64}")
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
                allowed = ", ".join(
                    f"'{kind}'" for kind in sorted(request.forms.ROLE_PARTS.get(message.role, ()))
                )
                yield fault(f"messages[{at}].{found.path}", kind=found.kind, allowed=allowed)


def _no_messages(request: ChatRequest) -> Iterator[Fault]:
    if request.body.get("messages") == []:
        yield fault("messages")


def _role(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        if message.role and message.role not in request.forms.MESSAGES:
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
        for index, call in enumerate(objects(message.data.get("tool_calls"))):
            if call.get("id") == "":
                yield fault(f"messages[{at}].tool_calls[{index}].id")


def _call_id_length(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        named = [(f"tool_calls[{index}].id", call) for index, call in enumerate(message.calls)]
        named.append(("tool_call_id", text_of(message.data.get("tool_call_id"))))
        for path, identity in named:
            if len(identity) > LONGEST_CALL_ID:
                yield fault(f"messages[{at}].{path}", length=len(identity))


def _call_name(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        for index, call in enumerate(objects(message.data.get("tool_calls"))):
            kind = text_of(call.get("type"))
            name = mapping(call.get(kind)).get("name")
            if isinstance(name, str) and not CALL_NAME.fullmatch(name):
                yield fault(f"messages[{at}].tool_calls[{index}].{kind}.name")


def _speaker(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        name = message.data.get("name")
        if isinstance(name, str) and not SPEAKER_NAME.fullmatch(name):
            yield fault(f"messages[{at}].name")


def _image(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        for index, part in enumerate(objects(message.data.get("content"))):
            url = mapping(part.get("image_url")).get("url")
            problem = image_fault(url) if isinstance(url, str) else None
            if problem:
                yield fault(f"messages[{at}].content[{index}].image_url.url", problem=problem)


def _detail(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        for index, part in enumerate(objects(message.data.get("content"))):
            detail = mapping(part.get("image_url")).get("detail")
            if isinstance(detail, str) and detail not in request.forms.DETAILS:
                yield fault(f"messages[{at}].content[{index}].image_url.detail", detail=detail)


def _unanswered(request: ChatRequest) -> Iterator[Fault]:
    waiting: list[str] = []
    since = 0
    for at, message in enumerate(request.messages):
        if message.role == "tool":
            used = message.data.get("tool_call_id")
            waiting = [call for call in waiting if call != used]
            continue
        if waiting:
            yield fault(f"messages[{since}]", ids=", ".join(waiting))
        waiting = [call for call in message.calls if call] if message.role == "assistant" else []
        since = at
    if waiting:
        yield fault(f"messages[{since}]", ids=", ".join(waiting))


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


def _system_first(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        if request.strict_alternation and at and message.role in INSTRUCTIONS:
            yield fault(f"messages[{at}].role")


def _breakpoint(request: ChatRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        content = message.data.get("content")
        for index, part in enumerate(content if isinstance(content, list) else ()):
            mark = mapping(part).get("prompt_cache_breakpoint")
            wrong = mark_fault(mark)
            if wrong:
                member, allowed = wrong
                place = f"messages[{at}].content[{index}].prompt_cache_breakpoint"
                yield fault(f"{place}.{member}", allowed=allowed)


MESSAGE_RULES: tuple[Rule[ChatRequest], ...] = (
    Rule(
        code="member_missing",
        text="Missing required parameter: '{path}'.",
        section="5.1",
        evidence="T",
        check=lambda request: _misformed(request, "missing"),
        error_code="missing_required_parameter",
    ),
    Rule(
        code="member_kind",
        text="Invalid type for '{path}': expected {wanted}.",
        section="5.1",
        evidence="T",
        check=lambda request: _misformed(request, "type"),
        error_code="invalid_type",
    ),
    Rule(
        code="member_unknown",
        text="Unknown parameter: '{path}'.",
        section="5.1",
        evidence="F",
        check=lambda request: _misformed(request, "extra"),
        error_code="unknown_parameter",
    ),
    Rule(
        code="part_kind",
        text="Invalid value: '{kind}' at '{path}' is not a supported type",
        section="5.1",
        evidence="T",
        check=lambda request: _misplaced(request, known=False),
        error_code="invalid_value",
    ),
    Rule(
        code="part_role",
        text="Invalid value: '{kind}' at '{path}'. Supported values are: {allowed}.",
        section="5.1",
        evidence="T",
        check=lambda request: _misplaced(request, known=True),
        error_code="invalid_value",
    ),
    Rule(
        code="no_messages",
        text="Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty "
        "array instead.",
        section="5.1",
        evidence="I",
        check=_no_messages,
        error_code="empty_array",
    ),
    Rule(
        code="role",
        text="Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', "
        "'tool', and 'developer'.",
        section="5.1",
        evidence="T",
        check=_role,
        error_code="invalid_value",
    ),
    Rule(
        code="empty_parts",
        text="Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty "
        "array instead.",
        section="5.1",
        evidence="I",
        check=_empty_parts,
        error_code="empty_array",
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
        error_code="empty_array",
    ),
    Rule(
        code="empty_call_id",
        text="Invalid '{path}': empty string. Expected a string with minimum length 1, but got an empty "
        "string instead.",
        section="5.1",
        evidence="I",
        check=_empty_call_id,
        error_code="empty_string",
    ),
    Rule(
        code="call_id_length",
        text="Invalid '{path}': string too long. Expected a string with maximum length 64, but got a string "
        "with length {length} instead.",
        section="8",
        evidence="F",
        check=_call_id_length,
        error_code="string_above_max_length",
    ),
    Rule(
        code="call_name",
        text="Invalid '{path}': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        section="5.1",
        evidence="F",
        check=_call_name,
        error_code="invalid_value",
    ),
    Rule(
        code="speaker",
        text="Invalid '{path}': string does not match pattern. Expected a string that matches the pattern "
        "'^[^\\s<|\\\\/>]+$'.",
        section="5.1",
        evidence="F",
        check=_speaker,
        error_code="invalid_value",
    ),
    Rule(
        code="image",
        text="Invalid '{path}'. {problem}",
        section="5.1",
        evidence="F",
        check=_image,
        error_code="invalid_image_format",
    ),
    Rule(
        code="detail",
        text="Invalid value: '{detail}'. Supported values are: 'auto', 'high', 'low', and 'original'.",
        section="5.1",
        evidence="T",
        check=_detail,
        error_code="invalid_value",
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
        code="system_first",
        text="System message must be at the beginning.",
        section="5.1",
        evidence="I",
        check=_system_first,
    ),
    Rule(
        code="breakpoint",
        text="Invalid value at '{path}'. Supported values are: {allowed}.",
        section="2.2",
        evidence="T",
        check=_breakpoint,
        error_code="invalid_value",
    ),
)
