"""Server-sent events: how an answer goes out in pieces, and how that can go wrong."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from foreword.testing.script import Stream

DELTA_SIZES = (1, 24)
WRITE_SIZES = (1, 400)
DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"


class Sending(msgspec.Struct, frozen=True, kw_only=True):
    """A body as its writes. `cut`: close the connection without ending the body; `pause` in seconds."""

    writes: tuple[bytes, ...]
    cut: bool
    pause: float


class Pieces:
    """Cuts texts and bytes into pieces of sizes that a seed decides."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def of_text(self, text: str) -> Iterator[str]:
        """Yield deltas that join to `text`; none for the empty text."""
        at = 0
        while at < len(text):
            size = self._random.randint(*DELTA_SIZES)
            yield text[at : at + size]
            at += size

    def of_bytes(self, data: bytes) -> Iterator[bytes]:
        """Yield writes that join to `data`; they end anywhere, even inside a character."""
        at = 0
        while at < len(data):
            size = self._random.randint(*WRITE_SIZES)
            yield data[at : at + size]
            at += size


def frame(data: object, *, name: str | None = None) -> bytes:
    """Write one event, with a name if it has one."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + msgspec.json.encode(data) + b"\n\n"


def sending(frames: Iterable[bytes], error: bytes, plan: Stream) -> Sending:
    """Put the events of an answer on the wire as planned, `error` being the event of a fault."""
    each = iter(frames)
    if plan.fault is None:
        data = b"".join(each)
    else:
        data = b"".join(islice(each, plan.after))
        rest = next(each, b"")
        data += error if plan.fault == "error" else rest[: len(rest) // 2]
    writes = tuple(Pieces(plan.seed).of_bytes(data))
    return Sending(writes=writes, cut=plan.fault == "cut", pause=plan.pause)
