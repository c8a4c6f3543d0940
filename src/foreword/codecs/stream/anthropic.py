"""Anthropic Messages: `message_start`, blocks in turn, `message_delta`, `message_stop`."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from foreword.codecs.decoded import WireCodec
from foreword.codecs.parts import object_arguments
from foreword.codecs.reading import At, whole
from foreword.codecs.stream.grown import Grown
from foreword.codecs.stream.payload import items, mapping, parsed_object
from foreword.codecs.stream.streamed import Call, Delta, DeltaKind, Failure, failure_from, usage_step

_AT = At("anthropic", "event", response=True)

_GROWING: dict[str, tuple[str, DeltaKind | None]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", "tool_call_arguments"),
    "signature_delta": ("signature", None),
}
"""Kind of a delta -> its member, and the step it is shown as."""
_SPLIT = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


class _Block:
    """A content block that may still grow; `form` stays as it was started, `shown` is the text it began with."""

    def __init__(self, form: dict[str, Any], number: int) -> None:
        self.form = form
        self.number = number
        self.grown: dict[str, Grown] = {}
        self.shown = ""
        for name in ("text", "thinking"):
            if isinstance(form.get(name), str):
                self.grown[name] = Grown()
                self.shown = self.grown[name].add(form[name])
        self.set: dict[str, Any] = {}
        self.open = True

    def value(self) -> dict[str, Any]:
        """Return the block in its unstreamed form."""
        value = self.form | self.set
        for name, grown in self.grown.items():
            if name == "partial_json":
                value["input"] = msgspec.json.decode(object_arguments(grown.text)[0])
            else:
                value[name] = grown.text
        return value

    def call(self) -> Call:
        """Return the tool call that this block is."""
        json = self.grown.get("partial_json")
        text = json.text if json else ""
        as_given = not text and (not self.open or bool(self.form.get("input")))
        read = as_given or (not self.open and parsed_object(text) is not None)
        return Call(id=self.form.get("id") or "", whole=not self.open, arguments=None if read else text)


class AnthropicAssembly:
    """See `Assembly`. The input side of the usage comes first, the output cumulative at the end.

    What `message_start` says of the output is no count: it is one only where nothing else comes before the end.
    """

    def __init__(self, codec: WireCodec) -> None:
        self._codec = codec
        self._stopped = False
        self.failure: Failure | None = None
        self.usage: Any = None
        self._begun_with: Any = None
        self._message: dict[str, Any] | None = None
        self._blocks: dict[int, _Block] = {}

    @property
    def complete(self) -> bool:
        """`message_stop` came, after a `message_start`."""
        return self._stopped and self._message is not None

    def take(self, event: str, payload: Any) -> list[Delta]:
        """Take an event; its kind is the payload's `type`, which the event's name only repeats."""
        found = mapping(payload, _AT)
        match found.get("type") or event:
            case "content_block_delta":
                return self._delta(found)
            case "content_block_start":
                return self._start(found)
            case "content_block_stop":
                self._block(found).open = False
                return []
            case "message_start":
                return self._begin(found)
            case "message_delta":
                return self._amend(found)
            case "message_stop":
                return self._stop()
            case "ping":
                return [Delta(kind="ping")]
            case "error":
                self.failure = failure_from(found.get("error"))
                return [Delta(kind="error", error=self.failure)]
            case _:
                return []

    def done(self) -> list[Delta]:
        """Take `[DONE]`, which some gateways add."""
        return []

    def body(self) -> dict[str, Any] | None:
        """Return the message so far."""
        if self._message is None:
            return None
        content = [self._blocks[index].value() for index in sorted(self._blocks)]
        return self._message | {"content": content, "usage": self.usage or {}}

    def calls(self) -> list[Call]:
        """Return the blocks that are tool calls; those of the provider's own tools aren't."""
        return [block.call() for _, block in sorted(self._blocks.items()) if block.form["type"] == "tool_use"]

    def _begin(self, found: dict[str, Any]) -> list[Delta]:
        message = {"model": "", **mapping(found.get("message"), _AT / "message")}
        content = items(message.pop("content", None), _AT / "message" / "content")
        usage: Any = message.pop("usage", None) or {}
        self._codec.decode_response({**message, "content": content})
        self._message = message
        for form in content:
            block = _Block(form, len(self._blocks))
            block.open = False
            self._blocks[block.number] = block
        if isinstance(usage, dict):
            usage = dict(cast(dict[str, Any], usage))
            self._begun_with = usage.pop("output_tokens", None)
        return self._count(usage)

    def _start(self, found: dict[str, Any]) -> list[Delta]:
        index = _AT.count(found, "index")
        form = mapping(found.get("content_block"), _AT / "content_block")
        if index is None:
            raise (_AT / "index").fault("expected a count, got nothing")
        self._codec.decode_response({"model": "", "content": [form]})
        known = self._blocks.get(index)
        block = self._blocks[index] = _Block(form, known.number if known else len(self._blocks))
        kind = form["type"]
        if kind == "tool_use":
            return [
                Delta(kind="tool_call_start", block=block.number, id=form.get("id") or "", name=form["name"])
            ]
        if kind in ("text", "thinking") and block.shown:
            return [Delta(kind=kind, block=block.number, text=block.shown)]
        return []

    def _delta(self, found: dict[str, Any]) -> list[Delta]:
        block = self._block(found)
        delta = mapping(found.get("delta"), _AT)
        kind = str(delta.get("type"))
        if kind in _GROWING:
            name, shown = _GROWING[kind]
            text = _AT.string(delta, name)
            if name == "signature":
                block.set[name] = text
                return []
            if name not in block.grown:
                block.grown[name] = Grown()
            text = block.grown[name].add(text)
            hidden = name == "partial_json" and block.form["type"] != "tool_use"
            return [Delta(kind=shown, block=block.number, text=text)] if text and shown and not hidden else []
        if kind == "citations_delta":
            if "citations" not in block.set:
                block.set["citations"] = list(items(block.form.get("citations"), _AT))
            block.set["citations"].append(delta.get("citation"))
        elif kind == "compaction_delta":
            block.set |= {name: value for name, value in delta.items() if name != "type"}
        return []

    def _amend(self, found: dict[str, Any]) -> list[Delta]:
        if self._message is None:
            raise _AT.fault("message_delta before message_start")
        amended = self._message | {
            name: value for name, value in found.items() if name not in ("type", "delta", "usage")
        }
        delta = mapping(found.get("delta") or {}, _AT)
        amended |= {name: value for name, value in delta.items() if value is not None}
        _AT.text(amended, "stop_reason")
        self._message = amended
        return self._count(found.get("usage") or {})

    def _stop(self) -> list[Delta]:
        self._stopped = True
        if not self.complete:
            return []
        known: Any = {} if self.usage is None else self.usage
        counted = not isinstance(known, dict) or "output_tokens" in cast(dict[str, Any], known)
        return [*([] if counted else self._count({"output_tokens": self._begun_with})), Delta(kind="done")]

    def _count(self, usage: Any) -> list[Delta]:
        if isinstance(usage, dict):
            given = {name: value for name, value in cast(dict[str, Any], usage).items() if value is not None}
            if not given:
                return []
            before = cast(dict[str, Any], self.usage) if isinstance(self.usage, dict) else {}
            usage = before | given
            if "cache_creation" not in given and "cache_creation_input_tokens" in given:
                usage = _split_of_the_total(usage, before)
        self.usage = usage
        return usage_step(self._codec, usage)

    def _block(self, found: dict[str, Any]) -> _Block:
        index = _AT.count(found, "index")
        if index not in self._blocks:
            raise (_AT / "index").fault("no block was started under it")
        return self._blocks[index]


def _split_of_the_total(usage: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Let the split of cache writes, given once at the start, follow a total that grew since.

    What was written later is of the lifetime that the request asks for: the long one if only that was used.
    """
    if not isinstance(usage.get("cache_creation"), dict):
        return usage
    split = mapping(usage["cache_creation"], _AT)
    short, long = (whole(split.get(name)) or 0 for name in _SPLIT)
    known = whole(before.get("cache_creation_input_tokens"))
    more = (whole(usage["cache_creation_input_tokens"]) or 0) - (short + long if known is None else known)
    if more <= 0:
        return usage
    grown = {_SPLIT[1]: long + more} if long and not short else {_SPLIT[0]: short + more}
    return usage | {"cache_creation": split | grown}
