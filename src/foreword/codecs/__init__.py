"""From neutral requests to a provider's bytes and back, one wire a file.

Pure and sans-IO: bytes in, values out, and the reverse.
Imports `foreword.core` only and knows nothing of the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from foreword.codecs.decoded import WireCodec
from foreword.errors import UnknownWire

CODECS = {
    "anthropic": "foreword.codecs.anthropic:AnthropicCodec",
    "openai-chat": "foreword.codecs.openai_chat:OpenAIChatCodec",
    "openai-responses": "foreword.codecs.openai_responses:OpenAIResponsesCodec",
    "deepseek": "foreword.codecs.deepseek:DeepSeekCodec",
    "gemini": "foreword.codecs.gemini:GeminiCodec",
}


def codec(wire: str) -> WireCodec:
    """Return the codec of a wire. Raises: UnknownWire, which lists the known ones."""
    if wire not in CODECS:
        raise UnknownWire(wire, tuple(CODECS))
    module, _, name = CODECS[wire].partition(":")
    return cast(WireCodec, getattr(import_module(module), name)())
