"""What an endpoint answered instead of an answer, as one typed error that betrays nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.utils import formatdate
from typing import Any

import msgspec
from msgspec import Struct

from foreword.codecs.failure_signs import Kind
from foreword.codecs.failures import classify
from foreword.codecs.stream.streamed import MALFORMED, failure_from
from foreword.codecs.stream.streamed import Failure as StreamFailure
from foreword.core.endpoint import Endpoint
from foreword.errors import (
    AuthFailed,
    ConnectionFailed,
    ContextOverflow,
    Overloaded,
    ProviderError,
    RateLimited,
    Rejected,
)

ERRORS: dict[Kind, type[ProviderError]] = {
    "overflow": ContextOverflow,
    "rate_limited": RateLimited,
    "overloaded": Overloaded,
    "auth": AuthFailed,
    "invalid": Rejected,
    "not_found": Rejected,
    "timeout": Overloaded,
}
REQUEST_IDS = ("request-id", "x-request-id", "apim-request-id", "x-amzn-requestid")
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses after which the same request may well succeed."""
BUSY = 529
"""The one failure of a server that says that nothing was run: Anthropic's `overloaded_error`."""
LONGEST = 240
QUOTED = 32
"""A run of so many characters of the request in an error is a quotation of it, and is cut away."""


class Refusal(Struct, frozen=True, kw_only=True):
    """An answer that is none: what was received, headers with their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Hidden(Struct, frozen=True, kw_only=True):
    """What no error may show: the values of secrets, one that holds another before it, and the request."""

    secrets: Sequence[str]
    request: bytes
    model: str


def refused(endpoint: Endpoint, refusal: Refusal, hidden: Hidden, attempts: int) -> ProviderError:
    """Return the error that an HTTP answer of status 300 or more means."""
    # An answer without a date is dated by its arrival (RFC 9110, 6.6.1).
    headers = {"date": formatdate(usegmt=True), **refusal.headers}
    found = classify(endpoint.wire, refusal.status, refusal.body, headers)
    kind: Kind = found.kind if found is not None else "unknown"
    by_status = Overloaded if refusal.status >= 500 else Rejected
    error = ERRORS.get(kind, by_status)
    said = "redirects, which is not followed" if refusal.status < 400 else _message(refusal.body)
    return error(
        endpoint.shown,
        said="" if error is AuthFailed else cleaned(said, hidden),
        status=refusal.status,
        request_id=request_id(refusal.headers),
        retry_after=found.retry_after if found is not None else None,
        tokens=found.tokens if found is not None else None,
        limit=found.limit if found is not None else None,
        attempts=attempts,
    )


def broke_off(
    endpoint: Endpoint, failure: StreamFailure, headers: Mapping[str, str], hidden: Hidden, attempts: int
) -> ProviderError:
    """Return the error that an error event means, or a stream that can't be read."""
    named = {"type": failure.type, "code": failure.code, "message": failure.message}
    told = {"error": {name: value for name, value in named.items() if value is not None}}
    found = None if failure.type == MALFORMED else classify(endpoint.wire, None, told)
    error = ERRORS.get(found.kind, Overloaded) if found is not None else ConnectionFailed
    return error(
        endpoint.shown,
        said="" if error is AuthFailed else cleaned(failure.message or failure.type or "", hidden),
        status=200,
        request_id=request_id(headers),
        retry_after=found.retry_after if found is not None else None,
        tokens=found.tokens if found is not None else None,
        limit=found.limit if found is not None else None,
        attempts=attempts,
    )


def may_retry(refusal: Refusal, error: ProviderError) -> bool:
    """Whether the same request is worth sending again; the provider's own word about it counts first."""
    word = refusal.headers.get("x-should-retry")
    if isinstance(error, ContextOverflow | AuthFailed) or word == "false":
        return False
    return word == "true" or refusal.status in RETRIED


def may_cost(error: BaseException) -> bool:
    """Whether the failed attempt may be billed; not where it was never sent, or refused before a model could run.

    A server's own failure is no refusal: a gateway that gave up waiting had handed the request on.
    """
    if isinstance(error, ConnectionFailed) and error.unsent:
        return False
    status = error.status if isinstance(error, ProviderError) else None
    refused = isinstance(error, ContextOverflow) or status == BUSY
    return not refused and (status is None or not 300 <= status < 500)


def reason(error: BaseException) -> str:
    """Return why a connection failed, in words that hold no address but a host's: a proxy's may hold a password."""
    kind = type(error).__name__
    if isinstance(error, OSError):
        return f"{kind}: {error}"[:200]
    status = getattr(error, "status", None)
    return kind if status is None else f"{kind}: status {status}"


def request_id(headers: Mapping[str, str]) -> str | None:
    """Return the provider's id of a request, if it is one: short and plain."""
    found = next((headers[name] for name in REQUEST_IDS if name in headers), None)
    return found if found and len(found) <= 128 and found.isascii() and found.isprintable() else None


def cleaned(text: str, hidden: Hidden) -> str:
    """Return a provider's words on one short line, without secrets and without what quotes the request."""
    for secret in hidden.secrets:  # before anything is cut: the beginning of a key is a secret too
        text = text.replace(secret, "***")
    text = " ".join(text.split())[: 4 * LONGEST]
    text = "".join(char if char.isprintable() else "\ufffd" for char in text)
    mask = "\0"
    masked = text.replace(hidden.model, mask) if len(hidden.model) >= 8 else text
    for at in range(len(masked) - QUOTED + 1):
        run = masked[at : at + QUOTED]
        if mask not in run and run.encode("utf-8", "replace") in hidden.request:
            masked = masked[:at] + "…"
            break
    text = masked.replace(mask, hidden.model)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _message(body: bytes) -> str:
    """Return the message of an error body of any provider; "" when there is none that can be found."""
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return ""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return ""
    error = value.get("error", value)
    return failure_from(error).message or _text(value.get("message")) or _text(value.get("detail"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
