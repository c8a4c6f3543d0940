"""OpenAI Chat Completions: every rule that its referee enforces."""

from __future__ import annotations

from foreword.testing.openai_chat_message_rules import MESSAGE_RULES
from foreword.testing.openai_chat_option_rules import OPTION_RULES
from foreword.testing.openai_chat_request import ChatRequest
from foreword.testing.rule import Rule

RULES: tuple[Rule[ChatRequest], ...] = (*MESSAGE_RULES, *OPTION_RULES)
