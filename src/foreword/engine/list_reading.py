"""A caller's request, read: the facts in its list of messages, and what stands beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct

from foreword.codecs.decoded import Mark, WireCodec
from foreword.core.block import Message, Text, ToolResult, ToolSpec
from foreword.core.event import Answered, Draft, Said, ToolReturned
from foreword.core.sealing import GENESIS, seal
from foreword.engine.caller_marks import Spotted, spotted
from foreword.engine.matching import NOTHING, Agreed, Side, counts
from foreword.engine.tool_check import check_tools
from foreword.errors import CodecError, EmptyRequest, MalformedRequest
from foreword.importers.decode import bare

if TYPE_CHECKING:
    from foreword.engine.session import Session


class Reading(Struct, frozen=True, kw_only=True):
    """What a request says behind ``since``, a place in its list.

    ``leading``: texts of the instructions that the list begins with, None: it has none. ``given``: ``drafts``, folded.
    ``marks``: of the request, ``heading``: those on ``leading``, ``spotted``: those in its messages. ``ends``: where
    messages end, as (items, facts) up to there, but for the model's, to which the next item may belong.
    """

    since: Agreed
    system: list[str]
    leading: Sequence[str] | None
    drafts: list[Draft]
    given: Side
    offered: Sequence[ToolSpec]
    marks: Sequence[Mark]
    heading: Sequence[Mark]
    spotted: Sequence[Spotted]
    ends: Sequence[tuple[int, int]]


def read_list(
    session: Session, messages: Sequence[Any], system: Any, tools: Sequence[Any] | None, since: Agreed
) -> Reading:
    """Read a request, its list from ``since`` on; ``session`` is not changed.

    Raises: MalformedRequest, EmptyRequest, InvalidValue.
    """
    try:
        return _read_behind(session, messages, system, tools, since)
    except CodecError:
        if since is NOTHING:
            raise
    return _read_behind(session, messages, system, tools, NOTHING)  # whose error names the place in the whole


def _read_behind(
    session: Session, messages: Sequence[Any], system: Any, tools: Sequence[Any] | None, since: Agreed
) -> Reading:
    codec, last = session.codec, session.last_list
    behind = messages if since is NOTHING else messages[since.items :]
    listed = codec.decode_messages(behind)
    start = 0
    while since is NOTHING and start < len(listed) and listed[start].role in ("system", "developer"):
        start += 1
    said = [list(_drafts(message)) for message in listed[start:]]
    drafts = [draft for facts in said for draft in facts]
    given = _folded(drafts, since.facts)
    if since is NOTHING and not given.places:  # results alone, of no call, show nothing
        raise EmptyRequest(session.id)
    texts = _system_texts(codec.wire, system)
    leading = [text for message in listed[:start] for text in _texts(message)] if start else None
    offered = () if tools is None else codec.decode_tools(tools)
    check_tools(offered)  # before the log forks: a refusal changes nothing
    decoded = codec.decode_marks(behind, system, tools)
    early = [mark for mark in decoded if mark.section == "message" and mark.index < start]
    heading = [_of_system(mark, listed) for mark in early] if since is NOTHING else last.heading
    marks = [*(mark for mark in decoded if mark not in early), *heading]
    found = spotted(marks, messages=listed, leading=start, items=since.items, facts=since.facts)
    return Reading(
        since=since,
        system=texts,
        leading=leading if since is NOTHING else last.leading,
        drafts=drafts,
        given=given,
        offered=offered,
        marks=marks,
        heading=heading,
        spotted=[*(spot for spot in last.marks if spot.item < since.items), *found],
        ends=[
            (since.items + items, since.facts + facts)
            for items, facts, message in zip(
                _items(codec, behind, listed),
                accumulate([*(0 for _ in range(start)), *map(len, said)]),
                listed,
                strict=False,
            )
            if message.role != "assistant"
        ],
    )


def _items(codec: WireCodec, items: Sequence[Any], listed: Sequence[Message]) -> Sequence[int]:
    """Return how many items there are up to each message; one wire joins neighbours of the model to one message."""
    if len(items) == len(listed):
        return range(1, len(items) + 1)
    roles = [message.role for item in items for message in codec.decode_messages([item])]
    ends = [
        count
        for count, (role, following) in enumerate(zip_longest(roles, roles[1:]), 1)
        if role != "assistant" or following != "assistant"
    ]
    return ends if len(roles) == len(items) and len(ends) == len(listed) else ()


def _of_system(mark: Mark, listed: Sequence[Message]) -> Mark:
    """Say of a mark on a message that became instructions on which of their texts it stands."""
    before = sum(len(_texts(message)) for message in listed[: mark.index])
    return Mark(section="system", index=before + (mark.block or 0), ttl=mark.ttl)


def _drafts(message: Message) -> Iterator[Draft]:
    """Yield the facts in one listed message: its results first, as every wire renders them, then the rest."""
    for block in message.blocks:
        if isinstance(block, ToolResult):
            result = bare(block, message.wire or "")
            yield Draft(body=ToolReturned(result=result), trust="tool", actor="tool", origin="sync")
    plain = tuple(block for block in message.blocks if not isinstance(block, ToolResult))
    if not any(counts(block) for block in plain):
        return
    rest = msgspec.structs.replace(message, blocks=plain)
    if message.role == "assistant":
        yield Draft(body=Answered(message=rest), trust="model", actor="model", origin="sync")
    else:
        person = message.role == "user"
        trust = "person" if person else "operator"
        yield Draft(body=Said(message=rest, person=person), trust=trust, actor="user", origin="sync")


def _folded(drafts: Sequence[Draft], first: int) -> Side:
    """Fold facts that are in no log; their seqs count from ``first``."""
    return Side(
        seal(draft, seq=seq, at=0, tenant="", previous=GENESIS, nonce=b"")
        for seq, draft in enumerate(drafts, first)
    )


def _texts(message: Message) -> list[str]:
    return [block.text for block in message.blocks if isinstance(block, Text)]


def _system_texts(wire: str, system: Any) -> list[str]:
    """Return the texts of instructions. Raises: MalformedRequest for what is neither a text nor a list of blocks."""
    if system is None or isinstance(system, str):
        return [] if system is None else [system]
    if not isinstance(system, list | tuple):
        raise MalformedRequest(
            wire, "system", f"{type(system).__name__}, expected a text or a list of blocks"
        )
    blocks = cast("Sequence[dict[str, Any] | object]", system)
    texts: list[Any] = [
        block.get("text") if isinstance(block, dict) else getattr(block, "text", None) for block in blocks
    ]
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise MalformedRequest(wire, f"system[{index}].text", f"{type(text).__name__}, expected a text")
    return texts
