"""All invariants in one table, and the two questions asked of it."""

from __future__ import annotations

from bisect import bisect_right

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants import (
    marks_legal,
    prefix_grows,
    reasoning_own,
    role_order,
    tool_pairing,
    words_kept,
)
from foreword.compiler.invariants.rule import Broken
from foreword.core.view import View

INVARIANTS = (
    tool_pairing.RULE,
    role_order.RULE,
    reasoning_own.RULE,
    words_kept.RULE,
    marks_legal.RULE,
    prefix_grows.RULE,
)


def broken(compiled: Compiled, *, start: int = 0) -> list[Broken]:
    """Return every place where a rule doesn't hold, among units ``start`` and later; empty: all hold."""
    return [fault for rule in INVARIANTS for fault in rule.holds(compiled, start)]


class CutPoints:
    """Where history may be cut: item positions that no rule forbids. A cut at ``n`` leaves items before n out."""

    def __init__(self, view: View) -> None:
        forbidden = {position for rule in INVARIANTS for position in rule.forbids(view)}
        self._legal = [position for position in range(len(view.fold.items) + 1) if position not in forbidden]

    def at_or_before(self, position: int) -> int:
        """Return the last legal cut that leaves no more out than ``position``."""
        index = bisect_right(self._legal, position)
        return self._legal[index - 1] if index else 0
