"""A caller's own cache marks: from places in the lists that it gave to places in the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from foreword.codecs.decoded import Mark
from foreword.core.block import Block, Message, Text, Thinking, ToolResult, ToolSpec
from foreword.core.event import Marking

Spot = tuple[int, int]
"""Which fact of a list a block became part of, and how many blocks of that fact are sent behind it."""


class Spotted(Struct, frozen=True, kw_only=True):
    """A mark in a message: in which item of the list, and on which of its facts (see ``Spot``)."""

    item: int
    fact: int
    behind: int
    ttl: str | None


def spotted(
    marks: Sequence[Mark], *, messages: Sequence[Message], leading: int, items: int, facts: int
) -> list[Spotted]:
    """Find the facts that marks in messages stand on, in the order of the list.

    ``leading``: messages at the beginning that became instructions. ``items`` and ``facts``: before these messages.
    """
    within = [mark for mark in marks if mark.section == "message"]
    spots = dict(_spots(messages, leading)) if within else {}
    found: list[Spotted] = []
    for mark in within:
        fact, behind = spots.get((mark.index, mark.block or 0), (-1 - facts, 0))
        found.append(Spotted(item=items + mark.index, fact=facts + fact, behind=behind, ttl=mark.ttl))
    return found


def markings(
    marks: Sequence[Mark],
    *,
    messages: Sequence[Spotted],
    tools: Sequence[ToolSpec],
    seqs: Mapping[int, int],
) -> tuple[Marking, ...]:
    """Say of each mark on which fact of the log it stands, newest first: those are read again soonest.

    ``messages``: the marks in these. ``tools``: as the caller listed them. ``seqs``: fact of the list to its event.
    """
    found = [
        Marking(section="message", event=seqs[spot.fact], behind=spot.behind, ttl=spot.ttl)
        for spot in reversed(messages)
        if spot.fact in seqs
    ]
    for mark in reversed(marks):
        match mark.section:
            case "tool":
                found.append(Marking(section="tool", name=tools[mark.index].name, ttl=mark.ttl))
            case "system":
                found.append(Marking(section="system", place=mark.index, ttl=mark.ttl))
            case "message":
                pass
    return tuple(found)


def _spots(messages: Sequence[Message], leading: int) -> Iterator[tuple[tuple[int, int], Spot]]:
    """Yield (message, block) to its spot, counting facts as a list becomes them: results first, then the rest."""
    fact = 0
    for index, message in enumerate(messages[leading:], leading):
        rest: list[int] = []
        for number, block in enumerate(message.blocks):
            if isinstance(block, ToolResult):
                yield (index, number), (fact, 0)
                fact += 1
            else:
                rest.append(number)
        sent = [number for number in rest if not is_blank(message.blocks[number])]
        for number in rest:
            yield (index, number), (fact, sum(other > number for other in sent))
        fact += any(not isinstance(message.blocks[number], Thinking) for number in sent)


def is_blank(block: Block) -> bool:
    """Whether a block is text that says nothing, which is never sent."""
    return isinstance(block, Text) and not block.text.strip()
