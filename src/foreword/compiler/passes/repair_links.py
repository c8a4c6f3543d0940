"""Leave out calls and outputs, in blocks that only their wire knows, that stand without their other half."""

from __future__ import annotations

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.approvals_pending import overtaken
from foreword.compiler.passes.lone_halves import halves_of, lone_halves, says
from foreword.core.event import Draft, Repaired, by_engine
from foreword.core.item import Interaction
from foreword.core.target import Target
from foreword.core.view import View


def repair_links(view: View, target: Target) -> list[Draft]:
    """Propose to leave out each half that stands alone, and to tell the model of a call that may have taken effect."""
    return [
        by_engine(Repaired(fault="unpaired", event=seq, call=index, text=text), seq)
        for (seq, index, _), text in lone_halves(view, target)
    ]


def repair_overtaken(compiled: Compiled) -> list[Draft]:
    """Propose the same for what the provider has under way, where the request itself puts words behind it.

    Such as the pictures of a failed result, or the end of a turn whose reasoning can't stand any more.
    """
    view = compiled.view
    return [
        by_engine(Repaired(fault="unpaired", event=seq, call=half[1]), seq)
        for seq, pair in overtaken(compiled, compiled.frozen)
        for half, link in halves_of(view, seq, compiled.target)
        if link.pair == pair and not link.answers and half[:2] not in view.fold.parted
    ]


def under_way(view: View, target: Target) -> bool:
    """Whether the provider goes on by itself with what the model asked last: nobody speaks behind that so far."""
    if not view.fold.opaque:
        return False
    for item in reversed(view.fold.items):
        if isinstance(item, Interaction):
            halves = [
                link for half, link in halves_of(view, item.seq, target) if half[:2] not in view.fold.parted
            ]
            answered = {link.pair for link in halves if link.answers}
            return any(
                link.by == "provider" and not link.answers and link.pair not in answered for link in halves
            )
        if says(view, item, target):
            return False
    return False
