"""What came last: the newest interaction, and the notices behind it."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.core.item import Interaction, Item, Notice


def newest_interaction(items: Sequence[Item]) -> int:
    """Return where the newest interaction stands; -1: the model said nothing yet."""
    return next((n for n in range(len(items) - 1, -1, -1) if isinstance(items[n], Interaction)), -1)


def notices_since(items: Sequence[Item], newest: int) -> list[Notice]:
    """Return the notices behind the newest interaction that are no pins, oldest first."""
    return [item for item in items[newest + 1 :] if isinstance(item, Notice) and not item.kept]
