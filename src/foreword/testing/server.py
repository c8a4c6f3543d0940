"""The referees behind real HTTP on loopback, for SDK clients and proxies."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from foreword.testing.anthropic_clouds import bedrock, vertex
from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.deepseek_referee import DeepSeekReferee
from foreword.testing.gemini_referee import GeminiReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.openai_responses_referee import OpenAIResponsesReferee
from foreword.testing.referee import Reply
from foreword.testing.script import ScriptExhausted
from foreword.testing.sse import Sending

Route = Callable[[bytes, dict[str, str]], Reply]

PROJECT = r"(?:/v1)?/projects/[^/]+/locations/[^/]+/publishers"
MODELS = (
    (re.compile(r"^/v1(?:beta)?/models/[^/:]+:(.+)$"), r"gemini:\1"),
    (re.compile(rf"^{PROJECT}/google/models/[^/:]+:(.+)$"), r"gemini:\1"),
    (re.compile(rf"^{PROJECT}/anthropic/models/(?P<model>[^/]+):([^/:]+)$"), r"vertex:\2"),
    (re.compile(r"^/model/(?P<model>[^/]+)/(.+)$"), r"bedrock:\2"),
)
"""Paths that hold a model, and the name of their route; Claude's routes at a cloud are told which one."""


class RefereeServer:
    """Serves one referee of each wire given; use as a context manager.

    `base_url` has no path: the `anthropic` and `google-genai` clients take it as it is, the `openai` client
    with `/v1`, or with `/deepseek` for DeepSeek. Claude and Gemini are served in the forms of the clouds, too:
    `AnthropicBedrock` takes `base_url` as it is, `AnthropicVertex` with `/v1`. A request that asks for a stream gets
    one, as scripted. A test whose script ran out gets a 422 that says so: no client sends that again.
    """

    def __init__(
        self,
        *,
        anthropic: AnthropicReferee | None = None,
        openai_chat: OpenAIChatReferee | None = None,
        openai_responses: OpenAIResponsesReferee | None = None,
        deepseek: DeepSeekReferee | None = None,
        gemini: GeminiReferee | None = None,
    ) -> None:
        routes = dict(_routes(anthropic, openai_chat, openai_responses, deepseek, gemini))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(routes))
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


def _handler(routes: Mapping[str, Callable[..., Reply]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = urlsplit(self.path).path
            route = _route(routes, path)
            if route is None:
                reply = Reply(status=404, body=_plain(f"nothing is served at {path}"))
            else:
                try:
                    reply = route(body, dict(self.headers.items()))
                except ScriptExhausted as exhausted:
                    reply = Reply(status=422, body=_plain(str(exhausted), "script_exhausted"))
            if reply.sending:
                self._send_stream(reply, reply.sending)
            else:
                self._send(reply)

        def do_GET(self) -> None:
            self._send(Reply(status=404, body=_plain(f"nothing is served at {self.path}")))

        def _send(self, reply: Reply) -> None:
            payload = msgspec.json.encode(reply.body)
            self._head(reply, "application/json", "content-length", str(len(payload)))
            self.wfile.write(payload)

        def _send_stream(self, reply: Reply, sending: Sending) -> None:
            self._head(reply, "text/event-stream; charset=utf-8", "transfer-encoding", "chunked")
            try:
                for piece in sending.writes:
                    time.sleep(sending.pause)
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    self.wfile.flush()
                if sending.cut:
                    self.close_connection = True
                else:
                    self.wfile.write(b"0\r\n\r\n")
            except ConnectionError:
                # The client had enough of the stream.
                self.close_connection = True

        def _head(self, reply: Reply, kind: str, framing: str, value: str) -> None:
            self.send_response(reply.status)
            for name, said in {"content-type": kind, framing: value, **reply.headers}.items():
                self.send_header(name, said)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent: a test reads answers, not a log."""

    return Handler


def _route(routes: Mapping[str, Callable[..., Reply]], path: str) -> Route | None:
    for pattern, name in MODELS:
        if match := pattern.match(path):
            route = routes.get(match.expand(name))
            model = match.groupdict().get("model")
            return route if route is None or model is None else partial(route, model=unquote(model))
    return routes.get(path)


def _routes(
    anthropic: AnthropicReferee | None,
    openai_chat: OpenAIChatReferee | None,
    openai_responses: OpenAIResponsesReferee | None,
    deepseek: DeepSeekReferee | None,
    gemini: GeminiReferee | None,
) -> Iterator[tuple[str, Callable[..., Reply]]]:
    if anthropic:
        yield "/v1/messages", anthropic.reply
        yield "/v1/messages/count_tokens", _counting(anthropic.count)
        yield "bedrock:invoke", partial(bedrock, anthropic, stream=False)
        yield "bedrock:invoke-with-response-stream", partial(bedrock, anthropic, stream=True)
        yield "vertex:rawPredict", partial(vertex, anthropic, stream=False)
        yield "vertex:streamRawPredict", partial(vertex, anthropic, stream=True)
    if openai_chat:
        yield "/v1/chat/completions", openai_chat.reply
    if openai_responses:
        yield "/v1/responses", openai_responses.reply
        yield "/v1/responses/input_tokens", _counting(openai_responses.count)
    if deepseek:
        yield "/deepseek/chat/completions", deepseek.reply
    if gemini:
        yield "gemini:generateContent", partial(gemini.reply, stream=False)
        yield "gemini:streamGenerateContent", partial(gemini.reply, stream=True)
        yield "gemini:countTokens", _counting(gemini.count)


def _counting(count: Callable[[bytes, dict[str, str]], tuple[int, dict[str, Any]]]) -> Route:
    def counted(body: bytes, headers: dict[str, str]) -> Reply:
        status, answer = count(body, headers)
        return Reply(status=status, body=answer)

    return counted


def _plain(text: str, kind: str = "api_error") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": text}}
