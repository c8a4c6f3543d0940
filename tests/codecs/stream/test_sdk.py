"""The same bytes, put together by the official SDKs over loopback."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import openai
import pytest

from foreword.codecs import codec
from foreword.codecs.decoded import Response
from foreword.codecs.stream.decoder import Decoder
from tests.codecs.stream.streams import stream

SEEDS = range(3)


@contextmanager
def served(body: bytes) -> Iterator[str]:
    """Serve one stream to any request; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ours(wire: str, body: bytes) -> Response:
    """Return what this package puts together."""
    decoder = Decoder(wire)
    decoder.feed(body)
    response = decoder.end().response
    assert response is not None
    return response


def theirs(wire: str, value: Any) -> Response:
    """Read what an SDK put together with the wire's codec."""
    return codec(wire).decode_response(value)


@pytest.mark.parametrize("seed", SEEDS)
def test_anthropic(seed: int) -> None:
    """The SDK's message stream gives the same message."""
    body = stream("anthropic", seed)
    request: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    with (
        served(body) as url,
        anthropic.Anthropic(api_key="none", base_url=url, max_retries=0) as client,
        client.messages.stream(**request) as events,
    ):
        message = events.get_final_message()
    assert ours("anthropic", body) == theirs("anthropic", message)


@pytest.mark.parametrize("wire", ["openai-chat", "deepseek"])
@pytest.mark.parametrize("seed", SEEDS)
def test_chat(wire: str, seed: int) -> None:
    """The SDK's chat stream gives the same completion."""
    body = stream(wire, seed)
    request: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    with (
        served(body) as url,
        openai.OpenAI(api_key="none", base_url=url, max_retries=0) as client,
        client.chat.completions.stream(**request) as events,
    ):
        completion = events.get_final_completion()
    assert ours(wire, body) == theirs(wire, unnumbered(completion))


@pytest.mark.parametrize("seed", SEEDS)
def test_responses(seed: int) -> None:
    """The SDK's response stream gives the same response."""
    body = stream("openai-responses", seed)
    with (
        served(body) as url,
        openai.OpenAI(api_key="none", base_url=url, max_retries=0) as client,
        client.responses.stream(model="m", input="x") as events,
    ):
        response = events.get_final_response()
    assert ours("openai-responses", body) == theirs("openai-responses", response)


def unnumbered(completion: Any) -> dict[str, Any]:
    """Return a completion without what the SDK leaves in it from its chunks: indexes of calls, noise."""
    dumped = completion.model_dump(mode="json", exclude_unset=True, warnings=False)
    dumped.pop("obfuscation", None)
    for choice in dumped["choices"]:
        for call in choice["message"].get("tool_calls") or ():
            call.pop("index", None)
            call["function"].pop("parsed_arguments", None)
    return dumped
