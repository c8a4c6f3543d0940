"""A caller's messages against those of the log: which are known, and where the list contradicts it.

Both sides are folded by the same rules (pairing, order of results), so what is compared is what they mean, not how
they were listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from foreword.core.block import Block, Opaque, Text, Thinking, ToolCall, ToolResult
from foreword.core.canonical import canonical
from foreword.core.event import ToolReturned
from foreword.core.view import Fold, Interaction, Item, Turn
from foreword.engine.shortened import is_shortened


class Compared(Struct, kw_only=True):
    """``known``: given facts that the log holds, index to event. ``differs``: first event of the log that the list

    contradicts or lacks, None: it only adds. ``shortened``: ids of calls whose results the caller cut.
    """

    known: dict[int, int]
    differs: int | None
    shortened: list[str]


class _Gone(Struct, frozen=True):
    """The place of a message whose payload was erased: a caller may still hold it, or have taken it out."""

    seq: int


def _with_gone(recorded: Fold, items: list[Item]) -> list[Item | _Gone]:
    """Put the places of erased messages among the items that are left."""
    placed: list[Item | _Gone] = list(items)
    for event in recorded.events:
        if event.body is None and event.kind in ("said", "answered"):
            at = next((n for n, item in enumerate(placed) if item.seq > event.seq), len(placed))
            placed.insert(at, _Gone(event.seq))
    return placed


def compare(recorded: Fold, given: Fold) -> Compared:
    """Match item by item, result by result."""
    compared = Compared(known={}, differs=None, shortened=[])
    old = [item for item in recorded.items if _keys(item)]
    new = [item for item in given.items if _keys(item)]
    old = _unsummarised(recorded, old, new)
    _compare_orphans(recorded, given, compared)
    entries = _with_gone(recorded, old)
    at = position = 0
    while position < len(entries):
        item = entries[position]
        other = new[at] if at < len(new) else None
        if isinstance(item, _Gone):
            following = entries[position + 1] if position + 1 < len(entries) else None
            held = other is not None and (
                isinstance(following, _Gone | None) or _keys(following) != _keys(other)
            )
            if held and other is not None:
                _take_whole(compared, item.seq, other)
                at += 1
            position += 1
            continue
        here, there = _alike(entries[position:], new[at:])
        if not here:
            _contradict(compared, item.seq)
            break
        ours, theirs = entries[position : position + here], new[at : at + there]
        for place, each in enumerate(theirs):
            compared.known[each.seq] = ours[min(place, here - 1)].seq
        _compare_results(ours, theirs, compared, recorded.erased)
        position, at = position + here, at + there
    return compared


def _alike(ours: Sequence[Item | _Gone], theirs: Sequence[Item]) -> tuple[int, int]:
    """Return how many items at the start of each side say the same; (0, 0): none do.

    One each, or several messages of the model that are one on the other side: providers join such neighbours.
    """
    if not theirs:
        return 0, 0
    here = there = 1
    mine, other = _keys(ours[0]), _keys(theirs[0])
    while mine != other:
        shared = min(len(mine), len(other))
        behind, rest = (mine, ours[here:]) if len(mine) == shared else (other, theirs[there:])
        joins = isinstance(ours[0], Interaction) and rest and isinstance(rest[0], Interaction)
        if mine[:shared] != other[:shared] or len(mine) == len(other) or not joins:
            return 0, 0
        behind += _keys(rest[0])[1:]
        here, there = (here + 1, there) if behind is mine else (here, there + 1)
    return here, there


def _unsummarised(recorded: Fold, old: list[Item], new: list[Item]) -> list[Item]:
    """Leave out what a list lacks because it begins with the block that the provider gave for it."""
    for block in reversed(recorded.compactions):
        if new and _keys(new[0]) == _keys(block):
            return [block, *(item for item in old[old.index(block) :] if item is not block)]
    return old


def _contradict(compared: Compared, seq: int) -> None:
    compared.differs = seq if compared.differs is None else min(compared.differs, seq)


def _take_whole(compared: Compared, seq: int, other: Item) -> None:
    """Hold a message that the log erased for known, with its results: it is not recorded again."""
    compared.known[other.seq] = seq
    if isinstance(other, Interaction):
        compared.known.update({place: seq for place in other.result_seqs if place is not None})


def _results(items: Sequence[Item | _Gone]) -> Iterator[tuple[ToolResult | None, int | None]]:
    for item in items:
        if isinstance(item, Interaction):
            yield from zip(item.results, item.result_seqs, strict=True)


def _compare_results(
    ours: Sequence[Item | _Gone], theirs: Sequence[Item], compared: Compared, erased: Mapping[int, str]
) -> None:
    for (result, seq), (twin, place) in zip(_results(ours), _results(theirs), strict=True):
        if result is None or seq is None:
            continue
        if seq in erased:
            if place is not None:
                compared.known[place] = seq
            continue
        if twin is None or place is None:
            _contradict(compared, seq)
        elif _result_key(result) == _result_key(twin):
            compared.known[place] = seq
        elif result.is_error == twin.is_error and is_shortened(_result_text(result), _result_text(twin)):
            compared.known[place] = seq
            compared.shortened.append(result.call_id)
        else:
            _contradict(compared, seq)


def _compare_orphans(recorded: Fold, given: Fold, compared: Compared) -> None:
    """Results without a call: those recorded must come first among those given, in order.

    How a call ended that was answered before, as one moved to the background, is in no list.
    """
    listed = list(given.orphans)
    for seq in recorded.orphans:
        if listed and _body_key(recorded, seq) == _body_key(given, listed[0]):
            compared.known[listed.pop(0)] = seq
        elif seq not in recorded.late:
            _contradict(compared, seq)
            return


def _body_key(fold: Fold, seq: int) -> bytes:
    event = next(event for event in fold.events if event.seq == seq)
    if not isinstance(event.body, ToolReturned):
        return b""
    return event.body.result.call_id.encode() + _result_key(event.body.result)


def _keys(item: Any) -> list[bytes]:
    """What an item is compared by: who speaks, then block by block; empty for one that shows nothing."""
    if not isinstance(item, Turn | Interaction):
        return []
    message = item.recorded if isinstance(item, Interaction) else item.message
    role = "system" if message.role == "developer" else message.role
    keys = [canonical(_block_key(block)) for block in message.blocks if counts(block)]
    return [canonical([role, (message.extra or {}).get("name")]), *keys] if keys else []


def counts(block: Block) -> bool:
    """Reasoning may be dropped by its holder, and blank text is never sent."""
    return not isinstance(block, Thinking) and not (isinstance(block, Text) and not block.text.strip())


def _block_key(block: Block) -> Any:
    match block:
        case Text():
            return ["text", block.text]
        case ToolCall():
            return ["call", block.id, block.name, _value(block.arguments)]
        case Opaque():
            return [block.form, _bare(_value(block.raw))]
        case _:
            return _bare(
                {name: value for name, value in msgspec.to_builtins(block).items() if name != "extra"}
            )


def _result_key(result: ToolResult) -> bytes:
    blocks = [_block_key(block) for block in result.content if counts(block)]
    return canonical([result.is_error, blocks])


def _result_text(result: ToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, Text))


def _bare(value: Any) -> Any:
    """Drop members that carry nothing, at every depth: SDKs add them as defaults."""
    if isinstance(value, dict):
        return {name: _bare(member) for name, member in value.items() if member not in (None, [], {})}
    return [_bare(member) for member in value] if isinstance(value, list) else value


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text
