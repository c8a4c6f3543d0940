"""All invariants in one table, and the two questions asked of it."""

from __future__ import annotations

from bisect import bisect_right

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants import (
    approvals_pending,
    compaction_placed,
    content_not_empty,
    ids_legal,
    marks_legal,
    pictures_legal,
    prefix_grows,
    reasoning_exact,
    reasoning_in_order,
    reasoning_own,
    reasoning_returned,
    role_order,
    system_placed,
    tool_pairing,
    turn_begun,
    words_kept,
)
from foreword.compiler.invariants.rule import Broken
from foreword.core.target import Target
from foreword.core.view import View

INVARIANTS = (
    tool_pairing.RULE,
    ids_legal.RULE,
    approvals_pending.RULE,
    role_order.RULE,
    system_placed.RULE,
    content_not_empty.RULE,
    pictures_legal.RULE,
    reasoning_own.RULE,
    reasoning_exact.RULE,
    reasoning_in_order.RULE,
    reasoning_returned.RULE,
    turn_begun.RULE,
    compaction_placed.RULE,
    words_kept.RULE,
    marks_legal.RULE,
    prefix_grows.RULE,
)


def broken(compiled: Compiled, *, start: int = 0) -> list[Broken]:
    """Return every place where a rule doesn't hold, among units ``start`` and later; empty: all hold."""
    return [fault for rule in INVARIANTS for fault in rule.holds(compiled, start)]


class CutPoints:
    """Where history may be cut: item positions that no rule forbids. A cut at ``n`` leaves items before n out.

    ``tied``: seqs of items that stay all the same, since another item can't stand without them, nor they without it.
    """

    def __init__(self, view: View, target: Target) -> None:
        items = view.fold.items
        ties = (pair for rule in INVARIANTS for pair in rule.ties(view, target))
        self.tied = frozenset(items[position].seq for pair in ties for position in pair)
        forbidden = {position for rule in INVARIANTS for position in rule.forbids(view)}
        self._legal = [position for position in range(len(items) + 1) if position not in forbidden]

    def at_or_before(self, position: int) -> int:
        """Return the last legal cut that leaves no more out than ``position``."""
        index = bisect_right(self._legal, position)
        return self._legal[index - 1] if index else 0
