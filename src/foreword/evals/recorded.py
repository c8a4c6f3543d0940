"""A session of a store as an importer would hand it over, so that files and sessions are measured alike."""

from __future__ import annotations

from msgspec.structs import replace

from foreword.core.event import Answered, Called, Draft, Event, SessionOpened
from foreword.engine.import_file import facts_of
from foreword.importers.imported import Flaw, Imported
from foreword.store.store import Store


def recorded(store: Store, session: str) -> Imported:
    """Return the facts of a session: what was said, done and called, without requests, rewrites and repairs.

    Erased facts are left out and named in ``flaws``. Raises: UnknownSession; LogCorrupt; ArtifactMissing.
    """
    row = next(iter(store.sessions(store.resolve(session))))
    events = store.load(row.id)
    called = [event for event in events if event.origin == "engine" and isinstance(event.body, Called)]
    facts = sorted([*facts_of(events), *called], key=lambda event: event.seq)
    return Imported(
        session=row.id,
        format=row.format,
        source=row.source or row.id,
        drafts=tuple(_draft(event) for event in facts if event.body is not None and event.kind != "erased"),
        flaws=tuple(
            Flaw(code="erased", where=f"event {event.seq}", text="erased, so it is left out")
            for event in facts
            if event.body is None
        ),
        sub_context=any(isinstance(event.body, SessionOpened) and event.body.by_agent for event in events),
    )


def _draft(event: Event) -> Draft:
    body = event.body
    assert body is not None, "the caller left erased events out"
    if isinstance(body, Answered | Called):
        body = replace(body, request=None)
    return Draft(
        body=body,
        at=event.at,
        actor=event.actor,
        origin=event.origin,
        trust=event.trust,
        subject=event.subject,
        audience=event.audience,
    )
