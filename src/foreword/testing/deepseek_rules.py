"""DeepSeek Chat: every rule that its referee enforces.

Form and pairing are those of Chat Completions (rulebook 6), with DeepSeek's tables; none of it is proven by
recordings.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from foreword.testing import deepseek_forms as forms
from foreword.testing import openai_chat_rules
from foreword.testing.openai_chat_request import ChatRequest
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, text_of

# Cache marks do not exist here, sampling is ignored with thinking, and roles need not alternate.
_ELSEWHERE = frozenset({"breakpoint", "cache_options", "sampling", "alternation", "system_first"})
_UNREAD = "Failed to deserialize the JSON body into the target type: "
# DeepSeek's own words for rules that it shares.
_TEXTS = {
    "member_missing": _UNREAD + "missing field `{path}`",
    "member_kind": _UNREAD + "{path}: invalid type, expected {wanted}",
    "member_unknown": _UNREAD + "unknown field `{path}`",
    "role": _UNREAD + "unknown variant `{role}`, expected one of `system`, `user`, `assistant`, `tool`",
    "tool_kind": _UNREAD + "unknown variant `{kind}`, expected `function`",
    "effort": _UNREAD + "reasoning_effort: unknown variant `{effort}`, expected one of `low`, `high`, `max`",
}


def thinks(request: ChatRequest) -> bool:
    """Say whether thinking is on: the default."""
    return mapping(request.body.get("thinking")).get("type") != "disabled"


def _thinking_type(request: ChatRequest) -> Iterator[Fault]:
    thinking = request.body.get("thinking")
    if isinstance(thinking, dict) and text_of(mapping(thinking).get("type")) not in forms.THINKING_TYPES:
        yield fault("thinking.type", kind=mapping(thinking).get("type"))


def _reasoning_missing(request: ChatRequest) -> Iterator[Fault]:
    if not thinks(request):
        return
    for at, message in enumerate(request.messages):
        if message.calls and not isinstance(message.data.get("reasoning_content"), str):
            yield fault(f"messages[{at}].reasoning_content")


def _shared(rule: Rule[ChatRequest]) -> Rule[ChatRequest]:
    text = _TEXTS.get(rule.code, rule.text)
    section = rule.section if rule.section in {"4", "8", "10"} else "6"
    evidence = "F" if rule.code == "window" else "I"
    return msgspec.structs.replace(
        rule, text=text, section=section, evidence=evidence, error_code="invalid_request_error"
    )


RULES: tuple[Rule[ChatRequest], ...] = (
    *(_shared(rule) for rule in openai_chat_rules.RULES if rule.code not in _ELSEWHERE),
    Rule(
        code="thinking_type",
        text=_UNREAD + "thinking.type: unknown variant `{kind}`, expected `enabled` or `disabled`",
        section="6",
        evidence="D",
        check=_thinking_type,
        error_code="invalid_request_error",
    ),
    Rule(
        code="reasoning_missing",
        text="The reasoning_content in the thinking mode must be passed back to the API.",
        section="6",
        evidence="D",
        check=_reasoning_missing,
        error_code="invalid_request_error",
    ),
)
