"""OpenAI Responses: rules on the form of a request and of its input items."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from foreword.testing import openai_responses_forms as forms
from foreword.testing.form import Misform, Problem
from foreword.testing.openai_cache_options import mark_fault
from foreword.testing.openai_limits import image_fault
from foreword.testing.openai_responses_request import ResponsesRequest
from foreword.testing.option_values import stray_values
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import objects, text_of

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
LONGEST_ID = 64

_KIND_NAMES = {
    "str": "a string",
    "obj": "an object",
    "list": "an array",
    "int": "an integer",
    "num": "a number",
    "bool": "a boolean",
}


def _misformed(request: ResponsesRequest, problem: Problem) -> Iterator[Fault]:
    for path, misform in _misforms(request):
        if misform.problem == problem:
            wanted = [_KIND_NAMES.get(kind, kind) for kind in misform.wanted.split("|") if kind != "null"]
            yield fault(path, wanted=" or ".join(wanted))


def _misforms(request: ResponsesRequest) -> Iterator[tuple[str, Misform]]:
    yield from ((misform.path, misform) for misform in request.misforms)
    for at, item in enumerate(request.items):
        yield from ((f"input[{at}].{m.path}".rstrip("."), m) for m in item.misforms)


def _item_kind(request: ResponsesRequest) -> Iterator[Fault]:
    for at, item in enumerate(request.items):
        for found in item.misplaced:
            if not found.path:
                yield fault(f"input[{at}].type", kind=found.kind, allowed=quoted(forms.ITEMS))


def _part_kind(request: ResponsesRequest) -> Iterator[Fault]:
    for at, item in enumerate(request.items):
        allowed = forms.ROLE_PARTS.get(item.role) or (
            forms.RESULT_PARTS if item.kind in forms.OUTPUTS else frozenset(forms.PARTS)
        )
        for found in item.misplaced:
            if found.path:
                yield fault(f"input[{at}].{found.path}", kind=found.kind, allowed=quoted(allowed))


def _role(request: ResponsesRequest) -> Iterator[Fault]:
    for at, item in enumerate(request.items):
        if item.kind == "message" and item.role and item.role not in forms.ROLE_PARTS:
            yield fault(f"input[{at}].role", role=item.role)


def _no_input(request: ResponsesRequest) -> Iterator[Fault]:
    given = [request.body.get(name) for name in ("previous_response_id", "conversation", "prompt")]
    if request.body.get("input") in (None, []) and not any(given):
        yield fault("input")


def _empty_call_id(request: ResponsesRequest) -> Iterator[Fault]:
    for at, item in enumerate(request.items):
        if item.data.get("call_id") == "":
            yield fault(f"input[{at}].call_id")


def _id_length(request: ResponsesRequest, member: str) -> Iterator[Fault]:
    for at, item in enumerate(request.items):
        length = len(text_of(item.data.get(member)))
        if length > LONGEST_ID:
            yield fault(f"input[{at}].{member}", length=length)


def _image_parts(request: ResponsesRequest) -> Iterator[tuple[str, dict[str, Any]]]:
    for at, item in enumerate(request.items):
        for member in forms.PART_LISTS.get(item.kind, ()):
            for index, part in enumerate(objects(item.data.get(member))):
                if part.get("type") == "input_image":
                    yield f"input[{at}].{member}[{index}]", part


def _image(request: ResponsesRequest) -> Iterator[Fault]:
    for path, part in _image_parts(request):
        url = part.get("image_url")
        problem = image_fault(url) if isinstance(url, str) else None
        if problem:
            yield fault(f"{path}.image_url", problem=problem)


def _file_missing(request: ResponsesRequest) -> Iterator[Fault]:
    for at, item in enumerate(request.items):
        for member in forms.PART_LISTS.get(item.kind, ()):
            for index, part in enumerate(objects(item.data.get(member))):
                named = [part.get(name) for name in ("file_data", "file_id", "file_url")]
                if part.get("type") == "input_file" and all(name is None for name in named):
                    yield fault(f"input[{at}].{member}[{index}]")


def _item_value(request: ResponsesRequest) -> Iterator[Fault]:
    for at, item in enumerate(request.items):
        for found in stray_values(item.data, forms.ITEM_VALUES.get(item.kind, {})):
            yield found._replace(path=f"input[{at}].{found.path}")


def _image_missing(request: ResponsesRequest) -> Iterator[Fault]:
    for path, part in _image_parts(request):
        if part.get("image_url") is None and part.get("file_id") is None:
            yield fault(path)


def _detail(request: ResponsesRequest) -> Iterator[Fault]:
    for path, part in _image_parts(request):
        detail = part.get("detail")
        if isinstance(detail, str) and detail not in forms.DETAILS:
            yield fault(f"{path}.detail", detail=detail)


def _call_name(request: ResponsesRequest) -> Iterator[Fault]:
    for at, item in enumerate(request.items):
        name = item.data.get("name")
        named = item.kind in {"function_call", "custom_tool_call"} and isinstance(name, str)
        if named and not NAME.fullmatch(text_of(name)):
            yield fault(f"input[{at}].name")


def _item_id(request: ResponsesRequest) -> Iterator[Fault]:
    for at, item in enumerate(request.items):
        prefix = forms.ID_PREFIXES.get(item.kind, "")
        if item.id and not item.id.startswith(prefix):
            yield fault(f"input[{at}].id", id=item.id, prefix=prefix)


def _item_duplicate(request: ResponsesRequest) -> Iterator[Fault]:
    seen: set[str] = set()
    for path, item in request.context:
        if item.id in seen:
            yield fault(path, id=item.id)
        if item.id:
            seen.add(item.id)


def _trigger_last(request: ResponsesRequest) -> Iterator[Fault]:
    for at, item in enumerate(request.items[:-1]):
        if item.kind == "compaction_trigger":
            yield fault(f"input[{at}]")


def _breakpoint(request: ResponsesRequest) -> Iterator[Fault]:
    for at, item in enumerate(request.items):
        for member in forms.PART_LISTS.get(item.kind, ()):
            parts = item.data.get(member)
            for index, part in enumerate(parts if isinstance(parts, list) else ()):
                mark = part.get("prompt_cache_breakpoint") if isinstance(part, dict) else None
                wrong = mark_fault(mark)
                if wrong:
                    place = f"input[{at}].{member}[{index}].prompt_cache_breakpoint"
                    yield fault(f"{place}.{wrong[0]}", allowed=wrong[1])


def quoted(names: Iterable[str]) -> str:
    """List names as an error does."""
    each = [f"'{name}'" for name in sorted(names)]
    return ", ".join([*each[:-1], f"and {each[-1]}"])


ITEM_RULES: tuple[Rule[ResponsesRequest], ...] = (
    Rule(
        code="member_missing",
        text="Missing required parameter: '{path}'.",
        section="5.2",
        evidence="T",
        check=lambda request: _misformed(request, "missing"),
        error_code="missing_required_parameter",
    ),
    Rule(
        code="member_kind",
        text="Invalid type for '{path}': expected {wanted}.",
        section="5.2",
        evidence="T",
        check=lambda request: _misformed(request, "type"),
        error_code="invalid_type",
    ),
    Rule(
        code="member_unknown",
        text="Unknown parameter: '{path}'.",
        section="5.2",
        evidence="F",
        check=lambda request: _misformed(request, "extra"),
        error_code="unknown_parameter",
    ),
    Rule(
        code="item_kind",
        text="Invalid value: '{kind}'. Supported values are: {allowed}.",
        section="5.2",
        evidence="T",
        check=_item_kind,
        error_code="invalid_value",
    ),
    Rule(
        code="part_kind",
        text="Invalid value: '{kind}'. Supported values are: {allowed}.",
        section="5.2",
        evidence="T",
        check=_part_kind,
        error_code="invalid_value",
    ),
    Rule(
        code="role",
        text="Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        section="5.2",
        evidence="T",
        check=_role,
        error_code="invalid_value",
    ),
    Rule(
        code="no_input",
        text="Missing required parameter: one of 'input', 'previous_response_id', 'prompt', or "
        "'conversation' must be provided.",
        section="5.2",
        evidence="I",
        check=_no_input,
        error_code="missing_required_parameter",
    ),
    Rule(
        code="empty_call_id",
        text="Invalid '{path}': empty string. Expected a string with minimum length 1, but got an empty "
        "string instead.",
        section="5.2",
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
        check=lambda request: _id_length(request, "call_id"),
        error_code="string_above_max_length",
    ),
    Rule(
        code="item_id_length",
        text="Invalid '{path}': string too long. Expected a string with maximum length 64, but got a string "
        "with length {length} instead.",
        section="8",
        evidence="F",
        check=lambda request: _id_length(request, "id"),
        error_code="string_above_max_length",
    ),
    Rule(
        code="image",
        text="Invalid '{path}'. {problem}",
        section="5.2",
        evidence="F",
        check=_image,
        error_code="invalid_value",
    ),
    Rule(
        code="image_missing",
        text="Invalid '{path}': expected one of 'image_url' or 'file_id'.",
        section="5.2",
        evidence="T",
        check=_image_missing,
        error_code="missing_required_parameter",
    ),
    Rule(
        code="file_missing",
        text="Invalid '{path}': expected one of 'file_data', 'file_id' or 'file_url'.",
        section="5.2",
        evidence="T",
        check=_file_missing,
        error_code="missing_required_parameter",
    ),
    Rule(
        code="item_value",
        text="Invalid value: '{value}'. Supported values are: {allowed}.",
        section="5.2",
        evidence="T",
        check=_item_value,
        error_code="invalid_value",
    ),
    Rule(
        code="detail",
        text="Invalid value: '{detail}'. Supported values are: 'auto', 'high', 'low', and 'original'.",
        section="5.2",
        evidence="T",
        check=_detail,
        error_code="invalid_value",
    ),
    Rule(
        code="call_name",
        text="Invalid '{path}': string does not match pattern. Expected a string that matches the "
        "pattern '^[a-zA-Z0-9_-]+$'.",
        section="5.2",
        evidence="I",
        check=_call_name,
        error_code="invalid_value",
    ),
    Rule(
        code="item_id",
        text="Invalid '{path}': '{id}'. Expected an ID that begins with '{prefix}'.",
        section="5.2",
        evidence="I",
        check=_item_id,
        error_code="invalid_value",
    ),
    Rule(
        code="item_duplicate",
        text="Duplicate item found with id {id}. Remove duplicate items from your input and try again.",
        section="5.2",
        evidence="I",
        check=_item_duplicate,
        error_code="invalid_value",
    ),
    Rule(
        code="trigger_last",
        text="Invalid '{path}': 'compaction_trigger' must be the final input item.",
        section="5.3",
        evidence="D",
        check=_trigger_last,
        error_code="invalid_value",
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
