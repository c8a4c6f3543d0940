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


ALTERNATING = {"openai-chat": "foreword.codecs.openai_chat_alternating:AlternatingChatCodec"}
"""Wire -> its codec for servers on which user and assistant must take turns; the other wires merge neighbours anyway,
or have no such servers."""


def codec(wire: str, *, alternating: bool = False) -> WireCodec:
    """Return the codec of a wire; ``alternating``: for a server that refuses two neighbours of one role.

    Raises: UnknownWire, which lists the known ones.
    """
    if wire not in CODECS:
        raise UnknownWire(wire, tuple(CODECS))
    found = ALTERNATING.get(wire, CODECS[wire]) if alternating else CODECS[wire]
    module, _, name = found.partition(":")
    return cast(WireCodec, getattr(import_module(module), name)())
