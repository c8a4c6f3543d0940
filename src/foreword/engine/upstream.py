"""One HTTP exchange with an endpoint: the only place that knows the client library, which the extra `http` brings."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from foreword.core.endpoint import Endpoint
from foreword.engine.outgoing import Outgoing
from foreword.engine.provider_failure import Refusal, reason
from foreword.errors import ConnectionFailed, MissingExtra

if TYPE_CHECKING:
    import aiohttp

LARGEST_ERROR = 1 << 18
ERROR_SECONDS = 10.0
"""How long the body of an error is waited for at most."""


class Silent(ConnectionFailed):
    """No byte came in time. The request may be at work, and billed, so it is not sent again."""


class Upstream:
    """An answer whose head and ``first`` bytes have come. Times are of the monotonic clock, in seconds."""

    def __init__(
        self, endpoint: Endpoint, response: aiohttp.ClientResponse, first: bytes, began: float
    ) -> None:
        self.first = first
        self.began = began
        self.first_at = time.monotonic()
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self._endpoint = endpoint
        self._response = response

    async def read(self) -> bytes:
        """Return what has come next, b"" at the end. Raises: ConnectionFailed."""
        import aiohttp

        try:
            return await self._response.content.readany()
        except (aiohttp.ClientError, ConnectionError) as error:
            said = f"the answer broke off ({type(error).__name__})"
            raise ConnectionFailed(self._endpoint.shown, said=said, status=self.status) from error

    async def whole(self, within: float | None) -> bytes:
        """Return the whole of a short body, and close. ``within``: seconds. Raises: ConnectionFailed."""
        body = self.first
        try:
            async with asyncio.timeout(within):
                while len(body) < LARGEST_ERROR and (chunk := await self.read()):
                    body += chunk
        except TimeoutError as error:
            said = f"no end of the answer within {within or 0:g} s"
            raise ConnectionFailed(self._endpoint.shown, said=said, status=self.status) from error
        finally:
            self.close()
        return body

    async def refusal(self, within: float | None) -> Refusal:
        """Read the body of an error as far as it comes in so many seconds, and close."""
        body = self.first
        try:
            async with asyncio.timeout(within):
                while len(body) < LARGEST_ERROR and (chunk := await self.read()):
                    body += chunk
        except (TimeoutError, ConnectionFailed):
            pass  # the status and what came of the body say enough
        finally:
            self.close()
        return Refusal(status=self.status, headers=self.headers, body=body[:LARGEST_ERROR])

    def close(self) -> None:
        """Close the connection, unless the answer is at its end: then it can serve another request."""
        self._response.close()


class Connections:
    """Open connections to endpoints; an async context manager."""

    def __init__(self, *, connect: float | None) -> None:
        """``connect``: seconds. Raises: MissingExtra."""
        try:
            import aiohttp
        except ImportError as error:
            raise MissingExtra("sending requests", "http") from error
        self._limits = aiohttp.ClientTimeout(total=None, sock_connect=connect)
        self._client: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Connections:
        import aiohttp

        # Compressing a stream holds its events back; a cookie would tie requests together.
        self._client = aiohttp.ClientSession(
            timeout=self._limits,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"accept-encoding": "identity"},
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def post(
        self, endpoint: Endpoint, out: Outgoing, headers: dict[str, str], within: float | None
    ) -> Upstream:
        """Send a request once; return when the first bytes of its answer have come.

        ``within``: seconds for that. A redirect is not followed: it would take the key elsewhere.
        Raises: Silent; ConnectionFailed for anything else that keeps an answer from beginning.
        """
        import aiohttp

        if self._client is None:
            raise RuntimeError(
                "connections are used as a context manager: async with Transport() as transport"
            )
        url = out.url(endpoint)
        began = time.monotonic()
        response: aiohttp.ClientResponse | None = None
        try:
            async with asyncio.timeout(within):
                response = await self._client.post(
                    url,
                    data=out.pieces(),
                    headers=headers,
                    allow_redirects=False,
                    proxy=_proxy(url, endpoint),
                )
                first = await _first(response)
            if not first and response.status < 300:
                raise ConnectionFailed(
                    endpoint.shown, said="closed without an answer", status=response.status
                )
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError):
                raise Silent(endpoint.shown, said=f"no byte of an answer within {within or 0:g} s") from error
            status = response.status if response is not None else None
            failed = ConnectionFailed(endpoint.shown, said=_why(error), status=status)
            failed.unsent = isinstance(
                error,
                aiohttp.ClientConnectorError  # name not found, refused, no TLS, no proxy
                | aiohttp.ConnectionTimeoutError
                | aiohttp.ClientHttpProxyError
                | aiohttp.InvalidURL,
            )
            raise failed from error
        else:
            taken, response = response, None
            return Upstream(endpoint, taken, first, began)
        finally:
            if response is not None:
                response.close()


async def _first(response: aiohttp.ClientResponse) -> bytes:
    """Return the first bytes of a body; b"" for that of an error which can't be read: its status says enough."""
    import aiohttp

    try:
        return await response.content.readany()
    except (aiohttp.ClientError, ConnectionError):
        if response.status < 300:
            raise
        return b""


def _why(error: Exception) -> str:
    """Return why no answer began; the status that the library gives to a head it can't read is its own."""
    import aiohttp

    unread = isinstance(error, aiohttp.ClientResponseError)
    if unread and not isinstance(error, aiohttp.ClientHttpProxyError):
        return "its answer is no HTTP, or compressed unasked"
    return reason(error)


def _proxy(url: str, endpoint: Endpoint) -> str | None:
    """Return the proxy that the environment names for an address; a server on this machine needs none."""
    parts = urlsplit(url)
    if endpoint.local or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)
