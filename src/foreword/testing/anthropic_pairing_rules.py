"""Anthropic Messages: rules on the pairing of calls and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from foreword.testing import anthropic_forms as forms
from foreword.testing.anthropic_request import AnthropicRequest
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import objects, text_of


def _unanswered(request: AnthropicRequest) -> Iterator[Fault]:
    answered = {
        (at - 1, text_of(block.data.get("tool_use_id")))
        for at, _, block in request.blocks("tool_result")
        if request.messages[at].role == "user"
    }
    missing: dict[int, list[str]] = {}
    for at, _, block in request.blocks("tool_use"):
        identity = text_of(block.data.get("id"))
        if request.messages[at].role == "assistant" and (at, identity) not in answered:
            missing.setdefault(at, []).append(identity)
    yield from (fault(f"messages.{at}", ids=", ".join(ids)) for at, ids in missing.items())


def _orphans(request: AnthropicRequest) -> Iterator[Fault]:
    called = {
        (at + 1, text_of(block.data.get("id")))
        for at, _, block in request.blocks("tool_use")
        if request.messages[at].role == "assistant"
    }
    for at, index, block in request.blocks("tool_result"):
        used = text_of(block.data.get("tool_use_id"))
        if request.messages[at].role == "user" and used and (at, used) not in called:
            yield fault(f"messages.{at}.content.{index}", id=used)


def _result_twice(request: AnthropicRequest) -> Iterator[Fault]:
    places = Counter(
        (at, text_of(block.data.get("tool_use_id"))) for at, _, block in request.blocks("tool_result")
    )
    yield from (fault(f"messages.{at}", id=used) for (at, used), count in places.items() if count > 1)


def _call_ids_unique(request: AnthropicRequest) -> Iterator[Fault]:
    seen: set[str] = set()
    for at, index, block in request.blocks("tool_use", *forms.SERVER_CALLS):
        identity = text_of(block.data.get("id"))
        if identity and identity in seen:
            yield fault(f"messages.{at}.content.{index}")
        seen.add(identity)


def _results_first(request: AnthropicRequest) -> Iterator[Fault]:
    for at, index, block in request.blocks("tool_result"):
        message = request.messages[at]
        # Named once, at the first result that comes too late.
        if message.role == "user" and index and message.blocks[index - 1].kind != "tool_result":
            yield fault(f"messages.{at}.content.{index}", id=block.data.get("tool_use_id"))


def _error_text(request: AnthropicRequest) -> Iterator[Fault]:
    for at, index, block in request.blocks("tool_result"):
        kinds = {part.get("type") for part in objects(block.data.get("content"))}
        if block.data.get("is_error") is True and kinds - {"text"}:
            yield fault(f"messages.{at}.content.{index}")


def _toolset(request: AnthropicRequest) -> Iterator[Fault]:
    sets = {
        text_of(block.data.get("id")): block.data.get("toolset_name")
        for _, _, block in request.blocks("tool_use")
    }
    for at, index, block in request.blocks("tool_result"):
        used = text_of(block.data.get("tool_use_id"))
        if used in sets and block.data.get("toolset_name") != sets[used]:
            yield fault(f"messages.{at}.content.{index}.toolset_name", id=used)


def _server_pairs(request: AnthropicRequest) -> Iterator[Fault]:
    """A server call is answered in its turn; a turn goes on over client results, and may pause at the end."""
    if not any(kind in request.by_kind for kind in (*forms.SERVER_CALLS, *forms.SERVER_RESULTS)):
        return
    open_calls: dict[str, tuple[str, str, str]] = {}
    for at, message in enumerate(request.messages):
        if message.role == "user" and any(block.kind != "tool_result" for block in message.blocks):
            yield from (_unanswered_server(identity, *waits) for identity, waits in open_calls.items())
            open_calls = {}
        for index, block in enumerate(message.blocks):
            path = f"messages.{at}.content.{index}"
            if block.kind in forms.SERVER_CALLS:
                name = text_of(block.data.get("name"))
                answer = "mcp_tool_result" if block.kind == "mcp_tool_use" else forms.ANSWERS.get(name, "")
                open_calls[text_of(block.data.get("id"))] = path, name, answer
            elif block.kind in forms.SERVER_RESULTS:
                used = text_of(block.data.get("tool_use_id"))
                waited = open_calls.pop(used, None)
                # Names of tools that are not known here may have any answer.
                if waited is None or waited[2] not in ("", block.kind):
                    yield _orphan_server(path, block.kind, used)


def _unanswered_server(identity: str, path: str, name: str, answer: str) -> Fault:
    wanted = f"`{answer}` block" if answer else "result block"
    problem = f"`{name}` tool use with id `{identity}` was found without a corresponding {wanted}"
    return fault(path, problem=problem)


def _orphan_server(path: str, kind: str, used: str) -> Fault:
    call = "mcp_tool_use" if kind == "mcp_tool_result" else "server_tool_use"
    return fault(
        path,
        problem=f"unexpected `tool_use_id` found in `{kind}` blocks: {used}. Each `{kind}` block must have a "
        f"corresponding `{call}` block before it.",
    )


PAIRING_RULES: tuple[Rule[AnthropicRequest], ...] = (
    Rule(
        code="call_unanswered",
        text="{path}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        section="1.3",
        evidence="F",
        check=_unanswered,
    ),
    Rule(
        code="result_orphan",
        text="{path}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block "
        "must have a corresponding `tool_use` block in the previous message.",
        section="1.3",
        evidence="F",
        check=_orphans,
    ),
    Rule(
        code="result_twice",
        text="{path}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
        "{id}",
        section="1.3",
        evidence="F",
        check=_result_twice,
    ),
    Rule(
        code="call_ids_unique",
        text="{path}: `tool_use` ids must be unique",
        section="1.3",
        evidence="F",
        check=_call_ids_unique,
    ),
    Rule(
        code="results_first",
        text="{path}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. "
        "`tool_result` blocks must come first in the message.",
        section="1.3",
        evidence="D",
        check=_results_first,
    ),
    Rule(
        code="error_text",
        text='{path}: all content must be type "text" if "is_error" is true',
        section="1.2",
        evidence="F",
        check=_error_text,
    ),
    Rule(
        code="toolset",
        text="{path}: `toolset_name` of the `tool_result` for {id} must match its `tool_use`",
        section="1.2",
        evidence="T",
        check=_toolset,
    ),
    Rule(
        code="server_pair",
        text="{path}: {problem}",
        section="1.3",
        evidence="F",
        check=_server_pairs,
    ),
)
