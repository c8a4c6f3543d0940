"""Tool calls of a Chat stream, put together from fragments that name them more or less well.

By the wire an `index` names the call, and `id` and name stand in its first fragment only. Gateways repeat them,
leave the index out, or give every call index 0; one gives every fragment an id of its own.
"""

from __future__ import annotations

from typing import Any, cast

from foreword.codecs.reading import At
from foreword.codecs.stream.grown import Grown, merged
from foreword.codecs.stream.payload import mapping, parsed_object
from foreword.codecs.stream.streamed import Call
from foreword.core.canonical import compact

_ARGUMENT = {"function": "arguments", "custom": "input"}


class _Call:
    """A call that may still grow. `arguments` is also the input of a custom tool."""

    def __init__(self, kind: str, position: int) -> None:
        self.kind = kind
        self.position = position
        self.id = ""
        self.name = ""
        self.arguments = Grown()
        self.rest: dict[str, list[Any]] = {}
        self.inner: dict[str, list[Any]] = {}
        self.tail = ""

    def value(self) -> dict[str, Any]:
        """Return the call in its unstreamed form."""
        inner = {name: merged(values, name) for name, values in self.inner.items()}
        rest = {name: merged(values, name) for name, values in self.rest.items()}
        named = {"name": self.name, _ARGUMENT[self.kind]: self.arguments.text, **inner}
        return {"id": self.id, "type": self.kind, self.kind: named, **rest}


class ChatCalls:
    """The tool calls of one choice, in order of first appearance."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def take(self, raw: dict[str, Any], at: At) -> tuple[_Call, bool, str]:
        """Take a fragment; return (call, whether it is new, text that its arguments gained)."""
        kind = "custom" if "custom" in raw else "function"
        inner = mapping(raw.get(kind) or {}, at)
        index, call_id = at.count(raw, "index"), at.text(raw, "id") or ""
        name, fragment = at.text(inner, "name") or "", inner.get(_ARGUMENT[kind])
        if isinstance(fragment, dict):  # some servers give the object itself, always in one piece
            fragment = compact(cast(dict[str, Any], fragment)).decode()
        fragment = at.text({"arguments": fragment}, "arguments") or ""
        call = self._known(index, call_id, name, fragment)
        started = call is None
        if call is None:
            call = _Call(kind, len(self._calls))
            self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        if call_id:
            self._by_id.setdefault(call_id, call)
        call.id, call.name = call.id or call_id, call.name or name
        text = call.arguments.add(fragment)
        call.tail = fragment.rstrip()[-1:] or call.tail
        for member, value in raw.items():
            if member not in ("index", "id", "type", kind):
                call.rest.setdefault(member, []).append(value)
        for member, value in inner.items():
            if member not in ("name", _ARGUMENT[kind]):
                call.inner.setdefault(member, []).append(value)
        return call, started, text

    def value(self) -> list[dict[str, Any]]:
        """Return the calls in their unstreamed form."""
        return [call.value() for call in self._calls]

    def calls(self, *, ended: bool) -> list[Call]:
        """Return the calls. Without an end, an argument object that is closed can't grow: such a call is whole."""
        return [
            Call(id=call.id, whole=ended or parsed_object(call.arguments.text) is not None)
            for call in self._calls
        ]

    def _known(self, index: int | None, call_id: str, name: str, fragment: str) -> _Call | None:
        """Return the call that a fragment goes on with; None: it begins one."""
        call = self._by_index.get(-1 if index is None else index)
        if call_id and (call is None or call.id != call_id):
            same = self._by_id.get(call_id)
            if same is not None and (index is None or call is not None or not name):
                return same
            call = same or call
        elif call is None and index is None and self._calls:
            call = self._calls[-1]
        if call is None or not name:
            return call
        if call_id and call.id and call_id != call.id:
            return None  # a second call under a used index, or without one
        closed = call.tail == "}" and parsed_object(call.arguments.text) is not None
        return None if closed and (fragment[:1] == "{" or index not in self._by_index) else call
