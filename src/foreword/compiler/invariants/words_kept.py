"""What a person wrote and what is pinned stands in the request, unless it was revoked or erased."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.blocks import block_of, repeats
from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.core.block import Image, Text
from foreword.core.item import Item, Notice, Turn


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    fold = compiled.view.fold
    first = compiled.frozen_items if start else 0
    shown = {seq for _, unit in compiled.since(start) if unit.category != "summary" for seq in unit.events}
    block = block_of(compiled.view, compiled.epoch)
    for item in fold.items[first:]:
        if item.kept and item.seq not in fold.revoked and item.seq not in shown and _says(item):
            if block is not None and repeats(block, item):
                continue
            yield Broken(
                rule="words_kept", unit=None, events=item.events, fault="a person's words are missing"
            )


def _says(item: Item) -> bool:
    if isinstance(item, Turn):
        blocks = item.message.blocks
        return any(isinstance(b, Image) or (isinstance(b, Text) and b.text.strip()) for b in blocks)
    return isinstance(item, Notice)


RULE = Invariant(
    name="words_kept",
    source="design, rule 5: the bytes that set an active pin stand in every request",
    holds=_holds,
)
