"""Answers that a caller's list repeats behind an edit: they were called for, and billed, in the log it forked from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from foreword.core.event import Answered, Draft, Event
from foreword.engine.matching import keys_of


def repeated(drafts: Sequence[Draft], answers: Iterable[Event]) -> list[Draft]:
    """Give each answer that repeats one of ``answers`` what is known of its call: a copy, by link, time and usage.

    Equal ones are paired from the newest on, since lists are cut at their beginning. The message stays the list's.
    """
    known: defaultdict[tuple[bytes, ...], list[tuple[Event, Answered]]] = defaultdict(list)
    for event in {event.link: event for event in answers}.values():
        if isinstance(event.body, Answered):
            known[keys_of(event.body.message)].append((event, event.body))
    found: list[Draft] = []
    for draft in reversed(drafts):
        listed = draft.body
        if isinstance(listed, Answered) and (twins := known[keys_of(listed.message)]):
            original, body = twins.pop()
            copy = replace(
                body,
                message=listed.message,
                copy_of=body.copy_of or original.link.hex(),
                request=None,  # it stands in the other log
                start_marks=listed.start_marks,  # and so do the marks
            )
            draft = replace(draft, body=copy, at=original.at, subject=original.subject)
        found.append(draft)
    return found[::-1]
