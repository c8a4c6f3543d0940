"""Reading back what a request left out: byte-exact, page by page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from foreword.compiler.budget import budget_of
from foreword.core.event import Erased, Event
from foreword.core.frame import frame
from foreword.core.reference import Reference, content_bytes, parse_reference
from foreword.errors import ForewordError, Gone, InvalidArgument, InvalidCall, UnknownEvent, UnknownReference
from foreword.store.store import Store

if TYPE_CHECKING:
    from foreword.engine.session import Session

PAGE_LINES = 400
_NUMBERS = ("offset", "limit", "tail", "start")
_ARGUMENTS = ("ref", *_NUMBERS, "grep")
_CITED = re.compile(r"\[?#(\d{1,12}(?:\.\d{1,6})?)\]?")
"""An event as a summary cites it, without the alias."""
PAGE_CHARACTERS = 6_000
"""A page of the read tool stays near 2,000 tokens; the next call is named when there is more."""


class Page(Struct, frozen=True, kw_only=True):
    """Lines of a content. ``offset``: number of the first line, from 1.

    ``lines`` counts the whole content; a last line without newline is a line. ``next``: the call for what
    follows, None: nothing follows. The texts of all pages, joined from offset 1, are the content.
    """

    ref: str
    kind: str
    bytes: int
    lines: int
    offset: int
    returned_lines: int
    truncated: bool
    next: str | None
    text: str


def find(source: Session | Store, ref: str) -> tuple[str, str, bytes]:
    """Resolve a reference to (its full form, kind, exact bytes).

    Raises: UnknownReference, UnknownSession, UnknownEvent; Gone with the reason when it was erased.
    """
    wanted = parse_reference(ref)
    if isinstance(source, Store):
        store: Store | None = source
        own = None
    else:
        store = source.store
        own = source if _holds(source, wanted) else None
    if own is not None:
        event, behind = own.event(wanted.seq), own.events
    elif store is not None:
        event, behind = _stored(store, store.resolve(wanted.session), wanted.seq)
    else:
        raise UnknownReference(
            ref, "this session is in memory and knows no other", "name an event of its own"
        )
    if event.body is None:
        raise Gone(ref, _reason(behind, wanted.seq))
    found = content_bytes(event.body, wanted.block)
    if found is None:
        whole = ref.rpartition(".")[0]
        raise UnknownReference(
            ref, f"event {wanted.seq} has no block {wanted.block}", f"{whole} names all it has"
        )
    return ref, *found


def _stored(store: Store, name: str, seq: int) -> tuple[Event, Sequence[Event]]:
    """Return one event of a log, and where it was erased all behind it, which say why. Raises: UnknownEvent."""
    found = store.load(name, since=seq, limit=1)
    if not found:
        raise UnknownEvent(name, seq, sum(row.events for row in store.sessions(name)))
    return found[0], store.load(name, since=seq) if found[0].body is None else ()


def _reason(events: Sequence[Event], seq: int) -> str:
    """Return why an event was erased, as the newest erasure of it says."""
    for event in reversed(events):
        if isinstance(event.body, Erased) and seq in event.body.targets:
            return event.body.reason
    return "erased"


def read_page(
    source: Session | Store,
    ref: str,
    *,
    offset: int = 1,
    limit: int | None = None,
    tail: int | None = None,
    start: int | None = None,
    grep: str | None = None,
    keep: Callable[[Sequence[str]], Sequence[int]] | None = None,
    characters: int | None = None,
    call: str = "foreword read {ref} --offset {offset}",
    span_call: str = "foreword read {ref} --start {start}",
) -> Page:
    """Read lines of what ``ref`` names.

    ``offset``: first line, from 1. ``limit``: at most so many lines, None: all. ``tail``: only the last lines.
    ``grep``: only lines that hold this literal text; ``keep``: only those whose indexes it returns, in order.
    ``characters``: end the page before it grows over this. ``start``: a page of ``characters`` from this one on,
    from 0, whatever lines they stand in; so does a first line that is longer. ``call`` and ``span_call``: form
    of the call for the next page.
    """
    full, kind, data = find(source, ref)
    text = data.decode("utf-8", "replace")
    lines = _lines(text)
    numbers: Sequence[int] = range(len(lines))
    if keep is not None:
        numbers = keep(lines)
    elif grep is not None:
        numbers = [n for n in numbers if grep in lines[n]]
    begin = max(0, len(numbers) - tail) if tail is not None else sum(1 for n in numbers if n < offset - 1)
    stop = len(numbers) if limit is None else min(len(numbers), begin + max(0, limit))
    shown: list[str] = []
    size = 0
    if start is None and characters is not None and begin < stop and len(lines[numbers[begin]]) > characters:
        start = sum(len(line) for line in lines[: numbers[begin]])
    if start is not None:
        return _span(full, kind, len(data), text, start, characters or len(text), span_call)
    for n in numbers[begin:stop]:
        size += len(lines[n])
        if characters is not None and shown and size > characters:
            break
        shown.append(lines[n])
    end = begin + len(shown)
    more = end < len(numbers)
    following = call.format(ref=full, offset=numbers[end] + 1) if more else None
    first = numbers[begin] + 1 if begin < len(numbers) else len(lines) + 1
    return Page(
        ref=full,
        kind=kind,
        bytes=len(data),
        lines=len(lines),
        offset=first,
        returned_lines=len(shown),
        truncated=more,
        next=following,
        text="".join(shown),
    )


def _span(ref: str, kind: str, size: int, text: str, start: int, characters: int, call: str) -> Page:
    """Return the page of characters ``start`` to ``start + characters``, whatever lines they stand in."""
    shown = text[start : start + characters]
    more = start + len(shown) < len(text)
    return Page(
        ref=ref,
        kind=kind,
        bytes=size,
        lines=len(_lines(text)),
        offset=text.count("\n", 0, start) + 1,
        returned_lines=len(_lines(shown)),
        truncated=more,
        next=call.format(ref=ref, start=start + len(shown)) if more else None,
        text=shown,
    )


def _lines(text: str) -> list[str]:
    """Split at newlines only, keeping them, so that joining gives the text back."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def page_characters(session: Session) -> int:
    """Characters of a page: 6,000, less where the session's budget is small."""
    if session.target is None:
        return PAGE_CHARACTERS
    budget = budget_of(session.view, session.policy, session.target)
    room = budget.counted(max(0, budget.available - budget.unseen))
    return max(400, min(PAGE_CHARACTERS, int(room * session.policy.result_share) * 3))


def _check_own(session: Session, ref: str) -> None:
    """Let a model read its own session, and of those it was forked from what it shares with them; nothing else.

    Raises: UnknownReference.
    """
    wanted = parse_reference(ref)
    if not _holds(session, wanted) or wanted.seq >= len(session.events):
        last = len(session.events) - 1
        raise UnknownReference(
            ref,
            "names nothing of this session",
            f"its events are {session.alias}#0 to {session.alias}#{last}",
        )


def _holds(session: Session, wanted: Reference) -> bool:
    """Whether a reference names this session, or one that it was forked from and an event that both share."""
    openings = session.view.fold.openings
    ends = [seq for seq, _ in openings[1:]]
    return any(
        wanted.session in (body.session, body.alias) and (end is None or wanted.seq < end)
        for (_, body), end in zip_longest(openings, ends)
    )


def run_read_tool(session: Session, arguments: str | Mapping[str, Any]) -> str:
    """Execute the read tool's call; a fault is told as text, since the model must see it and go on."""
    try:
        given = msgspec.json.decode(arguments.encode()) if isinstance(arguments, str) else arguments
    except (msgspec.DecodeError, UnicodeEncodeError):
        return '[arguments are not JSON; give {"ref": ...}]'
    if not isinstance(given, Mapping) or not isinstance(given.get("ref"), str):
        return '[ref is missing; give {"ref": "..."} as a <foreword> note names it]'
    cited = _CITED.fullmatch(given["ref"].strip())
    ref = f"{session.alias}#{cited[1]}" if cited is not None else given["ref"]
    epochs = session.view.fold.epochs
    name = (epochs[-1].body.read_tool if epochs else None) or "read"
    try:
        numbers, grep = _paging(name, given)
        asked = f", grep={msgspec.json.encode(grep).decode()}" if grep is not None else ""
        _check_own(session, ref)
        page = read_page(
            session,
            ref,
            limit=numbers.get("limit", PAGE_LINES),
            offset=numbers.get("offset", 1),
            tail=numbers.get("tail"),
            start=numbers.get("start"),
            grep=grep,
            characters=page_characters(session),
            call=name + '(ref="{ref}", offset={offset}' + asked.replace("{", "{{").replace("}", "}}") + ")",
            span_call=name + '(ref="{ref}", start={start})',
        )
    except ForewordError as error:
        return f"[{error}]"
    if page.lines and not page.text:  # an empty result would tell the model nothing, and most ask again
        return f"[nothing to show there; {page.lines} lines in all]"
    if page.next is None:
        return page.text
    return f"{page.text}\n{frame('more', f'{page.lines} lines in all; next: {page.next}')}"


def _paging(tool: str, given: Mapping[str, Any]) -> tuple[dict[str, int], str | None]:
    """Return the numbers and the text to look for among a call's arguments; null is not given.

    What a model writes as text, or a text as a number, is taken for what it means: left out, the same page would be
    asked for again and again. Raises: InvalidCall for what means nothing.
    """
    found = {name: value for name, value in given.items() if value is not None}
    for name in found:
        if name not in _ARGUMENTS:
            raise InvalidCall(tool, f"there is no argument {name[:40]!r}", f"give {', '.join(_ARGUMENTS)}")
    numbers = {name: _number(tool, name, found[name]) for name in _NUMBERS if name in found}
    grep = found.get("grep")
    if isinstance(grep, bool) or not isinstance(grep, str | int | float | None):
        raise InvalidArgument(tool, "grep", grep, "a text that stands in the lines to show")
    return numbers, None if grep is None else str(grep)


def _number(tool: str, name: str, value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.strip().isdigit() and len(value) <= 12:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or value < 0:
        raise InvalidArgument(tool, name, value, "a whole number, 0 or more")
    return value
