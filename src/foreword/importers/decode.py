"""Messages of a wire to neutral ones, one at a time, so that a bad one costs only itself."""

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from foreword.codecs import codec
from foreword.core.block import Image, Message, Opaque, Text, ToolResult, ToolSpec
from foreword.core.usage import Usage
from foreword.errors import CodecError, MalformedRequest, MalformedResponse

T = TypeVar("T", bound=Text | Image | Opaque | ToolResult)


_codec = cache(codec)


class Unreadable(ValueError):
    """A part of the file that is not of its wire's form; the text says what is wrong with it."""


def decode(wire: str, message: dict[str, Any]) -> Message:
    """Decode one message. Raises Unreadable."""
    try:
        [decoded] = _codec(wire).decode_messages([message])
    except CodecError as error:
        raise _unreadable(error) from error
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error
    return decoded


def decode_setting(wire: str, setting: dict[str, Any]) -> tuple[tuple[Text, ...], tuple[ToolSpec, ...]]:
    """Decode the system text and the tools of a request that holds no message yet. Raises Unreadable."""
    try:
        request = _codec(wire).decode_request({"model": "", "max_tokens": 1, "messages": [], **setting})
    except CodecError as error:
        raise _unreadable(error) from error
    return request.system, request.tools


def decode_usage(wire: str, usage: object) -> Usage | None:
    """Read the usage of a call; None: not given, or all zero, which means that the call failed.

    Raises Unreadable.
    """
    if usage is None or usage == {}:
        return None
    if not isinstance(usage, dict):
        raise Unreadable(f"usage: expected counts, got {type(usage).__name__}")
    try:
        read = _codec(wire).usage_from(usage)
    except CodecError as error:
        raise _unreadable(error) from error
    return read if read.total_input or read.output else None


def raw_of(value: object) -> str | None:
    """Return a value of the file as JSON text; None: nested too deeply to be written."""
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return None


def bare(result: ToolResult, wire: str) -> ToolResult:
    """Return a result as it stands outside of a message: its foreign members under the name of their wire."""
    content = tuple(_bare(part, wire) for part in result.content)
    return _bare(replace(result, content=content), wire)


def bare_texts(blocks: Sequence[object], wire: str) -> tuple[Text, ...]:
    """Return the text blocks among blocks as they stand outside of a message."""
    return tuple(_bare(block, wire) for block in blocks if isinstance(block, Text))


def _bare(block: T, wire: str) -> T:
    if isinstance(block, Opaque) or not block.extra:
        return block
    return replace(block, extra={wire: block.extra})


def _unreadable(error: CodecError) -> Unreadable:
    if isinstance(error, MalformedRequest | MalformedResponse):
        return Unreadable(f"{error.path}: {error.fault}")
    return Unreadable(str(error))
