"""The referee of OpenAI Chat Completions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from foreword.testing.facts import CHAT, ModelFacts
from foreword.testing.openai_chat_request import ChatReader, ChatRequest
from foreword.testing.openai_chat_rules import RULES
from foreword.testing.openai_chat_stream import chat_frames
from foreword.testing.prefix_cache import AutomaticCache, CachePolicy
from foreword.testing.referee import Referee, Verdict
from foreword.testing.rule import Rule, Violation
from foreword.testing.script import Answer, Scripted
from foreword.testing.sse import Pieces
from foreword.testing.wire import mapping


class OpenAIChatReferee(Referee[ChatRequest]):
    """Judges and answers `POST /v1/chat/completions`.

    The wire carries no reasoning: a scripted `thinking` only counts as reasoning tokens of the output.
    """

    obfuscates = True

    def __init__(
        self,
        *,
        facts: ModelFacts = CHAT,
        seed: int = 0,
        script: Iterable[Scripted] = (),
        strict_alternation: bool = False,
        cache: CachePolicy | None = None,
        rules: tuple[Rule[ChatRequest], ...] = RULES,
    ) -> None:
        super().__init__(facts=facts, seed=seed, script=script, rules=rules)
        self._reader = ChatReader(self.meter, facts, strict_alternation=strict_alternation)
        self._cache: CachePolicy = cache or AutomaticCache(facts.min_cache_tokens)

    def _read(self, body: bytes, headers: Mapping[str, str] | None) -> ChatRequest:
        return self._reader.read(body)

    def _size(self, asked: ChatRequest) -> int:
        return asked.input_tokens

    def _parsed(self, asked: ChatRequest) -> dict[str, Any]:
        return {**asked.body, "messages": [message.data for message in asked.messages]}

    def _accepted(self, asked: ChatRequest) -> Verdict:
        use = self._cache.use(asked.units)
        tokens = asked.input_tokens
        usage = {
            "prompt_tokens": tokens,
            "prompt_tokens_details": {
                "cached_tokens": use.read,
                "cache_write_tokens": use.write_5m + use.write_1h,
            },
        }
        return Verdict(status=200, usage_body=usage, input_tokens=tokens)

    def _error(self, violation: Violation) -> dict[str, Any]:
        return {
            "error": {
                "message": violation.text,
                "type": violation.error_type,
                "param": violation.path or None,
                "code": violation.error_code,
            }
        }

    def _answer(self, asked: ChatRequest, said: Answer, verdict: Verdict) -> dict[str, Any]:
        calls = [
            {
                "id": call.id or f"call_{self.served:020d}{index:04d}",
                "type": "function",
                "function": {"name": call.name, "arguments": msgspec.json.encode(call.input).decode()},
            }
            for index, call in enumerate(said.calls)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": said.text, "refusal": None}
        reasoning = self._reader.answer_tokens([said.thinking or ""])
        written = said.output_tokens
        if written is None:
            texts = [
                text for call in calls for text in (call["function"]["name"], call["function"]["arguments"])
            ]
            written = reasoning + self._reader.answer_tokens([said.text or "", *texts])
        stop = said.stop_reason or ("tool_calls" if calls else "stop")
        return {
            "id": f"chatcmpl-{self.served:024d}",
            "object": "chat.completion",
            "created": 0,
            "model": asked.body["model"],
            "choices": [
                {
                    "index": 0,
                    "message": {**message, "tool_calls": calls} if calls else message,
                    "finish_reason": stop,
                    "logprobs": None,
                }
            ],
            "usage": {
                **verdict.usage_body,
                "completion_tokens": written,
                "completion_tokens_details": {"reasoning_tokens": reasoning},
                "total_tokens": verdict.input_tokens + written,
            },
        }

    def _frames(self, asked: ChatRequest, answer: dict[str, Any], pieces: Pieces) -> Iterator[bytes]:
        options = mapping(asked.body.get("stream_options"))
        return chat_frames(
            answer,
            pieces,
            include_usage=options.get("include_usage") is True,
            obfuscate=self.obfuscates and options.get("include_obfuscation") is not False,
        )
