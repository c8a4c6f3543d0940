"""sync: a caller's own message list against the log.

Clients resend what they hold, not what they were given: SDK defaults added, null members, keys in another order,
cache marks moved, reasoning dropped, old results shortened. Those match. Anything else that differs is an edit,
and an edit is a fork: the past is never changed and never silently extended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from foreword.codecs.held import server_held
from foreword.compiler.compile import Compiled
from foreword.core.block import ToolSpec
from foreword.core.canonical import canonical, lossless
from foreword.core.event import Answered, Draft, Event, MarksSet
from foreword.core.surrogates import mended, mended_text
from foreword.engine.caller_marks import markings
from foreword.engine.last_list import LastList, Recorded, prints_of
from foreword.engine.list_reading import read_list
from foreword.engine.matching import NOTHING, agreed, compare
from foreword.engine.repeated_answers import repeated
from foreword.engine.sync_forks import fork_for, left_behind

if TYPE_CHECKING:
    from foreword.engine.session import Session


class Synced(Struct, frozen=True, kw_only=True):
    """What ``sync`` did, and the request to send.

    ``appended``: events added from the list. ``forked_at``: last event shared with the log as it was, None: it goes
    on in that one. ``shortened``: ids of calls whose results the caller cut; the log keeps the whole ones.
    """

    request: Compiled
    appended: int
    forked_at: int | None
    shortened: tuple[str, ...]

    @property
    def body(self) -> dict[str, Any]:
        """The request as keyword arguments for the official client."""
        return msgspec.json.decode(self.request.body)


class Held(Struct, frozen=True, kw_only=True):
    """A request whose history only the provider holds: it is to be sent as it is, and nothing was recorded.

    ``body``: the request as given, unchanged. ``member``: what in it names the history (``previous_response_id``,
    ``conversation``, ``thread``, ``previous_interaction_id``, ``item_reference``, a cached prefix).
    """

    body: Mapping[str, Any]
    member: str


def held(request: Mapping[str, Any] | None) -> Held | None:
    """Recognise a request whose history only the provider holds; None: all of it is here, or none was given."""
    member = server_held(request) if request is not None else None
    return None if request is None or member is None else Held(body=request, member=member)


def synchronise(
    session: Session, messages: Sequence[Any], *, system: Any = None, tools: Sequence[Any] | None = None
) -> Synced:
    """See ``Session.sync``."""
    codec, prints = type(session.codec), prints_of(messages)
    reading = read_list(session, messages, system, tools, session.last_list.settled(codec, prints))
    recorded = Recorded(())
    compared = compare(recorded, reading.given)
    forked_at: int | None = None
    shortened: list[str] = []
    fresh: list[int] = []
    left: list[Event] = []

    def compare_facts() -> None:
        nonlocal reading, recorded, compared
        known = session.last_list.recorded
        recorded = Recorded(session.events) if known is None else known.followed(session.events)
        while (since := session.last_list.standing(recorded, reading.given, reading.since)) != reading.since:
            reading = read_list(session, messages, system, tools, since)
        compared = compare(recorded, reading.given, reading.since)

    def follow_fork(differs: int) -> None:
        nonlocal reading, forked_at, shortened
        if reading.since is not NOTHING:
            reading = read_list(session, messages, system, tools, NOTHING)
        left.extend(left_behind(session, differs) if session.last_list.recorded is None else session.events)
        fork, at, known = fork_for(session, reading.given, differs)
        session.become(fork)
        compare_facts()
        if known:
            shortened = compared.shortened
        forked_at = at if forked_at is None else min(at, forked_at)

    def missing() -> list[Draft]:
        nonlocal shortened, fresh
        compare_facts()
        if forked_at is None:
            shortened = [*session.last_list.shortened[: reading.since.shortened], *compared.shortened]
        while compared.differs is not None:  # again where another process was first with a fork of this name
            follow_fork(compared.differs)
        found: list[Draft] = []
        if reading.leading is not None:
            found += session.instructing([*reading.system, *reading.leading], "sync")
        elif system is not None:
            found += session.instructing(reading.system, "library")
        elif session.events[max(0, session.view.fold.instructions[0])].origin == "sync":
            found += session.instructing((), "sync")  # the list held it, and no longer does
        declared = _declared(session, reading.offered)
        if tools is not None:
            found += session.offering(declared)
        start = reading.since.facts
        fresh = [n for n in range(start, start + len(reading.drafts)) if n not in compared.known]
        first = session.view.position + len(found)
        news = [reading.drafts[n - start] for n in fresh]
        if left:
            here = {event.link for event in session.events}
            news = repeated(news, (event for event in left if event.link not in here))
        found += _linked(news, session.unanswered)
        standing = session.view.fold.marks
        if reading.marks or reading.spotted or standing:
            settled = session.last_list.events
            seqs = {spot.fact: settled[spot.fact] for spot in reading.spotted if 0 <= spot.fact < start}
            seqs |= {**compared.known, **{n: first + place for place, n in enumerate(fresh)}}
            unsaid = system is None and reading.leading is None
            unchanged = {"tool": tools is None, "system": unsaid, "message": False}
            wanted = (
                *markings(reading.marks, messages=reading.spotted, tools=declared, seqs=seqs),
                *(mark for mark in standing if unchanged[mark.section]),
            )
            if wanted != standing:
                found.append(Draft(body=MarksSet(marks=wanted), origin="sync"))
        return found

    session.append_missing(missing)
    session.last_list = session.last_list.after(
        reading.since,
        agreed(recorded, reading.given, compared, reading.since, reading.ends),
        compared,
        LastList(
            codec=codec,
            recorded=recorded,
            prints=prints,
            marks=reading.spotted,
            leading=reading.leading,
            heading=reading.heading,
        ),
    )
    return Synced(
        request=session.compile(), appended=len(fresh), forked_at=forked_at, shortened=tuple(shortened)
    )


def _linked(drafts: Sequence[Draft], request: int | None) -> Iterator[Draft]:
    """Say of the first assistant message which request of ours it answers, if one waits for an answer."""
    for draft in drafts:
        if isinstance(draft.body, Answered) and request is not None:
            if draft.body.copy_of is None:  # a copy answers one of the log that it comes from
                body = msgspec.structs.replace(draft.body, request=request)
                draft = msgspec.structs.replace(draft, body=body)
            request = None
        yield draft


def _declared(session: Session, given: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Keep the recorded form, and its key order, of every tool that stands already."""
    standing = {tool.name: tool for tool in (*session.view.fold.tools[1], *session.view.fold.deferred[1])}
    return tuple(
        known
        if (known := standing.get(mended_text(tool.name))) is not None and _members(known) == _members(tool)
        else tool
        for tool in given
    )


def _members(tool: ToolSpec) -> bytes:
    return canonical(msgspec.to_builtins(mended(tool, lossless(tool))))
