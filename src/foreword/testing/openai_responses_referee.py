"""The referee of OpenAI Responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from foreword.testing.facts import RESPONSES, ModelFacts
from foreword.testing.openai_responses_book import ResponsesBook
from foreword.testing.openai_responses_reader import ResponsesReader
from foreword.testing.openai_responses_request import ResponsesRequest
from foreword.testing.openai_responses_rules import RULES
from foreword.testing.openai_responses_stream import responses_error, responses_frames
from foreword.testing.openai_responses_trace import remember, trace
from foreword.testing.prefix_cache import BreakpointCache, CachePolicy, CacheUse
from foreword.testing.referee import STREAM_ERROR, Referee, Verdict
from foreword.testing.rule import Rule, Violation
from foreword.testing.script import Answer, Scripted
from foreword.testing.sse import Pieces
from foreword.testing.wire import objects, whole

# What a summary keeps of a context that the server compacts on its own.
COMPACTED_SHARE = 10


class OpenAIResponsesReferee(Referee[ResponsesRequest]):
    """Judges and answers `POST /v1/responses` and `/v1/responses/input_tokens`.

    Reasoning: it seals the items of its own answers; `answered` does the same for recorded ones. With
    `accept_foreign_signatures` sealed items it never saw pass, as they would at the server that made them.
    `conversations` are the ids it knows; what such a conversation holds it does not. A scripted text
    answers a `compaction_trigger` as the summary; a context over `compact_threshold` is compacted first.
    """

    def __init__(
        self,
        *,
        facts: ModelFacts = RESPONSES,
        seed: int = 0,
        script: Iterable[Scripted] = (),
        accept_foreign_signatures: bool = False,
        conversations: frozenset[str] = frozenset(),
        cache: CachePolicy | None = None,
        rules: tuple[Rule[ResponsesRequest], ...] = RULES,
    ) -> None:
        super().__init__(facts=facts, seed=seed, script=script, rules=rules)
        self._reader = ResponsesReader(self.meter, facts)
        self._book = ResponsesBook(f"referee {seed}".encode())
        self._accept_foreign = accept_foreign_signatures
        self._conversations = conversations
        self._cache: CachePolicy = cache or BreakpointCache(facts.min_cache_tokens)
        self._last: ResponsesRequest | None = None

    def answered(self, output: list[dict[str, Any]], response: str = "") -> None:
        """Note the output items of a recorded answer, and its id, as said to the last legal request.

        Its reasoning is bound from now on like reasoning of this server's own. Raises `LookupError` before
        any legal request.
        """
        if self._last is None:
            raise LookupError(
                "no legal request yet that this answer could belong to: judge the request first"
            )
        made = tuple(self._reader.item(item) for item in whole(output))
        remember(self._book, self._last, response, made, self._reader.tokens)

    def count(self, body: bytes, headers: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
        """Answer a token count: status and body. The window is no limit here, and nothing is cached."""
        return self._counted(
            body, headers, lambda tokens: {"object": "response.input_tokens", "input_tokens": tokens}
        )

    def _read(self, body: bytes, headers: Mapping[str, str] | None) -> ResponsesRequest:
        request = self._reader.read(body)
        trace(request, self._book, self._conversations, accept_foreign=self._accept_foreign)
        return request

    def _size(self, asked: ResponsesRequest) -> int:
        return asked.input_tokens

    def _parsed(self, asked: ResponsesRequest) -> dict[str, Any]:
        return {**asked.body, "input": [item.data for item in asked.items]}

    def _accepted(self, asked: ResponsesRequest) -> Verdict:
        self._last = asked
        return Verdict(
            status=200,
            usage_body=_usage(asked.input_tokens, self._cache.use(asked.units)),
            input_tokens=asked.input_tokens,
            dropped=tuple(lost.path for lost in asked.lost),
            drop_reasons=tuple(lost.reason for lost in asked.lost),
        )

    def _error(self, violation: Violation) -> dict[str, Any]:
        return {
            "error": {
                "message": violation.text,
                "type": violation.error_type,
                "param": violation.path or None,
                "code": violation.error_code,
            }
        }

    def _answer(self, asked: ResponsesRequest, said: Answer, verdict: Verdict) -> dict[str, Any]:
        identity = f"resp_{self.served:024d}"
        output = [*self._compacted(asked, said), *self._output(asked, said)]
        made = tuple(self._reader.item(item) for item in output)
        summary = self._reader.tokens([said.text or ""]) if asked.triggers_compaction else None
        shrunk = asked.input_tokens // COMPACTED_SHARE if summary is None else summary
        remember(self._book, asked, identity, made, self._reader.tokens, shrunk)
        reasoning = self._reader.tokens([said.thinking or ""])
        written = said.output_tokens
        if written is None:
            calls = [(call.name, msgspec.json.encode(call.input).decode()) for call in said.calls]
            texts = [text for call in calls for text in call]
            written = reasoning + self._reader.tokens([said.text or "", *texts])
        answer: dict[str, Any] = {
            "id": identity,
            "object": "response",
            "created_at": 0,
            "status": "incomplete" if said.stop_reason else "completed",
            "error": None,
            "incomplete_details": {"reason": said.stop_reason} if said.stop_reason else None,
            "model": asked.body["model"],
            "output": output,
            "parallel_tool_calls": asked.body.get("parallel_tool_calls") is not False,
            "tool_choice": asked.body.get("tool_choice", "auto"),
            "tools": asked.tools,
            "store": asked.stored,
            "usage": {
                **verdict.usage_body,
                "output_tokens": written,
                "output_tokens_details": {"reasoning_tokens": reasoning},
                "total_tokens": verdict.input_tokens + written,
            },
        }
        for name in ("instructions", "max_output_tokens", "metadata", "previous_response_id", "truncation"):
            answer[name] = asked.body.get(name)
        if asked.lost:
            answer["input_transformations"] = [
                {"type": "reasoning_removed", "item_id": lost.id, "path": lost.path, "reason": lost.reason}
                for lost in asked.lost
            ]
        return answer

    def _frames(self, asked: ResponsesRequest, answer: dict[str, Any], pieces: Pieces) -> Iterator[bytes]:
        return responses_frames(answer, pieces)

    def _error_frame(self) -> bytes:
        return responses_error(STREAM_ERROR.text)

    def _compacted(self, asked: ResponsesRequest, said: Answer) -> Iterator[dict[str, Any]]:
        edits = objects(asked.body.get("context_management"))
        thresholds = [
            edit["compact_threshold"] for edit in edits if isinstance(edit.get("compact_threshold"), int)
        ]
        if asked.triggers_compaction or any(asked.input_tokens > threshold for threshold in thresholds):
            encrypted = self._book.seal(b"compaction", str(self.served).encode(), asked.prefix)
            yield {"id": f"cmp_{self.served:024d}", "type": "compaction", "encrypted_content": encrypted}

    def _output(self, asked: ResponsesRequest, said: Answer) -> Iterator[dict[str, Any]]:
        if asked.triggers_compaction:
            return
        number = f"{self.served:020d}"
        if said.thinking is not None:
            parts = [{"type": "summary_text", "text": said.thinking}] if said.thinking else []
            encrypted = self._book.seal(b"reasoning", number.encode(), said.thinking.encode(), asked.prefix)
            rest = {"summary": parts, "encrypted_content": encrypted}
            yield {"id": f"rs_{number}", "type": "reasoning", **rest}
        # Reasoning alone could not be sent back: something always follows it.
        text = "" if said.text is None and said.thinking is not None and not said.calls else said.text
        if text is not None:
            part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            rest = {"status": "completed", "role": "assistant", "content": [part]}
            yield {"id": f"msg_{number}", "type": "message", **rest}
        for index, call in enumerate(said.calls):
            yield {
                "id": f"fc_{number}{index:04d}",
                "type": "function_call",
                "status": "completed",
                "call_id": call.id or f"call_{number}{index:04d}",
                "name": call.name,
                "arguments": msgspec.json.encode(call.input).decode(),
            }


def _usage(tokens: int, use: CacheUse) -> dict[str, Any]:
    return {
        "input_tokens": tokens,
        "input_tokens_details": {
            "cached_tokens": use.read,
            "cache_write_tokens": use.write_5m + use.write_1h,
            "cache_write_tokens_details": {"ttl_30m_tokens": use.write_5m, "ttl_12h_tokens": use.write_1h},
        },
    }
