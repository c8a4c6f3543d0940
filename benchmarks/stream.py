"""Decode a stream, against the official SDK's own parsing of the same bytes.

Both sides get the same chunks in memory; no network is measured. The SDK's side is its event-stream decoder, its
models, and where it has one its accumulation to a final message. Told as a ratio of one run: absolute times
belong to the machine they were taken on.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2 as httpx
import openai

from foreword.codecs.stream.decoder import Decoder

DELTAS = 2_000
CHUNK = 1_400
ROUNDS = 7
TEXT = "some words of an answer "


def frames(payloads: list[dict[str, Any]], *, named: bool) -> list[bytes]:
    """Write an event stream and cut it as a network would."""
    body = b"".join(
        (f"event: {payload['type']}\n" if named else "").encode()
        + f"data: {json.dumps(payload)}\n\n".encode()
        for payload in payloads
    )
    return [body[i : i + CHUNK] for i in range(0, len(body), CHUNK)]


def anthropic_stream() -> list[bytes]:
    """A message of one long text."""
    start = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}}
    return frames(
        [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *[delta] * DELTAS,
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": DELTAS},
            },
            {"type": "message_stop"},
        ],
        named=True,
    )


def chat_stream() -> list[bytes]:
    """A completion of one long text."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": None,
        }

    head = chunk({"role": "assistant", "content": ""})
    return [
        *frames([head, *[chunk({"content": TEXT})] * DELTAS, chunk({}, "stop")], named=False),
        b"data: [DONE]\n\n",
    ]


def responses_stream() -> list[bytes]:
    """A response of one long text."""
    head: dict[str, Any] = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": [],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "status": "in_progress",
    }
    part = {"type": "output_text", "text": "", "annotations": []}
    whole = part | {"text": TEXT * DELTAS}
    item: dict[str, Any] = {
        "type": "message",
        "id": "i",
        "role": "assistant",
        "status": "in_progress",
        "content": [],
    }
    at = {"output_index": 0, "content_index": 0, "item_id": "i"}
    done = item | {"status": "completed", "content": [whole]}
    listed: list[dict[str, Any]] = [
        {"type": "response.created", "response": head},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **at, "part": part},
        *[{"type": "response.output_text.delta", **at, "delta": TEXT, "logprobs": []}] * DELTAS,
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": head | {"status": "completed", "output": [done]}},
    ]
    return frames([{**payload, "sequence_number": n} for n, payload in enumerate(listed)], named=True)


def ours(wire: str, chunks: list[bytes]) -> int:
    """Decode with this package; return the number of characters of the answer."""
    decoder = Decoder(wire)
    for chunk in chunks:
        decoder.feed(chunk)
    response = decoder.end().response
    assert response is not None
    return sum(len(getattr(block, "text", "")) for block in response.message.blocks)


def served(chunks: list[bytes]) -> httpx.Client:
    """Return an HTTP client whose every answer is the stream."""

    def answer(request: httpx.Request) -> httpx.Response:
        def body() -> Iterator[bytes]:
            yield from chunks

        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body())

    return httpx.Client(transport=httpx.MockTransport(answer))


def anthropic_sdk(chunks: list[bytes]) -> Callable[[], int]:
    """Accumulate with the SDK's message stream."""
    client = anthropic.Anthropic(api_key="none", http_client=served(chunks))

    def run() -> int:
        with client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}]
        ) as events:
            return len(events.get_final_text())

    return run


def chat_sdk(chunks: list[bytes]) -> Callable[[], int]:
    """Read the SDK's plain chunks: its accumulating stream copies the text for every chunk."""
    client = openai.OpenAI(api_key="none", http_client=served(chunks))

    def run() -> int:
        events = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}], stream=True
        )
        return sum(len(choice.delta.content or "") for chunk in events for choice in chunk.choices)

    return run


def responses_sdk(chunks: list[bytes]) -> Callable[[], int]:
    """Read the SDK's plain events."""
    client = openai.OpenAI(api_key="none", http_client=served(chunks))

    def run() -> int:
        events = client.responses.create(model="m", input="x", stream=True)
        return sum(len(event.delta) for event in events if event.type == "response.output_text.delta")

    return run


CASES: dict[str, tuple[Callable[[], list[bytes]], Callable[[list[bytes]], Callable[[], int]]]] = {
    "anthropic": (anthropic_stream, anthropic_sdk),
    "openai-chat": (chat_stream, chat_sdk),
    "openai-responses": (responses_stream, responses_sdk),
}


def seconds(work: Callable[[], int]) -> float:
    """Return the median time of a run, held to give the whole answer."""
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        assert work() == DELTAS * len(TEXT)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print a row for each wire."""
    print(f"{DELTAS} deltas in chunks of {CHUNK} bytes, median of {ROUNDS}")
    for wire, (make, sdk) in CASES.items():
        chunks = make()
        theirs, mine = seconds(sdk(chunks)), seconds(lambda wire=wire, chunks=chunks: ours(wire, chunks))
        each = mine / DELTAS * 1e6
        print(f"{wire:18} {each:6.1f} µs a delta, {theirs / mine:5.1f} times as fast as the SDK")


if __name__ == "__main__":
    main()
