"""The view: a fold over the log that says what there is to send.

``View`` is persistent by position: extending the newest view is O(new events), and an older view stays valid
because it is folded anew when somebody still reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from foreword.core.event import (
    Erased,
    Event,
    Replacement,
    Rewritten,
)
from foreword.core.fold import Fold


class View:
    """What a log says at ``position`` (the number of events folded).

    Reading goes through ``fold``; it is shared with later views and must not be changed.
    """

    __slots__ = ("_fold", "position")

    def __init__(self, fold: Fold, position: int) -> None:
        self._fold = fold
        self.position = position

    @classmethod
    def of(cls, events: Iterable[Event]) -> View:
        """Fold a whole log."""
        fold = Fold(events)
        return cls(fold, len(fold.events))

    @property
    def fold(self) -> Fold:
        """The state at this position; folded anew when a later view has moved the shared one on."""
        if len(self._fold.events) != self.position:
            self._fold = Fold(self._fold.events[: self.position])
        return self._fold

    def extend(self, events: Sequence[Event]) -> View:
        """Return the view after ``events``. An erasure folds anew, since it changes what was read before."""
        if any(isinstance(event.body, Erased) for event in events):
            known = [*self.fold.events, *events]
            gone = {
                target for event in known if isinstance(event.body, Erased) for target in event.body.targets
            }
            return View.of(
                msgspec.structs.replace(event, body=None, original=None, nonce=None)
                if event.seq in gone
                else event
                for event in known
            )
        fold = self.fold
        for event in events:
            fold.apply(event)
        return View(fold, len(fold.events))

    def is_prefix_of(self, other: View) -> bool:
        """Whether ``other`` continues this view: the same events up to here."""
        if self.position > other.position:
            return False
        if self._fold is other._fold or self.position == 0:
            return True
        last = self.position - 1
        return other._fold.events[last].link == self._fold.events[last].link

    def replacement(self, seq: int, before: int) -> tuple[Rewritten, Replacement] | None:
        """Return the newest rewrite of event ``seq`` appended before event ``before``."""
        for at, rewritten, replacement in reversed(self.fold.replacements.get(seq, ())):
            if at < before:
                return rewritten, replacement
        return None

    def summary(self, seq: int) -> Replacement | None:
        """Return the summary that stands for event ``seq``; None: it is told by itself."""
        found = self.replacement(seq, self.position)
        return found[1] if found is not None and found[0].how == "summarized" else None
