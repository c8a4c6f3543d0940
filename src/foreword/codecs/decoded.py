"""What a codec reads from a wire: requests, responses, and where a caller had put cache marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from foreword.core.block import Message, Text, ToolSpec
from foreword.core.request import Codec, Params
from foreword.core.usage import Usage


class Mark(Struct, frozen=True, kw_only=True):
    """A cache mark that stood in a request: on item `index` of a section.

    ``block``: index into the message's blocks; None outside messages. ``ttl``: as given; None: the default.
    """

    section: Literal["tool", "system", "message"]
    index: int
    block: int | None = None
    ttl: str | None = None


class Request(Struct, frozen=True, kw_only=True):
    """A request by its values. ``marks`` in the order of the request; blocks never carry them."""

    params: Params
    tools: tuple[ToolSpec, ...] = ()
    system: tuple[Text, ...] = ()
    messages: tuple[Message, ...] = ()
    marks: tuple[Mark, ...] = ()


class Response(Struct, frozen=True, kw_only=True):
    """A response by its values.

    ``stop_reason`` in the wire's own word; None: none given. ``extra``: members that have no place here, in
    the wire's form; those of the usage under ``usage``. ``doubts``: what in the usage does not add up.
    """

    message: Message
    model: str
    stop_reason: str | None = None
    response_id: str | None = None
    usage: Usage = Usage()
    extra: dict[str, Any] | None = None
    doubts: tuple[str, ...] = ()


class WireCodec(Codec, Protocol):
    """A codec in both directions. What is read: JSON bytes, plain values, or objects of the official SDK.

    Raises everywhere: MalformedRequest, MalformedResponse, naming the path.
    """

    def decode_request(self, body: bytes | Mapping[str, Any]) -> Request: ...
    def decode_messages(self, messages: Sequence[Any]) -> list[Message]: ...
    def decode_tools(self, tools: Sequence[Any]) -> list[ToolSpec]: ...
    def decode_marks(
        self, messages: Sequence[Any], system: Any, tools: Sequence[Any] | None
    ) -> tuple[Mark, ...]:
        """Return where a caller's lists hold cache marks; () on a wire that has none beside its blocks."""
        ...

    def decode_response(self, body: Any) -> Response: ...
    def encode_response(self, response: Response) -> dict[str, Any]: ...
    def usage_from(self, usage: Mapping[str, Any]) -> Usage: ...
