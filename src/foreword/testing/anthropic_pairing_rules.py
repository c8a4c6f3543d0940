"""Anthropic Messages: rules on the pairing of calls and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from foreword.testing import anthropic_forms as forms
from foreword.testing.anthropic_request import AnthropicRequest, Message
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import text_of


def _unanswered(request: AnthropicRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        if message.role == "assistant":
            missing = _ids(message, "tool_use", "id").keys() - _results_after(request, at).keys()
            if missing:
                yield fault(f"messages.{at}", ids=", ".join(sorted(missing)))


def _orphans(request: AnthropicRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        before = request.messages[at - 1] if at else None
        called = _ids(before, "tool_use", "id") if before and before.role == "assistant" else Counter[str]()
        for index, block in enumerate(message.blocks):
            used = text_of(block.data.get("tool_use_id"))
            if message.role == "user" and block.kind == "tool_result" and used and used not in called:
                yield fault(f"messages.{at}.content.{index}", id=used)


def _result_twice(request: AnthropicRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        for used, count in _ids(message, "tool_result", "tool_use_id").items():
            if count > 1:
                yield fault(f"messages.{at}", id=used)


def _call_ids_unique(request: AnthropicRequest) -> Iterator[Fault]:
    seen: set[str] = set()
    for at, index, block in request.blocks("tool_use", *forms.SERVER_CALLS):
        identity = text_of(block.data.get("id"))
        if identity and identity in seen:
            yield fault(f"messages.{at}.content.{index}")
        seen.add(identity)


def _results_first(request: AnthropicRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        kinds = [block.kind for block in message.blocks]
        if "tool_result" in kinds and message.role == "user":
            leading = next((n for n, kind in enumerate(kinds) if kind != "tool_result"), len(kinds))
            if "tool_result" in kinds[leading:]:
                yield fault(f"messages.{at}.content.{leading}", id=_first_id(message))


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
    open_calls: dict[str, str] = {}
    for at, message in enumerate(request.messages):
        if message.role == "user" and any(block.kind != "tool_result" for block in message.blocks):
            yield from (fault(path, id=identity) for identity, path in open_calls.items())
            open_calls = {}
        for index, block in enumerate(message.blocks):
            if block.kind in forms.SERVER_CALLS:
                open_calls[text_of(block.data.get("id"))] = f"messages.{at}.content.{index}"
            elif block.kind in forms.SERVER_RESULTS:
                used = text_of(block.data.get("tool_use_id"))
                if open_calls.pop(used, None) is None:
                    yield fault(f"messages.{at}.content.{index}", id=used)


def _ids(message: Message, kind: str, member: str) -> Counter[str]:
    return Counter(text_of(block.data.get(member)) for block in message.blocks if block.kind == kind)


def _first_id(message: Message) -> str:
    return next(iter(_ids(message, "tool_result", "tool_use_id")), "")


def _results_after(request: AnthropicRequest, at: int) -> Counter[str]:
    after = request.messages[at + 1] if at + 1 < len(request.messages) else None
    return _ids(after, "tool_result", "tool_use_id") if after and after.role == "user" else Counter()


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
        code="toolset",
        text="{path}: `toolset_name` of the `tool_result` for {id} must match its `tool_use`",
        section="1.2",
        evidence="T",
        check=_toolset,
    ),
    Rule(
        code="server_pair",
        text="{path}: server tool call and result {id} must pair inside the assistant message",
        section="1.3",
        evidence="D",
        check=_server_pairs,
    ),
)
