"""A response that is recorded again, as a loop does that tries once more what it had done."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.core.block import Message
from foreword.core.canonical import lossless
from foreword.core.event import Answered, Event, RequestSent
from foreword.core.surrogates import mended


def repeated(events: Sequence[Event], message: Message, response_id: str | None) -> int | None:
    """Return the seq of the newest answer if it is this one; None: it isn't, or a request waits for another.

    The id alone tells nothing: some servers give all their responses the same.
    """
    for event in reversed(events if response_id is not None else ()):
        body = event.body
        if isinstance(body, RequestSent):
            return None
        if isinstance(body, Answered):
            same = body.response_id == response_id and body.message == mended(message, lossless(message))
            return event.seq if same else None
    return None
