"""What a scripted server says, turn by turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call of a scripted answer. `id` None: the server makes one."""

    name: str
    input: dict[str, Any] = {}
    id: str | None = None


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer goes out when the request asks for a stream.

    `seed` decides the sizes of deltas and of writes. `fault` "error": an error event takes the place of
    everything after the first `after` events; "cut": the connection closes in the middle of the next event.
    `pause`: seconds before each write.
    """

    seed: int = 0
    fault: Literal["error", "cut"] | None = None
    after: int = 3
    pause: float = 0.0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A scripted answer, rendered in the order thinking, text, calls.

    `thinking` None: no thinking block; "" is one whose text is omitted. `text` None: no text.
    `output_tokens` None: counted. `stop_reason` None: what follows from the content, in the wire's words.
    `stream` matters only for a request that asks for one.
    """

    text: str | None = None
    thinking: str | None = None
    calls: tuple[Call, ...] = ()
    stop_reason: str | None = None
    output_tokens: int | None = None
    stream: Stream = Stream()


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A scripted failure: `status` 429, 500, 529...

    `retry_after`: seconds to wait, None: no such header. `retry` False tells SDK clients not to retry.
    """

    status: int
    text: str = "scripted failure"
    retry_after: int | None = None
    retry: bool = True


Scripted = Answer | Failure | Callable[[dict[str, Any]], Answer | Failure]


class ScriptExhausted(LookupError):
    """A legal request came after the last scripted answer: the test has more turns than its script."""

    def __init__(self, served: int) -> None:
        self.served = served
        super().__init__(
            f"request {served + 1} was legal, but the script has {served} answers: add one, "
            "or give an endless iterator"
        )
