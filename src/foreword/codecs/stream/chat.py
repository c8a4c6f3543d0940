"""OpenAI Chat Completions and what speaks it (DeepSeek, gateways): chunks, then `[DONE]`."""

from __future__ import annotations

from typing import Any

from foreword.codecs.decoded import WireCodec
from foreword.codecs.reading import At
from foreword.codecs.stream.chat_calls import ChatCalls
from foreword.codecs.stream.grown import Grown, merged
from foreword.codecs.stream.payload import items, mapping
from foreword.codecs.stream.streamed import Call, Delta, DeltaKind, Failure, failure_from

_GROWING: dict[str, DeltaKind] = {
    "reasoning_content": "thinking",
    "reasoning": "thinking",
    "content": "text",
    "refusal": "text",
}
"""Members of a delta that are text, and the step they are shown as."""
_NOISE = ("obfuscation",)
_LIMITS = ("length", "max_tokens")


class _Choice:
    """One choice; most streams have one."""

    def __init__(self) -> None:
        self.rest: dict[str, list[Any]] = {}
        self.finish: str | None = None
        self.message: dict[str, list[Any]] = {}
        self.grown: dict[str, Grown] = {}
        self.parts: list[Any] = []
        self.calls = ChatCalls()

    def value(self, index: int) -> dict[str, Any]:
        """Return the choice in its unstreamed form."""
        message: dict[str, Any] = {"role": "assistant", "content": None}
        message |= {name: merged(values, name) for name, values in self.message.items()}
        message |= {name: grown.text for name, grown in self.grown.items()}
        if self.parts:
            head = [{"type": "text", "text": self.grown["content"].text}] if "content" in self.grown else []
            message["content"] = [*head, *self.parts]
        if calls := self.calls.value():
            message["tool_calls"] = calls
        rest = {name: merged(values, name) for name, values in self.rest.items()}
        return {"index": index, "message": message, "finish_reason": self.finish, **rest}


class ChatAssembly:
    """See `Assembly`. Complete with `[DONE]`, or with the finish reason where a gateway never says `[DONE]`."""

    def __init__(self, codec: WireCodec) -> None:
        self.failure: Failure | None = None
        self.usage: dict[str, Any] | None = None
        self._codec = codec
        self._at = At(codec.wire, "chunk", response=True)
        self._head: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}
        self._numbers: dict[Any, int] = {}
        self._done = False

    @property
    def complete(self) -> bool:
        """The end was seen, of something."""
        finished = all(choice.finish is not None for choice in self._choices.values())
        return bool(self._choices) and (self._done or finished)

    def take(self, event: str, payload: Any) -> list[Delta]:
        """Take a chunk."""
        if self._done:
            return []
        found = mapping(payload, self._at)
        deltas: list[Delta] = []
        error = found.get("error")
        if error is None and (event == "error" or found.get("object") == "error"):
            error = found
        if error is not None:
            self.failure = failure_from(error)
            deltas.append(Delta(kind="error", error=self.failure))
        for raw in items(found.get("choices"), self._at):
            self._choice(mapping(raw, self._at), deltas)
        if found.get("usage") is not None:
            self._count(mapping(found["usage"], self._at), deltas)
        if error is None:
            self._remember(found)
        return deltas

    def done(self) -> list[Delta]:
        """Take `[DONE]`."""
        first, self._done = not self._done, True
        return [Delta(kind="done")] if first and self.complete else []

    def body(self) -> dict[str, Any] | None:
        """Return the completion so far; None before its first choice."""
        if not self._choices:
            return None
        choices = [choice.value(index) for index, choice in sorted(self._choices.items())]
        head = {"model": "", **self._head}
        return {**head, "object": "chat.completion", "choices": choices, "usage": self.usage or {}}

    def calls(self) -> list[Call]:
        """Return the tool calls of the first choice."""
        first = self._choices[min(self._choices)]
        ended = self._done or first.finish is not None
        return first.calls.calls(ended=ended, limited=first.finish in _LIMITS)

    def _remember(self, found: dict[str, Any]) -> None:
        for name, value in found.items():
            if name not in ("choices", "usage", "object", *_NOISE) and value not in (None, ""):
                self._head[name] = value
        for name in ("id", "model"):
            self._at.text(self._head, name)

    def _choice(self, raw: dict[str, Any], deltas: list[Delta]) -> None:
        index = self._at.count(raw, "index") or 0
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _Choice()
        delta = raw.get("delta")
        if delta is not None:
            shown = deltas if index == 0 else []
            for name, value in mapping(delta, self._at).items():
                if value is not None:
                    self._member(choice, name, value, shown)
        finish = self._at.text(raw, "finish_reason")
        if finish:
            choice.finish = finish
        for name, value in raw.items():
            if name not in ("index", "delta", "finish_reason", *_NOISE) and value is not None:
                choice.rest.setdefault(name, []).append(value)

    def _member(self, choice: _Choice, name: str, value: Any, deltas: list[Delta]) -> None:
        if name in _GROWING and isinstance(value, str):
            if name not in choice.grown:
                choice.grown[name] = Grown()
            if text := choice.grown[name].add(value):
                deltas.append(Delta(kind=_GROWING[name], block=self._number(name), text=text))
        elif name == "tool_calls":
            for raw in items(value, self._at):
                call, started, text = choice.calls.take(mapping(raw, self._at), self._at)
                if started:
                    number = self._number(call.position)
                    deltas.append(Delta(kind="tool_call_start", block=number, id=call.id, name=call.name))
                if text:
                    number = self._number(call.position)
                    deltas.append(Delta(kind="tool_call_arguments", block=number, text=text))
        elif name == "content":
            choice.parts += items(value, self._at)
        elif name == "role":
            choice.message[name] = [self._at.string({name: value}, name)]
        elif name not in _NOISE:
            choice.message.setdefault(name, []).append(value)

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _count(self, usage: dict[str, Any], deltas: list[Delta]) -> None:
        """Take a usage unless it is all zero, as gateways send beside each chunk before they know."""
        counted = self._codec.usage_from(usage)
        if any(usage.values()):
            deltas.append(Delta(kind="usage", usage=counted))
            self.usage = usage
