"""An answer on its way: its deltas as they come, and what it came to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from msgspec import Struct

from foreword.codecs.decoded import Response
from foreword.codecs.stream.decoder import Decoder
from foreword.codecs.stream.streamed import Delta, State
from foreword.core.endpoint import Endpoint
from foreword.core.usage import Usage
from foreword.engine.provider_failure import Hidden, broke_off, request_id
from foreword.engine.upstream import Upstream
from foreword.errors import ConnectionFailed, ProviderError

SAID = frozenset({"text", "thinking", "tool_call_start", "tool_call_arguments"})
"""Deltas that are something the model said."""


class Sent(Struct, frozen=True, kw_only=True):
    """What became of a request that was answered.

    ``state``: `complete`, `incomplete` (cut) or `failed` (an error came behind its start); then ``failure`` says
    why. ``response``: all that came. ``partial``: indices into its blocks of tool calls that are not whole: never
    run them. ``first_token_ms``: from the last attempt's start to the first thing the model said; None: nothing.
    ``total_ms``: from the first attempt's start. ``usage`` None: not reported. ``lost``: of the attempts before, those
    that may have been billed and don't say so.
    """

    state: State
    response: Response | None
    usage: Usage | None
    partial: tuple[int, ...] = ()
    failure: ProviderError | None = None
    status: int = 200
    request_id: str | None = None
    attempts: int = 1
    first_token_ms: float | None = None
    total_ms: float = 0.0
    lost: int = 0


class Answering:
    """An answer of which the first bytes have come. Iterate over its deltas once, then ask for ``sent``."""

    def __init__(
        self,
        endpoint: Endpoint,
        upstream: Upstream,
        hidden: Hidden,
        *,
        attempts: int,
        lost: int,
        began: float,
        idle: float | None,
        deadline: float | None,
    ) -> None:
        self._endpoint = endpoint
        self._upstream = upstream
        self._hidden = hidden
        self._attempts = attempts
        self._lost = lost
        self._began = began
        self._idle = idle
        self._deadline = deadline
        self._decoder = Decoder(endpoint.wire)
        self._first_token: float | None = None
        self._failure: ProviderError | None = None
        self._sent: Sent | None = None

    async def __aiter__(self) -> AsyncIterator[Delta]:
        chunk = self._upstream.first
        while chunk:
            for delta in self._decoder.feed(chunk):
                if self._first_token is None and delta.kind in SAID:
                    self._first_token = time.monotonic()
                yield delta
            chunk = await self._next()

    @property
    def sent(self) -> Sent:
        """What has come; `incomplete` when it is asked for before the end. Nothing is taken after that."""
        if self._sent is None:
            self._sent = self._ended()
        return self._sent

    def close(self) -> None:
        """Close the connection; one whose answer came to its end stays open for the next request."""
        self._upstream.close()

    async def _next(self) -> bytes:
        left = None if self._deadline is None else self._deadline - time.monotonic()
        limits = [limit for limit in (self._idle, left) if limit is not None]
        try:
            async with asyncio.timeout(max(0.0, min(limits)) if limits else None):
                return await self._upstream.read()
        except TimeoutError:
            late = self._deadline is not None and time.monotonic() >= self._deadline
            said = "no end of the answer within the time it has" if late else f"silent for {self._idle:g} s"
            self._failure = self._cut(said)
        except ConnectionFailed as error:
            self._failure = self._cut(error.said)  # without its cause, which may hold the request's headers
        return b""

    def _cut(self, said: str) -> ConnectionFailed:
        status, tries = self._upstream.status, self._attempts
        return ConnectionFailed(self._endpoint.shown, said=said, status=status, attempts=tries)

    def _ended(self) -> Sent:
        came = self._decoder.end()
        headers = self._upstream.headers
        failure = self._failure or self._cut("the answer stopped before its end")
        if came.error is not None:
            failure = broke_off(self._endpoint, came.error, headers, self._hidden, self._attempts)
        said = self._first_token
        if said is None and came.response is not None:  # an answer in one piece has no deltas
            said = self._upstream.first_at
        return Sent(
            state=came.state,
            response=came.response,
            usage=came.usage,
            partial=came.partial,
            failure=None if came.state == "complete" else failure,
            status=self._upstream.status,
            request_id=request_id(headers),
            attempts=self._attempts,
            first_token_ms=None if said is None else _ms(said - self._upstream.began),
            total_ms=_ms(time.monotonic() - self._began),
            lost=self._lost,
        )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
