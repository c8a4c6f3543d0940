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

log = logging.getLogger("foreword").getChild("cache")

LEAST = 1_024
"""Tokens from which a prompt is expected to be read again, where the catalog knows no minimum."""


class CacheFall(Struct, frozen=True, kw_only=True):
    """An answer that read less than half of the prompt before. ``idle``: seconds since the answer before.

    ``life``: seconds that an entry lives, None: no end is known.
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

    Answers to requests that were not ours are left out, and those that the provider cut the context for. ``end``: how
    many of the events are looked at; None: all.
    """
    end = len(events) if end is None else end
    newest = events[end - 1] if end else None
    answer = _ours(newest)
    if newest is None or answer is None or answer.usage is None or answer.usage.cache_read is None:
        return None
    before = _before(events, end)
    earlier = _ours(before)
    if before is None or earlier is None or earlier.usage is None or earlier.model != answer.model:
        return None
    expected, read = earlier.usage.total_input, answer.usage.cache_read
    spec = target.spec if target is not None else None
    least = (spec.min_cacheable_tokens if spec is not None else None) or LEAST
    if earlier.usage.cache_read is None or expected is None or expected < least or read * 2 >= expected:
        return None
    rules = rules_of(spec) if spec is not None else None
    life = rules.life("long" if earlier.usage.cache_write_long else "short") if rules is not None else None
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


def _before(events: Sequence[Event], end: int) -> Event | None:
    """Return the answer before the last of ``end`` events; None: there is none in its epoch."""
    for index in range(end - 2, -1, -1):
        if isinstance(events[index].body, EpochStarted):
            return None
        if isinstance(events[index].body, Answered):
            return events[index]
    return None
