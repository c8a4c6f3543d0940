"""Proving a store: chain and digests from stored bytes, derived items against their sources, references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from foreword.core.event import (
    Answered,
    Erased,
    Event,
    Repaired,
    RequestSent,
    Revoked,
    Rewritten,
    SessionOpened,
)
from foreword.core.view import View
from foreword.engine.erasing import derived
from foreword.engine.reading import find
from foreword.errors import ForewordError, Gone, LogError, StoreError
from foreword.store.store import Store


class Fault(Struct, frozen=True, kw_only=True):
    """What doesn't hold.

    ``code``: one of `store.verify.Problem`, or ``source`` (a derived item without the events it came from),
    ``reference`` (one that reads nothing back), ``unreadable``.
    """

    code: str
    where: str
    text: str


class Proof(Struct, frozen=True, kw_only=True):
    """How many events, and artifacts (contents that references name), were looked at, and what is wrong."""

    sessions: int
    events: int
    artifacts: int
    problems: tuple[Fault, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(store: Store, session: str | None = None) -> Proof:
    """Prove one session by its full id, or (None) the whole store.

    Raises: UnknownSession.
    """
    stored = store.verify(session)
    damaged = {found.session for found in stored}
    problems = [
        Fault(code=found.code, where=_where(store.name, found.session, found.seq), text=found.fault)
        for found in stored
    ]
    known = {row.id: row.events for row in store.sessions(session)}
    names = [session] if session is not None else list(known)
    events = artifacts = 0
    for name in names:
        try:
            log = store.load(name)
        except (LogError, StoreError) as error:
            events += known.get(name, 0)
            if name not in damaged:
                problems.append(Fault(code="unreadable", where=name, text=str(error)))
            continue
        events += len(log)
        references = _references(log)
        artifacts += len(references)
        problems += _sources(name, log)
        problems += _left(name, log)
        problems += _unread(store, name, log, references)
    return Proof(sessions=len(names), events=events, artifacts=artifacts, problems=tuple(problems))


def _where(store: str, session: str | None, seq: int | None) -> str:
    if session is None:
        return store
    return session if seq is None else f"{session}#{seq}"


def _sources(name: str, log: Sequence[Event]) -> Iterator[Fault]:
    """Yield the derived items that name an event which isn't before them, or that derive from none."""
    for event in log:
        for source in _named(event):
            if not 0 <= source < event.seq:
                text = f"{event.kind} names event {source}, which is not before it"
                yield Fault(code="source", where=f"{name}#{event.seq}", text=text)
        body = event.body
        if isinstance(body, Rewritten):
            covered = {seq for replacement in body.replacements for seq in replacement.events}
            if not covered:
                text = "a rewrite that replaces nothing"
                yield Fault(code="source", where=f"{name}#{event.seq}", text=text)
            elif not covered <= set(event.causes):
                missing = min(covered - set(event.causes))
                text = f"the rewrite replaces event {missing} without naming it as its cause"
                yield Fault(code="source", where=f"{name}#{event.seq}", text=text)
        elif isinstance(body, Answered) and body.request is not None and 0 <= body.request < event.seq:
            asked = log[body.request]
            if not isinstance(asked.body, RequestSent):
                text = f"it answers event {body.request}, which is a {asked.kind} and no request"
                yield Fault(code="source", where=f"{name}#{event.seq}", text=text)


def _left(name: str, log: Sequence[Event]) -> Iterator[Fault]:
    """Yield what was derived from events before they were erased and still stands: an erasure did not come here.

    What names them as its cause since then was made of what stood in their place.
    """
    gone = {event.seq for event in log if event.body is None}
    if not gone:
        return
    said = {
        target: event.seq for event in log if isinstance(event.body, Erased) for target in event.body.targets
    }
    together: dict[int, set[int]] = {}
    for seq in gone:
        together.setdefault(said.get(seq, len(log)), set()).add(seq)
    view = View.of(log)
    left = {seq for end, wanted in together.items() for seq in derived(view, wanted) if seq < end}
    for seq in sorted(left):
        text = f"{log[seq].kind} was derived from an erased event and still stands; erase that event again"
        yield Fault(code="erasing", where=f"{name}#{seq}", text=text)


def _named(event: Event) -> tuple[int, ...]:
    body = event.body
    match body:
        case Rewritten():
            own = tuple(seq for replacement in body.replacements for seq in replacement.events)
        case Repaired():
            own = (body.event,)
        case Revoked():
            own = (body.target,)
        case Answered(request=int(request)):
            own = (request,)
        case _:
            own = ()
    return tuple(dict.fromkeys((*event.causes, *own)))


def _references(log: Sequence[Event]) -> dict[str, int]:
    """Return each reference that a rewrite of this log hands to the agent, with the event that does."""
    return {
        replacement.ref: event.seq
        for event in log
        if isinstance(event.body, Rewritten)
        for replacement in event.body.replacements
        if replacement.ref is not None
    }


def _unread(store: Store, name: str, log: Sequence[Event], references: dict[str, int]) -> Iterator[Fault]:
    """Yield the references that neither read back nor say why not; the session's own are read in its log."""
    aliases = {event.body.alias for event in log if isinstance(event.body, SessionOpened)}
    for ref, by in references.items():
        session, _, number = ref.partition("#")
        seq = int(number) if number.isdigit() else len(log)
        if session in aliases and seq < len(log) and log[seq].body is not None:
            continue
        try:
            find(store, ref)
        except Gone:
            continue
        except ForewordError as error:
            yield Fault(code="reference", where=f"{name}#{by}", text=f"{ref}: {error}")
