"""Layout: the units of one epoch that were already sent, kept encoded; it only grows.

Layouts are shared between successive compiles. One that has moved on is copied before it is extended
differently, so that a compiled request stays what it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from foreword.compiler.breakpoints import REWRITTEN
from foreword.compiler.unit_value import texts_at, value_of
from foreword.core.fold import Epoch
from foreword.core.request import Codec, Unit


class Layout:
    """Units and their body fragments, in render order, with running totals.

    ``head``: how many units stand before the messages. ``items``: how many items of the view are shown.
    ``sent``: seq of the last request frozen into it, -1: none. ``stale``: seq of a sent request that this code
    would encode differently, -1: none. ``boundary``: last unit that a rewrite left behind, -1: none.
    ``ends``: event to the last unit that comes from it. ``calls``: id of a call, as it stands in the bytes, to the
    unit that makes it. ``betas``: names of beta headers that the units need.
    """

    __slots__ = (
        "__weakref__", "betas", "boundary", "calls", "ends", "epoch", "head", "items", "parts", "sent", "stale",
        "tokens", "units",
    )  # fmt: skip

    def __init__(self, epoch: Epoch) -> None:
        self.epoch = epoch
        self.units: list[Unit] = []
        self.parts: list[bytes] = []
        self.tokens = 0
        self.items = 0
        self.sent = -1
        self.stale = -1
        self.head = 0
        self.boundary = -1
        self.ends: dict[int, int] = {}
        self.calls: dict[str, int] = {}
        self.betas: set[str] = set()

    @property
    def last(self) -> Unit | None:
        return self.units[-1] if self.units else None

    def add(self, units: Sequence[Unit], codec: Codec) -> None:
        """Append units with the bytes that join them."""
        before = self.last
        for unit in units:
            self.parts.append(codec.between(before, unit) + unit.data)
            self.tokens += unit.tokens
            self.head += unit.section != "message"
            self.ends.update(dict.fromkeys(unit.events, len(self.parts) - 1))
            if unit.kind == "tool_call":
                ids = texts_at(value_of(unit), codec.call_path)
                self.calls.update(dict.fromkeys(ids, len(self.parts) - 1))
            self.betas.update(unit.betas)
            if unit.by in REWRITTEN:
                self.boundary = len(self.parts) - 1
            before = unit
        self.units.extend(units)

    def copy(self, count: int, tokens: int, items: int, sent: int, stale: int) -> Layout:
        """Return a layout of the first ``count`` units, to be extended independently."""
        layout = Layout(self.epoch)
        layout.units = self.units[:count]
        layout.parts = self.parts[:count]
        layout.tokens, layout.items, layout.sent, layout.stale = tokens, items, sent, stale
        layout.head = min(self.head, count)
        layout.ends = {seq: end for seq, end in self.ends.items() if end < count}
        layout.calls = {id_: index for id_, index in self.calls.items() if index < count}
        layout.betas = {beta for unit in layout.units for beta in unit.betas}
        layout.boundary = self.boundary if self.boundary < count else -1
        return layout
