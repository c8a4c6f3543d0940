"""OpenAI Responses: an answer as the events of its stream (rulebook 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from foreword.testing.sse import Pieces, frame

Event = Callable[..., bytes]

# What an item lacks when it is added; it comes in deltas, and whole when the item is done.
STARTS: dict[str, dict[str, Any]] = {
    "message": {"status": "in_progress", "content": []},
    "reasoning": {"summary": [], "encrypted_content": ""},
    "function_call": {"status": "in_progress", "arguments": ""},
    "compaction": {"encrypted_content": ""},
}


def responses_frames(answer: dict[str, Any], pieces: Pieces) -> Iterator[bytes]:
    """Yield numbered events: created, in progress, each item with its parts and deltas, the ended response."""
    numbers = count()

    def event(kind: str, **members: Any) -> bytes:
        return frame({"type": kind, "sequence_number": next(numbers), **members}, name=kind)

    opening = {**answer, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield event("response.created", response=opening)
    yield event("response.in_progress", response=opening)
    for index, item in enumerate(answer["output"]):
        started = {**item, **STARTS[item["type"]]}
        yield event("response.output_item.added", output_index=index, item=started)
        yield from _inside(item, index, event, pieces)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event(f"response.{answer['status']}", response=answer)


def responses_error(text: str) -> bytes:
    """Write the event of an error in the middle of a stream."""
    members = {"code": "server_error", "message": text, "param": None}
    return frame({"type": "error", "sequence_number": 0, **members}, name="error")


def _inside(item: dict[str, Any], index: int, event: Event, pieces: Pieces) -> Iterator[bytes]:
    at = {"item_id": item["id"], "output_index": index}
    if item["type"] == "function_call":
        written = item["arguments"]
        for delta in pieces.of_text(written):
            yield event("response.function_call_arguments.delta", **at, delta=delta)
        yield event("response.function_call_arguments.done", **at, name=item["name"], arguments=written)
    elif item["type"] == "message":
        for part_index, part in enumerate(item["content"]):
            place = {**at, "content_index": part_index}
            yield event("response.content_part.added", **place, part={**part, "text": ""})
            for delta in pieces.of_text(part["text"]):
                yield event("response.output_text.delta", **place, delta=delta, logprobs=[])
            yield event("response.output_text.done", **place, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **place, part=part)
    elif item["type"] == "reasoning":
        for part_index, part in enumerate(item["summary"]):
            place = {**at, "summary_index": part_index}
            yield event("response.reasoning_summary_part.added", **place, part={**part, "text": ""})
            for delta in pieces.of_text(part["text"]):
                yield event("response.reasoning_summary_text.delta", **place, delta=delta)
            yield event("response.reasoning_summary_text.done", **place, text=part["text"])
            yield event("response.reasoning_summary_part.done", **place, part=part)
