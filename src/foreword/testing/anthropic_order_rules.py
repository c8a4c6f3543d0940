"""Anthropic Messages: rules on the order of turns and on text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from foreword.testing import anthropic_forms as forms
from foreword.testing.anthropic_request import AnthropicRequest, Message
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import text_of


def _role(request: AnthropicRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        if message.role and message.role not in forms.ROLE_BLOCKS:
            yield fault(f"messages.{at}.role")


def _first_message(request: AnthropicRequest) -> Iterator[Fault]:
    first = request.messages[0] if request.messages else None
    if first and first.role == "assistant" and _kind_at(first, 0) != "compaction":
        yield fault("messages.0.role")


def _alternation(request: AnthropicRequest) -> Iterator[Fault]:
    if not request.strict_alternation:
        return
    for at, (before, after) in enumerate(pairwise(request.messages), start=1):
        if before.role == after.role and after.role in {"user", "assistant"}:
            yield fault(f"messages.{at}", role=after.role)


def _prefill(request: AnthropicRequest) -> Iterator[Fault]:
    last = request.messages[-1] if request.messages else None
    if last and last.role == "assistant" and not request.facts.prefill and not _resumes(last):
        yield fault(f"messages.{len(request.messages) - 1}")


def _system_model(request: AnthropicRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        if message.role == "system" and not request.facts.supports_mid_system:
            yield fault(f"messages.{at}")


def _system_first(request: AnthropicRequest) -> Iterator[Fault]:
    if request.messages and request.messages[0].role == "system":
        yield fault("messages.0")


def _system_after(request: AnthropicRequest) -> Iterator[Fault]:
    for at, (before, after) in enumerate(pairwise(request.messages), start=1):
        follows = before.role == "user" or (before.role == "assistant" and _ends_in_server_use(before))
        # Two system messages in a row are named once, by the rule on what follows.
        if after.role == "system" and before.role != "system" and not follows:
            yield fault(f"messages.{at}")


def _system_before(request: AnthropicRequest) -> Iterator[Fault]:
    for at, (before, after) in enumerate(pairwise(request.messages)):
        if before.role == "system" and after.role != "assistant":
            yield fault(f"messages.{at}")


def _system_content(request: AnthropicRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        if message.role == "system" and not message.blocks and "output_config" not in message.data:
            yield fault(f"messages.{at}")


def _empty_content(request: AnthropicRequest) -> Iterator[Fault]:
    last = len(request.messages) - 1
    for at, message in enumerate(request.messages):
        empty = message.data.get("content") in ("", [])
        if empty and message.role != "system" and not (at == last and message.role == "assistant"):
            yield fault(f"messages.{at}")


def _empty_text(request: AnthropicRequest) -> Iterator[Fault]:
    # A marked one is refused with words of its own.
    yield from (fault(blank.path) for blank in request.blanks() if blank.empty and not blank.marked)


def _blank_text(request: AnthropicRequest) -> Iterator[Fault]:
    yield from (fault(blank.path) for blank in request.blanks() if not blank.empty)


def _trailing_space(request: AnthropicRequest) -> Iterator[Fault]:
    last = request.messages[-1] if request.messages else None
    if last and last.role == "assistant" and last.blocks and last.blocks[-1].kind == "text":
        text = text_of(last.blocks[-1].data.get("text"))
        if text.strip() and text != text.rstrip():
            yield fault(f"messages.{len(request.messages) - 1}")


def _kind_at(message: Message, index: int) -> str:
    return message.blocks[index].kind if message.blocks else ""


def _ends_in_server_use(message: Message) -> bool:
    return _kind_at(message, -1) in forms.SERVER_CALLS | forms.SERVER_RESULTS


def _resumes(message: Message) -> bool:
    """Whether a final assistant message is a paused turn sent back as it was (1.3), not a prefill."""
    return _ends_in_server_use(message) or _kind_at(message, -1) == "compaction"


ORDER_RULES: tuple[Rule[AnthropicRequest], ...] = (
    Rule(
        code="role",
        text="{path}: Input should be 'user', 'assistant' or 'system'",
        section="1.1",
        evidence="T",
        check=_role,
    ),
    Rule(
        code="first_message",
        text='messages: first message must use the "user" role',
        section="1.1",
        evidence="D",
        check=_first_message,
    ),
    Rule(
        code="alternation",
        text='{path}: roles must alternate between "user" and "assistant", but found multiple "{role}" roles '
        "in a row",
        section="1.1",
        evidence="I",
        check=_alternation,
    ),
    Rule(
        code="prefill",
        text="This model does not support assistant message prefill. "
        "The conversation must end with a user message.",
        section="1.1",
        evidence="L",
        check=_prefill,
    ),
    Rule(
        code="system_model",
        text="{path}: role 'system' is not supported on this model",
        section="1.1",
        evidence="D",
        check=_system_model,
    ),
    Rule(
        code="system_first",
        text="{path}: role 'system' must not be the first message; use the top-level `system` parameter",
        section="1.1",
        evidence="D",
        check=_system_first,
    ),
    Rule(
        code="system_after",
        text="{path}: role 'system' must follow a user message or an assistant message that ends in server "
        "tool use",
        section="1.1",
        evidence="D",
        check=_system_after,
    ),
    Rule(
        code="system_before",
        text="{path}: role 'system' must be the last message or be followed by an assistant message",
        section="1.1",
        evidence="D",
        check=_system_before,
    ),
    Rule(
        code="system_content",
        text="{path}: role 'system' needs content or `output_config`",
        section="1.1",
        evidence="T",
        check=_system_content,
    ),
    Rule(
        code="empty_content",
        text="{path}: all messages must have non-empty content except for the optional final "
        "assistant message",
        section="1.2",
        evidence="F",
        check=_empty_content,
    ),
    Rule(
        code="empty_text",
        text="{path}: text content blocks must be non-empty",
        section="1.2",
        evidence="F",
        check=_empty_text,
    ),
    Rule(
        code="blank_text",
        text="{path}: text content blocks must contain non-whitespace text",
        section="1.2",
        evidence="F",
        check=_blank_text,
    ),
    Rule(
        code="trailing_space",
        text="{path}: final assistant content cannot end with trailing whitespace",
        section="1.2",
        evidence="F",
        check=_trailing_space,
    ),
)
