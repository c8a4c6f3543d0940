"""The DeepSeek Chat wire: that of OpenAI Chat with other names, and with reasoning that is wanted back.

Rulebook: the provider's documentation, 2026-11-30. While the model thinks, an assistant message with tool
calls that lacks ``reasoning_content`` is refused, in every turn; that of other messages is ignored. The model
thinks unless the request says ``thinking: {"type": "disabled"}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from msgspec.structs import replace

from foreword.codecs.decoded import Mark
from foreword.codecs.openai_chat import OpenAIChatCodec
from foreword.codecs.openai_chat_blocks import REASONING
from foreword.codecs.openai_chat_decode import (
    decode_messages,
    decode_request,
    decode_response,
    decode_tools,
    encode_response,
    usage_from,
)
from foreword.core.block import Message, Thinking
from foreword.core.request import Layer, Params, Piece

WIRE: Final = "deepseek"
LOST = " "
"""Stands for reasoning that was lost or is another model's: the member must be there and say something."""


class DeepSeekCodec(OpenAIChatCodec):
    """Encode to the DeepSeek Chat wire and read it. Stateless."""

    wire = WIRE
    version = 3
    marks_end = False
    key_layers: Mapping[str, Layer] = {
        "thinking": "tools",
        "reasoning_effort": "tools",
        "response_format": "tools",
        "tool_choice": "system",
    }
    """Assumption: what the model's template shows. The provider publishes no list."""

    decode_request = staticmethod(partial(decode_request, wire=WIRE))
    decode_messages = staticmethod(partial(decode_messages, wire=WIRE))
    decode_tools = staticmethod(partial(decode_tools, wire=WIRE))
    decode_response = staticmethod(partial(decode_response, wire=WIRE))
    encode_response = staticmethod(partial(encode_response, wire=WIRE))
    usage_from = staticmethod(partial(usage_from, wire=WIRE))

    def decode_marks(
        self, messages: Sequence[Any], system: Any, tools: Sequence[Any] | None
    ) -> tuple[Mark, ...]:
        """Return (): the vendor serves no marks."""
        return ()

    def message(self, message: Message, *, thinking: bool, params: Params | None = None) -> list[Piece]:
        """Encode as the Chat wire does; a developer's message is a system message here."""
        role = "system" if message.role == "developer" else message.role
        return super().message(replace(message, role=role), thinking=thinking, params=params)

    def reasoning_member(self, params: Params) -> str:
        return REASONING[WIRE] if thinks(params) else ""

    def reasoning(
        self, message: Message, *, called: bool, thinking: bool, params: Params | None
    ) -> dict[str, str]:
        """Give an assistant's own reasoning back, and a space for what is missing beside calls."""
        if message.role != "assistant" or not thinks(params):
            return {}
        thoughts = [block.text for block in message.blocks if isinstance(block, Thinking)]
        if thinking and thoughts and message.wire in (None, WIRE):
            return {REASONING[WIRE]: "".join(thoughts)}
        return {REASONING[WIRE]: LOST} if called else {}


def thinks(params: Params | None) -> bool:
    """Say whether a request of these parameters makes the model think."""
    asked: Any = params.keys.get("thinking") if params is not None else None
    return not (isinstance(asked, Mapping) and cast(Mapping[str, Any], asked).get("type") == "disabled")
