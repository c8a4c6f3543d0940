"""Sending over real HTTP: answers of every wire, retries, time-outs, cuts, and what an error may say."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from email.utils import formatdate
from typing import Any

import msgspec
import pytest

from foreword.core.block import Text, ToolCall
from foreword.core.endpoint import endpoint
from foreword.engine.outgoing import Outgoing, outgoing
from foreword.engine.transport import Retries, Sent, Timeouts, Transport, send
from foreword.errors import (
    AuthFailed,
    ConnectionFailed,
    ContextOverflow,
    EndpointError,
    MalformedRequest,
    Overloaded,
    ProviderError,
    RateLimited,
    Rejected,
)
from foreword.testing.script import Answer, Call, Failure, Stream
from tests.engine.faulty_server import FaultyServer, drops, hangs, says
from tests.engine.sending import BEGUN, BODY, FAST, KEY, KEYS, ONCE, WIRES, asked, at, run, sent_to, server


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
def test_a_compiled_request_is_answered_on_every_wire(wire: str, stream: bool) -> None:
    """After a 429 the second attempt is answered; text, call and usage come, streamed or in one piece."""
    script = (
        Failure(status=429, retry_after=0),
        Answer(text="A ship. " * 9, calls=(Call(name="look", input={"at": 1}),)),
    )
    kinds: list[str] = []
    with server(*script) as running:
        compiled = asked(wire).compile()
        sent = send(
            at(wire, running.base_url),
            compiled,
            stream=stream,
            on_delta=lambda delta: kinds.append(delta.kind),
            environ=KEYS,
            retries=FAST,
        )
    assert (sent.state, sent.failure, sent.attempts, sent.partial) == ("complete", None, 2, ())
    assert sent.response is not None
    *_, text, call = sent.response.message.blocks
    assert isinstance(text, Text)
    assert text.text == "A ship. " * 9
    assert isinstance(call, ToolCall)
    assert msgspec.json.decode(call.arguments) == {"at": 1}
    assert sent.usage is not None
    assert sent.usage.total_input is not None
    assert sent.usage.total_input > 0
    assert sent.first_token_ms is not None
    assert 0 < sent.first_token_ms < sent.total_ms
    assert ("text" in kinds) is (stream or wire == "gemini")  # whose answers are documents of a stream anyway


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "fault, state, error", [("cut", "incomplete", ConnectionFailed), ("error", "failed", Overloaded)]
)
def test_a_stream_that_breaks_keeps_what_came(
    wire: str, fault: Any, state: str, error: type[ProviderError]
) -> None:
    """A cut and an error event both leave the text so far, told not to be whole, and nothing is sent again."""
    script = Answer(text="words " * 200, stream=Stream(fault=fault, after=12))
    with server(script) as running:
        sent = send(at(wire, running.base_url), asked(wire).compile(), environ=KEYS, retries=FAST)
    assert (sent.state, sent.attempts) == (state, 1)
    assert type(sent.failure) is error
    assert sent.response is not None
    (text,) = sent.response.message.blocks
    assert isinstance(text, Text)
    assert text.text != "words " * 200
    assert ("words " * 200).startswith(text.text)


def test_the_compiled_bytes_go_out_as_they_are() -> None:
    """Only members behind everything else are added, and the key goes into its header alone."""
    with FaultyServer([says(500, {})]) as running:
        compiled = asked("openai-chat").compile()
        with pytest.raises(Overloaded):
            send(at("openai-chat", running.url), compiled, environ=KEYS, retries=ONCE)
        (heard,) = running.heard
    assert heard.line == "POST /v1/chat/completions HTTP/1.1"
    assert heard.body == compiled.body[:-1] + b',"stream":true,"stream_options":{"include_usage":true}}'
    assert heard.headers["authorization"] == f"Bearer {KEY}"
    assert "transfer-encoding" not in heard.headers


def test_betas_of_the_request_join_those_of_the_endpoint() -> None:
    """Each is named once, and nothing is named where nothing is needed."""
    made = endpoint("anthropic", headers={"Anthropic-Beta": "one, two"})
    needs = Outgoing(body=b"{}", model="m", stream=True, betas=("three", "two"))
    assert needs.headers(made)["anthropic-beta"] == "one,two,three"
    plain = Outgoing(body=b"{}", model="m", stream=False).headers(endpoint("anthropic"))
    assert "anthropic-beta" not in plain
    assert plain["anthropic-version"] == "2023-06-01"
    compiled = asked("anthropic").compile()
    out = outgoing(endpoint("anthropic"), compiled, stream=True, model=None)
    assert (out.betas, out.model) == (compiled.betas, "claude-opus-4-8")


def test_a_body_that_speaks_of_streaming_is_taken_at_its_word() -> None:
    """`"stream": false` stands, and the answer in one piece is read."""
    answer = {"id": "m", "type": "message", "role": "assistant", "model": "c", "stop_reason": "end_turn",
              "content": [{"type": "text", "text": "Whole."}],
              "usage": {"input_tokens": 3, "output_tokens": 2}}  # fmt: skip
    body = BODY[:-1] + b',"stream":false}'
    with FaultyServer([says(200, answer, request_id="req_7")]) as running:
        sent = sent_to(running.url, body=body)
        assert running.heard[0].body == body
    assert (sent.state, sent.request_id) == ("complete", "req_7")
    assert sent.first_token_ms is not None


def test_a_large_body_arrives_whole() -> None:
    """Five megabytes go out in pieces and are the same bytes."""
    body = BODY.replace(b"hi", b"x" * 5_000_000)
    with FaultyServer([says(400, {"error": {"type": "invalid_request_error", "message": "no"}})]) as running:
        with pytest.raises(Rejected):
            sent_to(running.url, body=body)
        assert running.heard[0].body == body[:-1] + b',"stream":true}'


@pytest.mark.parametrize(
    "status, body, error, attempts",
    [
        (429, {"error": {"type": "rate_limit_error", "message": "slow down"}}, RateLimited, 4),
        (529, {"error": {"type": "overloaded_error", "message": "busy"}}, Overloaded, 4),
        (500, b"<html>oops</html>", Overloaded, 4),
        (400, {"error": {"type": "invalid_request_error", "message": "max_tokens: missing"}}, Rejected, 1),
        (401, {"error": {"type": "authentication_error", "message": f"bad key {KEY}"}}, AuthFailed, 1),
        (429, {"error": {"type": "insufficient_quota", "message": "pay"}}, AuthFailed, 1),
        (404, {"error": {"type": "not_found_error", "message": "model: nope"}}, Rejected, 1),
        (307, b"", Rejected, 1),
        (400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}, ContextOverflow, 1),
    ],
)  # fmt: skip
def test_an_error_has_its_type_and_is_retried_where_that_helps(
    status: int, body: Any, error: type[ProviderError], attempts: int
) -> None:
    """Each status becomes one type of the tree; only what may pass is sent again, a bounded number of times."""
    with FaultyServer(
        [says(status, body, location="http://elsewhere.invalid/", request_id="req_1")]
    ) as running:
        with pytest.raises(error) as raised:
            sent_to(running.url)
        assert len(running.heard) == attempts
    fault = raised.value
    assert type(fault) is error
    assert (fault.status, fault.attempts, fault.request_id) == (status, attempts, "req_1")
    assert "127.0.0.1" in str(fault)
    if error is ContextOverflow:
        assert (fault.tokens, fault.limit) == (210_000, 200_000)


def test_cancelling_while_waiting_sends_nothing_more() -> None:
    """A task that waits to try again ends at once."""

    async def cancelled(url: str) -> None:
        async with Transport(environ=KEYS, retries=Retries(first=30, longest=30)) as transport:
            task = asyncio.create_task(transport.send(at("anthropic", url), BODY))
            while not running.heard:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with FaultyServer([says(529, {})]) as running:
        run(cancelled(running.url))
        assert len(running.heard) == 1


def test_the_time_to_wait_is_the_provider_s() -> None:
    """A short retry-after is waited for; one over the patience is reported at once."""
    answer = says(200, BEGUN)
    begun = time.monotonic()
    with FaultyServer([says(429, {}, retry_after="0.2"), answer]) as running:
        assert sent_to(running.url).attempts == 2
    assert time.monotonic() - begun >= 0.2
    with FaultyServer([says(429, {}, retry_after="900")]) as running, pytest.raises(RateLimited) as raised:
        sent_to(running.url)
    assert (raised.value.retry_after, raised.value.attempts) == (900, 1)
    assert "it asks to wait 900 s" in str(raised.value)


def test_a_time_to_wait_may_be_a_date_or_milliseconds() -> None:
    """A date counts from the answer's own, else from its arrival; one that is past asks for no wait."""
    dated = {"date": "Mon, 30 Nov 2026 00:00:00 GMT", "retry_after": "Mon, 30 Nov 2026 00:15:00 GMT"}
    undated = {"retry_after": formatdate(time.time() + 900, usegmt=True)}
    for headers in (dated, undated):
        with FaultyServer([says(429, {}, **headers)]) as running, pytest.raises(RateLimited) as raised:
            sent_to(running.url)
        assert raised.value.attempts == 1
        assert raised.value.retry_after == pytest.approx(900, abs=5)
    past = says(429, {}, retry_after="Sun, 06 Nov 1994 08:49:37 GMT")
    soon = says(529, {}, retry_after_ms="150", retry_after="900")
    begun = time.monotonic()
    with FaultyServer([past, soon, says(200, BEGUN)]) as running:
        assert sent_to(running.url).attempts == 3
    assert 0.15 <= time.monotonic() - begun < 10


def test_a_server_that_asks_not_to_be_asked_again_is_not() -> None:
    """`x-should-retry: false` counts before the status."""
    with FaultyServer([says(500, {}, x_should_retry="false")]) as running:
        with pytest.raises(Overloaded):
            sent_to(running.url)
        assert len(running.heard) == 1


def test_a_dropped_connection_is_tried_again() -> None:
    """Closed without a byte, then answered."""
    with FaultyServer([drops, drops, says(200, BEGUN)]) as running:
        sent = sent_to(running.url)
    assert (sent.attempts, sent.state) == (3, "incomplete")


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize(
    "status, error, attempts", [(400, Rejected, 1), (401, AuthFailed, 1), (503, Overloaded, 4)]
)
def test_an_error_whose_body_cannot_be_unpacked_has_its_status(
    encoding: str, status: int, error: type[ProviderError], attempts: int
) -> None:
    """A gateway that says it compressed and didn't is no lost connection: what the status says is told."""
    with FaultyServer([says(status, {"error": {"message": "no"}}, content_encoding=encoding)]) as running:
        with pytest.raises(error) as raised:
            sent_to(running.url)
        assert len(running.heard) == attempts
    assert raised.value.status == status


def test_an_answer_that_cannot_be_unpacked_had_begun() -> None:
    """Its status is told, and that the address is right; a head that can't be read has none."""
    with (
        FaultyServer([says(200, {}, content_encoding="gzip")]) as running,
        pytest.raises(ConnectionFailed, match="broke its answer off") as raised,
    ):
        sent_to(running.url, retries=ONCE)
    assert raised.value.status == 200
    with (
        FaultyServer([lambda taken: taken.sendall(b"SSH-2.0\r\n\r\n")]) as running,
        pytest.raises(ConnectionFailed, match="is no HTTP") as unread,
    ):
        sent_to(running.url, retries=ONCE)
    assert unread.value.status is None
    assert "400" not in str(unread.value)


def test_a_refused_connection_ends_after_bounded_attempts() -> None:
    """Nobody listens there."""
    with FaultyServer([drops]) as running:
        url = running.url
    with pytest.raises(ConnectionFailed, match="could not be reached") as raised:
        sent_to(url)
    assert (raised.value.attempts, raised.value.status) == (4, None)


def test_a_slow_first_byte_ends_and_is_not_sent_again() -> None:
    """The provider may be at work on it, and bill it."""
    with FaultyServer([hangs()]) as running:
        with pytest.raises(ConnectionFailed, match=r"no byte of an answer within 0\.3 s"):
            sent_to(running.url, timeouts=Timeouts(first_byte=0.3))
        assert len(running.heard) == 1


@pytest.mark.parametrize(
    "timeouts, said",
    [(Timeouts(idle=0.1), "silent for 0.1 s"), (Timeouts(total=0.6), "no end of the answer")],
)
def test_silence_in_the_middle_keeps_what_came(timeouts: Timeouts, said: str) -> None:
    """Between bytes and in all, time runs out; the half answer is there."""
    with FaultyServer([hangs(BEGUN)]) as running:
        sent = sent_to(running.url, timeouts=timeouts)
    assert sent.state == "incomplete"
    assert sent.response is not None
    assert sent.response.message.blocks == (Text(text="Half a"),)
    assert said in str(sent.failure)


def test_an_error_that_never_ends_is_waited_for_no_longer_than_all() -> None:
    """Its status is told when the time is over, with what came of its body."""

    def trickles(taken: socket.socket) -> None:
        taken.sendall(b"HTTP/1.1 500 X\r\ncontent-type: application/json\r\n\r\n")
        while True:
            taken.sendall(b" ")
            time.sleep(0.05)

    begun = time.monotonic()
    with FaultyServer([trickles]) as running, pytest.raises(Overloaded) as raised:
        sent_to(running.url, timeouts=Timeouts(total=0.3))
    assert (raised.value.status, raised.value.attempts) == (500, 1)
    assert time.monotonic() - begun < 3


def test_cancelling_closes_the_connection() -> None:
    """The upstream is told to stop when the task that reads it is cancelled."""

    async def cancelled(url: str) -> None:
        seen = asyncio.Event()
        async with Transport(environ=KEYS) as transport:
            task = asyncio.create_task(
                transport.send(at("anthropic", url), BODY, on_delta=lambda delta: seen.set())
            )
            await seen.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with FaultyServer([hangs(BEGUN)]) as running:
        run(cancelled(running.url))
        assert running.hung_up.wait(5)


def test_leaving_a_stream_early_says_what_came() -> None:
    """A reader may stop at any delta: the rest is not waited for."""

    async def half(url: str) -> Sent:
        async with (
            Transport(environ=KEYS) as transport,
            transport.stream(at("anthropic", url), BODY) as answering,
        ):
            async for delta in answering:
                if delta.kind == "text":
                    break
            return answering.sent

    with FaultyServer([hangs(BEGUN)]) as running:
        sent = run(half(running.url))
        assert running.hung_up.wait(5)
    assert sent.state == "incomplete"
    assert sent.response is not None


def test_one_connection_serves_many_requests() -> None:
    """A complete answer leaves its connection open for the next request."""

    async def thrice(url: str) -> list[str]:
        async with Transport(environ=KEYS) as transport:
            return [(await transport.send(at("anthropic", url), BODY)).state for _ in range(3)]

    with server(*[Answer(text="yes")] * 3) as running:
        assert run(thrice(running.base_url)) == ["complete"] * 3


def test_a_proxy_of_the_environment_is_used_for_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets the whole address; a server on this machine is talked to directly."""
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with FaultyServer([says(400, {})]) as running:
        monkeypatch.setenv("http_proxy", running.url)
        with pytest.raises(Rejected):
            sent_to("http://127.0.0.2:9")
        assert running.heard[0].line == "POST http://127.0.0.2:9/v1/messages HTTP/1.1"
        with pytest.raises(ConnectionFailed):
            sent_to("http://127.0.0.1:9", retries=ONCE)
        assert len(running.heard) == 1


def test_a_transport_that_is_not_open_says_how_to_open_it() -> None:
    """Bad use is told, not met with an attribute error."""
    with pytest.raises(RuntimeError, match="async with"):
        run(Transport(environ=KEYS).send(at("anthropic", "http://127.0.0.1:9"), BODY))


def test_a_missing_key_is_named_before_anything_is_sent() -> None:
    """The variable is named; nothing reaches the server."""
    with FaultyServer([drops]) as running:
        with pytest.raises(EndpointError, match="ANTHROPIC_API_KEY"):
            send(at("anthropic", running.url), BODY, environ={})
        with pytest.raises(EndpointError, match="no header may"):
            send(at("anthropic", running.url), BODY, environ={"ANTHROPIC_API_KEY": "a\r\nx: y"})
        assert running.heard == []


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"model":5}', b'{"a":1}'])
def test_bytes_that_are_no_request_are_refused(body: bytes) -> None:
    """No JSON object, or a model that is nowhere named."""
    with pytest.raises(MalformedRequest):
        send(at("anthropic", "http://127.0.0.1:9"), body, environ=KEYS)


def test_a_request_of_another_wire_is_refused() -> None:
    """What was compiled for one wire is not sent on another."""
    with pytest.raises(MalformedRequest, match="compiled for the wire anthropic"):
        send(at("openai-chat", "http://127.0.0.1:9"), asked("anthropic").compile(), environ=KEYS)


def test_without_the_extra_the_move_is_named() -> None:
    """Importing needs nothing; sending says what to install."""
    program = (
        "import sys; sys.modules['aiohttp'] = None\n"
        "from foreword.engine.transport import Transport\n"
        "from foreword.errors import MissingExtra\n"
        "try:\n    Transport()\nexcept MissingExtra as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'foreword[http]'" in done.stdout


@pytest.mark.parametrize(
    "attempt, asked_, chance, wait",
    [(1, None, 0.0, 0.5), (2, None, 0.0, 1.0), (3, None, 1.0, 1.0), (4, None, 0.0, None),
     (1, 3.0, 0.0, 3.0), (1, 10.0, 1.0, 11.0), (1, 0.0, 1.0, 0.25), (1, 61.0, 0.0, None)],
)  # fmt: skip
def test_waits_double_within_bounds(
    attempt: int, asked_: float | None, chance: float, wait: float | None
) -> None:
    """The schedule is a pure function of the attempt, the provider's word, which is never undercut, and chance."""
    assert Retries().wait(attempt, asked_, chance) == wait
    assert Retries(attempts=9_999).wait(5_000, None, 0.0) == 8.0
