"""The referees behind real HTTP on loopback, for SDK clients and proxies."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import msgspec

from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.referee import Reply
from foreword.testing.script import ScriptExhausted

MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"
CHAT_COMPLETIONS = "/v1/chat/completions"


class RefereeServer:
    """Serves one referee of each wire given; use as a context manager.

    `base_url` has no path: the `anthropic` client takes it as it is, the `openai` client with `/v1`.
    Answers are whole, never streamed: a legal request for a stream gets 501. A test whose script ran out
    gets a 500 that says so, marked not to be retried.
    """

    def __init__(
        self, *, anthropic: AnthropicReferee | None = None, openai_chat: OpenAIChatReferee | None = None
    ) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(anthropic, openai_chat))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def base_url(self) -> str:
        """The address, like `http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> RefereeServer:
        """Begin to serve, in a thread of its own."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End serving and free the port."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> RefereeServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()


def _handler(
    anthropic: AnthropicReferee | None, openai_chat: OpenAIChatReferee | None
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = urlsplit(self.path).path
            try:
                reply = _routed(path, body, dict(self.headers.items()), anthropic, openai_chat)
            except ScriptExhausted as exhausted:
                reply = Reply(status=500, body=_plain(str(exhausted)), headers={"x-should-retry": "false"})
            self._send(reply)

        def do_GET(self) -> None:
            self._send(Reply(status=404, body=_plain(f"nothing is served at {self.path}")))

        def _send(self, reply: Reply) -> None:
            payload = msgspec.json.encode(reply.body)
            self.send_response(reply.status)
            for name, value in {"content-type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent: a test reads answers, not a log."""

    return Handler


def _routed(
    path: str,
    body: bytes,
    headers: dict[str, str],
    anthropic: AnthropicReferee | None,
    openai_chat: OpenAIChatReferee | None,
) -> Reply:
    if path == COUNT_TOKENS and anthropic:
        status, counted = anthropic.count(body, headers)
        return Reply(status=status, body=counted)
    referee = {MESSAGES: anthropic, CHAT_COMPLETIONS: openai_chat}.get(path)
    if referee is None:
        return Reply(status=404, body=_plain(f"nothing is served at {path}"))
    return referee.reply(body, headers)


def _plain(text: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "api_error", "message": text}}
