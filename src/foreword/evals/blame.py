"""Blame: when a text entered a session's context, whether it is still there, or when and why it left.

Texts are looked for in decoded content, in log order. What stands in the request sent last is read from the
units that the store kept of it, so nothing is compiled.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from foreword.core.event import (
    Answered,
    Event,
    InstructionsSet,
    ToolsSet,
)
from foreword.core.reference import recall
from foreword.core.request import Unit
from foreword.core.view import View
from foreword.errors import ForewordError
from foreword.evals.texts import texts_of, unit_texts
from foreword.store.store import Store


class TextNotFound(ForewordError):
    """The text stands in no event of the session; ``events``: how many were searched."""

    def __init__(self, session: str, events: int) -> None:
        self.session = session
        self.events = events
        super().__init__(
            f"the text is found nowhere in session {session}: {events:,} events were searched, letter by "
            f"letter; try a shorter part of it"
        )


def blame(store: Store, session: str, text: str) -> dict[str, Any]:
    """Say when ``text`` entered the session's context, and where it is or when and by what it left.

    Steps count recorded answers from 1. ``in_request`` None: no request was sent yet, or its units are gone.
    ``left``: what took the last copy out; None while it is there. Raises: TextNotFound; UnknownSession.
    """
    return Blamer(store, session).blame(text)


class Blamer:
    """A session read once, to ask about many texts."""

    def __init__(self, store: Store, session: str) -> None:
        """Read the session's log and the units of its last request. Raises: UnknownSession."""
        self.session = session
        self.events = store.load(session)
        self._log = _Log(self.events)
        self._units = self._log.request(store.sent_units(session))

    def blame(self, text: str) -> dict[str, Any]:
        """See `blame`. Raises: TextNotFound."""
        log, units = self._log, self._units
        found = [event for event in self.events if _holds(event, text)]
        if not found:
            raise TextNotFound(self.session, len(self.events))
        where = [] if units is None else [log.place(index, unit) for index, unit in _holding(units, text)]
        facts = [event for event in found if event.origin != "engine"] or found
        occurrences = [{**log.entry(event), "left": log.left(event, text)} for event in facts]
        left = [one["left"] for one in occurrences if one["left"] is not None]
        gone = units is not None and not where and bool(left)
        return {
            "text": text,
            "session": self.session,
            "entered": log.entry(facts[0]),
            "in_request": None if units is None else bool(where),
            "request": log.last_request(),
            "where": where,
            "left": max(left, key=lambda one: (one["step"], one["event"] or 0)) if gone else None,
            "recover": log.recover(facts[0].seq),
            "read": f"foreword read {log.fold.ref(facts[0].seq)}",
            "occurrences": occurrences,
        }


def _holds(event: Event, text: str) -> bool:
    return event.body is not None and any(text in part for part in texts_of(event.body))


def _holding(units: Sequence[Unit], text: str) -> Iterator[tuple[int, Unit]]:
    for index, unit in enumerate(units):
        if any(text in part for part in unit_texts(unit.data)):
            yield index, unit


class _Log:
    """A session's events with the questions that blame asks of them."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.fold = View.of(events).fold
        self.answers = [event.seq for event in events if isinstance(event.body, Answered)]
        self.items = {id(item): index for index, item in enumerate(self.fold.items)}

    def step(self, seq: int) -> int:
        """Return the step in which an event is first read, or answered: 1 + the answers before it."""
        return 1 + bisect_left(self.answers, seq)

    def request(self, kept: dict[int, tuple[Unit, ...]]) -> list[Unit] | None:
        """Return the units of the request sent last; None: there is none, or they were dropped."""
        if not self.fold.sent:
            return None
        last = self.fold.sent[-1]
        units = [unit for seq in sorted(kept) if seq <= last.seq for unit in kept[seq]]
        return units if len(units) == last.body.units else None

    def last_request(self) -> dict[str, int] | None:
        if not self.fold.sent:
            return None
        last = self.fold.sent[-1]
        return {"event": last.seq, "step": self.step(last.seq), "units": last.body.units}

    def place(self, index: int, unit: Unit) -> dict[str, Any]:
        """Return where a unit stands: its index is also that of its segment in the manifest."""
        epoch = self.fold.epochs[-1]
        item = self.fold.item(unit.events[0]) if unit.events else None
        base = unit.section != "message" or (item is not None and self.items[id(item)] < epoch.items)
        return {
            "segment": index,
            "layer": unit.layer,
            "kind": unit.category,
            "place": "base" if base else "said",
            "events": list(unit.events),
            "pass": unit.by,
            "why": unit.why,
        }

    def entry(self, event: Event) -> dict[str, Any]:
        return {
            "event": event.seq,
            "step": self.step(event.seq),
            "kind": event.kind,
            "source": event.origin,
            "actor": event.actor,
            "trust": event.trust,
        }

    def recover(self, seq: int) -> str | None:
        """Return the call by which the last epoch's agent reads an event back; None: it has no reader."""
        if not self.fold.epochs:
            return None
        body = self.fold.epochs[-1].body
        return recall(body.reader, body.read_tool, self.fold.ref(seq))

    def left(self, event: Event, text: str) -> dict[str, Any] | None:
        """Return what took an event's text out of the context; None: nothing did."""
        seq = event.seq
        for at, rewritten, replacement in self.fold.replacements.get(seq, ()):
            if text in replacement.text:
                continue
            effect = self._epoch_after(at) if rewritten.epoch or rewritten.how == "summarized" else at
            return self._departure(effect, at, rewritten.how, rewritten.why)
        if seq in self.fold.revoked:
            at = self.fold.revoked[seq]
            return self._departure(self._epoch_after(at), at, "revoked", "permission")
        for kind, (standing, _) in ((InstructionsSet, self.fold.instructions), (ToolsSet, self.fold.tools)):
            if isinstance(event.body, kind) and standing > seq:
                return self._departure(self._epoch_after(standing), standing, "replaced", "set anew")
        if seq in self.fold.orphans and seq in self.fold.mended:
            return self._departure(seq, seq, "dropped", "a result without a call")
        return None

    def _epoch_after(self, seq: int) -> int:
        return next((epoch.seq for epoch in self.fold.epochs if epoch.seq > seq), len(self.events))

    def _departure(self, effect: int, at: int, how: str, why: str) -> dict[str, Any]:
        return {"step": self.step(effect), "event": at, "how": how, "why": why}
