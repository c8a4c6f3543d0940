"""Recording: a log in memory and its way to the store, whoever else writes to it.

Facts are synced before they are acknowledged. ``RequestSent`` alone waits for the next fact, unless limits count it:
losing it in a crash loses nothing, since the same log compiles to the same request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from foreword.core.event import Answered, Called, Draft, Event, InputCounted, RequestSent, by_engine
from foreword.core.request import Unit
from foreword.core.sealing import GENESIS, seal
from foreword.core.view import View
from foreword.engine.clock import Clock, Nonces
from foreword.errors import AppendConflict, UnknownEvent
from foreword.store.store import Store

if TYPE_CHECKING:
    from foreword.compiler.compile import Compiled
    from foreword.engine.telemetry import Telemetry

RETRIES = 50
"""Times that an append is tried again when other writers are first."""


class Recording:
    """What a session knows of its log. ``store`` None: it lives in memory only."""

    __slots__ = {
        "__weakref__": "",
        "_clock": "Gives microseconds since 1970 UTC.",
        "_compiled": "The request handed out last. None: there is none, or it no longer counts.",
        "_nonces": "Gives a fresh nonce for each event.",
        "_pending": "Events that wait for the next fact to be written.",
        "_pending_units": "Units of the requests among them, by seq.",
        "_sent_units": "Units of the epoch's requests by seq, as the store has them. None: none are known.",
        "start_marks": "Whether ``started`` comes before every call runs of the answers recorded from now on, so that "
        "one without it never began. Nothing is concluded for answers that come by ``sync``: their calls may have run "
        "before.",
        "store": "The ``Store`` that holds the log. None: it lives in memory only.",
        "telemetry": "A ``Telemetry`` that is told of each call; its ``watch`` sets it. None: nobody is told.",
        "view": "The ``View`` of the log as far as this object has read it: what its events amount to.",
    }
    """All there are, so that a slip in a name is no setting that nobody reads; ``help`` shows the words."""

    def __init__(
        self,
        events: Sequence[Event],
        *,
        store: Store | None,
        clock: Clock,
        nonces: Nonces,
        sent_units: Mapping[int, Sequence[Unit]] | None,
    ) -> None:
        self.store = store
        self.view = View.of(events)
        self._clock = clock
        self._nonces = nonces
        self._sent_units = sent_units
        self._pending: list[Event] = []
        self._pending_units: dict[int, Sequence[Unit]] = {}
        self._compiled: Compiled | None = None
        self.telemetry: Telemetry | None = None
        self.start_marks = False

    @property
    def id(self) -> str:
        """The session's id: the name it was opened by, or its fork's; "" before its first event."""
        opened = self.view.fold.opened
        return opened.session if opened is not None else ""

    @property
    def alias(self) -> str:
        """Short name, unique in the store; it stands in references."""
        opened = self.view.fold.opened
        return opened.alias if opened is not None else ""

    @property
    def events(self) -> Sequence[Event]:
        """All events that this object has read or appended, by seq. The body of an erased one is None."""
        return self.view.fold.events

    def event(self, seq: int) -> Event:
        """Return an event of this session. Raises: UnknownEvent."""
        if not 0 <= seq < len(self.events):
            raise UnknownEvent(self.id, seq, len(self.events))
        return self.events[seq]

    def append(self, *drafts: Draft) -> int:
        """Append facts; return the seq of the last. They are synced to disk when this returns.

        Raises: InvalidValue, InvalidNumber or InvalidText for what the log can't hold; nothing is appended then.
        """
        return self._append(list(drafts))

    def append_once(self, *drafts: Draft) -> int:
        """Append facts that hold only behind what this object has read.

        Raises: AppendConflict when another writer was first; nothing is appended then.
        """
        return self._append(list(drafts), facts=False)

    def append_missing(self, missing: Callable[[], Sequence[Draft]]) -> None:
        """Append what a log lacks, worked out anew behind whatever another writer appends meanwhile."""
        for _ in range(RETRIES):
            self.catch_up()
            drafts = missing()
            try:
                if drafts:
                    self.append_once(*drafts)
                return
            except AppendConflict:
                continue
        raise AppendConflict(self.id, self.view.position, self.view.position)

    def seal(self, draft: Draft) -> Event:
        """Make the event that would come next; it isn't appended."""
        return self._seal([draft])[0]

    def take(self, event: Event) -> None:
        """Follow an event that was appended by other means."""
        self.view = self.view.extend([event])
        self._compiled = None
        self._sent_units = None

    def flush(self) -> None:
        """Write what waits for the next fact; drop it when another writer was first, which loses nothing."""
        if self._pending:
            try:
                self._write([])
            except AppendConflict:
                self.reload()

    def refresh(self) -> None:
        """Read what other writers appended meanwhile; a request of ours that waited to be written is dropped then.

        An erasure elsewhere must be known before the next request is made of what this object remembers.
        """
        if self._grown:
            self.reload(self._written)

    def catch_up(self) -> None:
        """Read what other writers appended meanwhile; a request of ours that waits is put behind it."""
        if self._grown:
            self._after_conflict([])

    @property
    def _written(self) -> int:
        return self.view.position - len(self._pending)

    @property
    def _grown(self) -> bool:
        return self.store is not None and self.store.grown(self.id, self._written)

    def reload(self, since: int = 0) -> None:
        """Read the log again from event ``since`` on, dropping what was not yet written."""
        self._pending, self._pending_units = [], {}
        if self.store is not None:
            name = self.id
            known = View.of(self.events[:since]) if since < self.view.position else self.view
            self.view = known.extend(self.store.load(name, since=since))
            self._sent_units = self.store.sent_units(name)
        self._compiled = None

    def _seal(self, drafts: Sequence[Draft]) -> list[Event]:
        events: list[Event] = []
        seq = self.view.position
        previous = self.events[-1].link if seq else GENESIS
        tenant = self.store.tenant if self.store is not None else "local"
        for draft in drafts:
            event = seal(
                draft, seq=seq, at=self._clock(), tenant=tenant, previous=previous, nonce=self._nonces()
            )
            events.append(event)
            seq, previous = seq + 1, event.link
        return events

    def _append(self, drafts: Sequence[Draft], *, facts: bool = True, name: str | None = None) -> int:
        for _ in range(RETRIES):
            events = self._seal(drafts)
            try:
                self._write(events, name)
            except AppendConflict:
                if name is not None:
                    raise
                drafts = self._after_conflict(drafts)
                if not facts:
                    raise
                continue
            self.view = self.view.extend(events)
            if self.telemetry is not None and any(isinstance(d.body, Answered | Called) for d in drafts):
                self.telemetry.follow(self)
            return self.view.position - 1
        raise AppendConflict(self.id, self.view.position, self.view.position)

    def _after_conflict(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Read what the other writer appended, and link our response to our request again.

        The request that waited to be written is put behind it, unless another one was sent meanwhile: then the
        response stands without a request.
        """
        waiting, units = self._pending, self._pending_units
        known = self._written
        self.reload(known)  # reading a long log whole, one would lose to a fast writer for ever
        others = {event.kind for event in self.events[known:]}
        if others & {"request_sent", "epoch_started"} or (not waiting and "answered" in others):
            return [_linked(draft, None, known) for draft in drafts]
        if not waiting:
            return list(drafts)
        body = waiting[0].body
        assert isinstance(body, RequestSent)
        event = self.seal(by_engine(body, subject=waiting[0].subject))
        self._pending, self._pending_units = [event], {event.seq: units[waiting[0].seq]}
        self.view = self.view.extend([event])
        return [_linked(draft, event.seq, known) for draft in drafts]

    def _write(self, events: Sequence[Event], name: str | None = None) -> None:
        if self.store is not None:
            self.store.append(name or self.id, [*self._pending, *events], units=self._pending_units)
        self._pending, self._pending_units = [], {}


def _linked(draft: Draft, request: int | None, written: int) -> Draft:
    """Say which request a response, a count or a call's end is of; one that is of none of ours stays as it is.

    ``written``: how many events stood in the store. The end of a call whose request is among them stays as it is too.
    """
    body = draft.body
    if not isinstance(body, Answered | InputCounted | Called) or body.request is None:
        return draft
    if isinstance(body, Called) and body.request < written:
        return draft
    return msgspec.structs.replace(draft, body=msgspec.structs.replace(body, request=request))
