"""Anthropic Messages: every rule that its referee enforces."""

from __future__ import annotations

from foreword.testing.anthropic_cache_rules import CACHE_RULES
from foreword.testing.anthropic_change_rules import CHANGE_RULES
from foreword.testing.anthropic_deferred_rules import DEFERRED_RULES
from foreword.testing.anthropic_form_rules import FORM_RULES
from foreword.testing.anthropic_media_rules import MEDIA_RULES
from foreword.testing.anthropic_option_rules import OPTION_RULES
from foreword.testing.anthropic_order_rules import ORDER_RULES
from foreword.testing.anthropic_pairing_rules import PAIRING_RULES
from foreword.testing.anthropic_request import AnthropicRequest
from foreword.testing.anthropic_schema_rules import SCHEMA_RULES
from foreword.testing.anthropic_thinking_rules import THINKING_RULES
from foreword.testing.rule import Rule

RULES: tuple[Rule[AnthropicRequest], ...] = (
    *FORM_RULES,
    *MEDIA_RULES,
    *SCHEMA_RULES,
    *ORDER_RULES,
    *PAIRING_RULES,
    *OPTION_RULES,
    *CHANGE_RULES,
    *DEFERRED_RULES,
    *THINKING_RULES,
    *CACHE_RULES,
)
