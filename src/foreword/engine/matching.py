"""A caller's messages against those of the log: which are known, and where the list contradicts it.

Both sides are folded by the same rules (pairing, order of results), so what is compared is what they mean, not how
they were listed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from foreword.codecs.foreign_blocks import as_listed
from foreword.core.block import Block, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from foreword.core.canonical import canonical
from foreword.core.event import Event, ToolReturned
from foreword.core.fold import Fold
from foreword.core.item import Interaction, Turn
from foreword.engine.shortened import is_shortened


class Compared(Struct, kw_only=True):
    """``known``: given facts that the log holds, index to event. ``differs``: first event of the log that the list

    contradicts or lacks, None: it only adds. ``shortened``: ids of calls whose results the caller cut. ``waiting``: ids
    of calls that are without a result on either side. ``matches``: after each match how many places, of all recorded
    and of those given, and how many of ``shortened`` and ``waiting`` there were. ``orphans``: how many recorded results
    without a call there were up to each that is given, too.
    """

    known: dict[int, int]
    differs: int | None
    shortened: list[str]
    waiting: list[str]
    matches: list[tuple[int, int, int, int]]
    orphans: list[int]


class Agreed(Struct, frozen=True, kw_only=True):
    """How much of a list and of a log is known to say the same, for good: only what comes behind is compared.

    Of the list: its ``items`` and the ``facts`` in them. Of the log: its ``events``, and the ``places`` and
    ``orphans`` among them. ``shortened``: results up to here that the caller cut. ``waiting``: calls up to here
    without a result; what comes behind for one of them is to be compared from before the call.
    """

    items: int = 0
    facts: int = 0
    events: int = 0
    places: int = 0
    orphans: int = 0
    shortened: int = 0
    waiting: int = 0


NOTHING = Agreed()


class _Place(Struct, frozen=True):
    """A message in its list, with what it is compared by: who speaks, then block by block.

    ``item`` None: its payload was erased; a caller may still hold it, or have taken it out.
    """

    seq: int
    item: Turn | Interaction | None = None
    keys: tuple[bytes, ...] = ()


class Side:
    """The facts of one side, folded, and the messages in them that show something. It grows with its facts."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.fold = Fold(events)
        self.places: list[_Place] = []
        self.gone = [e.seq for e in self.fold.events if e.body is None and e.kind in ("said", "answered")]
        self._place(0)

    def extend(self, events: Iterable[Event]) -> None:
        """Add facts; an erasure is none, since it changes those that are here."""
        start = len(self.fold.items)
        for event in events:
            self.fold.apply(event)
        self._place(start)

    def _place(self, start: int) -> None:
        for item in self.fold.items[start:]:
            if isinstance(item, Turn | Interaction) and (keys := _keys(item)):
                self.places.append(_Place(item.seq, item, keys))


def _with_gone(gone: Sequence[int], places: list[_Place]) -> list[_Place]:
    """Put the places of erased messages among those that are left."""
    placed = list(places)
    for seq in gone:
        at = next((n for n, place in enumerate(placed) if place.seq > seq), len(placed))
        placed.insert(at, _Place(seq))
    return placed


def compare(recorded: Side, given: Side, since: Agreed = NOTHING) -> Compared:
    """Match item by item, result by result, what comes behind ``since``; ``given`` holds nothing else."""
    compared = Compared(known={}, differs=None, shortened=[], waiting=[], matches=[], orphans=[])
    new = given.places
    old = recorded.places[since.places :]
    if since is NOTHING:
        old = _with_gone(recorded.gone, _unsummarised(recorded.fold, old, new))
    _compare_orphans(recorded.fold, given.fold, compared, since.orphans)
    done = len(recorded.places) - sum(place.item is not None for place in old)
    compared.matches.append((done, 0, 0, 0))
    at = position = 0
    while position < len(old):
        place = old[position]
        other = new[at] if at < len(new) else None
        if place.item is None:
            following = old[position + 1] if position + 1 < len(old) else place
            if other is not None and other.keys != following.keys:
                _take_whole(compared, place.seq, other)
                at += 1
                _match(compared, done, at, [other])
            position += 1
            continue
        here, there = _alike(old, position, new, at)
        if not here:
            _contradict(compared, place.seq)
            break
        ours, theirs = old[position : position + here], new[at : at + there]
        for number, each in enumerate(theirs):
            compared.known[each.seq] = ours[min(number, here - 1)].seq
        _compare_results(ours, theirs, compared, recorded.fold)
        position, done, at = position + here, done + here, at + there
        _match(compared, done, at, [*ours, *theirs])
    return compared


def agreed(
    recorded: Side, given: Side, compared: Compared, since: Agreed, ends: Sequence[tuple[int, int]]
) -> list[Agreed]:
    """Return the places behind ``since`` up to which all is settled, whatever comes next.

    ``ends``: where messages of the list end, as (items, facts) up to there. Nothing is settled before a message that
    was erased: what comes next may be it.
    """
    if compared.differs is not None:
        return []
    erased = recorded.gone[-1] if recorded.gone else -1
    reached = _reached(given, compared, since)
    found: list[Agreed] = []
    n = 0
    for items, facts in ends:
        while n + 1 < len(reached) and reached[n + 1][0] < facts:
            n += 1
        _, covered, places, shortened, waiting = reached[n]
        orphans = bisect_left(given.fold.orphans, facts)
        whole = covered + orphans == facts - since.facts and orphans <= len(compared.orphans)
        seq = recorded.places[places - 1].seq if places else -1
        if whole and seq > erased:
            found.append(
                Agreed(
                    items=items,
                    facts=facts,
                    events=seq + 1,
                    places=places,
                    orphans=compared.orphans[orphans - 1] if orphans else since.orphans,
                    shortened=since.shortened + shortened,
                    waiting=since.waiting + waiting,
                )
            )
    return found


def _match(compared: Compared, done: int, at: int, matched: Sequence[_Place]) -> None:
    items = [place.item for place in matched if isinstance(place.item, Interaction)]
    pairs = (
        (id_, result) for item in items for id_, result in zip(item.recorded_ids, item.results, strict=True)
    )
    compared.waiting += dict.fromkeys(id_ for id_, result in pairs if result is None)
    compared.matches.append((done, at, len(compared.shortened), len(compared.waiting)))


def _reached(given: Side, compared: Compared, since: Agreed) -> list[tuple[int, int, int, int, int]]:
    """Return, match by match: the last fact, how many the log holds, and (places, shortened, waiting)."""
    last, covered = since.facts - 1, 0
    reached = [(last, covered, compared.matches[0][0], 0, 0)]
    for (_, its, _, _), (places, at, shortened, waiting) in pairwise(compared.matches):
        facts = [seq for place in given.places[its:at] if place.item for seq in place.item.events]
        last, covered = max(last, *facts), covered + sum(seq in compared.known for seq in facts)
        reached.append((last, covered, places, shortened, waiting))
    return reached


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
    ours: Sequence[_Place], theirs: Sequence[_Place], compared: Compared, recorded: Fold
) -> None:
    for (result, seq), (twin, place) in zip(_results(ours), _results(theirs), strict=True):
        if result is None or seq is None:
            continue
        if seq in recorded.erased:
            if place is not None:
                compared.known[place] = seq
            continue
        if twin is None or place is None:
            _contradict(compared, seq)
            continue
        if _known_better(_event(recorded, seq), twin):
            twin = msgspec.structs.replace(twin, is_error=result.is_error)
        if _result_key(result) == _result_key(twin):
            compared.known[place] = seq
        elif result.is_error == twin.is_error and is_shortened(_result_text(result), _result_text(twin)):
            compared.known[place] = seq
            compared.shortened.append(result.call_id)
        else:
            _contradict(compared, seq)


def _compare_orphans(recorded: Fold, given: Fold, compared: Compared, start: int) -> None:
    """Results without a call: those recorded must come first among those given, in order.

    How a call ended that was answered before, as one moved to the background, is in no list.
    """
    listed = list(given.orphans)
    for count, seq in enumerate(recorded.orphans[start:], start + 1):
        if listed and _body_key(recorded, seq) == _body_key(given, listed[0]):
            compared.known[listed.pop(0)] = seq
            compared.orphans.append(count)
        elif seq not in recorded.late:
            _contradict(compared, seq)
            return


def _body_key(fold: Fold, seq: int) -> bytes:
    body = _event(fold, seq).body
    if not isinstance(body, ToolReturned):
        return b""
    return body.result.call_id.encode() + _result_key(body.result)


def _known_better(event: Event, listed: ToolResult) -> bool:
    """Whether how a call went was told first-hand, or the list says nothing of it: many can't say that it failed."""
    body = event.body
    if event.origin != "library" or not isinstance(body, ToolReturned):
        return False
    told = body.result.is_error or body.exit_code is not UNSET or body.run != "ended"
    return told or not listed.is_error


def _event(fold: Fold, seq: int) -> Event:
    return fold.events[bisect_left(fold.events, seq, key=attrgetter("seq"))]


def _keys(item: Turn | Interaction) -> tuple[bytes, ...]:
    return keys_of(item.recorded if isinstance(item, Interaction) else item.message)


def keys_of(message: Message) -> tuple[bytes, ...]:
    """Return what a message is compared by: who speaks, then block by block; (): it shows nothing."""
    role = "system" if message.role == "developer" else message.role
    keys = [canonical(_block_key(block)) for block in map(as_listed, message.blocks) if counts(block)]
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
            return [block.form, _bare_value(block.raw)]
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


def _bare_value(text: str) -> Any:
    try:
        return _bare(_value(text))
    except RecursionError:
        return text


def _value(text: str) -> Any:
    """Return what JSON says; what is none, or nested deeper than can be read, is compared as a text."""
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
