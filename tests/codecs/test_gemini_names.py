"""Gemini: a call and its result are a pair by the function's name, and by an id where there is one."""

import json

import pytest

from foreword.codecs.gemini import GeminiCodec
from foreword.codecs.parts import tool_name
from foreword.core.block import Image, Message, Opaque, Text, ToolCall, ToolResult, ToolSpec

CODEC = GeminiCodec()
PNG = "iVBORw0KGgpJRU5E"
CALL = ToolCall(id="a", name="t", arguments='{"b": 1,  "a": 2}')


def test_results_name_the_function_that_they_are_of() -> None:
    """The name is that of the call they answer; pictures stand inside the response."""
    asked = Message(role="assistant", blocks=(CALL, ToolCall(id="u", name="u", arguments="{}")))
    results = [
        ToolResult(call_id="a", content=(Text(text="x"), Text(text="y"), Image(data=PNG))),
        ToolResult(call_id="u", is_error=True),
        ToolResult(call_id="lost", content=(Opaque(wire="anthropic", form="document", raw="{}"),)),
    ]
    pieces = CODEC.results(results, asked)
    assert [json.loads(piece.data)["functionResponse"] for piece in pieces] == [
        {
            "id": "a",
            "name": "t",
            "response": {"output": "x\n\ny"},
            "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
        },
        {"name": "u", "response": {"error": ""}},
        {
            "name": "lost",
            "response": {
                "output": "[document of anthropic, not shown: this model's interface has no such block]"
            },
        },
    ]
    assert [piece.source for piece in pieces] == [0, 1, 2]
    assert pieces[0].media_tokens > 0
    assert pieces[2].lost


def test_a_call_without_an_id_is_paired_by_its_name() -> None:
    """Older models give none: the name stands for it, in the call and in its response."""
    asks = {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {}}}]}
    answers = {"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {"output": "x"}}}]}
    call, result = CODEC.decode_messages([asks, answers])
    assert isinstance(call.blocks[0], ToolCall)
    assert isinstance(result.blocks[0], ToolResult)
    assert call.blocks[0].id == result.blocks[0].call_id == "t"


def test_a_name_that_no_provider_takes_still_stands_for_no_id() -> None:
    """Call and result are a pair by the name they share, also where that must be spelled otherwise."""
    call = Message(role="assistant", blocks=(ToolCall(id="a tool", name="a tool", arguments="{}"),))
    pieces = [
        *CODEC.message(call, thinking=False),
        *CODEC.results([ToolResult(call_id="a tool", content=(Text(text="out"),))], call),
    ]
    found = [next(iter(json.loads(piece.data).values())) for piece in pieces]
    assert [("id" in each, each["name"]) for each in found] == [(False, found[0]["name"])] * 2


def test_a_call_without_a_name_and_its_result_have_one_name() -> None:
    """The stand-in of the name, in both."""
    call = Message(role="assistant", blocks=(ToolCall(id="a", name="", arguments="{}"),))
    asks = CODEC.message(call, thinking=False)[0]
    answers = CODEC.results([ToolResult(call_id="a", content=(Text(text="out"),))], call)[0]
    named = json.loads(asks.data)["functionCall"]
    assert json.loads(answers.data)["functionResponse"] == {
        "id": "a",
        "name": named["name"],
        "response": {"output": "out"},
    }


@pytest.mark.parametrize("name", ["3d_render", "-x", "9"])
def test_a_name_begins_with_a_letter_or_an_underscore(name: str) -> None:
    """This provider refuses others: its definition, call and result are spelled alike, as no other name is."""
    call = Message(role="assistant", blocks=(ToolCall(id="a", name=name, arguments="{}"),))
    defined = json.loads(CODEC.tool(ToolSpec(name=name, schema={"type": "object"})).data)["name"]
    asks = json.loads(CODEC.message(call, thinking=False)[0].data)["functionCall"]["name"]
    answers = json.loads(CODEC.results([ToolResult(call_id="a")], call)[0].data)["functionResponse"]["name"]
    assert defined == asks == answers
    assert defined[0] == "_"
    assert defined not in ("_" + name, tool_name("_" + name))
    assert tool_name(name) == name
