"""A session of a store as an importer would hand it over, so that files and sessions are measured alike."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from foreword.core.event import Answered, Called, Draft, Event, Revoked, SessionOpened
from foreword.engine.import_file import facts_of
from foreword.importers.imported import Flaw, Imported
from foreword.store.store import Store


def recorded(store: Store, session: str) -> Imported:
    """Return the facts of a session: what was said, done and called, without requests, rewrites and repairs.

    Erased facts are left out and named in ``flaws``. The target of a revocation is the place in ``drafts`` of what it
    revokes.
    Raises: UnknownSession; LogCorrupt; ArtifactMissing.
    """
    row = next(iter(store.sessions(store.resolve(session))))
    events = store.load(row.id)
    called = [event for event in events if event.origin == "engine" and isinstance(event.body, Called)]
    facts = sorted([*facts_of(events), *called], key=lambda event: event.seq)
    kept = [event for event in facts if event.body is not None and event.kind != "erased"]
    # What an erased event said is gone, so that nothing is left to be revoked of it.
    stand = {event.seq for event in kept}
    kept = [event for event in kept if not isinstance(event.body, Revoked) or event.body.target in stand]
    places = {event.seq: place for place, event in enumerate(kept)}
    return Imported(
        session=row.id,
        format=row.format,
        source=row.source or row.id,
        drafts=tuple(_draft(event, places) for event in kept),
        flaws=tuple(
            Flaw(code="erased", where=f"event {event.seq}", text="erased, so it is left out")
            for event in facts
            if event.body is None
        ),
        sub_context=any(isinstance(event.body, SessionOpened) and event.body.by_agent for event in events),
    )


def _draft(event: Event, places: Mapping[int, int]) -> Draft:
    body = event.body
    assert body is not None, "the caller left erased events out"
    if isinstance(body, Answered | Called):
        body = replace(body, request=None)
    elif isinstance(body, Revoked):
        body = replace(body, target=places[body.target])
    return Draft(
        body=body,
        at=event.at,
        actor=event.actor,
        origin=event.origin,
        trust=event.trust,
        subject=event.subject,
        audience=event.audience,
    )
