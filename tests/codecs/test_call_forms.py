"""Calls whose arguments come in another form than their wire has, as gateways give them: an answer is read anyway."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreword.codecs import codec
from foreword.core.block import ToolCall

ABSENT = object()
GIVEN = [
    ({"n": 1}, '{"n":1}', {"n": 1}),
    ('{"n":  1}', '{"n":  1}', {"n": 1}),
    ("ls -l", "ls -l", {"arguments": "ls -l"}),
    ([1], "[1]", {"arguments": "[1]"}),
    (7, "7", {"arguments": "7"}),
    (None, "", {}),
    (ABSENT, "", {}),
]
"""What stands where the arguments do -> the arguments, and the object that is sent again."""


def answer(wire: str, arguments: Any) -> dict[str, Any]:
    """Return a response of a wire with one call."""
    member = {"anthropic": "input", "gemini": "args"}.get(wire, "arguments")
    given = {} if arguments is ABSENT else {member: arguments}
    match wire:
        case "anthropic":
            return {"model": "m", "content": [{"type": "tool_use", "id": "a", "name": "t", **given}]}
        case "gemini":
            return {
                "candidates": [{"content": {"parts": [{"functionCall": {"id": "a", "name": "t", **given}}]}}]
            }
        case "openai-responses":
            return {"model": "m", "output": [{"type": "function_call", "call_id": "a", "name": "t", **given}]}
        case _:
            call = {"id": "a", "type": "function", "function": {"name": "t", **given}}
            return {"model": "m", "choices": [{"message": {"content": None, "tool_calls": [call]}}]}


def sent_arguments(wire: str, value: dict[str, Any]) -> Any:
    """Return the arguments of a call in a unit of a wire, as a value."""
    match wire:
        case "anthropic":
            return value["input"]
        case "gemini":
            return value["functionCall"]["args"]
        case "openai-responses":
            return json.loads(value["arguments"])
        case _:
            return json.loads(value["tool_calls"][0]["function"]["arguments"])


@pytest.mark.parametrize("given, arguments, sent", GIVEN)
@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "deepseek", "openai-responses", "gemini"])
def test_a_call_is_read_in_whatever_form_and_sent_in_the_wires(
    wire: str, given: Any, arguments: str, sent: dict[str, Any]
) -> None:
    """Nothing of what was given is lost, and the history stays one that the provider takes."""
    message = codec(wire).decode_response(answer(wire, given)).message
    (call,) = message.blocks
    assert isinstance(call, ToolCall)
    # Gemini leaves the member out where there are none, so nothing is the empty object there.
    assert call.arguments == (arguments or ("{}" if wire == "gemini" else ""))
    (piece,) = codec(wire).message(message, thinking=True)
    assert sent_arguments(wire, json.loads(piece.data)) == sent


def test_the_place_of_a_call_in_its_stream_is_not_sent_again() -> None:
    """OpenAI's client leaves it in what it puts together of a stream; no request takes it."""
    function = {"name": "t", "arguments": "{}"}
    message = {
        "role": "assistant",
        "tool_calls": [{"index": 0, "id": "a", "type": "function", "function": function}],
    }
    [call] = codec("openai-chat").decode_messages([message])[0].blocks
    assert call == ToolCall(id="a", name="t", arguments="{}")
