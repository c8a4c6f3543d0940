"""One question that is answered in JSON: whatever a server does, it ends in time and in an error of ours."""

from __future__ import annotations

import socket
import time

import pytest

from foreword.engine.asked_json import ask_json
from foreword.errors import AuthFailed, ConnectionFailed, Overloaded, ProviderError
from tests.engine.faulty_server import FaultyServer, says
from tests.engine.sending import KEYS, at

HEAD = b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\n"


@pytest.mark.parametrize(
    "status, rest, error",
    [
        (500, b'content-length: 99\r\n\r\n{"error"', Overloaded),
        (401, b"transfer-encoding: chunked\r\n\r\nzz\r\n", AuthFailed),
        (401, b'content-length: 99\r\n\r\n{"error"', AuthFailed),
        (200, b'content-length: 99\r\n\r\n{"data"', ConnectionFailed),
        (200, b"transfer-encoding: chunked\r\n\r\nzz\r\n", ConnectionFailed),
    ],
)
def test_a_body_that_cannot_be_read(status: int, rest: bytes, error: type[ProviderError]) -> None:
    """A server that falls silent, or sends no such body: the status of an error says enough."""

    def falls_silent(taken: socket.socket) -> None:
        taken.sendall(HEAD % status + rest)
        taken.recv(1)

    with FaultyServer([falls_silent]) as running, pytest.raises(error):
        ask_json(at("anthropic", running.url), "/models", environ=KEYS, timeout=0.2)


def test_a_body_that_never_ends() -> None:
    """It may come ever so slowly, the time for all of it is bounded."""

    def trickles(taken: socket.socket) -> None:
        taken.sendall(HEAD % 200 + b"\r\n")
        while True:
            taken.sendall(b" ")
            time.sleep(0.02)

    begun = time.monotonic()
    with FaultyServer([trickles]) as running, pytest.raises(ConnectionFailed, match=r"within 0\.2 s"):
        ask_json(at("anthropic", running.url), "/models", environ=KEYS, timeout=0.2)
    assert time.monotonic() - begun < 3


def test_a_body_of_many_parts_is_read_whole() -> None:
    """What comes in pieces is one answer."""
    models = {"data": [{"id": f"model-{number}"} for number in range(20_000)]}
    with FaultyServer([says(200, models)]) as running:
        assert ask_json(at("anthropic", running.url), "/models", environ=KEYS) == models
