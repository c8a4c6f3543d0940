"""Leave out calls and outputs, in blocks that only their wire knows, that stand without their other half."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.approvals_pending import overtaken
from foreword.compiler.passes.repair_pairs import UNKNOWN
from foreword.core.block import Block, Opaque, Text
from foreword.core.event import Answered, Draft, Repaired, Said, by_engine
from foreword.core.item import Interaction, Item, Notice, Turn
from foreword.core.request import Link
from foreword.core.target import Target
from foreword.core.view import View

TOLD = 20_000
"""Characters of a late output that a notice tells; a longer one (a picture) is only named."""
Half = tuple[int, int, Opaque]
"""Event, index of the block in its message, and the block."""


def repair_links(view: View, target: Target) -> list[Draft]:
    """Propose to leave out each half that stands alone, and to tell the model of a call that may have taken effect.

    What the provider has under way stays until somebody else speaks: it goes on by itself. What a person is asked for
    stays while nothing came after it.
    """
    if not any(True for seq in view.fold.opaque for _ in _links(view, seq, target)):
        return []
    drafts: list[Draft] = []
    for half, text in _alone(view, target):
        body = Repaired(fault="unpaired", event=half[0], call=half[1], text=text)
        drafts.append(by_engine(body, half[0]))
    return drafts


def repair_overtaken(compiled: Compiled) -> list[Draft]:
    """Propose the same for what the provider has under way, where the request itself puts words behind it.

    Such as the pictures of a failed result, or the end of a turn whose reasoning can't stand any more.
    """
    view = compiled.view
    return [
        by_engine(Repaired(fault="unpaired", event=seq, call=half[1]), seq)
        for seq, pair in overtaken(compiled, compiled.frozen)
        for half, link in _links(view, seq, compiled.target)
        if link.pair == pair and not link.answers and half[:2] not in view.fold.parted
    ]


def _alone(view: View, target: Target) -> Iterator[tuple[Half, str]]:
    """Yield each half that stands alone, with what the model is told of it."""
    items, parted = view.fold.items, view.fold.parted
    pending: dict[tuple[str, str], tuple[Half, Link]] = {}
    functions = {call.id for item in items if isinstance(item, Interaction) for call in item.calls}
    seen: set[str] = set()
    unknown: set[tuple[str, str]] = set()
    for item in items:
        for half, link in _links(view, item.seq, target) if item.seq in view.fold.opaque else ():
            if half[:2] in parted:
                if link.by == "client" and not link.answers and link.id not in seen:
                    unknown.add(link.pair)
            elif link.answers and pending.pop(link.pair, None) is None:
                yield half, _late(half[2], link) if link.pair in unknown else ""
            elif link.id in functions and not link.answers:
                text = _untold(half[2]) if link.by == "client" else ""
                unknown |= {link.pair} if text else set[tuple[str, str]]()
                yield half, text
            elif link.id in seen and not link.answers:
                yield half, ""
            elif not link.answers:
                seen.add(link.id)
                pending[link.pair] = half, link
        if pending and _says(item, target):
            for half, link in [each for each in pending.values() if each[1].by == "provider"]:
                del pending[link.pair]
                yield half, ""
    for half, link in pending.values():
        if link.by == "client":
            yield half, _untold(half[2])
        elif link.by == "person" and half[0] != items[-1].seq:
            yield half, ""


def _links(view: View, seq: int, target: Target) -> Iterator[tuple[Half, Link]]:
    fold = view.fold
    body = fold.events[seq].body
    for index, block in enumerate(body.message.blocks if isinstance(body, Said | Answered) else ()):
        link = target.codec.link(block) if isinstance(block, Opaque) else None
        if isinstance(block, Opaque) and link is not None:
            yield (seq, index, block), link


def _untold(block: Opaque) -> str:
    return f"{UNKNOWN}\n{block.raw}"


def _late(block: Opaque, link: Link) -> str:
    shown = block.raw if len(block.raw) <= TOLD else f"{len(block.raw):,} characters, left out"
    return f"[late output of call {link.id}] {shown}"


def _says(item: Item, target: Target) -> bool:
    """Whether an item is words of the user's, or of the engine that may stand as such."""
    if isinstance(item, Turn):
        return item.message.role == "user" and any(_shows(block, target) for block in item.message.blocks)
    return isinstance(item, Notice)


def _shows(block: Block, target: Target) -> bool:
    if isinstance(block, Opaque):
        return target.codec.link(block) is None
    return not isinstance(block, Text) or bool(block.text.strip())
