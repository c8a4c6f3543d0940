"""Anthropic Messages: rules on the form of a request: members, kinds of blocks, tools, size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from foreword.testing import anthropic_forms as forms
from foreword.testing.anthropic_request import AnthropicRequest
from foreword.testing.form import Misform, Problem
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, text_of

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")
# Public error reports: ids of other vendors' search (2025-12), names over 200 letters (2026-02).
SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
LONGEST_CALL_NAME = 200

_KIND_NAMES = {"str": "string", "obj": "object", "int": "integer", "num": "number", "bool": "boolean"}


def _every_misform(request: AnthropicRequest, problem: Problem) -> Iterator[Fault]:
    for misform in request.misforms:
        if misform.problem == problem:
            yield _named(misform, misform.path)
    for at, message in enumerate(request.messages):
        for misform in message.misforms:
            if misform.problem == problem:
                yield _named(misform, f"messages.{at}.{misform.path}".rstrip("."))


def _named(misform: Misform, path: str) -> Fault:
    kinds = [_KIND_NAMES.get(kind, kind) for kind in misform.wanted.split("|") if kind != "null"]
    return fault(path, wanted=" or ".join(kinds))


def _misplaced(request: AnthropicRequest, *, known: bool) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        for found in message.misplaced:
            if found.known == known:
                yield fault(f"messages.{at}.{found.path}", kind=found.kind, role=message.role)


def _no_messages(request: AnthropicRequest) -> Iterator[Fault]:
    if request.body.get("messages") == []:
        yield fault("messages")


def _many_messages(request: AnthropicRequest) -> Iterator[Fault]:
    count, limit = len(request.messages), request.facts.max_messages
    if count > limit:
        yield fault("messages", count=count, limit=limit)


def _large_body(request: AnthropicRequest) -> Iterator[Fault]:
    if request.size > request.facts.max_body_bytes:
        yield fault("", size=request.size)


def _stop_blank(request: AnthropicRequest) -> Iterator[Fault]:
    stops = request.body.get("stop_sequences")
    if any(isinstance(stop, str) and not stop.strip() for stop in (stops if isinstance(stops, list) else [])):
        yield fault("stop_sequences")


def _stop_sequences(request: AnthropicRequest) -> Iterator[Fault]:
    stops = request.body.get("stop_sequences")
    for index, stop in enumerate(stops if isinstance(stops, list) else []):
        if not isinstance(stop, str):
            yield fault(f"stop_sequences.{index}")


def _tool_kind(request: AnthropicRequest) -> Iterator[Fault]:
    for index, tool in enumerate(request.tools):
        kind = tool.get("type")
        if kind not in (None, "custom") and not text_of(kind).startswith(forms.TOOL_FAMILIES):
            yield fault(f"tools.{index}", kind=kind)


def _tool_name(request: AnthropicRequest) -> Iterator[Fault]:
    for index, tool in enumerate(request.tools):
        name = tool.get("name")
        if isinstance(name, str) and not TOOL_NAME.fullmatch(name):
            yield fault(f"tools.{index}.custom.name")


def _tool_names_unique(request: AnthropicRequest) -> Iterator[Fault]:
    names = Counter(tool["name"] for tool in request.tools if isinstance(tool.get("name"), str))
    for name, count in names.items():
        if count > 1:
            yield fault("tools", name=name)


def _tool_schema(request: AnthropicRequest) -> Iterator[Fault]:
    for index, tool in enumerate(request.tools):
        schema = tool.get("input_schema")
        if isinstance(schema, dict) and mapping(schema).get("type") != "object":
            yield fault(f"tools.{index}.custom.input_schema.type")


def _call_name(request: AnthropicRequest) -> Iterator[Fault]:
    for at, index, block in request.blocks("tool_use"):
        name = block.data.get("name")
        if isinstance(name, str) and not 0 < len(name) <= LONGEST_CALL_NAME:
            limit = f"most {LONGEST_CALL_NAME} characters" if name else "least 1 character"
            yield fault(f"messages.{at}.content.{index}.tool_use.name", limit=limit)


def _server_id(request: AnthropicRequest) -> Iterator[Fault]:
    for at, index, block in request.blocks("server_tool_use"):
        value = block.data.get("id")
        # One that no call may have is refused by the rule on all calls.
        if isinstance(value, str) and TOOL_ID.fullmatch(value) and not SERVER_ID.fullmatch(value):
            yield fault(f"messages.{at}.content.{index}.server_tool_use.id")


def _call_id(request: AnthropicRequest) -> Iterator[Fault]:
    for at, index, block in request.blocks("tool_use", "tool_result", *forms.SERVER_CALLS):
        member = "tool_use_id" if block.kind == "tool_result" else "id"
        value = block.data.get(member)
        if isinstance(value, str) and not TOOL_ID.fullmatch(value):
            yield fault(f"messages.{at}.content.{index}.{block.kind}.{member}")


FORM_RULES: tuple[Rule[AnthropicRequest], ...] = (
    Rule(
        code="member_missing",
        text="{path}: Field required",
        section="1.1",
        evidence="T",
        check=lambda request: _every_misform(request, "missing"),
    ),
    Rule(
        code="member_kind",
        text="{path}: Input should be a valid {wanted}",
        section="1.1",
        evidence="T",
        check=lambda request: _every_misform(request, "type"),
    ),
    Rule(
        code="member_unknown",
        text="{path}: Extra inputs are not permitted",
        section="1.1",
        evidence="F",
        check=lambda request: _every_misform(request, "extra"),
    ),
    Rule(
        code="block_kind",
        text="{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags",
        section="1.2",
        evidence="T",
        check=lambda request: _misplaced(request, known=False),
    ),
    Rule(
        code="block_role",
        text="{path}: `{kind}` blocks are not allowed in `{role}` messages",
        section="1.2",
        evidence="I",
        check=lambda request: _misplaced(request, known=True),
    ),
    Rule(
        code="no_messages",
        text="messages: at least one message is required",
        section="1.1",
        evidence="I",
        check=_no_messages,
    ),
    Rule(
        code="many_messages",
        text="messages: List should have at most {limit} items after validation, not {count}",
        section="1.1",
        evidence="T",
        check=_many_messages,
    ),
    Rule(
        code="body_size",
        text="Request exceeds the maximum size",
        section="8",
        evidence="D",
        check=_large_body,
        status=413,
        error_type="request_too_large",
    ),
    Rule(
        code="stop_sequences",
        text="{path}: Input should be a valid string",
        section="1.1",
        evidence="T",
        check=_stop_sequences,
    ),
    Rule(
        code="tool_kind",
        text="{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags",
        section="1.6",
        evidence="T",
        check=_tool_kind,
    ),
    Rule(
        code="tool_name",
        text="{path}: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
        section="1.3",
        evidence="I",
        check=_tool_name,
    ),
    Rule(
        code="tool_names_unique",
        text="tools: Tool names must be unique.",
        section="1.3",
        evidence="I",
        check=_tool_names_unique,
    ),
    Rule(
        code="tool_schema",
        text="{path}: Input should be 'object'",
        section="1.3",
        evidence="T",
        check=_tool_schema,
    ),
    Rule(
        code="call_id",
        text="{path}: String should match pattern '^[a-zA-Z0-9_-]+$'",
        section="1.3",
        evidence="F",
        check=_call_id,
    ),
    Rule(
        code="server_id",
        text="{path}: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'",
        section="1.3",
        evidence="F",
        check=_server_id,
    ),
    Rule(
        code="call_name",
        text="{path}: String should have at {limit}",
        section="1.3",
        evidence="F",
        check=_call_name,
    ),
    Rule(
        code="stop_blank",
        text="{path}: each stop sequence must contain non-whitespace",
        section="1.1",
        evidence="F",
        check=_stop_blank,
    ),
)
