"""The DeepSeek Chat wire of a server that refuses two neighbours of one role."""

from __future__ import annotations

from foreword.codecs.deepseek import DeepSeekCodec
from foreword.codecs.openai_chat_alternating import AlternatingChatCodec
from foreword.core.block import Message
from foreword.core.request import Params


class AlternatingDeepSeekCodec(AlternatingChatCodec, DeepSeekCodec):
    """Encode to the DeepSeek Chat wire of a server on which user and assistant take turns. Stateless."""

    def reasoning(
        self, message: Message, *, called: bool, thinking: bool, params: Params | None
    ) -> dict[str, str]:
        """Give reasoning back beside calls only: elsewhere it is ignored, and would end a message that goes on."""
        return super().reasoning(message, called=called, thinking=thinking, params=params) if called else {}
