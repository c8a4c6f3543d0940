"""Halves of pairs, in blocks that only their wire knows, that stand alone.

A walk over the items finds them. Behind what was sent and holds no open pair nothing can change unnoticed, so the next
walk goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from foreword.compiler.passes.repair_pairs import UNKNOWN
from foreword.compiler.render import is_operators
from foreword.core.block import Block, Opaque, Text
from foreword.core.event import Answered, Said
from foreword.core.fold import Fold
from foreword.core.item import Interaction, Item, Notice, Turn
from foreword.core.request import Link
from foreword.core.target import Target
from foreword.core.view import View

TOLD = 20_000
"""Characters of a late output that a notice tells; a longer one (a picture) is only named."""
Half = tuple[int, int, Opaque]
"""Event, index of the block in its message, and the block."""


class _Read:
    """What a walk learnt of some items: ids ``asked`` for, pairs of which the model was told that their outcome is

    ``unknown``, and the ``events`` with a half.
    """

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.unknown: set[tuple[str, str]] = set()
        self.events: set[int] = set()

    def take(self, other: _Read) -> None:
        """Take over what another one holds, which is empty then."""
        for mine, theirs in (
            (self.asked, other.asked),
            (self.unknown, other.unknown),
            (self.events, other.events),
        ):
            mine |= theirs
            theirs.clear()


class _Settled(_Read):
    """The first ``at`` items, ``last`` the last of them, when so many ``repairs`` and ``rewrites`` were known: no half

    in them is alone and none waits. ``newest``: the last answer in them, -1: there is none.
    """

    def __init__(self) -> None:
        super().__init__()
        self.at = 0
        self.last: Item | None = None
        self.newest = -1
        self.repairs = self.rewrites = 0

    def holds(self, fold: Fold) -> bool:
        """Whether they are what they were, and no function's call since has an id that one of them asked for."""
        if self.at and (self.at > len(fold.items) or fold.items[self.at - 1] is not self.last):
            return False
        new = (item for item in fold.items[self.at :] if isinstance(item, Interaction))
        rewritten = (one for _, body in fold.rewrites[self.rewrites :] for one in body.replacements)
        return (
            self.events.isdisjoint(body.event for _, body in fold.repairs[self.repairs :])
            and self.events.isdisjoint(seq for one in rewritten for seq in one.events)
            and self.asked.isdisjoint(call.id for item in new for call in item.calls)
        )


_SETTLED: WeakKeyDictionary[Fold, dict[tuple[str, str], _Settled]] = WeakKeyDictionary()
"""By wire and channel of notices, which say what is a pair and what comes between; as long as the fold is in use."""


def lone_halves(view: View, target: Target) -> list[tuple[Half, str]]:
    """Return each half that stands alone, with what the model is told of it.

    What the provider has under way waits until somebody else speaks. What a person is asked for waits while nothing
    came after it. What a summary stands for has no half: on another wire it may have taken one of two.
    """
    fold = view.fold
    if not fold.opaque:
        return []
    kept = _SETTLED.setdefault(fold, {})
    key = target.codec.wire, target.notice_channel
    settled = kept.get(key)
    if settled is None or not settled.holds(fold):
        settled = kept[key] = _Settled()
    return _walk(view, target, settled)


def _walk(view: View, target: Target, settled: _Settled) -> list[tuple[Half, str]]:
    fold, items = view.fold, view.fold.items
    new, found = _Read(), list[tuple[Half, str]]()
    pending: dict[tuple[str, str], tuple[Half, Link]] = {}
    told = set[tuple[str, str]]()
    newest, sent = settled.newest, fold.sent[-1].items if fold.sent else 0
    for at in range(settled.at, len(items)):
        item = items[at]
        summary = item.seq in fold.opaque and view.summary(item.seq) is not None
        for half, link in halves_of(view, item.seq, target) if item.seq in fold.opaque else ():
            if summary:
                told.update([link.pair] if link.answers else ())
                continue
            new.events.add(half[0])
            known = link.id in new.asked or link.id in settled.asked
            if half[:2] in fold.parted:
                if link.by == "client" and not link.answers and not known:
                    new.unknown.add(link.pair)
            elif link.answers:
                if pending.pop(link.pair, None) is None:
                    untold = link.pair in new.unknown or link.pair in settled.unknown
                    found.append((half, _late(half[2], link) if untold else ""))
            elif link.id in fold.call_ids:
                found.append((half, _untold(half[2]) if link.by == "client" else ""))
                if link.by == "client":
                    new.unknown.add(link.pair)
            elif known:
                found.append((half, ""))
            else:
                new.asked.add(link.id)
                pending[link.pair] = half, link
        if isinstance(item, Interaction):
            newest = item.seq
        elif pending:
            # The operator may speak behind what the newest answer asked for; an older one was passed over.
            behind = -1 if says(view, item, target) else newest
            for half, link in [each for each in pending.values() if each[1].by == "provider"]:
                if half[0] != behind:
                    del pending[link.pair]
                    found.append((half, ""))
        if at < sent and not pending and not found:
            settled.take(new)
            settled.at, settled.last, settled.newest = at + 1, item, newest
            settled.repairs, settled.rewrites = len(fold.repairs), len(fold.rewrites)
    for half, link in pending.values():
        if link.by == "client":
            found.append((half, "" if link.pair in told else _untold(half[2])))
        elif link.by == "person" and half[0] != items[-1].seq:
            found.append((half, ""))
    return found


def halves_of(view: View, seq: int, target: Target) -> Iterator[tuple[Half, Link]]:
    """Yield the halves in a message, in order, with what each asks for or answers."""
    body = view.fold.events[seq].body
    for index, block in enumerate(body.message.blocks if isinstance(body, Said | Answered) else ()):
        link = target.codec.link(block) if isinstance(block, Opaque) else None
        if isinstance(block, Opaque) and link is not None:
            yield (seq, index, block), link


def says(view: View, item: Item, target: Target) -> bool:
    """Whether an item is words of the user's, or of the engine in his channel."""
    if isinstance(item, Turn):
        return item.message.role == "user" and any(_shows(block, target) for block in item.message.blocks)
    return isinstance(item, Notice) and (target.notice_channel == "user" or not is_operators(view, item))


def _untold(block: Opaque) -> str:
    return f"{UNKNOWN}\n{block.raw}"


def _late(block: Opaque, link: Link) -> str:
    shown = block.raw if len(block.raw) <= TOLD else f"{len(block.raw):,} characters, left out"
    return f"[late output of call {link.id}] {shown}"


def _shows(block: Block, target: Target) -> bool:
    if isinstance(block, Opaque):
        return target.codec.link(block) is None
    return not isinstance(block, Text) or bool(block.text.strip())
