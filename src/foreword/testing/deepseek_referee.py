"""The referee of DeepSeek Chat. It is unproven: no recording of the real server was at hand to check it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from foreword.testing import deepseek_forms
from foreword.testing.deepseek_rules import RULES, thinks
from foreword.testing.facts import DEEPSEEK, ModelFacts
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.openai_chat_request import ChatReader, ChatRequest
from foreword.testing.prefix_cache import CachePolicy, CompleteUnitCache, Unit
from foreword.testing.referee import Verdict
from foreword.testing.rule import Rule
from foreword.testing.script import Answer, Scripted
from foreword.testing.sse import KEEP_ALIVE, Pieces
from foreword.testing.wire import whole


class DeepSeekReader(ChatReader):
    """Reads messages as DeepSeek renders them."""

    def _rendered(self, data: dict[str, Any]) -> dict[str, Any]:
        # Reasoning is read again only before calls; a null is as good as nothing.
        ignored = set() if data.get("tool_calls") else {"reasoning_content"}
        return {name: value for name, value in data.items() if value is not None and name not in ignored}


class DeepSeekReferee(OpenAIChatReferee):
    """Judges and answers `POST /chat/completions` of DeepSeek.

    With thinking on, an answer carries a scripted `thinking` as `reasoning_content` ("" if there is none).
    A `cache` with a method `answered` is told of answers.
    """

    obfuscates = False

    def __init__(
        self,
        *,
        facts: ModelFacts = DEEPSEEK,
        seed: int = 0,
        script: Iterable[Scripted] = (),
        cache: CachePolicy | None = None,
        rules: tuple[Rule[ChatRequest], ...] = RULES,
    ) -> None:
        own = CompleteUnitCache()
        super().__init__(facts=facts, seed=seed, script=script, cache=cache or own, rules=rules)
        self._reader = DeepSeekReader(self.meter, facts, forms=deepseek_forms)
        self._told = getattr(cache or own, "answered", None)

    def answered(self, asked: ChatRequest, message: dict[str, Any]) -> None:
        """Note an answer: the end of a model's output ends a unit of the cache."""
        if self._told is not None:
            said = self._reader.message(whole(message))
            self._told((*asked.units, Unit(digest=said.digest, tokens=said.tokens)))

    def _accepted(self, asked: ChatRequest) -> Verdict:
        use = self._cache.use(asked.units)
        tokens = asked.input_tokens
        usage = {
            "prompt_tokens": tokens,
            "prompt_cache_hit_tokens": use.read,
            "prompt_cache_miss_tokens": tokens - use.read,
            "prompt_tokens_details": {"cached_tokens": use.read},
        }
        return Verdict(status=200, usage_body=usage, input_tokens=tokens)

    def _answer(self, asked: ChatRequest, said: Answer, verdict: Verdict) -> dict[str, Any]:
        answer = super()._answer(asked, said, verdict)
        message = answer["choices"][0]["message"]
        del message["refusal"]
        message["content"] = said.text or ""
        if thinks(asked):
            message["reasoning_content"] = said.thinking or ""
        self.answered(asked, message)
        return answer

    def _frames(self, asked: ChatRequest, answer: dict[str, Any], pieces: Pieces) -> Iterator[bytes]:
        yield KEEP_ALIVE
        yield from super()._frames(asked, answer, pieces)
