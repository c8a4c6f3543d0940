"""Chat Completions: an answer as the chunks of its stream (rulebook 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foreword.testing.sse import DONE, Pieces, frame

PADDED = 16


def chat_frames(
    answer: dict[str, Any], pieces: Pieces, *, include_usage: bool, obfuscate: bool
) -> Iterator[bytes]:
    """Yield unnamed chunks: the role, reasoning (DeepSeek), content, calls, the reason to finish, `[DONE]`.

    With `include_usage` one more chunk without choices carries the usage, and all others have a null there.
    With `obfuscate` every chunk of an answer has a member that hides the size of its text.
    """
    choice = answer["choices"][0]
    common = {name: answer[name] for name in ("id", "created", "model")}
    head = {**common, "object": "chat.completion.chunk"}
    usage = {"usage": None} if include_usage else {}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        said = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        padding = {"obfuscation": "x" * (-len(str(delta)) % PADDED)} if obfuscate else {}
        return frame({**head, "choices": [said], **usage, **padding})

    for delta in _deltas(choice["message"], pieces):
        yield chunk(delta)
    yield chunk({}, choice["finish_reason"])
    if include_usage:
        yield frame({**head, "choices": [], "usage": answer["usage"]})
    yield DONE


def _deltas(message: dict[str, Any], pieces: Pieces) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": None if message.get("tool_calls") else ""}
    for text in pieces.of_text(message.get("reasoning_content") or ""):
        yield {"reasoning_content": text}
    for text in pieces.of_text(message["content"] or ""):
        yield {"content": text}
    for index, call in enumerate(message.get("tool_calls", ())):
        # Only the first fragment of a call names it.
        opened = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": opened}]}
        for text in pieces.of_text(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": text}}]}
