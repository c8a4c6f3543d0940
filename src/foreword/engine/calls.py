"""Model calls for the ledger: what an answer's event says of its bill, and an event for each call without an answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from foreword.codecs.billing import billing_from
from foreword.codecs.decoded import Response
from foreword.codecs.late import context_edits
from foreword.core.event import Answered, Called, by_engine
from foreword.core.usage import NOTHING
from foreword.engine.answering import Sent
from foreword.engine.provider_failure import may_cost
from foreword.errors import ProviderError

if TYPE_CHECKING:
    from foreword.engine.session import Session

_CANCELLED = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)


def answer_of(wire: str, response: Response, sent: Sent | None = None) -> Answered:
    """Return the event that a response is; ``sent``: the exchange that it came by, which tells how and how fast."""
    bill = billing_from(wire, response)
    body = Answered(
        message=response.message,
        model=response.model,
        stop_reason=response.stop_reason,
        response_id=response.response_id,
        usage=response.usage,
        edits=context_edits(response.extra),
        terms=bill.terms,
        compactions=bill.compactions,
        doubts=bill.doubts,
    )
    if sent is None:
        return body
    first = None if sent.first_token_ms is None else round(sent.first_token_ms)
    return replace(
        body,
        partial=sent.state != "complete",
        first_token_ms=first,
        total_ms=round(sent.total_ms),
        attempts=sent.attempts,
        lost=sent.lost,
    )


def note_failed(session: Session, error: BaseException) -> None:
    """Record a call that ended by this error as failed or cancelled, unless something of it was recorded."""
    request = _open_request(session)
    if request is None:
        return
    body = Called(
        status="cancelled" if isinstance(error, _CANCELLED) else "failed",
        model=session.target.params.model if session.target is not None else None,
        usage=None if may_cost(error) else NOTHING,
        request=request,
        why=type(error).__name__,
        attempts=error.attempts if isinstance(error, ProviderError) else 1,
        lost=error.lost if isinstance(error, ProviderError) else 0,
    )
    session.append(by_engine(body, subject=session.user))


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
        lost=sent.lost,
        terms=bill.terms,
        compactions=bill.compactions,
        doubts=bill.doubts,
    )
    session.append(by_engine(body, subject=session.user))


def _open_request(session: Session) -> int | None:
    """Return the newest request that neither an answer nor a call's end was recorded for."""
    sent = session.view.fold.sent
    if not sent or any(isinstance(event.body, Answered | Called) for event in session.events[sent[-1].seq :]):
        return None
    return sent[-1].seq
