"""OpenAI Responses: items added, grown and done, and a terminal event that holds the whole response."""

from __future__ import annotations

from typing import Any

from foreword.codecs.decoded import WireCodec
from foreword.codecs.reading import At
from foreword.codecs.stream.grown import Grown
from foreword.codecs.stream.payload import items, mapping
from foreword.codecs.stream.streamed import Call, Delta, DeltaKind, Failure, failure_from, usage_step

_AT = At("openai-responses", "event", response=True)

_GROWING: dict[str, tuple[str, DeltaKind]] = {
    "response.output_text.delta": ("output_text", "text"),
    "response.refusal.delta": ("refusal", "text"),
    "response.reasoning_text.delta": ("reasoning_text", "thinking"),
    "response.reasoning_summary_text.delta": ("summary_text", "thinking"),
    "response.function_call_arguments.delta": ("arguments", "tool_call_arguments"),
    "response.custom_tool_call_input.delta": ("input", "tool_call_arguments"),
}
"""Event -> what of its item grows, and the step it is shown as."""
_PLACES = {
    "output_text": ("content", "text"),
    "refusal": ("content", "refusal"),
    "reasoning_text": ("content", "text"),
    "summary_text": ("summary", "text"),
}
"""Type of a part -> the item's list it stands in, and its member that grows."""
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_PARTS = ("response.content_part.done", "response.reasoning_summary_part.done")
_BEGUN = ("response.created", "response.queued", "response.in_progress")
_ENDED = ("response.completed", "response.incomplete", "response.failed")


class _Item:
    """An output item that may still grow, until `output_item.done` gives it whole."""

    def __init__(self, form: dict[str, Any]) -> None:
        # Encrypted reasoning of an item that isn't done may be incomplete (SDK types, 2026-11-30).
        self.form = {name: value for name, value in form.items() if name != "encrypted_content"}
        self.grown: dict[tuple[str, int], Grown] = {}
        self.parts: dict[tuple[str, int], dict[str, Any]] = {}
        self.done = False

    def value(self) -> dict[str, Any]:
        """Return the item in its unstreamed form."""
        if self.done:
            return self.form
        value = dict(self.form)
        lists: dict[str, dict[int, dict[str, Any]]] = {}
        for (place, index), part in self.parts.items():
            lists.setdefault(place, {})[index] = part
        for (kind, index), grown in self.grown.items():
            if kind not in _PLACES:
                value[kind] = grown.text
                continue
            place, member = _PLACES[kind]
            before = lists.setdefault(place, {}).get(index)
            if before is None or before.get("type") in (None, kind):
                extra = before or ({"annotations": []} if kind == "output_text" else {})
                lists[place][index] = {**extra, "type": kind, member: grown.text}
        for place, parts in lists.items():
            value[place] = [parts[index] for index in sorted(parts)]
        if value["type"] in _CALLS:
            value.setdefault(_CALLS[value["type"]], "")
        if value["type"] == "reasoning":
            value.setdefault("summary", [])
        return value


class ResponsesAssembly:
    """See `Assembly`. The output of the terminal response stands for all before it, unless it is empty."""

    def __init__(self, codec: WireCodec) -> None:
        self.complete = False
        self.failure: Failure | None = None
        self.usage: Any = None
        self._codec = codec
        self._response: dict[str, Any] | None = None
        self._items: dict[int, _Item] = {}
        self._places: dict[str, int] = {}
        self._numbers: dict[tuple[int, str, int], int] = {}
        self._whole = False

    def take(self, event: str, payload: Any) -> list[Delta]:
        """Take an event; its kind is the payload's `type`, which the event's name only repeats."""
        found = mapping(payload, _AT)
        kind = found.get("type") or event
        if self.complete or not isinstance(kind, str):
            return []
        if kind in _GROWING:
            return self._grow(found, *_GROWING[kind])
        if kind == "response.output_item.added":
            return self._added(found)
        if kind == "response.output_item.done":
            return self._item_done(found)
        if kind in _PARTS:
            self._part_done(found)
        elif kind == "response.output_text.annotation.added":
            self._annotated(found)
        elif kind in _BEGUN:
            self._response = self._checked(found)
        elif kind in _ENDED:
            return self._ended(kind, found)
        elif kind == "error":
            self.failure = failure_from(found.get("error") or {**found, "type": None})
            return [Delta(kind="error", error=self.failure)]
        elif kind in ("ping", "keepalive"):
            return [Delta(kind="ping")]
        return []

    def done(self) -> list[Delta]:
        """Take `[DONE]`, which some gateways add."""
        return []

    def body(self) -> dict[str, Any] | None:
        """Return the response so far."""
        if self._response is None and not self._items:
            return None
        head = {"object": "response", "model": "", **(self._response or {})}
        return head if self._whole else head | {"output": self._output()}

    def calls(self) -> list[Call]:
        """Return the function calls and custom calls."""
        body = self.body() or {}
        output = [mapping(item, _AT) for item in items(body.get("output"), _AT)]
        done = {item.form.get("call_id"): item.done for item in self._items.values()}
        return [
            Call(
                id=item.get("call_id"),
                whole=(self._whole or done.get(item.get("call_id"), False))
                and item.get("status") != "incomplete",
            )
            for item in output
            if item.get("type") in _CALLS
        ]

    def _output(self) -> list[dict[str, Any]]:
        return [item.value() for _, item in sorted(self._items.items())]

    def _checked(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return the event's response without its output and usage, once the codec can read it."""
        response = mapping(found.get("response"), _AT / "response")
        mapping(response.get("incomplete_details") or {}, _AT / "response" / "incomplete_details")
        empty: dict[str, Any] = {"status": "in_progress", "output": [], "usage": None, "error": None}
        self._codec.decode_response({"model": "", **response, **empty})
        return {name: value for name, value in response.items() if name not in ("output", "usage")}

    def _ended(self, kind: str, found: dict[str, Any]) -> list[Delta]:
        self._response = self._checked(found)
        deltas: list[Delta] = []
        response = mapping(found["response"], _AT)
        if response.get("usage"):
            self.usage = self._response["usage"] = response["usage"]
            deltas += usage_step(self._codec, self.usage)
        if output := items(response.get("output"), _AT / "response" / "output"):
            self._codec.decode_response({"model": "", **self._response, "error": None, "output": output})
            self._response["output"] = output
            self._whole = True
        if kind == "response.failed":
            self.failure = failure_from(self._response.pop("error", None))
            return [*deltas, Delta(kind="error", error=self.failure)]
        self.complete = True
        return [*deltas, Delta(kind="done")]

    def _added(self, found: dict[str, Any]) -> list[Delta]:
        if found.get("item") is None:
            return []
        form = self._form(found)
        index = self._index(found, form)
        self._items[index] = item = _Item(form)
        self._codec.decode_response({"model": "", "output": [item.value()]})
        if form["type"] not in _CALLS:
            return []
        number = self._number(index, _CALLS[form["type"]], 0)
        call_id, name = _AT.text(form, "call_id") or "", _AT.text(form, "name") or ""
        return [Delta(kind="tool_call_start", block=number, id=call_id, name=name)]

    def _item_done(self, found: dict[str, Any]) -> list[Delta]:
        form = self._form(found)
        self._codec.decode_response({"model": "", "output": [form]})
        index = self._index(found, form)
        deltas: list[Delta] = []
        if form["type"] in _CALLS and index not in self._items:
            deltas = self._added({**found, "item": form})
        item = self._items.setdefault(index, _Item(form))
        item.form, item.done = form, True
        return deltas

    def _form(self, found: dict[str, Any]) -> dict[str, Any]:
        form = mapping(found.get("item"), _AT / "item")
        _AT.string(form, "type")
        return form

    def _grow(self, found: dict[str, Any], kind: str, shown: DeltaKind) -> list[Delta]:
        index = self._index(found)
        inner = _AT.count(found, "summary_index" if kind == "summary_text" else "content_index") or 0
        item = self._items.get(index)
        if item is None:
            if kind not in _PLACES:
                raise _AT.fault("arguments of a call that was never added")
            made = {"type": "message", "role": "assistant"} if shown == "text" else {"type": "reasoning"}
            item = self._items[index] = _Item(made)
        if (kind, inner) not in item.grown:
            item.grown[kind, inner] = Grown()
        text = item.grown[kind, inner].add(_AT.string(found, "delta"))
        return [Delta(kind=shown, block=self._number(index, kind, inner), text=text)] if text else []

    def _part_done(self, found: dict[str, Any]) -> None:
        item = self._items.get(self._index(found))
        part = mapping(found.get("part"), _AT / "part")
        place = _PLACES.get(str(part.get("type")))
        if item is not None and place is not None and isinstance(part.get(place[1]), str):
            inner = _AT.count(found, "summary_index" if place[0] == "summary" else "content_index") or 0
            item.parts[place[0], inner] = part
            grown = item.grown[str(part["type"]), inner] = Grown()
            grown.add(part[place[1]])

    def _annotated(self, found: dict[str, Any]) -> None:
        item = self._items.get(self._index(found))
        if item is not None:
            inner = _AT.count(found, "content_index") or 0
            empty: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
            part = item.parts.setdefault(("content", inner), empty)
            part["annotations"] = [*items(part.get("annotations"), _AT), found.get("annotation")]

    def _index(self, found: dict[str, Any], form: dict[str, Any] | None = None) -> int:
        """Return the place of an event's item; by the item's id where a gateway leaves the index out."""
        index = _AT.count(found, "output_index")
        item_id = (form or {}).get("id") or found.get("item_id")
        if index is None:
            index = self._places.get(str(item_id), len(self._items))
        self._places[str(item_id)] = index
        return index

    def _number(self, index: int, kind: str, inner: int) -> int:
        return self._numbers.setdefault((index, kind, inner), len(self._numbers))
