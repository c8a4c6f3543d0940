"""Whatever stands in a body, the codecs answer with values or with an error of the tree."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from foreword.codecs import CODECS, codec
from foreword.codecs.check import check
from foreword.errors import CodecError, ForewordError, InvalidText
from tests.codecs.body import body_of

GONE = object()
INSTEAD = (
    GONE,
    None,
    True,
    -1,
    2**70,
    0.5,
    "",
    " ",
    "x",
    "user",
    "\ud800",
    [],
    [1],
    ["x"],
    [{}],
    {},
    {"type": "x"},
)
MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
TEXT = {"type": "text", "text": "t", **MARK}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
REQUESTS: dict[str, dict[str, Any]] = {
    "anthropic": {
        "model": "m",
        "max_tokens": 1,
        "tools": [{"name": "t", "description": "d", "input_schema": {"type": "object"}, **MARK}],
        "system": [TEXT],
        "messages": [
            {"role": "user", "content": [TEXT, PICTURE, {"type": "document", "content": [TEXT]}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "redacted_thinking", "data": "d"},
                    {"type": "tool_use", "id": "i", "name": "n", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "i", "content": [TEXT, PICTURE], "is_error": True}
                ],
            },
        ],
    },
    "openai-chat": {
        "model": "m",
        "max_completion_tokens": 1,
        "tools": [
            {"type": "function", "function": {"name": "t", "description": "d", "parameters": {"a": 1}}}
        ],
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "t"}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:;base64,AAAA"}}]},
            {
                "role": "assistant",
                "content": "x",
                "refusal": "r",
                "tool_calls": [{"id": "i", "type": "function", "function": {"name": "n", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "i", "content": "x"},
        ],
    },
}
RESPONSES: dict[str, dict[str, Any]] = {
    "anthropic": {
        "id": "r",
        "type": "message",
        "model": "m",
        "content": [{"type": "text", "text": "t"}],
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 1},
            "output_tokens_details": {"thinking_tokens": 1},
        },
    },
    "openai-chat": {
        "id": "r",
        "model": "m",
        "choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}, {"index": 1}],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 1},
            "completion_tokens_details": {"reasoning_tokens": 1},
        },
    },
}


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each value below a value."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*path, step)
        yield from places(inner, (*path, step))


def changed(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the body with one value of it replaced or gone, for each value and each replacement."""
    for path in places(body):
        for new in INSTEAD:
            other = copy.deepcopy(body)
            parent: Any = other
            for step in path[:-1]:
                parent = parent[step]
            if new is GONE:
                del parent[path[-1]]
            else:
                parent[path[-1]] = new
            yield other


@pytest.mark.parametrize("wire", CODECS)
def test_a_request_is_read_and_written_or_refused(wire: str) -> None:
    """One wrong value anywhere gives an error with a path, or values that make a body of their own."""
    refused = written = 0
    for body in changed(REQUESTS[wire]):
        try:
            request = codec(wire).decode_request(body)
            assert isinstance(json.loads(body_of(codec(wire), request)), dict)
            for target in set(CODECS) - {wire}:
                for message in request.messages:
                    codec(target).message(message, thinking=True)
            written += 1
        except (CodecError, InvalidText):
            refused += 1
    assert refused > 100
    assert written > 100


@pytest.mark.parametrize("wire", CODECS)
def test_a_response_is_read_and_written_or_refused(wire: str) -> None:
    """One wrong value anywhere gives an error with a path, or values that make a response again."""
    refused = written = 0
    for body in changed(RESPONSES[wire]):
        try:
            codec(wire).encode_response(codec(wire).decode_response(body))
            written += 1
        except ForewordError:
            refused += 1
    assert refused > 50
    assert written > 50


@pytest.mark.parametrize("wire", CODECS)
def test_any_list_is_judged(wire: str) -> None:
    """A fault names a message of the list, whatever the list holds."""
    assert check(REQUESTS[wire]["messages"], wire) == []
    for body in changed({"messages": REQUESTS[wire]["messages"]}):
        messages = body.get("messages")
        if isinstance(messages, list):
            assert all(0 <= fault.index < len(messages) for fault in check(messages, wire))
