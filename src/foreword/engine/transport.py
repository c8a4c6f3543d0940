"""Transport: send a request to an endpoint and take its answer as it streams in.

Needs the extra `http`. A request is sent again only while no byte of an answer has come: after that the provider
has worked and will bill. What was received of an answer that breaks off is kept, and told to be incomplete.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import NamedTuple

from msgspec import Struct

from foreword.codecs.counting import counted_tokens
from foreword.codecs.stream.streamed import Delta
from foreword.compiler.compile import Compiled
from foreword.core.endpoint import Endpoint
from foreword.engine.answering import Answering, Sent
from foreword.engine.outgoing import Outgoing, counting, outgoing
from foreword.engine.provider_failure import Hidden, may_cost, may_retry, refused
from foreword.engine.upstream import ERROR_SECONDS, Connections, Silent, Upstream
from foreword.errors import ConnectionFailed


class Timeouts(Struct, frozen=True, kw_only=True):
    """Seconds; None: no limit.

    ``connect``: to be connected. ``first_byte``: from sending to the first byte of the answer (a long prompt and
    unseen thinking take minutes). ``idle``: between two bytes. ``total``: all attempts and the whole answer.
    """

    connect: float | None = 10.0
    first_byte: float | None = 600.0
    idle: float | None = 300.0
    total: float | None = 3_600.0


class Retries(Struct, frozen=True, kw_only=True):
    """How often to send again, and how long to wait between, in seconds.

    ``attempts``: in all, 1 for none again. The wait doubles from ``first`` to ``longest``, less up to a half at
    random. What the provider asks for (`retry-after`, in seconds or as a date, or `retry-after-ms`) is waited for
    instead, never less than that and up to a tenth more at random, so that not all come back at once; when it is
    over ``patience`` the error is raised.
    """

    attempts: int = 4
    first: float = 0.5
    longest: float = 8.0
    patience: float = 60.0

    def wait(self, attempt: int, asked: float | None, chance: float) -> float | None:
        """Return seconds to wait after attempt 1, 2…; None: don't try again. ``chance``: from 0 to 1."""
        if attempt >= self.attempts:
            return None
        own = min(self.longest, self.first * 2.0 ** min(attempt - 1, 64)) * (1 - chance / 2)
        if asked is None:
            return own
        return max(own, asked * (1 + chance / 10)) if asked <= self.patience else None


TIMEOUTS = Timeouts()
RETRIES = Retries()


class _Opened(NamedTuple):
    """An answer whose first bytes have come, after so many attempts; times are of the monotonic clock.

    ``lost``: of the attempts before, those that may have been billed.
    """

    upstream: Upstream
    hidden: Hidden
    attempts: int
    lost: int
    began: float
    deadline: float | None


class Transport:
    """Sends requests; use as an async context manager, for as many requests and endpoints as you like.

    ``environ`` holds the keys; ``chance`` gives the jitter of waits, from 0 to 1.
    """

    def __init__(
        self,
        *,
        timeouts: Timeouts = TIMEOUTS,
        retries: Retries = RETRIES,
        environ: Mapping[str, str] = os.environ,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Raises: MissingExtra without the extra `http`."""
        self.timeouts = timeouts
        self.retries = retries
        self._environ = environ
        self._chance = chance
        self._connections = Connections(connect=timeouts.connect)

    async def __aenter__(self) -> Transport:
        await self._connections.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self._connections.__aexit__(kind, error, where)

    async def send(
        self,
        endpoint: Endpoint,
        request: Compiled | bytes,
        *,
        stream: bool = True,
        model: str | None = None,
        on_delta: Callable[[Delta], None] | None = None,
    ) -> Sent:
        """Send a request and return what became of it.

        ``model``: the endpoint's own name of the model, where its path names one; needed for bytes of a wire whose
        body doesn't name it. ``on_delta``: called with each step.
        Raises: ProviderError when nothing of an answer came; MalformedRequest; EndpointError.
        """
        async with self.stream(endpoint, request, stream=stream, model=model) as answering:
            async for delta in answering:
                if on_delta is not None:
                    on_delta(delta)
        sent = answering.sent
        if sent.failure is not None and sent.response is None:
            raise sent.failure
        return sent

    async def count(self, endpoint: Endpoint, request: Compiled | bytes, *, model: str | None = None) -> int:
        """Return the tokens of a request's whole input, as the provider counts them; nothing is sent to a model.

        Raises: EndpointError where nothing counts; ProviderError; MalformedRequest; MalformedResponse.
        """
        opened = await self._open(endpoint, counting(endpoint, request, model=model))
        return counted_tokens(endpoint.wire, await opened.upstream.whole(self.timeouts.idle))

    @asynccontextmanager
    async def stream(
        self, endpoint: Endpoint, request: Compiled | bytes, *, stream: bool = True, model: str | None = None
    ) -> AsyncIterator[Answering]:
        """Send a request and yield its answer, to be iterated over once; leaving closes the connection.

        Raises: ProviderError when no answer begins; MalformedRequest; EndpointError.
        """
        opened = await self._open(endpoint, outgoing(endpoint, request, stream=stream, model=model))
        answering = Answering(
            endpoint,
            opened.upstream,
            opened.hidden,
            attempts=opened.attempts,
            lost=opened.lost,
            began=opened.began,
            idle=self.timeouts.idle,
            deadline=opened.deadline,
        )
        try:
            yield answering
        finally:
            answering.close()

    async def _open(self, endpoint: Endpoint, out: Outgoing) -> _Opened:
        key = endpoint.key_headers(self._environ)
        hidden = Hidden(secrets=endpoint.secrets(self._environ), request=out.body, model=out.model)
        headers = {**out.headers(endpoint), **key}
        began = time.monotonic()
        total = self.timeouts.total
        deadline = None if total is None else began + total
        attempt = lost = 0
        while True:
            attempt += 1
            try:
                within = _left(self.timeouts.first_byte, deadline)
                upstream = await self._connections.post(endpoint, out, headers, within)
            except ConnectionFailed as error:
                failed = _told(error, attempt)
                again = not isinstance(error, Silent)
            else:
                if upstream.status < 300:
                    return _Opened(upstream, hidden, attempt, lost, began, deadline)
                refusal = await upstream.refusal(_left(ERROR_SECONDS, deadline))
                failed = refused(endpoint, refusal, hidden, attempt)
                again = may_retry(refusal, failed)
            wait = self.retries.wait(attempt, failed.retry_after, self._chance()) if again else None
            if wait is None or (deadline is not None and time.monotonic() + wait >= deadline):
                failed.lost = lost
                raise failed
            lost += may_cost(failed)
            await asyncio.sleep(wait)


def _left(limit: float | None, deadline: float | None) -> float | None:
    """Return seconds to wait at most, by a limit and by the time that all may take; None: as long as it takes."""
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    limits = [seconds for seconds in (limit, left) if seconds is not None]
    return min(limits) if limits else None


def _told(error: ConnectionFailed, attempts: int) -> ConnectionFailed:
    """Return the failure with the number of attempts in it."""
    told = ConnectionFailed(error.endpoint, said=error.said, status=error.status, attempts=attempts)
    told.unsent = error.unsent
    return told


def send(
    endpoint: Endpoint,
    request: Compiled | bytes,
    *,
    stream: bool = True,
    model: str | None = None,
    on_delta: Callable[[Delta], None] | None = None,
    timeouts: Timeouts = TIMEOUTS,
    retries: Retries = RETRIES,
    environ: Mapping[str, str] = os.environ,
) -> Sent:
    """Send one request from code that is not async; see `Transport.send`."""

    async def once() -> Sent:
        async with Transport(timeouts=timeouts, retries=retries, environ=environ) as transport:
            return await transport.send(endpoint, request, stream=stream, model=model, on_delta=on_delta)

    return asyncio.run(once())
