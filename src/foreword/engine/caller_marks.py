"""A caller's own cache marks: from places in the lists that it gave to places in the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from foreword.codecs.decoded import Mark
from foreword.core.block import Block, Message, Text, Thinking, ToolResult, ToolSpec
from foreword.core.event import Marking

Spot = tuple[int, int]
"""Which fact of a list a block became part of, and how many blocks of that fact are sent behind it."""


def markings(
    marks: Sequence[Mark],
    *,
    messages: Sequence[Message],
    leading: int,
    tools: Sequence[ToolSpec],
    seqs: Mapping[int, int],
) -> tuple[Marking, ...]:
    """Say of each mark on which fact of the log it stands, newest first: those are read again soonest.

    ``tools``: as the caller listed them. ``leading``: messages at the beginning that became instructions.
    ``seqs``: fact of the list to its event.
    """
    spots = dict(_spots(messages, leading)) if any(mark.section == "message" for mark in marks) else {}
    found: list[Marking] = []
    for mark in reversed(marks):
        match mark.section:
            case "tool":
                found.append(Marking(section="tool", name=tools[mark.index].name, ttl=mark.ttl))
            case "system":
                found.append(Marking(section="system", place=mark.index, ttl=mark.ttl))
            case "message":
                fact, behind = spots.get((mark.index, mark.block or 0), (-1, 0))
                if fact in seqs:
                    found.append(Marking(section="message", event=seqs[fact], behind=behind, ttl=mark.ttl))
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
