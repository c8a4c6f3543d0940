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
from foreword.core.block import Message, Text, ToolResult, ToolSpec
from foreword.core.canonical import canonical, lossless
from foreword.core.event import Answered, Draft, Event, MarksSet, Said, ToolReturned
from foreword.core.fold import Fold
from foreword.core.sealing import GENESIS, seal
from foreword.core.surrogates import mended, mended_text
from foreword.engine.caller_marks import markings
from foreword.engine.matching import compare, counts
from foreword.engine.tool_check import check_tools
from foreword.errors import EmptyRequest
from foreword.importers.decode import bare

if TYPE_CHECKING:
    from foreword.engine.session import Session


class Synced(Struct, frozen=True, kw_only=True):
    """What ``sync`` did, and the request to send.

    ``appended``: events added from the list. ``forked_at``: last event shared with the log as it was, None: no
    fork. ``shortened``: ids of calls whose results the caller cut; the log keeps the whole ones.
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
    codec = session.codec
    listed = codec.decode_messages(messages)
    leading = 0
    while leading < len(listed) and listed[leading].role in ("system", "developer"):
        leading += 1
    drafts = [draft for message in listed[leading:] for draft in _drafts(message)]
    if not drafts:
        raise EmptyRequest(session.id)
    given = _fold(drafts)
    texts = _system_texts(system) + [text for message in listed[:leading] for text in _texts(message)]
    offered = () if tools is None else codec.decode_tools(tools)
    check_tools(offered)  # before the log forks: a refusal changes nothing
    marks = codec.decode_marks(messages, system, tools)
    forked_at: int | None = None
    shortened: list[str] = []
    fresh: list[int] = []

    def missing() -> list[Draft]:
        nonlocal forked_at, shortened, fresh
        compared = compare(_caller_facts(session), given)
        if forked_at is None:
            shortened = compared.shortened
        if compared.differs is not None:
            forked_at = compared.differs - 1
            session.become(session.fork(forked_at))
            compared = compare(_caller_facts(session), given)
        found: list[Draft] = []
        if system is not None or leading:
            found += session.instructing(texts, "sync" if leading else "library")
        elif session.events[max(0, session.view.fold.instructions[0])].origin == "sync":
            found += session.instructing((), "sync")  # the list held it, and no longer does
        declared = _declared(session, offered)
        if tools is not None:
            found += session.offering(declared)
        fresh = [index for index in range(len(drafts)) if index not in compared.known]
        first = session.view.position + len(found)
        found += _linked([drafts[index] for index in fresh], session.unanswered)
        standing = session.view.fold.marks
        if marks or standing:
            seqs = {**compared.known, **{index: first + place for place, index in enumerate(fresh)}}
            unchanged = {"tool": tools is None, "system": system is None, "message": False}
            wanted = (
                *markings(marks, messages=listed, leading=leading, tools=declared, seqs=seqs),
                *(mark for mark in standing if unchanged[mark.section]),
            )
            if wanted != standing:
                found.append(Draft(body=MarksSet(marks=wanted), origin="sync"))
        return found

    session.append_missing(missing)
    return Synced(
        request=session.compile(), appended=len(fresh), forked_at=forked_at, shortened=tuple(shortened)
    )


def _linked(drafts: Sequence[Draft], request: int | None) -> Iterator[Draft]:
    """Say of the first assistant message which request of ours it answers, if one waits for an answer."""
    for draft in drafts:
        if isinstance(draft.body, Answered) and request is not None:
            draft = msgspec.structs.replace(draft, body=msgspec.structs.replace(draft.body, request=request))
            request = None
        yield draft


def _texts(message: Message) -> list[str]:
    return [block.text for block in message.blocks if isinstance(block, Text)]


def _system_texts(system: Any) -> list[str]:
    if system is None:
        return []
    if isinstance(system, str):
        return [system]
    return [str(block["text"] if isinstance(block, dict) else block.text) for block in system]


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


def _drafts(message: Message) -> Iterator[Draft]:
    """Yield the facts in one listed message: its results first, as every wire renders them, then the rest."""
    for block in message.blocks:
        if isinstance(block, ToolResult):
            result = bare(block, message.wire or "")
            yield Draft(body=ToolReturned(result=result), trust="tool", actor="tool", origin="sync")
    plain = tuple(block for block in message.blocks if not isinstance(block, ToolResult))
    if not any(counts(block) for block in plain):
        return
    rest = msgspec.structs.replace(message, blocks=plain)
    if message.role == "assistant":
        yield Draft(body=Answered(message=rest), trust="model", actor="model", origin="sync")
    else:
        person = message.role == "user"
        trust = "person" if person else "operator"
        yield Draft(body=Said(message=rest, person=person), trust=trust, actor="user", origin="sync")


def _fold(drafts: Sequence[Draft]) -> Fold:
    """Fold facts that are in no log; the seq of each is its index."""
    return Fold(
        seal(draft, seq=index, at=0, tenant="", previous=GENESIS, nonce=b"")
        for index, draft in enumerate(drafts)
    )


def _caller_facts(session: Session) -> Fold:
    """Fold what a caller's list can hold, without the engine's own repairs; seqs are those of the log."""
    return Fold(event for event in session.events if _is_fact(event))


def _is_fact(event: Event) -> bool:
    return event.kind in ("said", "answered", "tool_returned", "erased")
