"""Times in a context: told once, where they were read, and never worked out again.

A clock in the instructions, or one put on old messages when a request is built, makes every request begin anew.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

import msgspec

from foreword.core.block import Message, Text
from foreword.core.frame import frame

TIME = "time"
"""Topic of the notices that tell the time."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(at: int, zone: tzinfo = UTC) -> str:
    """Write a moment (microseconds since 1970 UTC) in ISO 8601, to the second, with the zone's offset.

    >>> instant(0)
    '1970-01-01T00:00:00+00:00'
    """
    return (_EPOCH + timedelta(microseconds=at)).astimezone(zone).isoformat(timespec="seconds")


def stamped(message: Message, at: int, zone: tzinfo = UTC) -> Message:
    """Return a message that says in a block of its own before its words when it was recorded."""
    stamp = Text(text=frame("note", f"Said at {instant(at, zone)}."))
    return msgspec.structs.replace(message, blocks=(stamp, *message.blocks))
