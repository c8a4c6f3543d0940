"""Forms that no wire has and that records hold: no id, a tool's rows as they are, a text that is null."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from foreword.codecs import CODECS, codec
from foreword.core.block import Text, ToolCall, ToolResult
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.errors import InvalidNumber, MalformedRequest
from tests.histories import MODELS

VALUES = [
    ({"rows": 3}, '{"rows":3}'),
    ([{"id": 1, "name": "Ada"}], '[{"id":1,"name":"Ada"}]'),
    (["a", "b"], '["a","b"]'),
    (42, "42"),
    (True, "true"),
    ("plain", "plain"),
    ([{"type": "text", "text": "a"}, "b"], '[{"type":"text","text":"a"},"b"]'),
]
"""What a tool gave -> its text."""


def asked_and_given(wire: str, given: Any, **ids: Any) -> list[dict[str, Any]]:
    """Return a call and its result in a wire's list; ``ids`` holds an id for both, or none."""
    match wire:
        case "anthropic":
            use = {"type": "tool_use", "name": "t", "input": {}, **ids}
            back = {"type": "tool_result", "content": given, **({"tool_use_id": ids["id"]} if ids else {})}
            return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]
        case "openai-responses":
            named = {"call_id": ids["id"]} if ids else {}
            call = {"type": "function_call", "name": "t", "arguments": "{}", **named}
            return [call, {"type": "function_call_output", "output": given, **named}]
        case "gemini":
            call = {"name": "t", "args": {}, **ids}
            back = {"name": "t", "response": given, **ids}
            return [
                {"role": "model", "parts": [{"functionCall": call}]},
                {"role": "user", "parts": [{"functionResponse": back}]},
            ]
        case _:
            call = {"type": "function", "function": {"name": "t", "arguments": "{}"}, **ids}
            named = {"tool_call_id": ids["id"]} if ids else {}
            return [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "content": given, **named},
            ]


@pytest.mark.parametrize("given, told", VALUES)
@pytest.mark.parametrize("wire", CODECS)
def test_what_a_tool_gave_is_read_as_text(wire: str, given: Any, told: str) -> None:
    """Its JSON where it is no text and no list of blocks; it never ends a session."""
    _, message = codec(wire).decode_messages(asked_and_given(wire, given, id="a"))
    (result,) = message.blocks
    assert isinstance(result, ToolResult)
    assert result.content == (Text(text=told),)


@pytest.mark.parametrize("given", [["row1", "row2"], [{"id": 1, "cache_control": "no-store"}]])
@pytest.mark.parametrize("wire", ["anthropic", "openai-chat"])
def test_rows_of_data_hold_no_cache_mark(wire: str, given: Any) -> None:
    """Marks are looked for in blocks only."""
    assert codec(wire).decode_marks(asked_and_given(wire, given, id="a"), None, None) == ()


@pytest.mark.parametrize(
    "given, error",
    [([object()], MalformedRequest), ([math.nan], InvalidNumber), ({"a": math.inf}, InvalidNumber)],
)
@pytest.mark.parametrize("wire", CODECS)
def test_what_has_no_json_is_refused(wire: str, given: Any, error: type[Exception]) -> None:
    """With an error of ours, whatever stands in a caller's list."""
    with pytest.raises(error):
        codec(wire).decode_messages(asked_and_given(wire, given, id="a"))


@pytest.mark.parametrize("ids", [{}, {"id": None}, {"id": ""}])
@pytest.mark.parametrize("wire", CODECS)
def test_a_call_without_an_id_and_its_result_are_a_pair(wire: str, ids: dict[str, Any]) -> None:
    """In a request they stand under one made-up id, or under their function's name where ids are left out."""
    session = Session.open(None, "s", target=target_for(wire, MODELS[wire]))
    said = {"parts": [{"text": "q"}]} if wire == "gemini" else {"content": "q"}
    asked = {"role": "user", **said}
    body = session.sync([asked, *asked_and_given(wire, "out", **ids), asked]).request.body.decode()
    assert '"out"' in body
    assert "unknown" not in body


@pytest.mark.parametrize("name", ["text", "thinking"])
def test_a_text_that_is_null_is_empty(name: str) -> None:
    """In whichever wire's block it stands; one that is lacking may be a slip of the caller's, and is refused."""
    found = {
        "anthropic": {"role": "assistant", "content": [{"type": name, name: None}]},
        "openai-chat": {"role": "user", "content": [{"type": "text", "text": None}]},
        "openai-responses": {"role": "user", "content": [{"type": "input_text", "text": None}]},
        "gemini": {"role": "model", "parts": [{"text": None, "thought": name == "thinking"}]},
    }
    for wire, message in found.items():
        (block,) = codec(wire).decode_messages([message])[0].blocks
        assert getattr(block, "text", None) == "", wire


def test_a_response_that_names_no_function_is_known_by_its_id() -> None:
    """The official client may leave the name out; the request has that of the call."""
    wire = codec("gemini")
    call, answer = wire.decode_messages(
        [
            {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "t", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "a", "response": {"output": "x"}}}]},
        ]
    )
    (result,) = answer.blocks
    assert isinstance(result, ToolResult)
    assert isinstance(call.blocks[0], ToolCall)
    (piece,) = wire.results([result], call)
    assert json.loads(piece.data)["functionResponse"]["name"] == "t"
