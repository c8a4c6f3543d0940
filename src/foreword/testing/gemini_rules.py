"""Gemini generateContent: every rule that its referee enforces."""

from __future__ import annotations

from foreword.testing.gemini_content_rules import CONTENT_RULES
from foreword.testing.gemini_option_rules import OPTION_RULES
from foreword.testing.gemini_request import GeminiRequest
from foreword.testing.rule import Rule

RULES: tuple[Rule[GeminiRequest], ...] = (*CONTENT_RULES, *OPTION_RULES)
