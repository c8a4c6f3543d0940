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
from foreword.core.fold import Fold
from foreword.core.item import Interaction, Turn
from foreword.engine.shortened import is_shortened


class Compared(Struct, kw_only=True):
    """``known``: given facts that the log holds, index to event. ``differs``: first event of the log that the list

    contradicts or lacks, None: it only adds. ``shortened``: ids of calls whose results the caller cut.
    """

    known: dict[int, int]
    differs: int | None
    shortened: list[str]


class _Place(Struct, frozen=True):
    """A message in its list, with what it is compared by: who speaks, then block by block.

    ``item`` None: its payload was erased; a caller may still hold it, or have taken it out.
    """

    seq: int
    item: Turn | Interaction | None = None
    keys: tuple[bytes, ...] = ()


def _places(fold: Fold) -> list[_Place]:
    """List the messages that show something."""
    found = [
        _Place(item.seq, item, _keys(item)) for item in fold.items if isinstance(item, Turn | Interaction)
    ]
    return [place for place in found if place.keys]


def _with_gone(recorded: Fold, places: list[_Place]) -> list[_Place]:
    """Put the places of erased messages among those that are left."""
    placed = list(places)
    for event in recorded.events:
        if event.body is None and event.kind in ("said", "answered"):
            at = next((n for n, place in enumerate(placed) if place.seq > event.seq), len(placed))
            placed.insert(at, _Place(event.seq))
    return placed


def compare(recorded: Fold, given: Fold) -> Compared:
    """Match item by item, result by result."""
    compared = Compared(known={}, differs=None, shortened=[])
    new = _places(given)
    old = _with_gone(recorded, _unsummarised(recorded, _places(recorded), new))
    _compare_orphans(recorded, given, compared)
    at = position = 0
    while position < len(old):
        place = old[position]
        other = new[at] if at < len(new) else None
        if place.item is None:
            following = old[position + 1] if position + 1 < len(old) else place
            if other is not None and other.keys != following.keys:
                _take_whole(compared, place.seq, other)
                at += 1
            position += 1
            continue
        here, there = _alike(old, position, new, at)
        if not here:
            _contradict(compared, place.seq)
            break
        ours, theirs = old[position : position + here], new[at : at + there]
        for number, each in enumerate(theirs):
            compared.known[each.seq] = ours[min(number, here - 1)].seq
        _compare_results(ours, theirs, compared, recorded.erased)
        position, at = position + here, at + there
    return compared


def _alike(ours: Sequence[_Place], mine: int, theirs: Sequence[_Place], its: int) -> tuple[int, int]:
    """Return how many messages say the same, from ``mine`` on and from ``its`` on; (0, 0): none do.

    One each, or several messages of the model that are one on the other side: providers join such neighbours.
    """
    if its >= len(theirs):
        return 0, 0
    here = there = 1
    one, other = ours[mine].keys, theirs[its].keys
    while one != other:
        shared = min(len(one), len(other))
        shorter = len(one) == shared
        rest, at = (ours, mine + here) if shorter else (theirs, its + there)
        pair = (ours[mine], rest[at]) if at < len(rest) else ()
        joins = pair and all(isinstance(place.item, Interaction) for place in pair)
        if one[:shared] != other[:shared] or len(one) == len(other) or not joins:
            return 0, 0
        if shorter:
            one, here = one + rest[at].keys[1:], here + 1
        else:
            other, there = other + rest[at].keys[1:], there + 1
    return here, there


def _unsummarised(recorded: Fold, old: list[_Place], new: list[_Place]) -> list[_Place]:
    """Leave out what a list lacks because it begins with the block that the provider gave for it."""
    blocks = {block.seq for block in recorded.compactions}
    for at in range(len(old) - 1, -1, -1):
        if new and old[at].seq in blocks and old[at].keys == new[0].keys:
            return old[at:]
    return old


def _contradict(compared: Compared, seq: int) -> None:
    compared.differs = seq if compared.differs is None else min(compared.differs, seq)


def _take_whole(compared: Compared, seq: int, other: _Place) -> None:
    """Hold a message that the log erased for known, with its results: it is not recorded again."""
    compared.known[other.seq] = seq
    compared.known.update({place: seq for _, place in _results([other]) if place is not None})


def _results(places: Sequence[_Place]) -> Iterator[tuple[ToolResult | None, int | None]]:
    for place in places:
        if isinstance(place.item, Interaction):
            yield from zip(place.item.results, place.item.result_seqs, strict=True)


def _compare_results(
    ours: Sequence[_Place], theirs: Sequence[_Place], compared: Compared, erased: Mapping[int, str]
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


def _keys(item: Turn | Interaction) -> tuple[bytes, ...]:
    message = item.recorded if isinstance(item, Interaction) else item.message
    role = "system" if message.role == "developer" else message.role
    keys = [canonical(_block_key(block)) for block in message.blocks if counts(block)]
    return (canonical([role, (message.extra or {}).get("name")]), *keys) if keys else ()


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
