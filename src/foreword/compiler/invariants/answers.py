"""What rules read of a request: the model's messages in it, and blocks that only its wire knows."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.unit_value import opaque_in
from foreword.core.block import Opaque
from foreword.core.item import Interaction
from foreword.core.request import Unit
from foreword.core.view import View


def answers(compiled: Compiled, start: int) -> Iterator[tuple[Interaction, list[int]]]:
    """Yield the model's messages among units ``start`` and later, each with the units that say it, in order."""
    found: dict[int, tuple[Interaction, list[int]]] = {}
    for index, unit in compiled.since(start):
        item = said_by_model(compiled.view, unit)
        if item is not None:
            found.setdefault(item.seq, (item, []))[1].append(index)
    yield from found.values()


def said_by_model(view: View, unit: Unit) -> Interaction | None:
    """Return the recorded message that a unit is a piece of; None: it says no message of the model."""
    if unit.role != "assistant" or not unit.events:
        return None
    item = view.fold.item(unit.events[0])
    return item if isinstance(item, Interaction) and item.seq == unit.events[0] else None


def opaque_of(compiled: Compiled, index: int) -> Opaque | None:
    """Return the block of this wire that a unit is, as its bytes say it; None: it is no such block."""
    unit = compiled.unit(index)
    if unit.kind != "opaque":
        return None
    return opaque_in(unit, compiled.value(index), compiled.target.codec.wire)
