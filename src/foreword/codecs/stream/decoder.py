"""A stream of any wire: bytes to deltas, and at the end to one response."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

from msgspec.structs import replace

from foreword.codecs import codec
from foreword.codecs.decoded import Response, WireCodec
from foreword.codecs.reading import At
from foreword.codecs.stream.aws_frames import AWS_FIRST, AwsFrames
from foreword.codecs.stream.cut_calls import cut_calls
from foreword.codecs.stream.documents import Documents
from foreword.codecs.stream.payload import loaded, mapping, well_formed
from foreword.codecs.stream.sse import EventStream, ServerEvent
from foreword.codecs.stream.streamed import (
    MALFORMED,
    Assembly,
    Call,
    Delta,
    Failure,
    Streamed,
    failure_from,
    usage_of,
)
from foreword.core.block import Block, ToolCall
from foreword.core.canonical import compact
from foreword.core.usage import Usage
from foreword.errors import ForewordError, InvalidText, MalformedResponse, UnknownWire

ASSEMBLIES = {
    "anthropic": "foreword.codecs.stream.anthropic:AnthropicAssembly",
    "openai-chat": "foreword.codecs.stream.chat:ChatAssembly",
    "deepseek": "foreword.codecs.stream.chat:ChatAssembly",
    "openai-responses": "foreword.codecs.stream.responses:ResponsesAssembly",
    "gemini": "foreword.codecs.stream.gemini:GeminiAssembly",
}
_DONE = b"[DONE]"
_BLANK = b" \t\r\n\xef\xbb\xbf"
"""What may stand before the first sign and means nothing: white space, a byte order mark, parts of one."""


def _assembly(codec: WireCodec) -> Assembly:
    if codec.wire not in ASSEMBLIES:
        raise UnknownWire(codec.wire, tuple(ASSEMBLIES))
    module, _, name = ASSEMBLIES[codec.wire].partition(":")
    return cast(Assembly, getattr(import_module(module), name)(codec))


class Decoder:
    """Reads one stream. Never raises for what is in the bytes: `end` says what they came to.

    The bytes are an event stream, or what the first sign says: JSON (a provider that streams an array, one that
    answers without streaming, an error body), Amazon's binary framing. After a failure nothing more is taken.
    """

    def __init__(self, wire: str) -> None:
        """Begin a stream of a wire. Raises: UnknownWire."""
        self._codec = codec(wire)
        self._assembly = _assembly(self._codec)
        self._at = At(wire, "event", response=True)
        self._events: EventStream | AwsFrames | None = None
        self._documents: Documents | None = None
        self._whole: dict[str, Any] | None = None
        self._failure: Failure | None = None

    def feed(self, data: bytes) -> list[Delta]:
        """Take the next bytes; return the steps they make, in order."""
        if self._events is None and self._documents is None:
            data = data.lstrip(_BLANK)
            if not data:
                return []
            if data[:1] in (b"{", b"["):
                self._documents = Documents()
            else:
                self._events = AwsFrames() if data[:1] in AWS_FIRST else EventStream()
        if self._events is not None:
            return self._take(self._events.feed(data))
        assert self._documents is not None
        return self._read(self._documents.feed(data))

    def end(self) -> Streamed:
        """Say what came, after the last bytes. A last event that lacks only its blank line counts."""
        if self._events is not None and (last := self._events.end()) is not None and self._is_whole(last):
            self._take([last])
        response, calls = self._response()
        failure = self._failure
        state = "failed" if failure else "complete" if response and self._complete() else "incomplete"
        blocks, partial = _placed(response.message.blocks if response else (), calls)
        if response is not None:
            response = replace(response, message=replace(response.message, blocks=blocks))
            partial |= cut_calls(response)
        return Streamed(
            state=state,
            response=response,
            error=failure,
            usage=self._usage(response),
            partial=tuple(sorted(partial)),
        )

    def _complete(self) -> bool:
        return self._assembly.complete or self._whole is not None

    def _take(self, events: Sequence[ServerEvent]) -> list[Delta]:
        deltas: list[Delta] = []
        for event in events:
            if self._failure is not None:
                break
            try:
                if event.data == _DONE:
                    deltas += self._assembly.done()
                else:
                    deltas += self._assembly.take(event.event, loaded(event.data, self._at))
                self._failure = self._assembly.failure
            except (ForewordError, RecursionError) as error:
                deltas.append(self._fail(Failure(type=MALFORMED, message=str(error))))
        return deltas

    def _read(self, documents: Sequence[bytes]) -> list[Delta]:
        if self._codec.wire == "gemini":
            return self._take([ServerEvent(data=document) for document in documents])
        for document in documents:
            if self._failure is not None or self._whole is not None:
                break
            try:
                found = mapping(loaded(document, self._at), self._at)
                if found.get("error") is not None:
                    return [self._fail(failure_from(found["error"]))]
                self._whole = found
            except (MalformedResponse, RecursionError) as error:
                return [self._fail(Failure(type=MALFORMED, message=str(error)))]
        return []

    def _fail(self, failure: Failure) -> Delta:
        self._failure = failure
        return Delta(kind="error", error=failure)

    def _is_whole(self, event: ServerEvent) -> bool:
        try:
            return event.data == _DONE or isinstance(loaded(event.data, self._at), dict | list)
        except MalformedResponse:
            return False

    def _response(self) -> tuple[Response | None, list[Call]]:
        body = self._whole or self._assembly.body()
        if body is None:
            return None, []
        try:
            calls = [] if self._whole else self._assembly.calls()
            try:
                compact(body)
            except InvalidText:
                body = well_formed(body)
                calls = [replace(call, id=well_formed(call.id)) for call in calls]
            return self._codec.decode_response(body), calls
        except (ForewordError, RecursionError) as error:
            if self._failure is None:
                self._failure = Failure(type=MALFORMED, message=str(error))
            return None, []

    def _usage(self, response: Response | None) -> Usage | None:
        if self._whole is not None:
            return response.usage if response and response.usage != Usage() else None
        return usage_of(self._codec, self._assembly.usage)


def _placed(blocks: tuple[Block, ...], calls: Sequence[Call]) -> tuple[tuple[Block, ...], set[int]]:
    """Give the tool calls among the blocks their streamed arguments; name those that aren't whole.

    Both are in one order, but a codec may have read a call as something else: ids tell where there are any.
    """
    placed, partial = list(blocks), set[int]()
    streamed = iter(calls)
    for index, block in enumerate(blocks):
        if not isinstance(block, ToolCall):
            continue
        call = next((call for call in streamed if call.id is None or call.id == block.id), None)
        if call is None:
            break
        if call.arguments is not None:
            placed[index] = replace(block, arguments=call.arguments)
        if not call.whole:
            partial.add(index)
    return tuple(placed), partial
