"""DeepSeek Chat: every rule that its referee enforces.

Form and pairing are those of Chat Completions (rulebook 6), with DeepSeek's tables; none of it is proven by
recordings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from foreword.testing import deepseek_forms as forms
from foreword.testing import openai_chat_rules
from foreword.testing.openai_chat_request import ChatRequest
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, text_of

# Cache marks, metadata and a second output limit do not exist here, sampling is ignored with thinking, roles need not
# alternate, and of OpenAI's limits on ids, names and schemas nothing is known.
_ELSEWHERE = frozenset(
    {"breakpoint", "cache_options", "sampling", "alternation", "system_first", "metadata", "output_twice"}
    | {"call_id_length", "speaker", "schema_form", "answer_schema", "parallel_alone", "image", "output_name"}
)
_UNREAD = "Failed to deserialize the JSON body into the target type: "
_EVIDENCE: dict[str, Literal["D", "F"]] = {"window": "F", "tool_name": "F", "stops": "D", "tools_many": "D"}
# DeepSeek's own words for rules that it shares.
_TEXTS = {
    "member_missing": _UNREAD + "missing field `{path}`",
    "member_kind": _UNREAD + "{path}: invalid type, expected {wanted}",
    "member_unknown": _UNREAD + "unknown field `{path}`",
    "role": _UNREAD + "unknown variant `{role}`, expected one of `system`, `user`, `assistant`, `tool`",
    "tool_kind": _UNREAD + "unknown variant `{kind}`, expected `function`",
    "json_word": "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.",
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


def _thinking_choice(request: ChatRequest) -> Iterator[Fault]:
    choice = request.body.get("tool_choice")
    if thinks(request) and (choice == "required" or isinstance(choice, dict)):
        yield fault("tool_choice")


def _shared(rule: Rule[ChatRequest]) -> Rule[ChatRequest]:
    text = _TEXTS.get(rule.code, rule.text)
    section = rule.section if rule.section in {"4", "8", "10"} else "6"
    evidence = _EVIDENCE.get(rule.code, "I")
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
    # Told of both V4 models in public reports from 2026-05 to 2026-09; `auto` and `none` pass.
    Rule(
        code="thinking_choice",
        text="Thinking mode does not support this tool_choice",
        section="6",
        evidence="F",
        check=_thinking_choice,
        error_code="invalid_request_error",
    ),
)
