"""From neutral requests to a provider's bytes and back, one wire a file.

Pure and sans-IO: bytes in, values out, and the reverse.
Imports `foreword.core` only and knows nothing of the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from foreword.codecs.decoded import WireCodec
from foreword.errors import InvalidArgument, UnknownWire

CODECS = {
    "anthropic": "foreword.codecs.anthropic:AnthropicCodec",
    "openai-chat": "foreword.codecs.openai_chat:OpenAIChatCodec",
    "openai-responses": "foreword.codecs.openai_responses:OpenAIResponsesCodec",
    "deepseek": "foreword.codecs.deepseek:DeepSeekCodec",
    "gemini": "foreword.codecs.gemini:GeminiCodec",
}


ALTERNATING = {
    "anthropic": CODECS["anthropic"],
    "openai-chat": "foreword.codecs.openai_chat_alternating:AlternatingChatCodec",
    "deepseek": "foreword.codecs.deepseek_alternating:AlternatingDeepSeekCodec",
    "gemini": CODECS["gemini"],
}
"""Wire -> its codec for servers on which user and assistant must take turns; one that merges neighbours anyway is its
own. A list of items, as of OpenAI Responses, has no turns."""
EXACT = frozenset({"openai-chat"})
"""Wires on which some servers take members of their own, and others refuse them."""


def codec(wire: str, *, alternating: bool = False, exact: bool = False) -> WireCodec:
    """Return the codec of a wire; ``alternating``: for a server that refuses two neighbours of one role.

    ``exact``: for one that refuses members which the wire's API doesn't have, where servers of the wire differ in that.
    Raises: UnknownWire, which lists the known ones; InvalidArgument for a wire that has no turns.
    """
    if wire not in CODECS:
        raise UnknownWire(wire, tuple(CODECS))
    if alternating and wire not in ALTERNATING:
        takes = f"False (strict_alternation): {wire} sends items, which have no turns; or another wire"
        raise InvalidArgument("codec", "alternating", True, takes)
    found = (ALTERNATING if alternating else CODECS)[wire]
    module, _, name = found.partition(":")
    made: type[Any] = getattr(import_module(module), name)
    return cast(WireCodec, made(exact=True) if exact and wire in EXACT else made())
