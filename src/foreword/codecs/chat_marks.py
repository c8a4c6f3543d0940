"""Where a caller's lists in Chat form hold cache marks, in the form that gateways to Claude take: `cache_control`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from foreword.codecs.decoded import Mark
from foreword.codecs.openai_chat_blocks import WIRE
from foreword.codecs.openai_chat_decode import decode_messages
from foreword.codecs.reading import At, are_blocks


def decode_marks(messages: Sequence[Any], tools: Sequence[Any] | None) -> tuple[Mark, ...]:
    """Return the marks of lists in the order of a request.

    On a tool, a part, or a message, which marks its last block. The member stays where it stands, for the gateway. A
    breakpoint of OpenAI's own is no such mark. Raises: MalformedRequest.
    """
    at = At(WIRE)
    marks: list[Mark] = []
    for index, tool in enumerate((at / "tools").items(tools or ())):
        marks += [Mark(section="tool", index=index, ttl=ttl) for ttl in _ttls(tool, at / "tools" / index)]
    for index, message in enumerate((at / "messages").items(messages)):
        here = at / "messages" / index
        # Of several marks on one block, as on the parts of a result, the last holds.
        spots = dict(_spots(here.mapping(message), here))
        marks += [
            Mark(section="message", index=index, block=block, ttl=ttl)
            for block, ttl in sorted(spots.items(), key=_place)
        ]
    return tuple(marks)


def _spots(message: Mapping[str, Any], at: At) -> Iterator[tuple[int, str | None]]:
    """Yield (block, TTL): a result is one block, whatever its parts."""
    content: Any = message.get("content")
    given = message.get("role") == "tool"
    parts = are_blocks(content) if given else isinstance(content, list)
    for number, part in enumerate(cast("list[Any]", content) if parts else ()):
        for ttl in _ttls(part, at / "content" / number):
            yield 0 if given else number, ttl
    for ttl in _ttls(message, at):
        [decoded] = decode_messages([message])
        yield max(0, len(decoded.blocks) - 1), ttl


def _place(spot: tuple[int, str | None]) -> int:
    return spot[0]


def _ttls(value: Any, at: At) -> list[str | None]:
    mark = at.mapping(value).get("cache_control")
    place = at / "cache_control"
    return [] if mark is None else [place.text(place.mapping(mark), "ttl")]
