"""The referee of Anthropic Messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from foreword.testing.anthropic_option_rules import BINDING_BETA
from foreword.testing.anthropic_reader import AnthropicReader
from foreword.testing.anthropic_request import AnthropicRequest
from foreword.testing.anthropic_rules import RULES
from foreword.testing.anthropic_stream import anthropic_frames
from foreword.testing.anthropic_thinking import remember, trace
from foreword.testing.anthropic_units import units
from foreword.testing.facts import CLAUDE, ModelFacts
from foreword.testing.prefix_cache import CachePolicy, CacheUse, MarkedCache
from foreword.testing.referee import STREAM_ERROR, Referee, Verdict, unreadable
from foreword.testing.rule import Rule, Violation, broken
from foreword.testing.script import Answer, Scripted
from foreword.testing.sse import Pieces, frame
from foreword.testing.thinking_book import ThinkingBook
from foreword.testing.wire import UNREADABLE, whole


class AnthropicReferee(Referee[AnthropicRequest]):
    """Judges and answers `POST /v1/messages` and `/v1/messages/count_tokens`.

    Thinking: it signs the blocks of its own answers; `answered` does the same for recorded ones. With
    `accept_foreign_signatures` blocks it never saw pass, as they would at the server that signed them.
    """

    def __init__(
        self,
        *,
        facts: ModelFacts = CLAUDE,
        seed: int = 0,
        script: Iterable[Scripted] = (),
        strict_alternation: bool = False,
        accept_foreign_signatures: bool = False,
        cache: CachePolicy | None = None,
        rules: tuple[Rule[AnthropicRequest], ...] = RULES,
    ) -> None:
        super().__init__(facts=facts, seed=seed, script=script, rules=rules)
        self._reader = AnthropicReader(self.meter, facts, strict_alternation=strict_alternation)
        self._book = ThinkingBook(f"referee {seed}".encode())
        self._accept_foreign = accept_foreign_signatures
        self._cache: CachePolicy = cache or MarkedCache(facts.min_cache_tokens)
        self._last: AnthropicRequest | None = None

    def answered(self, content: list[dict[str, Any]]) -> None:
        """Note the content blocks of a recorded answer as said to the last legal request.

        Its thinking is bound from now on like thinking of this server's own. Raises `LookupError` before any
        legal request.
        """
        if self._last is None:
            raise LookupError(
                "no legal request yet that this answer could belong to: judge the request first"
            )
        remember(self._book, self._reader.as_blocks(whole(content)), self._last)

    def count(self, body: bytes, headers: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
        """Answer a token count: status and body. The window is no limit here, and nothing is cached."""
        with self._lock:
            try:
                request = self._opened(body, headers, counting=True)
            except UNREADABLE as error:
                return 400, self._error(unreadable(error))
            violations = broken(self.rules, request, counting=True)
            if violations:
                return violations[0].status, self._error(violations[0])
            return 200, {"input_tokens": request.input_tokens}

    def _read(self, body: bytes, headers: Mapping[str, str] | None) -> AnthropicRequest:
        return self._opened(body, headers, counting=False)

    def _opened(self, body: bytes, headers: Mapping[str, str] | None, *, counting: bool) -> AnthropicRequest:
        request = self._reader.read(body, headers, counting=counting)
        trace(request, self._book, accept_foreign=self._accept_foreign)
        request.units = units(request, self._reader.tool_tokens)
        return request

    def _size(self, asked: AnthropicRequest) -> int:
        return asked.input_tokens

    def _parsed(self, asked: AnthropicRequest) -> dict[str, Any]:
        return {**asked.body, "messages": [message.data for message in asked.messages]}

    def _accepted(self, asked: AnthropicRequest) -> Verdict:
        self._last = asked
        dropped = asked.dropped
        return Verdict(
            status=200,
            usage_body=_usage(self._cache.use(asked.units)),
            input_tokens=asked.input_tokens,
            dropped=tuple(thought.path for thought in asked.thoughts if thought.place in dropped),
        )

    def _error(self, violation: Violation) -> dict[str, Any]:
        error = {"type": violation.error_type, "message": violation.text}
        details = {"details": {"error_code": violation.error_code}} if violation.error_code else {}
        return {"type": "error", "error": {**error, **details}, "request_id": f"req_{self.served:024d}"}

    def _answer(self, asked: AnthropicRequest, said: Answer, verdict: Verdict) -> dict[str, Any]:
        content, stop = self._content(asked, said)
        thinking = self._reader.answer_tokens([block for block in content if block["type"] == "thinking"])
        written = said.output_tokens
        answer: dict[str, Any] = {
            "id": f"msg_{self.served:024d}",
            "type": "message",
            "role": "assistant",
            "model": asked.body["model"],
            "content": content,
            "stop_reason": said.stop_reason or stop,
            "stop_sequence": None,
            "usage": {
                **verdict.usage_body,
                "output_tokens": self._reader.answer_tokens(content) if written is None else written,
                "output_tokens_details": {"thinking_tokens": thinking},
                "service_tier": "standard",
            },
        }
        if asked.betas and BINDING_BETA in asked.betas:
            answer["input_transformations"] = [
                {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
                for path in verdict.dropped
            ]
        return answer

    def _frames(self, asked: AnthropicRequest, answer: dict[str, Any], pieces: Pieces) -> Iterator[bytes]:
        return anthropic_frames(answer, pieces)

    def _error_frame(self) -> bytes:
        return frame(self._error(STREAM_ERROR), name="error")

    def _content(self, asked: AnthropicRequest, said: Answer) -> tuple[list[dict[str, Any]], str]:
        if asked.integer("max_tokens") == 0:
            return [], "max_tokens"
        if asked.body.get("compaction"):
            summary = said.text or ""
            signature = self._book.compact(summary, asked.prefix)
            return [{"type": "compaction", "content": summary, "signature": signature}], "compaction"
        content: list[dict[str, Any]] = []
        if said.thinking is not None:
            signature = self._book.sign(said.thinking, asked.prefix, asked.last_signature)
            content.append({"type": "thinking", "thinking": said.thinking, "signature": signature})
        if said.text is not None:
            content.append({"type": "text", "text": said.text})
        for index, call in enumerate(said.calls):
            identity = call.id or f"toolu_{self.served:020d}{index:04d}"
            content.append({"type": "tool_use", "id": identity, "name": call.name, "input": call.input})
        remember(self._book, self._reader.as_blocks(content), asked)
        return content, "tool_use" if said.calls else "end_turn"


def _usage(use: CacheUse) -> dict[str, Any]:
    return {
        "input_tokens": use.uncached,
        "cache_read_input_tokens": use.read,
        "cache_creation_input_tokens": use.write_5m + use.write_1h,
        "cache_creation": {
            "ephemeral_5m_input_tokens": use.write_5m,
            "ephemeral_1h_input_tokens": use.write_1h,
        },
    }
