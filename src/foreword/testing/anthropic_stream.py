"""Anthropic Messages: an answer as the events of its stream (rulebook 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from foreword.testing.sse import Pieces, frame

# What a block lacks when it starts; it comes in deltas.
STARTS: dict[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
    "compaction": {"content": None, "signature": ""},
}


def anthropic_frames(answer: dict[str, Any], pieces: Pieces) -> Iterator[bytes]:
    """Yield `message_start`, a ping, each block in deltas, `message_delta` with final usage, `message_stop`."""
    usage = {name: value for name, value in answer["usage"].items() if name != "output_tokens_details"}
    opening = {**answer, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield _event("message_start", message=opening)
    yield _event("ping")
    for index, block in enumerate(answer["content"]):
        yield _event("content_block_start", index=index, content_block={**block, **STARTS[block["type"]]})
        for delta in _deltas(block, pieces):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    stop = {name: answer[name] for name in ("stop_reason", "stop_sequence")}
    # The split of cache writes is told at the start alone; the counts here are totals.
    ended = {name: value for name, value in answer["usage"].items() if name != "cache_creation"}
    more = {name: answer[name] for name in ("input_transformations",) if name in answer}
    yield _event("message_delta", delta=stop, usage=ended, **more)
    yield _event("message_stop")


def _deltas(block: dict[str, Any], pieces: Pieces) -> Iterator[dict[str, Any]]:
    kind = block["type"]
    if kind == "text":
        yield from ({"type": "text_delta", "text": text} for text in pieces.of_text(block["text"]))
    elif kind == "thinking":
        for text in pieces.of_text(block["thinking"]):
            yield {"type": "thinking_delta", "thinking": text}
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif kind == "tool_use":
        written = msgspec.json.encode(block["input"]).decode() if block["input"] else ""
        for text in ("", *pieces.of_text(written)):
            yield {"type": "input_json_delta", "partial_json": text}
    else:
        yield {"type": "compaction_delta", "content": block["content"]}
        yield {"type": "signature_delta", "signature": block["signature"]}


def _event(kind: str, **members: Any) -> bytes:
    return frame({"type": kind, **members}, name=kind)
