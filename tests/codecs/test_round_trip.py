"""What is encoded decodes to the same values, and the bytes are JSON in render order."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from foreword.codecs import CODECS, codec
from foreword.codecs.decoded import Request, Response
from foreword.core.block import Message, Text, Thinking
from foreword.core.request import Params
from foreword.core.usage import Usage
from foreword.errors import UnknownWire
from tests.codecs.body import body_of, pieces_of
from tests.codecs.values import (
    anthropic_messages,
    chat_messages,
    deepseek_messages,
    gemini_messages,
    responses_messages,
    responses_output,
    text_blocks,
    tools,
)

few = settings(max_examples=25, deadline=None)
MESSAGES = {
    "anthropic": anthropic_messages(),
    "openai-chat": chat_messages(),
    "openai-responses": responses_messages(),
    "deepseek": deepseek_messages(),
    "gemini": gemini_messages(),
}
OUTPUTS = MESSAGES | {"openai-responses": responses_output(easy=False)}
LISTS = {"openai-responses": "input", "gemini": "contents"}
"""Where a wire's messages stand, if not in `messages`."""
MERGED = {
    "anthropic": ("user", "assistant"),
    "openai-responses": ("assistant",),
    "gemini": ("user", "assistant"),
}
"""Roles whose neighbouring messages a wire reads as one."""
KEYS = {
    "anthropic": {
        "tool_choice": {"type": "auto"},
        "speed": "fast",
        "stream": True,
        "metadata": {"user_id": "u"},
    },
    "openai-chat": {"tool_choice": "auto", "prompt_cache_key": "k", "stream": True, "store": False},
    "openai-responses": {"tool_choice": "auto", "prompt_cache_key": "k", "stream": True, "store": False},
    "deepseek": {"tool_choice": "auto", "thinking": {"type": "enabled"}, "stream": True, "temperature": 1},
    "gemini": {
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "cachedContent": "c",
        "safetySettings": [],
        "generationConfig": {"candidateCount": 1},
    },
}


def merged(messages: tuple[Message, ...], wire: str) -> tuple[Message, ...]:
    """Merge neighbours of one role where the wire does; reasoning that led to nothing is not sent to Anthropic."""
    found: list[Message] = []
    for message in messages:
        if wire == "anthropic":
            blocks = list(message.blocks)
            while blocks and isinstance(blocks[-1], Thinking):
                blocks.pop()
            if not blocks:
                continue
            message = replace(message, blocks=tuple(blocks))
        if message.role in MERGED.get(wire, ()) and found and found[-1].role == message.role:
            found[-1] = Message(role=message.role, blocks=found[-1].blocks + message.blocks, wire=wire)
        else:
            found.append(message)
    return tuple(found)


@pytest.mark.parametrize("wire", CODECS)
@few
@given(data=st.data())
def test_a_request_decodes_to_the_values_it_was_made_of(wire: str, data: st.DataObject) -> None:
    """Tools, system, messages and keys come back as they were given."""
    keys = KEYS[wire]
    chosen = data.draw(st.lists(st.sampled_from(sorted(keys)), unique=True))
    request = Request(
        params=Params(
            model="m", max_output=data.draw(st.integers(1, 99)), keys={name: keys[name] for name in chosen}
        ),
        tools=tuple(data.draw(st.lists(tools, max_size=3))),
        system=tuple(data.draw(st.lists(text_blocks, max_size=2))),
        messages=tuple(data.draw(st.lists(MESSAGES[wire], max_size=5))),
    )
    again = codec(wire).decode_request(body_of(codec(wire), request))
    assert (again.tools, again.system) == (request.tools, one_system(request.system, wire))
    assert again.messages == merged(request.messages, wire)
    # Gemini's model stands in the URL.
    assert again.params == (replace(request.params, model="") if wire == "gemini" else request.params)


def one_system(system: tuple[Text, ...], wire: str) -> tuple[Text, ...]:
    """Join system blocks where the wire has one string for them."""
    if wire != "openai-responses" or not system:
        return system
    return (Text(text="\n\n".join(block.text for block in system)),)


@pytest.mark.parametrize("wire", CODECS)
def test_the_body_is_in_render_order(wire: str) -> None:
    """Keys of a layer stand before the layer's own member, and the rest after the messages."""
    request = Request(
        params=Params(model="m", max_output=5, keys=dict(reversed(KEYS[wire].items()))),
        tools=codec(wire).decode_request(body_with_tool(wire)).tools,
        system=(Text(text="s"),),
        messages=(Message(role="user", blocks=(Text(text="hi"),)),),
    )
    expected = {
        "anthropic": "model tools speed system tool_choice messages max_tokens metadata stream",
        "openai-chat": "model prompt_cache_key tools tool_choice messages max_completion_tokens store stream",
        "openai-responses": (
            "model prompt_cache_key tools instructions tool_choice input max_output_tokens store stream"
        ),
        "deepseek": "model thinking tools tool_choice messages max_tokens temperature stream",
        "gemini": "cachedContent tools systemInstruction toolConfig contents generationConfig safetySettings",
    }
    assert list(json.loads(body_of(codec(wire), request))) == expected[wire].split()


def body_with_tool(wire: str) -> bytes:
    """Write a request with one tool by hand."""
    tool = {
        "anthropic": {"name": "t", "input_schema": {"type": "object"}},
        "openai-chat": {
            "type": "function",
            "function": {"name": "t", "parameters": {"type": "object", "properties": {}}},
        },
        "deepseek": {
            "type": "function",
            "function": {"name": "t", "parameters": {"type": "object", "properties": {}}},
        },
        "openai-responses": {
            "type": "function",
            "name": "t",
            "parameters": {"type": "object", "properties": {}},
            "strict": True,
        },
        "gemini": {"functionDeclarations": [{"name": "t", "parameters": {"type": "OBJECT"}}]},
    }
    listed = LISTS.get(wire, "messages")
    return json.dumps({"model": "m", "max_tokens": 1, "tools": [tool[wire]], listed: []}).encode()


@pytest.mark.parametrize("wire", CODECS)
@pytest.mark.parametrize("has_tools", [False, True])
@pytest.mark.parametrize("has_system", [False, True])
@pytest.mark.parametrize("has_messages", [False, True])
def test_any_section_may_be_missing(wire: str, has_tools: bool, has_system: bool, has_messages: bool) -> None:
    """A section without units leaves no member behind, except `messages`, which every request has."""
    whole = Request(
        params=Params(model="m", max_output=5),
        tools=codec(wire).decode_request(body_with_tool(wire)).tools if has_tools else (),
        system=(Text(text="s"),) if has_system else (),
        messages=(Message(role="user", blocks=(Text(text="hi"),)),) if has_messages else (),
    )
    body = json.loads(body_of(codec(wire), whole))
    assert ("tools" in body) == has_tools
    assert LISTS.get(wire, "messages") in body
    again = codec(wire).decode_request(body)
    assert (again.tools, again.system) == (whole.tools, whole.system)
    assert len(again.messages) == has_messages


@pytest.mark.parametrize("wire", CODECS)
def test_the_close_alone_is_a_body(wire: str) -> None:
    """A request without any unit is still an object."""
    assert (
        json.loads(codec(wire).close(None, Params(model="m", max_output=1)))[LISTS.get(wire, "messages")]
        == []
    )


@pytest.mark.parametrize("wire", CODECS)
@few
@given(data=st.data())
def test_a_response_comes_back_as_it_was(wire: str, data: st.DataObject) -> None:
    """Writing a response as the server would and reading it gives the same values."""
    message = data.draw(OUTPUTS[wire].filter(lambda message: message.role == "assistant"))
    counts = st.integers(0, 10**6)
    output = data.draw(counts)
    usage = Usage(
        uncached=data.draw(counts),
        cache_read=data.draw(counts),
        cache_write_short=0 if wire == "gemini" else data.draw(counts),
        cache_write_long=data.draw(counts) if wire in ("anthropic", "openai-responses") else 0,
        output=output,
        reasoning=data.draw(st.none() | st.integers(0, output)),
    )
    response = Response(message=message, model="m", stop_reason="x", response_id="r", usage=usage)
    again = codec(wire).decode_response(codec(wire).encode_response(response))
    assert (again.message, again.model, again.stop_reason, again.response_id) == (message, "m", "x", "r")
    assert again.usage == usage
    assert codec(wire).decode_response(codec(wire).encode_response(again)) == again


@pytest.mark.parametrize("wire", CODECS)
@few
@given(data=st.data())
def test_pieces_are_the_same_each_time(wire: str, data: st.DataObject) -> None:
    """Encoding is a function: equal values give equal bytes, and each piece is JSON of its own."""
    request = Request(
        params=Params(model="m", max_output=1),
        messages=tuple(data.draw(st.lists(MESSAGES[wire], max_size=3))),
    )
    pieces = pieces_of(codec(wire), request)
    assert pieces == pieces_of(codec(wire), request)
    assert all(json.loads(piece.data) for piece in pieces if piece.section == "message")


def test_an_unknown_wire_names_the_known_ones() -> None:
    """The error lists what there is."""
    with pytest.raises(UnknownWire, match="anthropic, openai-chat, openai-responses, deepseek, gemini"):
        codec("gopher")
