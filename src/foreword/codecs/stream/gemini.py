"""Gemini: each event is a whole `GenerateContentResponse` that goes on where the last one ended."""

from __future__ import annotations

from typing import Any

from foreword.codecs.decoded import WireCodec
from foreword.codecs.gemini_plain import plain
from foreword.codecs.reading import At
from foreword.codecs.stream.grown import Grown
from foreword.codecs.stream.payload import items, mapping
from foreword.codecs.stream.streamed import Call, Delta, Failure, failure_from, usage_step
from foreword.core.canonical import compact

_AT = At("gemini", "event", response=True)
BLOCKED = "prompt_blocked"
"""Type of the failure of a prompt that was refused: there is no candidate then."""
_JOINED = {"text", "thought"}
"""The only members of parts that are joined: a signed part is never merged."""


class _Part:
    """A part as it came, or texts that go on with each other."""

    def __init__(self, form: dict[str, Any], number: int) -> None:
        self.form = form
        self.number = number
        self.grown = Grown() if form.keys() <= _JOINED and isinstance(form.get("text"), str) else None

    def continued_by(self, form: dict[str, Any]) -> bool:
        """Whether a part is more text of this one."""
        more = form.keys() <= _JOINED and isinstance(form.get("text"), str)
        return self.grown is not None and more and bool(self.form.get("thought")) == bool(form.get("thought"))

    def value(self) -> dict[str, Any]:
        """Return the part in its unstreamed form."""
        return self.form if self.grown is None else self.form | {"text": self.grown.text}


class _Candidate:
    """A candidate; only the first is shown while it runs."""

    def __init__(self) -> None:
        self.rest: dict[str, Any] = {}
        self.parts: list[_Part] = []

    def add(self, form: dict[str, Any]) -> tuple[_Part, str]:
        """Take a part; return where it went and the text it added."""
        if not self.parts or not self.parts[-1].continued_by(form):
            self.parts.append(_Part(form, len(self.parts)))
        part = self.parts[-1]
        text = form.get("text")
        return part, part.grown.add(form["text"]) if part.grown else text if isinstance(text, str) else ""

    def value(self, index: int) -> dict[str, Any]:
        """Return the candidate in its unstreamed form."""
        content = {"role": "model", "parts": [part.value() for part in self.parts]}
        return {"content": content, "index": index, **self.rest}


class GeminiAssembly:
    """See `Assembly`. Complete with a finish reason."""

    def __init__(self, codec: WireCodec) -> None:
        self.complete = False
        self.failure: Failure | None = None
        self.usage: Any = None
        self._codec = codec
        self._head: dict[str, Any] = {}
        self._candidates: dict[int, _Candidate] = {}

    def take(self, event: str, payload: Any) -> list[Delta]:
        """Take a response, or a list of them, as errors may come."""
        deltas: list[Delta] = []
        for one in items(payload, _AT) if isinstance(payload, list) else [payload]:
            self._one(mapping(one, _AT), deltas)
        return deltas

    def done(self) -> list[Delta]:
        """Take `[DONE]`, which some gateways add."""
        return []

    def body(self) -> dict[str, Any] | None:
        """Return the response so far."""
        if not self._candidates:
            return None
        candidates = [candidate.value(index) for index, candidate in sorted(self._candidates.items())]
        return {**self._head, "candidates": candidates, "usageMetadata": self.usage}

    def calls(self) -> list[Call]:
        """Return the function calls: whole as they come, unless one says that it goes on."""
        first = self._candidates[min(self._candidates)].parts if self._candidates else []
        forms = [
            part.form["functionCall"] for part in first if isinstance(part.form.get("functionCall"), dict)
        ]
        return [Call(id=None, whole=form.get("willContinue") is not True) for form in forms]

    def _one(self, found: dict[str, Any], deltas: list[Delta]) -> None:
        if found.get("error") is not None:
            self.failure = failure_from(found["error"])
            deltas.append(Delta(kind="error", error=self.failure))
            return
        found = plain(found, _AT)
        for raw in items(found.get("candidates"), _AT / "candidates"):
            self._candidate(mapping(raw, _AT / "candidates"), deltas)
        if found.get("usageMetadata") is not None:
            self.usage = found["usageMetadata"]
            deltas += usage_step(self._codec, self.usage)
        self._head |= {
            name: value
            for name, value in found.items()
            if name not in ("candidates", "usageMetadata") and value is not None
        }
        feedback = mapping(found.get("promptFeedback") or {}, _AT / "promptFeedback")
        if feedback.get("blockReason") and not self._candidates:
            self.failure = failure_from(
                {
                    "type": BLOCKED,
                    "code": feedback["blockReason"],
                    "message": feedback.get("blockReasonMessage") or "the prompt was blocked",
                }
            )
            deltas.append(Delta(kind="error", error=self.failure))
        elif not self.complete and any(each.rest.get("finishReason") for each in self._candidates.values()):
            self.complete = True
            deltas.append(Delta(kind="done"))

    def _candidate(self, raw: dict[str, Any], deltas: list[Delta]) -> None:
        index = _AT.count(raw, "index") or 0
        content = mapping(raw.get("content") or {}, _AT / "content")
        parts = [mapping(part, _AT / "parts") for part in items(content.get("parts"), _AT / "parts")]
        rest = {
            name: value
            for name, value in raw.items()
            if name not in ("index", "content") and value is not None
        }
        self._codec.decode_response({"candidates": [{"content": {"role": "model", "parts": parts}, **rest}]})
        candidate = self._candidates.setdefault(index, _Candidate())
        candidate.rest |= rest
        for form in parts:
            part, text = candidate.add(form)
            if index:
                continue
            call = form.get("functionCall")
            if isinstance(call, dict):
                deltas += self._call(mapping(call, _AT), part.number)
            elif text:
                kind = "thinking" if form.get("thought") else "text"
                deltas.append(Delta(kind=kind, block=part.number, text=text))

    def _call(self, call: dict[str, Any], number: int) -> list[Delta]:
        name, call_id = _AT.text(call, "name") or "", _AT.text(call, "id") or ""
        start = Delta(kind="tool_call_start", block=number, id=call_id, name=name)
        if call.get("args") is None:
            return [start]
        return [start, Delta(kind="tool_call_arguments", block=number, text=compact(call["args"]).decode())]
