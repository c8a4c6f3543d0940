"""The referee of Gemini generateContent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from foreword.testing.facts import GEMINI, ModelFacts
from foreword.testing.gemini_reader import GeminiReader
from foreword.testing.gemini_request import GeminiRequest
from foreword.testing.gemini_rules import RULES
from foreword.testing.gemini_signatures import SignatureBook, first_call
from foreword.testing.gemini_stream import gemini_frames
from foreword.testing.prefix_cache import AutomaticCache, CachePolicy
from foreword.testing.referee import Referee, Verdict
from foreword.testing.rule import Rule, Violation
from foreword.testing.script import Answer, Scripted
from foreword.testing.sse import Pieces
from foreword.testing.wire import UNREADABLE, mapping, whole

STATUSES: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class GeminiReferee(Referee[GeminiRequest]):
    """Judges and answers `POST /v1beta/models/{model}:generateContent` and `:countTokens`.

    Signatures: it signs the parts of its own answers; `answered` does the same for recorded ones. With
    `accept_foreign_signatures` those it never saw pass, as they would at the server that made them. The
    facts say whether calls are signed at all. A scripted `thinking` comes as a thought part if the request
    includes thoughts. `model` is only the name in its answers.
    """

    def __init__(
        self,
        *,
        facts: ModelFacts = GEMINI,
        seed: int = 0,
        script: Iterable[Scripted] = (),
        model: str = "gemini-3.8-flash",
        accept_foreign_signatures: bool = False,
        cache: CachePolicy | None = None,
        rules: tuple[Rule[GeminiRequest], ...] = RULES,
    ) -> None:
        super().__init__(facts=facts, seed=seed, script=script, rules=rules)
        self._reader = GeminiReader(self.meter, facts)
        self._book = SignatureBook(f"referee {seed}".encode())
        self._model = model
        self._accept_foreign = accept_foreign_signatures
        self._cache: CachePolicy = cache or AutomaticCache(facts.min_cache_tokens, step=1)

    def answered(self, content: dict[str, Any]) -> None:
        """Note the content of a recorded answer: its signatures are this server's own from now on."""
        for part in self._reader.content(whole(content)).parts:
            if part.signature is not None:
                self._book.remember(part.signature, part)

    def count(self, body: bytes, headers: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
        """Answer a token count: status and body. The window is no limit here, and nothing is cached.

        The body is a request, or one under `generateContentRequest`.
        """
        try:
            outer = mapping(msgspec.json.decode(body))
        except UNREADABLE:
            outer = {}
        inner = outer.get("generateContentRequest", outer.get("generate_content_request"))
        asked = body if inner is None else msgspec.json.encode(inner)
        return self._counted(asked, headers, lambda tokens: {"totalTokens": tokens})

    def _read(self, body: bytes, headers: Mapping[str, str] | None) -> GeminiRequest:
        request = self._reader.read(body)
        request.strays = tuple(self._book.strays(request, accept_foreign=self._accept_foreign))
        return request

    def _size(self, asked: GeminiRequest) -> int:
        return asked.input_tokens

    def _parsed(self, asked: GeminiRequest) -> dict[str, Any]:
        return {**asked.body, "contents": [content.data for content in asked.contents]}

    def _accepted(self, asked: GeminiRequest) -> Verdict:
        tokens = asked.input_tokens
        use = self._cache.use(asked.units)
        cached = {"cachedContentTokenCount": use.read} if use.read else {}
        return Verdict(status=200, usage_body={"promptTokenCount": tokens, **cached}, input_tokens=tokens)

    def _error(self, violation: Violation) -> dict[str, Any]:
        status = STATUSES.get(violation.status, "UNKNOWN")
        return {"error": {"code": violation.status, "message": violation.text, "status": status}}

    def _answer(self, asked: GeminiRequest, said: Answer, verdict: Verdict) -> dict[str, Any]:
        parts = self._parts(asked, said)
        thoughts = self._reader.tokens([said.thinking or ""])
        calls = [(call.name, msgspec.json.encode(call.input).decode()) for call in said.calls]
        texts = [said.text or "", *(text for call in calls for text in call)]
        written = said.output_tokens
        shown = self._reader.tokens(texts) if written is None else max(written - thoughts, 0)
        return {
            "candidates": [
                {
                    "content": {"role": "model", "parts": parts},
                    "finishReason": said.stop_reason or "STOP",
                    "index": 0,
                }
            ],
            "modelVersion": self._model,
            "responseId": f"response-{self.served:024d}",
            "usageMetadata": {
                **verdict.usage_body,
                "candidatesTokenCount": shown,
                "thoughtsTokenCount": thoughts,
                "totalTokenCount": verdict.input_tokens + shown + thoughts,
            },
        }

    def _parts(self, asked: GeminiRequest, said: Answer) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        if said.text is not None or not said.calls:
            parts.append({"text": said.text or ""})
        for index, call in enumerate(said.calls):
            identity = call.id or f"call{self.served:020d}{index:04d}"
            parts.append({"functionCall": {"id": identity, "name": call.name, "args": call.input}})
        if self.facts.signs_calls:
            content = self._reader.content({"role": "model", "parts": parts})
            # The first call carries the signature; without calls, the last part does.
            called = first_call(content)
            signed = len(parts) - 1 if called is None else called
            stamp = self._book.sign(content.parts[signed], str(self.served).encode())
            parts[signed]["thoughtSignature"] = stamp
        if said.thinking and asked.thinking.get("includeThoughts") is True:
            parts.insert(0, {"text": said.thinking, "thought": True})
        return parts

    def _frames(self, asked: GeminiRequest, answer: dict[str, Any], pieces: Pieces) -> Iterator[bytes]:
        return gemini_frames(answer, pieces)
