"""Calls that may not be whole are never handed out as such, streamed or in one piece."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreword.codecs.stream.decoder import Decoder
from foreword.core.block import ToolCall
from tests.codecs.stream.streams import BODIES, WIRES, stream

every_wire = pytest.mark.parametrize("wire", WIRES)
STOPS = {
    "anthropic": ("max_tokens", "model_context_window_exceeded", "refusal"),
    "openai-chat": ("length", "content_filter", "insufficient_system_resource"),
    "deepseek": ("length", "content_filter", "insufficient_system_resource"),
    "openai-responses": ("max_output_tokens", "content_filter"),
    "gemini": ("MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"),
}
TEXTS = ("openai-chat", "deepseek", "openai-responses")


def stopped(wire: str, reason: str) -> dict[str, Any]:
    """Return the response of a wire, whose last block is a call, with another stop reason."""
    body = BODIES[wire]()
    match wire:
        case "anthropic":
            return body | {"stop_reason": reason}
        case "openai-responses":
            output = [item for item in body["output"] if item["type"] != "custom_tool_call"]
            details = {"reason": reason}
            return body | {"output": output, "status": "incomplete", "incomplete_details": details}
        case "gemini":
            return body | {"candidates": [body["candidates"][0] | {"finishReason": reason}]}
        case _:
            return body | {"choices": [body["choices"][0] | {"finish_reason": reason}]}


def with_arguments(wire: str, body: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the response of a wire with other arguments for its first function."""
    if wire == "openai-responses":
        call = next(item for item in body["output"] if item["type"] == "function_call")
    else:
        call = body["choices"][0]["message"]["tool_calls"][0]["function"]
    call["arguments"] = text
    return body


def decoded(wire: str, body: dict[str, Any], *, streamed: bool) -> tuple[list[int], tuple[int, ...], str]:
    """Return where the calls of a response stand, which of them are partial, and the state."""
    decoder = Decoder(wire)
    decoder.feed(stream(wire, body=body) if streamed else json.dumps(body).encode())
    found = decoder.end()
    assert found.response is not None
    blocks = found.response.message.blocks
    calls = [index for index, block in enumerate(blocks) if isinstance(block, ToolCall)]
    return calls, found.partial, found.state


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("wire, reason", [(wire, reason) for wire in STOPS for reason in STOPS[wire]])
def test_the_last_call_of_a_stopped_answer_is_partial(wire: str, reason: str, streamed: bool) -> None:
    """Whatever stopped it may have cut the call, even if what came parses."""
    calls, partial, state = decoded(wire, stopped(wire, reason), streamed=streamed)
    assert (partial, state) == ((calls[-1],), "complete")


@every_wire
@pytest.mark.parametrize("streamed", [True, False])
def test_calls_of_an_answer_that_ended_are_whole(wire: str, streamed: bool) -> None:
    """The wire's own end of a turn with calls cuts none."""
    calls, partial, _ = decoded(wire, BODIES[wire](), streamed=streamed)
    assert calls
    assert partial == ()


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("wire", TEXTS)
@pytest.mark.parametrize("text, whole", [
    ('{"path": "/tm', False), ("[1]", False), ("null", False), ('{"a": 1} {', False),
    ('{"a": "\\ud83d"}', True), ("", True), (" {} ", True),
])  # fmt: skip
def test_arguments_that_are_no_object_are_partial(wire: str, text: str, whole: bool, streamed: bool) -> None:
    """Where the answer was stopped; the call of one that ended by itself stands, and its runner says what is wrong."""
    body = with_arguments(wire, stopped(wire, STOPS[wire][0]), text)
    calls, partial, _ = decoded(wire, body, streamed=streamed)
    assert partial == ((calls[-1],) if whole or len(calls) == 1 else (calls[0], calls[-1]))
    assert decoded(wire, with_arguments(wire, BODIES[wire](), text), streamed=streamed)[1] == ()
