"""Model calls for the ledger: what an answer's event says of its bill, and an event for each call without an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from foreword.codecs.billing import billing_from
from foreword.codecs.decoded import Response
from foreword.core.event import Answered, Called, Draft, by_engine
from foreword.core.usage import NOTHING, Usage
from foreword.engine.answering import Sent
from foreword.errors import ConnectionFailed, ProviderError

if TYPE_CHECKING:
    from foreword.engine.session import Session

_CANCELLED = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)


def billed(body: Answered, wire: str, response: Response, sent: Sent | None = None) -> Answered:
    """Return an answer's event with what its response and its exchange say of terms, summaries and times."""
    bill = billing_from(wire, response)
    body = replace(body, terms=bill.terms, compactions=bill.compactions, doubts=bill.doubts)
    if sent is None:
        return body
    first = None if sent.first_token_ms is None else round(sent.first_token_ms)
    return replace(body, first_token_ms=first, total_ms=round(sent.total_ms), attempts=sent.attempts)


@contextmanager
def counted(session: Session) -> Iterator[None]:
    """Record the call made inside as failed or cancelled when it ends by an error and nothing of it was recorded."""
    try:
        yield
    except BaseException as error:
        if _open_request(session) is not None:
            session.append(_failed(session, error))
        raise


def note_empty(session: Session, sent: Sent) -> None:
    """Record a call that was answered with nothing that can be said again: its tokens are billed all the same."""
    response = sent.response
    bill = billing_from(session.codec.wire, response)
    body = Called(
        status="ok" if sent.state == "complete" else "failed",
        model=response.model if response is not None else None,
        response_id=response.response_id if response is not None else None,
        usage=sent.usage,
        request=_open_request(session),
        why="" if sent.failure is None else type(sent.failure).__name__,
        total_ms=round(sent.total_ms),
        attempts=sent.attempts,
        terms=bill.terms,
        doubts=bill.doubts,
    )
    session.append(by_engine(body, subject=session.user))


def _failed(session: Session, error: BaseException) -> Draft:
    status: Literal["failed", "cancelled"] = "cancelled" if isinstance(error, _CANCELLED) else "failed"
    body = Called(
        status=status,
        model=session.target.params.model if session.target is not None else None,
        usage=_usage_of(error),
        request=_open_request(session),
        why=type(error).__name__,
        attempts=error.attempts if isinstance(error, ProviderError) else 1,
    )
    return by_engine(body, subject=session.user)


def _usage_of(error: BaseException) -> Usage | None:
    """A refusal bills nothing; of a call that was cancelled or that nobody answered, nobody knows."""
    refused = isinstance(error, ProviderError) and not isinstance(error, ConnectionFailed)
    return NOTHING if refused else None


def _open_request(session: Session) -> int | None:
    """Return the newest request that neither an answer nor a call's end was recorded for."""
    sent = session.view.fold.sent
    if not sent or any(isinstance(event.body, Answered | Called) for event in session.events[sent[-1].seq :]):
        return None
    return sent[-1].seq
