"""OpenAI Responses: every rule that its referee enforces."""

from __future__ import annotations

from foreword.testing.openai_responses_item_rules import ITEM_RULES
from foreword.testing.openai_responses_option_rules import OPTION_RULES
from foreword.testing.openai_responses_pairing_rules import PAIRING_RULES
from foreword.testing.openai_responses_request import ResponsesRequest
from foreword.testing.rule import Rule

RULES: tuple[Rule[ResponsesRequest], ...] = (*ITEM_RULES, *PAIRING_RULES, *OPTION_RULES)
