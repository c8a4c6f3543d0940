"""Ask: compile a session's next request, send it, record what came. The one loop around engine and transport.

What was received is recorded however the exchange ends: a cut answer as partial, a call that is not whole as a note
beside it, since it never was a call. A prompt over the endpoint's window is mended once, without a model call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foreword.codecs.failures import silent_overflow
from foreword.codecs.stream.streamed import Delta
from foreword.compiler.compile import Compiled
from foreword.core.block import ToolCall
from foreword.core.endpoint import Endpoint
from foreword.core.event import Draft, ForeignNoted, InputCounted
from foreword.core.target import Target
from foreword.engine.answering import Sent
from foreword.engine.calls import answer_of, note_empty, note_failed
from foreword.engine.session import Session
from foreword.engine.transport import Transport
from foreword.errors import CompileError, ContextOverflow, InvalidArgument, InvalidCall

P = ParamSpec("P")
R = TypeVar("R")

_SMALLER = 0.75
"""Share of its predicted size that a refused request is brought under when the error tells no sizes."""


class Asked(Struct, frozen=True, kw_only=True):
    """An answer and where it stands in the log.

    ``seq``: of the `Answered` event; None: nothing came that could be recorded. ``recovered``: the first request was
    over the endpoint's window, and this answers a smaller one. ``overflowed``: the endpoint took more than the window
    without a word, and so left some of it out.
    """

    sent: Sent
    seq: int | None
    recovered: bool = False
    overflowed: bool = False


async def ask(
    session: Session,
    endpoint: Endpoint,
    transport: Transport,
    *,
    stream: bool = True,
    on_delta: Callable[[Delta], None] | None = None,
    model: str | None = None,
    count: bool = False,
) -> Asked:
    """Compile, send, record. Return what came.

    The session must not be used elsewhere meanwhile; its store is called in a worker thread. When this is cancelled,
    the connection is closed and what came by then is recorded. ``model``: the endpoint's own name of it, where its
    path names one. ``count``: have the provider count the request first, see `counted_request`.
    Raises: InvalidArgument for a name in place of an endpoint; OverBudget; EmptyRequest; ProviderError when nothing of
    an answer came; with ``count``, EndpointError where nothing counts.
    """
    _check_endpoint("ask", endpoint)
    exchange = partial(_exchange, session, endpoint, transport, stream=stream, on_delta=on_delta, model=model)
    if count:
        request = await counted_request(session, endpoint, transport, model=model)
    else:
        request = await _in_thread(_compiled, session)
    try:
        return await exchange(request)
    except ContextOverflow as error:
        smaller = await _in_thread(_recompiled, session, endpoint, request, error)
    return replace(await exchange(smaller), recovered=True)


async def counted_request(
    session: Session, endpoint: Endpoint, transport: Transport, *, model: str | None = None
) -> Compiled:
    """Return the next request, after the provider's own count of it was recorded.

    The count calibrates the budget like the usage of an answer, and as it is an event, compiling stays a function of
    the log. A request that turns out to be over the budget is compiled again, smaller; that one is not counted.
    Raises: OverBudget; EmptyRequest; EndpointError where nothing counts; ProviderError.
    """
    request = await _in_thread(_compiled, session)
    tokens = await transport.count(endpoint, request, model=model)
    body = InputCounted(tokens=tokens, request=session.unanswered)
    await _in_thread(session.append, Draft(body=body, actor="provider", trust="foreign"))
    if tokens + request.budget.unseen <= request.budget.available:
        return request
    return await _in_thread(_compiled, session)


async def _in_thread(work: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
    """Return what a worker thread makes of it; when cancelled, wait for its end: the session is in its hands."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def _compiled(session: Session) -> Compiled:
    """Compile for the transport, which sends the beta headers that a request needs."""
    known = session.target
    if known is not None:
        session.target = replace(known, betas=True)
    try:
        return session.compile()
    finally:
        session.target = known


def ask_now(
    session: Session,
    endpoint: Endpoint,
    *,
    stream: bool = True,
    on_delta: Callable[[Delta], None] | None = None,
    model: str | None = None,
    count: bool = False,
    transport: Callable[[], Transport] = Transport,
) -> Asked:
    """Ask from code that is not async; ``transport`` makes the connections, which are closed again.

    Raises: InvalidCall where an event loop runs already; else as ``ask``.
    """
    _check_endpoint("ask_now", endpoint)
    if _in_loop():
        raise InvalidCall("ask_now", "an event loop runs in this thread already", "await ask(...) there")

    async def once() -> Asked:
        async with transport() as opened:
            return await ask(
                session, endpoint, opened, stream=stream, on_delta=on_delta, model=model, count=count
            )

    return asyncio.run(once())


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _check_endpoint(where: str, endpoint: object) -> None:
    if not isinstance(endpoint, Endpoint):
        takes = "what foreword.core.endpoint.endpoint(name, wire) returns"
        raise InvalidArgument(where, "endpoint", endpoint, takes)


async def _exchange(
    session: Session,
    endpoint: Endpoint,
    transport: Transport,
    request: Compiled,
    *,
    stream: bool,
    on_delta: Callable[[Delta], None] | None,
    model: str | None,
) -> Asked:
    try:
        return await _exchange_once(
            session, endpoint, transport, request, stream=stream, on_delta=on_delta, model=model
        )
    except Exception as error:
        await _in_thread(note_failed, session, error)
        raise
    except BaseException as error:
        note_failed(session, error)  # in this thread: a cancelled task waits for nothing more
        raise


async def _exchange_once(
    session: Session,
    endpoint: Endpoint,
    transport: Transport,
    request: Compiled,
    *,
    stream: bool,
    on_delta: Callable[[Delta], None] | None,
    model: str | None,
) -> Asked:
    async with transport.stream(endpoint, request, stream=stream, model=model) as answering:
        try:
            async for delta in answering:
                if on_delta is not None:
                    on_delta(delta)
        except BaseException:
            record(session, answering.sent)  # in this thread: a cancelled task waits for nothing more
            raise
    sent = answering.sent
    seq = await _in_thread(record, session, sent)
    if seq is None:
        await _in_thread(note_empty, session, sent)
    if sent.failure is not None and seq is None:
        raise sent.failure
    window = request.target.window
    return Asked(
        sent=sent, seq=seq, overflowed=sent.usage is not None and silent_overflow(sent.usage, window)
    )


def record(session: Session, sent: Sent) -> int | None:
    """Append an answer as far as it came; return the seq of its event, None when nothing of it can be said again."""
    response = sent.response
    if response is None:
        return None
    cut = {index: response.message.blocks[index] for index in sent.partial}
    kept = tuple(block for index, block in enumerate(response.message.blocks) if index not in cut)
    notes = [_cut_call(block) for block in cut.values() if isinstance(block, ToolCall)]
    if not kept:
        if notes:
            session.append(*notes)
        return None
    message = session.named(replace(response.message, blocks=kept))
    body = answer_of(session.codec.wire, replace(response, message=message), sent)
    return session.append_answer(body, *notes)


def _cut_call(call: ToolCall) -> Draft:
    note = ForeignNoted(code="cut_call", where=call.name, text="never whole, never run", raw=call.arguments)
    return Draft(body=note, trust="model", actor="model")


def _recompiled(session: Session, endpoint: Endpoint, refused: Compiled, error: ContextOverflow) -> Compiled:
    """Record what the endpoint said of its window, and compile for that.

    The session keeps the endpoint's window from now on. A count that came out too low is made good for this request
    alone: the answer's usage tells the true count, which calibrates all that follow.
    """
    told = {"tokens": error.tokens, "limit": error.limit, "predicted": refused.predicted}
    note = ForeignNoted(
        code="overflow",
        where=f"{endpoint.name} {refused.target.params.model}",
        raw=msgspec.json.encode(told).decode(),
    )
    session.append(Draft(body=note, actor="provider", trust="foreign"))
    target = refused.target
    window = min(target.window, error.limit or target.window)
    reserve = min(target.reserve_output, max(1, window // 2))
    params = replace(target.params, max_output=min(target.params.max_output, reserve))
    betas = session.target is not None and session.target.betas
    known = replace(target, window=window, reserve_output=reserve, params=params, betas=betas)
    session.target = replace(known, window=_believed(known, refused.predicted, error.tokens))
    try:
        smaller = _compiled(session)
    except CompileError as too_small:
        raise too_small from error
    finally:
        session.target = known
    if smaller.body == refused.body:
        raise error
    return smaller


def _believed(target: Target, predicted: int, tokens: int | None) -> int:
    """Return the window in our own measure, small enough for the refused request not to fit."""
    scale = min(1.0, predicted / tokens) if tokens else 1.0
    window = int(target.window * scale)
    if window - target.reserve_output >= predicted:
        window = int(predicted * _SMALLER) + target.reserve_output
    return window
