"""Fakes of the model and its servers: scripted answers and protocol referees.

The referees judge requests without importing the codecs that wrote them.
Imports `foreword.core` only; each name is loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foreword.testing.anthropic_referee import AnthropicReferee
    from foreword.testing.deepseek_referee import DeepSeekReferee
    from foreword.testing.facts import ModelFacts
    from foreword.testing.gemini_referee import GeminiReferee
    from foreword.testing.openai_chat_referee import OpenAIChatReferee
    from foreword.testing.openai_responses_referee import OpenAIResponsesReferee
    from foreword.testing.script import Answer, Call, Failure, Stream
    from foreword.testing.server import RefereeServer

_HOMES = {
    "Answer": "foreword.testing.script",
    "AnthropicReferee": "foreword.testing.anthropic_referee",
    "Call": "foreword.testing.script",
    "DeepSeekReferee": "foreword.testing.deepseek_referee",
    "Failure": "foreword.testing.script",
    "GeminiReferee": "foreword.testing.gemini_referee",
    "ModelFacts": "foreword.testing.facts",
    "OpenAIChatReferee": "foreword.testing.openai_chat_referee",
    "OpenAIResponsesReferee": "foreword.testing.openai_responses_referee",
    "RefereeServer": "foreword.testing.server",
    "Stream": "foreword.testing.script",
}

__all__ = [
    "Answer",
    "AnthropicReferee",
    "Call",
    "DeepSeekReferee",
    "Failure",
    "GeminiReferee",
    "ModelFacts",
    "OpenAIChatReferee",
    "OpenAIResponsesReferee",
    "RefereeServer",
    "Stream",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'foreword.testing' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
