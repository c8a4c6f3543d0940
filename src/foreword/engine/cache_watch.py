"""Watch the cache: say so the moment an answer reads less than half of what the request before had sent.

It is said to the logger `foreword.cache`, at the level of a warning: a program that configures no logging sees it on
stderr. An epoch is no surprise, so the first answer after one says nothing; and what falls again within one, for the
same reason, was said.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct

from foreword.core.cache_model import SECOND, rules_of
from foreword.core.event import Answered, EpochStarted, Event
from foreword.core.target import Target
from foreword.core.usage import Usage

log = logging.getLogger("foreword").getChild("cache")

LEAST = 1_024
"""Tokens from which a prompt is expected to be read again, where the catalog knows no minimum."""


class CacheFall(Struct, frozen=True, kw_only=True):
    """An answer that read less than half of the prompt before. ``idle``: seconds since the answer before.

    ``life``: seconds that the entries live without which less than half is left, None: no end is known.
    """

    session: str
    event: int
    expected: int
    read: int
    idle: float
    life: int | None

    @property
    def expired(self) -> bool:
        """Whether the entry's life was over."""
        return self.life is not None and self.idle > self.life

    def __str__(self) -> str:
        why = (
            f"{self.idle:,.0f} s after the answer before, and entries live {self.life:,} s"
            if self.expired
            else f"{self.idle:,.0f} s after the answer before, and no epoch lies between"
        )
        return (
            f"session {self.session}, event {self.event}: {self.read:,} tokens read from the cache, where the request "
            f"before had sent {self.expected:,}; {why}"
        )


def fall_of(
    session: str, events: Sequence[Event], target: Target | None, end: int | None = None
) -> CacheFall | None:
    """Return what the newest answer tells of the cache; None: nothing is wrong, or it can't be known.

    Answers to requests that were not ours are left out, and those that the provider cut the context for; one without
    usage is no call, as in `cache explain`. ``end``: how many of the events are looked at; None: all.
    """
    end = len(events) if end is None else end
    newest = events[end - 1] if end else None
    answer = _ours(newest)
    if newest is None or answer is None or answer.usage is None or not answer.usage.total_input:
        return None
    before = next((event for event, _ in _calls(events, end - 1)), None)
    earlier = _ours(before)
    if before is None or earlier is None or earlier.usage is None or earlier.model != answer.model:
        return None
    expected, read = earlier.usage.total_input, answer.usage.cache_read
    spec = target.spec if target is not None else None
    least = (spec.min_cacheable_tokens if spec is not None else None) or LEAST
    if earlier.usage.cache_read is None or read is None or expected is None:
        return None
    if expected < least or read * 2 >= expected:
        return None
    rules = rules_of(spec) if spec is not None else None
    long = _long(events, end - 1) * 2 >= expected
    life = rules.life("long" if long else "short") if rules is not None else None
    sent = events[answer.request].at if answer.request is not None else newest.at
    return CacheFall(
        session=session,
        event=newest.seq,
        expected=expected,
        read=read,
        idle=max(0, sent - before.at) / SECOND,
        life=life,
    )


def warn_of_fall(session: str, events: Sequence[Event], target: Target | None, store: str | None) -> None:
    """Log a fall of the cache, if the newest answer tells of one and none of its kind was told in this epoch.

    ``store``: where the log can be asked for more; None: nowhere, it is in memory alone.
    """
    fall = fall_of(session, events, target)
    if fall is None or any(told.expired == fall.expired for told in _told(session, events, target)):
        return
    more = f"; `foreword cache explain {session} --store {shlex.quote(store)}` says more" if store else ""
    log.warning("%s%s", fall, more)


def _told(session: str, events: Sequence[Event], target: Target | None) -> Iterator[CacheFall]:
    """Yield the falls before the newest event in its epoch, newest first."""
    for end in range(len(events) - 1, 0, -1):
        body = events[end - 1].body
        if isinstance(body, EpochStarted):
            return
        if isinstance(body, Answered) and (fall := fall_of(session, events, target, end)) is not None:
            yield fall


def _ours(event: Event | None) -> Answered | None:
    body = event.body if event is not None else None
    ours = isinstance(body, Answered) and body.request is not None and body.edits is None
    return body if ours and isinstance(body, Answered) else None


def _calls(events: Sequence[Event], end: int) -> Iterator[tuple[Event, Usage]]:
    """Yield the answers with usage among the first ``end`` events that are in the epoch of the last, newest first."""
    for index in range(end - 1, -1, -1):
        body = events[index].body
        if isinstance(body, EpochStarted):
            return
        if isinstance(body, Answered) and body.usage is not None and body.usage.total_input:
            yield events[index], body.usage


def _long(events: Sequence[Event], end: int) -> int:
    """Return how many tokens of the last call of ``end`` events have a cache entry of the long life.

    A write follows what was read, the long one first; an entry that is read later keeps its life.
    """
    kept: int | None = None
    for _, usage in _calls(events, end):
        reach = (usage.cache_read or 0) + (usage.cache_write_long or 0)
        kept = reach if kept is None else min(kept, reach)
        if usage.cache_write_long:
            return kept
    return 0
