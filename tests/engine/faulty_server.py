"""A server on loopback that answers as scripted, byte by byte: what no well-behaved provider would do."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

Play = Callable[[socket.socket], None]


@dataclass
class Heard:
    """A request as it came in."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class FaultyServer:
    """Plays one script a connection, the last one again and again; ``heard`` are the requests."""

    plays: Sequence[Play]
    heard: list[Heard] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> FaultyServer:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._closing = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    _closing = False

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _serve(self) -> None:
        for number in range(1_000):
            try:
                taken, _ = self._listener.accept()
            except OSError:
                return
            with taken:
                taken.settimeout(5)
                try:
                    self.heard.append(_read(taken))
                    self.plays[min(number, len(self.plays) - 1)](taken)
                except OSError:
                    self.hung_up.set()


def _read(taken: socket.socket) -> Heard:
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := taken.recv(65_536)):
            raise ConnectionError("closed before a request")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    line, *rest = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (item.partition(":") for item in rest)}
    while len(body) < int(headers.get("content-length", 0)):
        body += taken.recv(1 << 20)
    return Heard(line, headers, body)


def says(status: int, value: Any, **headers: str) -> Play:
    """Answer with JSON and close."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()

    def play(taken: socket.socket) -> None:
        named = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        named |= {name.replace("_", "-"): text for name, text in headers.items()}
        lines = "".join(f"{name}: {text}\r\n" for name, text in named.items())
        taken.sendall(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + body)

    return play


def hangs(first: bytes = b"") -> Play:
    """Begin an answer with some bytes, or none at all, then wait until the client leaves."""

    def play(taken: socket.socket) -> None:
        if first:
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            taken.sendall(head + first)
        if not taken.recv(1):
            raise ConnectionError("the client left")

    return play


def drops(taken: socket.socket) -> None:
    """Close without a word."""
