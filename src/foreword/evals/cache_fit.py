"""The cache model against recorded reads: it must see the breaks, since all other calls read the prompt before.

Nothing is fitted but the size of the prefix that a file doesn't hold, on the first call. Known before a call is
answered: what was said, the notes of the original tool, the settings, the clock, and how large the prompt is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from msgspec import Struct

from foreword.core.cache_model import Cache, CacheUnit, Life, Moment, rules_of
from foreword.core.catalog import Catalog, ModelSpec
from foreword.errors import UnknownModel
from foreword.evals.calls import Call


class Read(Struct, frozen=True, kw_only=True):
    """A recorded read beside two predictions: the model's, and that all of the prompt before is read."""

    prompt: int
    before: int
    read: int
    predicted: int

    @property
    def broke(self) -> bool:
        """Whether less than half of the prompt before was read."""
        return self.read * 2 < self.before

    @property
    def foreseen(self) -> bool:
        """Whether the model says so."""
        return self.predicted * 2 < self.before


def reads_of(calls: Sequence[Call], unseen: int) -> list[Read]:
    """Return all calls but the first of each cache that the catalog describes, with what the model says of them."""
    caches: dict[str, Cache] = {}
    history = _History(unseen)
    found: list[Read] = []
    for before, call in zip([None, *calls[:-1]], calls, strict=True):
        spec = _spec(call.model)
        rules = rules_of(spec) if spec is not None else None
        if spec is None or rules is None or call.sent is None or call.ended is None:
            history.follow(before, call, spec)
            continue
        cache = caches.setdefault(spec.id, Cache(rules))
        units = history.follow(before, call, spec)
        outcome = cache.send(units, Moment(sent=call.sent, began=call.sent, ended=call.ended))
        if before is not None and call.read is not None and before.read is not None:
            found.append(
                Read(prompt=call.prompt, before=before.prompt, read=call.read, predicted=outcome.read)
            )
    return found


def score(reads: Iterable[Read]) -> dict[str, Any]:
    """Return precision and recall of the foreseen breaks, and both predictors' errors as shares of the prompt before.

    Errors are over the calls that broke, and over all; None: there are none.
    """
    listed = list(reads)
    broke = [read for read in listed if read.broke]
    foreseen = [read for read in listed if read.foreseen]
    right = sum(read.broke for read in foreseen)
    return {
        "calls": len(listed),
        "breaks": len(broke),
        "foreseen": len(foreseen),
        "right": right,
        "precision": right / len(foreseen) if foreseen else None,
        "recall": right / len(broke) if broke else None,
        "error_at_breaks": _error(broke, "predicted"),
        "naive_error_at_breaks": _error(broke, "before"),
        "error": _error(listed, "predicted"),
        "naive_error": _error(listed, "before"),
    }


def _error(reads: Sequence[Read], name: str) -> dict[str, float] | None:
    """Return the median and the mean distance of a prediction from what was read."""
    errors = [abs(getattr(read, name) - read.read) / read.before for read in reads]
    return {"median": median(errors), "mean": sum(errors) / len(errors)} if errors else None


class _History:
    """The units of a recorded session's requests, by their recorded sizes."""

    def __init__(self, unseen: int) -> None:
        self._unseen = unseen
        self._head = 0
        self._messages = 0
        self._made = 0
        self._journal: list[CacheUnit] = []
        self._opening = 0
        self._reasoned = False
        self._life: Life = "short"

    def follow(self, before: Call | None, call: Call, spec: ModelSpec | None) -> list[CacheUnit]:
        """Return the units of the next request; what a recorded fact changes gets another digest."""
        everything = spec is not None and spec.cache != "marks"
        if call.changes.keys() & {"thinking", "effort"}:
            self._head += everything
            self._messages += 1
        if call.changes.keys() & {"personality", "base instructions"}:
            self._head += 1
        if before is not None:
            self._head += any(event.name == "tools" for event in call.events)
            self._messages += any(event.name == "restart" for event in call.events)
        if any(note.code == "compaction" for note in call.notes):
            self._journal.clear()
        elif before is not None and call.turn and self._reasoned and call.prompt <= before.prompt:
            del self._journal[self._opening :]
        self._grow(call)
        if call.turn:
            self._opening, self._reasoned = len(self._journal), False
        self._reasoned = self._reasoned or call.reasoned
        head = CacheUnit(
            digest=b"head %d" % self._head,
            tokens=min(self._unseen, call.prompt),
            layer="system",
            mark=self._life,
        )
        key = CacheUnit(digest=b"key %d" % self._messages, tokens=0, key=True)
        journal = [*self._journal]
        if journal:
            journal[-1] = CacheUnit(digest=journal[-1].digest, tokens=journal[-1].tokens, mark=self._life)
        self._life = self._billed(call)
        return [head, key, *journal]

    def _grow(self, call: Call) -> None:
        size = max(0, call.prompt - self._unseen)
        grown = size - sum(unit.tokens for unit in self._journal)
        while grown <= 0 and self._journal:
            grown += self._journal.pop().tokens
        self._made += 1
        if grown > 0:
            self._journal.append(CacheUnit(digest=b"journal %d" % self._made, tokens=grown))

    def _billed(self, call: Call) -> Life:
        """Return the life that writes are billed for, until one says otherwise."""
        if call.usage.cache_write_long:
            return "long"
        return "short" if call.usage.cache_write_short else self._life


def _spec(model: str | None) -> ModelSpec | None:
    try:
        return Catalog.load().model(model or "")
    except UnknownModel:
        return None
