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
PICTURE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgpJRU5E"},
}
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
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "data:;base64,iVBORw0KGgpJRU5E"}}],
            },
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
REQUESTS["deepseek"] = {
    "model": "m",
    "max_tokens": 1,
    "tools": REQUESTS["openai-chat"]["tools"],
    "messages": [
        *REQUESTS["openai-chat"]["messages"][:2],
        REQUESTS["openai-chat"]["messages"][2] | {"reasoning_content": "r"},
        REQUESTS["openai-chat"]["messages"][3],
    ],
}
REQUESTS["openai-responses"] = {
    "model": "m",
    "max_output_tokens": 1,
    "instructions": "s",
    "tools": [{"type": "function", "name": "t", "description": "d", "parameters": {"a": 1}, "strict": True}],
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "t"},
                {"type": "input_image", "image_url": "data:;base64,iVBORw0KGgpJRU5E", "detail": "low"},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs",
            "summary": [{"type": "summary_text", "text": "t"}],
            "encrypted_content": "e",
        },
        {
            "type": "message",
            "role": "assistant",
            "id": "msg",
            "content": [{"type": "output_text", "text": "t"}, {"type": "output_text", "text": "u"}],
        },
        {"type": "web_search_call", "id": "ws", "status": "completed"},
        {"type": "function_call", "id": "fc", "call_id": "i", "name": "n", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "i", "output": [{"type": "input_text", "text": "x"}]},
    ],
}
REQUESTS["gemini"] = {
    "generationConfig": {"maxOutputTokens": 1, "temperature": 0},
    "systemInstruction": {"parts": [{"text": "s"}]},
    "tools": [
        {
            "functionDeclarations": [{"name": "t", "description": "d", "parameters": {"type": "OBJECT"}}],
            "googleSearch": {"x": 1},
        }
    ],
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "t"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgpJRU5E"}}],
        },
        {
            "role": "model",
            "parts": [
                {"text": "t", "thought": True, "thoughtSignature": "AAAA"},
                {"functionCall": {"id": "i", "name": "n", "args": {"a": 1}}, "thoughtSignature": "AAAA"},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "i",
                        "name": "n",
                        "response": {"output": "x"},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgpJRU5E"}}],
                    }
                }
            ],
        },
    ],
}
LISTS = {"openai-responses": "input", "gemini": "contents"}
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

RESPONSES["deepseek"] = copy.deepcopy(RESPONSES["openai-chat"])
RESPONSES["deepseek"]["choices"][0]["message"]["reasoning_content"] = "r"
RESPONSES["openai-responses"] = {
    "id": "r",
    "model": "m",
    "status": "incomplete",
    "incomplete_details": {"reason": "max_output_tokens"},
    "output": REQUESTS["openai-responses"]["input"][1:5],
    "usage": {
        "input_tokens": 3,
        "output_tokens": 1,
        "input_tokens_details": {
            "cached_tokens": 1,
            "cache_write_tokens": 1,
            "cache_write_tokens_details": {"ttl_30m_tokens": 1, "ttl_12h_tokens": 0},
        },
        "output_tokens_details": {"reasoning_tokens": 1},
    },
}
RESPONSES["gemini"] = {
    "candidates": [
        {"content": REQUESTS["gemini"]["contents"][1], "finishReason": "STOP", "index": 0},
        {"index": 1},
    ],
    "modelVersion": "m",
    "responseId": "r",
    "usageMetadata": {
        "promptTokenCount": 3,
        "cachedContentTokenCount": 1,
        "toolUsePromptTokenCount": 1,
        "candidatesTokenCount": 1,
        "thoughtsTokenCount": 1,
        "totalTokenCount": 6,
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


@pytest.mark.no_cover  # many examples; others measure these lines
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


@pytest.mark.no_cover  # many examples; others measure these lines
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
    listed = REQUESTS[wire][LISTS.get(wire, "messages")]
    assert check(listed, wire) == []
    for body in changed({"messages": listed}):
        messages = body.get("messages")
        if isinstance(messages, list):
            assert all(0 <= fault.index < len(messages) for fault in check(messages, wire))
