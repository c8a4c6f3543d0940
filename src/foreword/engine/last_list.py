"""The list that was synced last: what of the next one need not be read again, since it and the log stand as they did.

Loops send their whole, growing list before every call. What of it is the very same as last time, up to a place where
nothing was open, was compared already. All of this only saves work: without it the same functions read the whole.
"""

from __future__ import annotations

import marshal
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import compress
from operator import attrgetter, ne
from typing import Any, cast

from msgspec import Struct, structs

from foreword.codecs.decoded import Mark
from foreword.core.event import Event, ToolReturned
from foreword.engine.caller_marks import Spotted
from foreword.engine.matching import NOTHING, Agreed, Compared, Side

FACTS = frozenset({"said", "answered", "tool_returned", "erased"})
"""Kinds of events that a caller's list can hold, without the engine's own repairs; an erased one leaves its place."""


class Recorded(Side):
    """The facts of a log; ``read``: events up to the last of them. Events behind it may still be taken back."""

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__(event for event in events if event.kind in FACTS)
        self.read, self._link = 0, b""
        self._note(events)

    def followed(self, events: Sequence[Event]) -> Recorded:
        """Return this with what came since; another one where what it holds no longer stands: erased, another log."""
        new = events[self.read :]
        moved = self.read > len(events) or (self.read and events[self.read - 1].link != self._link)
        if moved or any(event.kind == "erased" for event in new):
            return Recorded(events)
        self.extend(event for event in new if event.kind in FACTS)
        self._note(events)
        return self

    def _note(self, events: Sequence[Event]) -> None:
        if self.fold.events:
            self.read = self.fold.events[-1].seq + 1
            self._link = events[self.read - 1].link


class LastList(Struct, frozen=True, kw_only=True):
    """What a session remembers of the list that it synced last; replaced whole once a sync has recorded its facts.

    ``codec``: what read it. ``prints``: of each item, see ``prints_of``. ``agreed``: places up to which list and log
    say the same, each a beginning of the next. ``events``: of each fact up to the last of them; ``shortened`` and
    ``waiting``: ids of calls up to there; ``marks``: of all messages. ``leading``: texts of the instructions that the
    list began with, None: it had none; ``heading``: the marks on them.
    """

    codec: type | None = None
    recorded: Recorded | None = None
    prints: Sequence[object] = ()
    agreed: Sequence[Agreed] = ()
    events: Sequence[int] = ()
    shortened: Sequence[str] = ()
    waiting: Sequence[str] = ()
    marks: Sequence[Spotted] = ()
    leading: Sequence[str] | None = None
    heading: Sequence[Mark] = ()

    def settled(self, codec: type, prints: Sequence[object]) -> Agreed:
        """Return the last place up to which a list is the same as this one."""
        shared = min(len(prints), len(self.prints)) if codec is self.codec else 0
        return self._up_to(next(compress(range(shared), map(ne, prints, self.prints)), shared))[-1]

    def _up_to(self, items: int) -> Sequence[Agreed]:
        """Return the places up to so many items, NOTHING first."""
        return [NOTHING, *self.agreed[: bisect_right(self.agreed, items, key=attrgetter("items"))]]

    def standing(self, recorded: Recorded, given: Side, since: Agreed) -> Agreed:
        """Return the last place up to ``since`` where a log still says what it said, and no call gets a result behind.

        ``given``: what the list holds behind ``since``. A compaction block may stand for anything before it.
        """
        blocks = recorded.fold.compactions
        if recorded is not self.recorded or (blocks and blocks[-1].seq >= since.events):
            return NOTHING
        if not since.waiting:
            return since
        events = recorded.fold.events
        behind = (*events[bisect_left(events, since.events, key=attrgetter("seq")) :], *given.fold.events)
        answered = {e.body.result.call_id for e in behind if isinstance(e.body, ToolReturned)}
        waiting = self.waiting[: since.waiting]
        first = next((n for n, id_ in enumerate(waiting) if id_ in answered), since.waiting)
        return next(place for place in reversed(self._up_to(since.items)) if place.waiting <= first)

    def after(self, since: Agreed, found: Sequence[Agreed], compared: Compared, seen: LastList) -> LastList:
        """Return ``seen`` with the places that hold from now on: those up to ``since``, then what was ``found``.

        ``compared``: what came behind ``since``.
        """
        end = found[-1].facts if found else since.facts
        return structs.replace(
            seen,
            agreed=[*self._up_to(since.items)[1:], *found],
            events=[*self.events[: since.facts], *(compared.known[n] for n in range(since.facts, end))],
            shortened=[*self.shortened[: since.shortened], *compared.shortened],
            waiting=[*self.waiting[: since.waiting], *compared.waiting],
        )


def prints_of(messages: Sequence[Any]) -> list[object]:
    """Return a digest of each item of a list, by all that a codec may read in it; one that has none is like no other.

    [] for what is no plain list.
    """
    return [_print(message) for message in messages] if type(messages) in (list, tuple) else []


def _print(value: Any) -> object:
    try:
        return _digest(value)
    except ValueError:
        pass
    try:
        return _digest(_opened(value))
    except (ValueError, RecursionError):
        return object()


def _digest(value: Any) -> bytes:
    """Raises: ValueError for what is not of the plain types themselves: ``1`` is not ``True``, a tuple no list."""
    return sha256(marshal.dumps(value, 2)).digest()  # without references, which say who else holds a value


def _opened(value: Any) -> Any:
    """Return a value with SDK objects as what the codecs read of them, in both ways in which they do."""
    if type(value) is dict:
        return {key: _opened(member) for key, member in cast("Mapping[Any, Any]", value).items()}
    if type(value) is list:
        return [_opened(item) for item in cast("list[Any]", value)]
    dump = cast("Callable[..., Any] | None", getattr(value, "model_dump", None))
    if not callable(dump):
        return value
    given = dump(mode="json", exclude_unset=True, warnings=False)
    return type(value).__qualname__, given, dump(mode="json", exclude_none=True, warnings=False)
