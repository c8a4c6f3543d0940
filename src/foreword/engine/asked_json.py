"""One question to an endpoint that is answered in JSON, by the standard library alone: for `doctor`, not for models."""

from __future__ import annotations

import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import msgspec

from foreword.core.canonical import compact
from foreword.core.endpoint import Endpoint
from foreword.engine.provider_failure import Hidden, Refusal, reason, refused
from foreword.errors import ConnectionFailed

LARGEST = 1 << 25
LARGEST_ERROR = 1 << 16
SECONDS = 5.0


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it would take the key elsewhere."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        return None


def ask_json(
    endpoint: Endpoint,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    timeout: float = SECONDS,
) -> Any:
    """Return what is served at a path, as JSON values; a body makes it a POST. ``timeout``: seconds for each part.

    Raises: ProviderError; EndpointError without a key that is needed.
    """
    key = endpoint.key_headers(environ)
    data = None if body is None else compact(body)
    headers = {"accept": "application/json", "content-type": "application/json", **endpoint.headers, **key}
    request = urllib.request.Request(endpoint.at(path), data, headers)
    handlers: list[urllib.request.BaseHandler] = [_Stay()]
    if endpoint.local:
        handlers.append(urllib.request.ProxyHandler({}))
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout) as answer:
            return msgspec.json.decode(_body(answer, LARGEST, timeout))
    except urllib.error.HTTPError as error:
        with error:
            told = {name.lower(): value for name, value in error.headers.items()}
            refusal = Refusal(status=error.code, headers=told, body=_told(error, timeout))
        hidden = Hidden(secrets=endpoint.secrets(environ), request=data or b"", model="")
        raise refused(endpoint, refusal, hidden, 1) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConnectionFailed(endpoint.shown, said=f"no JSON at {path}", status=200) from error
    except (
        OSError,
        http.client.HTTPException,
        ValueError,
    ) as error:  # the last: a proxy's address that is none
        why = getattr(error, "reason", None)
        said = reason(why if isinstance(why, Exception) else error)
        raise ConnectionFailed(endpoint.shown, said=said) from None


def _body(answer: Any, largest: int, seconds: float) -> bytes:
    """Read a body as far as it may go, for so long in all, however slowly it comes. Raises: OSError; HTTPException."""
    body, until = b"", time.monotonic() + seconds
    while len(body) < largest and (part := answer.read1(largest - len(body))):
        body += part
        if time.monotonic() > until:
            raise TimeoutError(f"no end of the answer within {seconds:g} s")
    return body


def _told(error: urllib.error.HTTPError, seconds: float) -> bytes:
    """Read the body of an error; b"" where it can't be read: the status says enough."""
    try:
        return _body(error, LARGEST_ERROR, seconds)
    except (OSError, http.client.HTTPException):
        return b""
