"""Gemini generateContent: an answer as the chunks of its stream (rulebook 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foreword.testing.sse import Pieces, frame


def gemini_frames(answer: dict[str, Any], pieces: Pieces) -> Iterator[bytes]:
    """Yield whole responses without names: each text in pieces, each call in one, usage on every chunk.

    The signature of a text comes in a last part with empty text. There is no end mark.
    """
    candidate = answer["candidates"][0]
    parts = [part for whole in candidate["content"]["parts"] for part in _cut(whole, pieces)]
    for at, part in enumerate(parts):
        content = {"content": {"role": "model", "parts": [part]}, "index": 0}
        last = at == len(parts) - 1
        usage = answer["usageMetadata"]
        if last:
            content["finishReason"] = candidate["finishReason"]
        else:
            written = {"candidatesTokenCount", "thoughtsTokenCount"}
            usage = {name: value for name, value in usage.items() if name not in written}
            usage["totalTokenCount"] = usage["promptTokenCount"]
        yield frame({**answer, "candidates": [content], "usageMetadata": usage})


def _cut(part: dict[str, Any], pieces: Pieces) -> Iterator[dict[str, Any]]:
    if "text" not in part:
        yield part
        return
    rest = {name: value for name, value in part.items() if name not in {"text", "thoughtSignature"}}
    yield from ({"text": text, **rest} for text in pieces.of_text(part["text"]))
    if "thoughtSignature" in part:
        yield {**part, "text": ""}
