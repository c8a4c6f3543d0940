"""OpenAI Chat Completions and what speaks it (DeepSeek, gateways): chunks, then `[DONE]`."""

from __future__ import annotations

from typing import Any, cast

from foreword.codecs.chat_functions import function_id
from foreword.codecs.decoded import WireCodec
from foreword.codecs.reading import At
from foreword.codecs.stream.chat_calls import ChatCalls
from foreword.codecs.stream.grown import Grown, merged
from foreword.codecs.stream.payload import items, mapping
from foreword.codecs.stream.streamed import Call, Delta, DeltaKind, Failure, failure_from, usage_step

_GROWING: dict[str, DeltaKind] = {
    "reasoning_content": "thinking",
    "reasoning": "thinking",
    "refusal": "text",
}
"""Members of a delta that are text, and the step they are shown as."""
_NOISE = ("obfuscation",)


class _Choice:
    """One choice; most streams have one."""

    def __init__(self) -> None:
        self.rest: dict[str, list[Any]] = {}
        self.finish: str | None = None
        self.message: dict[str, list[Any]] = {}
        self.grown: dict[str, Grown] = {}
        self.content: list[Grown | Any] = []
        """What was said, in order: texts that grow, and parts of other kinds as they came."""
        self.calls = ChatCalls()

    def value(self, index: int) -> dict[str, Any]:
        """Return the choice in its unstreamed form."""
        message: dict[str, Any] = {"role": "assistant", "content": None}
        message |= {name: merged(values, name) for name, values in self.message.items()}
        message |= {name: grown.text for name, grown in self.grown.items()}
        parts = [
            {"type": "text", "text": each.text} if isinstance(each, Grown) else each for each in self.content
        ]
        if parts:
            alone = len(parts) == 1 and isinstance(self.content[0], Grown)
            message["content"] = parts[0]["text"] if alone else parts
        if calls := self.calls.value():
            message["tool_calls"] = calls
        rest = {name: merged(values, name) for name, values in self.rest.items()}
        return {"index": index, "message": message, "finish_reason": self.finish, **rest}


class ChatAssembly:
    """See `Assembly`. Complete with `[DONE]`, or with the finish reason where a gateway never says `[DONE]`."""

    def __init__(self, codec: WireCodec) -> None:
        self.failure: Failure | None = None
        self.usage: Any = None
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
        usage = found.get("usage")
        for raw in items(found.get("choices"), self._at):
            choice = mapping(raw, self._at)
            self._choice(choice, deltas)
            if usage is None and not choice.get("index"):
                usage = choice.get("usage")  # Moonshot's last choice; at the top it has one only if asked for
        if usage is not None:
            self._count(usage, deltas)
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
        return first.calls.calls(ended=ended)

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
                self._call(choice, mapping(raw, self._at), deltas)
        elif name == "function_call":
            inner = mapping(value, self._at)
            given = {"id": function_id(inner["name"])} if inner.get("name") else {}
            self._call(choice, {**given, "function": inner}, deltas)
        elif name == "content":
            for part in [value] if isinstance(value, str) else items(value, self._at):
                self._content(choice, part, deltas)
        elif name == "role":
            choice.message[name] = [self._at.string({name: value}, name)]
        elif name not in _NOISE:
            choice.message.setdefault(name, []).append(value)

    def _call(self, choice: _Choice, raw: dict[str, Any], deltas: list[Delta]) -> None:
        call, started, text = choice.calls.take(raw, self._at)
        if started:
            number = self._number(call.position)
            deltas.append(Delta(kind="tool_call_start", block=number, id=call.id, name=call.name))
        if text:
            deltas.append(Delta(kind="tool_call_arguments", block=self._number(call.position), text=text))

    def _content(self, choice: _Choice, part: Any, deltas: list[Delta]) -> None:
        text = part if isinstance(part, str) else _plain_text(part)
        if text is None:
            choice.content.append(part)
            return
        if not (choice.content and isinstance(choice.content[-1], Grown)):
            choice.content.append(Grown())
        if shown := choice.content[-1].add(text):
            number = self._number(("content", len(choice.content)))
            deltas.append(Delta(kind="text", block=number, text=shown))

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _count(self, usage: Any, deltas: list[Delta]) -> None:
        """Take a usage unless it is all zero, as gateways send beside each chunk before they know."""
        if not isinstance(usage, dict) or any(cast(dict[str, Any], usage).values()):
            self.usage = usage
            deltas += usage_step(self._codec, usage)


def _plain_text(part: Any) -> str | None:
    """Return the text of a part that is nothing else; None: it is another kind of part, or says more."""
    if not isinstance(part, dict):
        return None
    members = cast(dict[str, Any], part)
    text = members.get("text")
    plain = members == {"type": "text", "text": text}
    return text if plain and isinstance(text, str) else None
