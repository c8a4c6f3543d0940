"""The Anthropic Messages wire, case by case."""

import json
from typing import Any

import anthropic.types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from foreword.codecs.anthropic import AnthropicCodec
from foreword.codecs.decoded import Mark, Request, Response
from foreword.core.block import (
    Block,
    Image,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from foreword.core.request import Params
from foreword.core.usage import Usage
from foreword.errors import InvalidText, MalformedRequest, MalformedResponse
from tests.codecs.body import body_of
from tests.codecs.values import anthropic_messages, tools

CODEC = AnthropicCodec()
MESSAGE_PARAM: TypeAdapter[Any] = TypeAdapter(anthropic.types.MessageParam)
PNG = "iVBORw0KGgpJRU5E"


def sent(*blocks: Block, role: Role = "user", wire: str | None = None, thinking: bool = True) -> list[Any]:
    """Encode blocks of one message and read each piece back as JSON."""
    message = Message(role=role, blocks=blocks, wire=wire)
    return [json.loads(piece.data) for piece in CODEC.message(message, thinking=thinking)]


@settings(max_examples=30, deadline=None)
@given(st.lists(anthropic_messages(), min_size=1, max_size=3))
def test_messages_are_of_the_sdks_type(messages: list[Message]) -> None:
    """The official SDK's parameter type accepts each message."""
    request = Request(params=Params(model="m", max_output=1), messages=tuple(messages))
    for message in json.loads(body_of(CODEC, request))["messages"]:
        known = [block for block in message["content"] if block["type"] != "document"]
        MESSAGE_PARAM.validate_python({**message, "content": known})


@settings(max_examples=30, deadline=None)
@given(tools)
def test_tools_are_of_the_sdks_type(tool: ToolSpec) -> None:
    """The official SDK's parameter type accepts each tool."""
    TypeAdapter(anthropic.types.ToolParam).validate_python(json.loads(CODEC.tool(tool).data))


@pytest.mark.parametrize(
    "block, expected",
    [
        (Text(text="hi"), {"type": "text", "text": "hi"}),
        (
            Image(media_type="image/png", data=PNG),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        ),
        (
            Image(url=f"data:image/png;base64,{PNG}"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        ),
        (
            Image(data=PNG),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        ),
        (
            Image(url="https://example.com/a.png"),
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        ),
        (ToolResult(call_id="a"), {"type": "tool_result", "tool_use_id": "a", "content": "(no output)"}),
        (
            ToolResult(call_id="a", content=(Text(text=" \n"),)),
            {"type": "tool_result", "tool_use_id": "a", "content": "(no output)"},
        ),
        (
            ToolResult(call_id="a", content=(Text(text="x"),), is_error=True),
            {"type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": True},
        ),
        (
            ToolResult(call_id="a", content=(Text(text="x"), Text(text="y"))),
            {
                "type": "tool_result",
                "tool_use_id": "a",
                "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}],
            },
        ),
    ],
)
def test_a_block_of_a_user_takes_its_form(block: Block, expected: dict[str, Any]) -> None:
    """Each block is written as the provider's types have it."""
    assert sent(block) == [expected]


@pytest.mark.parametrize(
    "arguments, written",
    [
        ('{"b": 1,  "a": [2]}', '"input":{"b": 1,  "a": [2]}'),
        ("", '"input":{}'),
        ("[1]", '"input":{"arguments":"[1]"}'),
        ('{"a": 1', '"input":{"arguments":"{\\"a\\": 1"}'),
        ('{"a": "\\ud800"}', '"input":{"arguments":"{\\"a\\": \\"\\\\ud800\\"}"}'),
        ('{"a":' * 5000, '"input":{"arguments":'),
    ],
)
def test_arguments_are_spliced_in_as_they_came(arguments: str, written: str) -> None:
    """A JSON object keeps its spelling; other text is sent as text and counts as lost."""
    message = Message(role="assistant", blocks=(ToolCall(id="a", name="t", arguments=arguments),))
    (piece,) = CODEC.message(message, thinking=False)
    assert written in piece.data.decode()
    assert bool(piece.lost) == ('"arguments"' in written)
    json.loads(piece.data)


def test_no_message_ends_in_reasoning() -> None:
    """An answer that was cut there would be refused in every later request."""
    said, thought = Text(text="c"), Thinking(text="a", signature="s")
    message = Message(role="assistant", blocks=(thought, said, thought, Thinking(data="d"), Text(text=" ")))
    pieces = CODEC.message(message, thinking=True)
    assert [piece.source for piece in pieces] == [0, 1]
    assert pieces[0].lost == ("reasoning", "reasoning")
    assert sent(thought, role="assistant") == []


PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
PAGE = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}


def test_a_failed_result_holds_only_text() -> None:
    """What else it has follows all results of the message, below its call's name; what can't is told."""
    picture = Image(media_type="image/png", data=PNG)
    page = Opaque(wire="anthropic", form="document", raw=json.dumps(PAGE))
    found = Opaque(wire="anthropic", form="tool_reference", raw='{"type":"tool_reference","tool_name":"t"}')
    failed = ToolResult(call_id="a", content=(Text(text="no"), picture, page, found), is_error=True)
    plain = ToolResult(call_id="b", content=(picture,))
    texts = ["no", "[image: below]", "[document: below]"]
    texts.append("[tool_reference, not shown: a failed result holds text only]")
    expected = [
        {
            "type": "tool_result",
            "tool_use_id": "a",
            "content": [{"type": "text", "text": text} for text in texts],
            "is_error": True,
        },
        {"type": "tool_result", "tool_use_id": "b", "content": [PICTURE]},
        {"type": "text", "text": "[of the failed result of call a]"},
        PICTURE,
        PAGE,
    ]
    pieces = CODEC.results([failed, plain])
    assert [json.loads(piece.data) for piece in pieces] == expected
    assert [piece.source for piece in pieces] == [0, 1, 0, 0, 0]
    assert [piece.media_tokens > 0 for piece in pieces] == [False, True, False, True, True]
    assert pieces[0].lost == ("tool_reference in a failed result",)
    assert sent(failed, plain, wire="anthropic") == expected


def test_a_picture_that_a_failed_result_can_not_show_is_told_in_it() -> None:
    """Nothing follows the results then."""
    broken = ToolResult(call_id="a", content=(Image(media_type="image/png", data="AAAA"),), is_error=True)
    (result,) = sent(broken)
    assert result["content"] == [
        {"type": "text", "text": "[image image/png, not shown: its data is no picture]"}
    ]


def test_reasoning_is_sent_only_with_a_signature_and_when_asked() -> None:
    """Other reasoning is left out, and the message's first piece says so."""
    signed, unsigned = Thinking(text="a", signature="s"), Thinking(text="b")
    redacted, said = Thinking(data="d"), Text(text="c")
    blocks = (signed, unsigned, redacted, said)
    message = Message(role="assistant", blocks=blocks)
    pieces = CODEC.message(message, thinking=True)
    assert [json.loads(piece.data)["type"] for piece in pieces] == ["thinking", "redacted_thinking", "text"]
    assert [piece.markable for piece in pieces] == [False, False, True]
    assert [piece.source for piece in pieces] == [0, 2, 3]
    assert pieces[0].lost == ("reasoning",)
    assert sent(*blocks, role="assistant", thinking=False) == [{"type": "text", "text": "c"}]
    assert sent(*blocks, role="assistant", wire="gemini") == [{"type": "text", "text": "c"}]
    assert sent(signed, role="assistant", thinking=False) == sent(signed, role="user") == []
    assert sent(signed, redacted, Text(text=" "), role="assistant") == []


def test_a_block_of_another_wire_is_told_as_text() -> None:
    """What this wire has no word for is named in brackets, and counts as lost."""
    block = Opaque(wire="openai-chat", form="input_audio", raw='{"type":"input_audio"}')
    (piece,) = CODEC.message(Message(role="user", blocks=(block,)), thinking=False)
    assert json.loads(piece.data)["text"].startswith("[input_audio of openai-chat")
    assert piece.lost == ("a block of type input_audio",)


@pytest.mark.parametrize(
    "block, role",
    [
        (Image(data=PNG), "assistant"),
        (ToolResult(call_id="a", content=(Text(text="x"),)), "assistant"),
        (ToolCall(id="a", name="t", arguments="{}"), "user"),
        (ToolCall(id="a", name="t", arguments="{}"), "system"),
        (Image(data=PNG), "system"),
        (Opaque(wire="anthropic", form="document", raw="{"), "user"),
        (Image(media_type="image/tiff", data="AAAA"), "user"),
        (Image(), "user"),
    ],
)
def test_a_block_in_a_place_it_cant_have_is_told_as_text(block: Block, role: Role) -> None:
    """A foreign record's oddity doesn't make a request that the provider refuses."""
    (piece,) = CODEC.message(Message(role=role, blocks=(block,)), thinking=True)
    assert json.loads(piece.data)["type"] == "text"
    assert piece.lost


def test_foreign_members_are_sent_on_their_own_wire_only() -> None:
    """Members of another wire stay behind."""
    block = Text(text="a", extra={"new": [1]})
    assert sent(block, wire="anthropic") == [{"type": "text", "text": "a", "new": [1]}]
    assert sent(block, wire="openai-chat") == sent(block) == [{"type": "text", "text": "a"}]
    tool = ToolSpec(name="t", schema={"type": "object"}, extra={"anthropic": {"strict": True}, "x": {"y": 1}})
    assert json.loads(CODEC.tool(tool).data) == {
        "name": "t",
        "input_schema": {"type": "object"},
        "strict": True,
    }


def test_a_tool_of_the_provider_is_sent_as_it_stands() -> None:
    """A server tool has no schema of ours and keeps its members."""
    raw = {"type": "web_search_20260209", "name": "web_search", "max_uses": 3}
    request = CODEC.decode_request({"model": "m", "max_tokens": 1, "tools": [raw], "messages": []})
    assert json.loads(CODEC.tool(request.tools[0]).data) == raw


def test_empty_texts_are_skipped_and_nothing_gives_nothing() -> None:
    """The provider refuses text without a visible character."""
    assert sent(Text(text=""), Text(text=" \n"), Text(text="a")) == [{"type": "text", "text": "a"}]
    assert sent(Text(text="")) == []
    with pytest.raises(MalformedRequest, match="system: an empty text block"):
        CODEC.system(Text(text=" "))


def test_neighbours_of_one_role_share_a_message() -> None:
    """Blocks are units; a new role starts a new message."""
    messages = tuple(
        Message(role=role, blocks=(Text(text="x"),)) for role in ("user", "user", "system", "assistant")
    )
    body = json.loads(body_of(CODEC, Request(params=Params(model="m", max_output=1), messages=messages)))
    assert [(m["role"], len(m["content"])) for m in body["messages"]] == [
        ("user", 2),
        ("system", 1),
        ("assistant", 1),
    ]


@pytest.mark.parametrize("ttl, mark", [(None, {}), ("5m", {"ttl": "5m"}), ("1h", {"ttl": "1h"})])
def test_a_mark_is_put_on_and_read_back(ttl: str | None, mark: dict[str, str]) -> None:
    """A marked unit is valid JSON, and decoding takes the mark off again."""
    (piece,) = CODEC.message(Message(role="user", blocks=(Text(text="a"),)), thinking=False)
    block = json.loads(CODEC.mark(piece.data, ttl))
    assert block == {"type": "text", "text": "a", "cache_control": {"type": "ephemeral", **mark}}
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [block]}]}
    request = CODEC.decode_request(body)
    assert request.messages[0].blocks == (Text(text="a"),)
    assert request.marks == (Mark(section="message", index=0, block=0, ttl=ttl),)


def test_marks_are_read_everywhere_and_never_stay_in_a_value() -> None:
    """Tools, system blocks, results and what stands inside them; the caller's value is left as it was."""
    mark = {"cache_control": {"type": "ephemeral"}}
    text = {"type": "text", "text": "a", **mark}
    body = {
        "model": "m",
        "max_tokens": 1,
        "tools": [{"name": "t", "input_schema": {"type": "object"}, **mark}],
        "system": [text],
        "messages": [
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [text]}]},
            {"role": "user", "content": [{"type": "search_result", "content": [text], **mark}]},
        ],
        **mark,
    }
    before = json.dumps(body)
    request = CODEC.decode_request(body)
    assert [(m.section, m.index, m.block) for m in request.marks] == [
        ("tool", 0, None),
        ("system", 0, None),
        ("message", 0, 0),
        ("message", 1, 0),
        ("message", 1, 0),
    ]
    assert request.params.keys == mark
    assert body_of(CODEC, request).count(b"cache_control") == 1
    assert json.dumps(body) == before


def test_a_lone_surrogate_is_refused() -> None:
    """No wire takes it, so it is found before it is sent."""
    for block in (Text(text="\ud800"), ToolResult(call_id="a", content=(Text(text="\ud800"),))):
        with pytest.raises(InvalidText):
            CODEC.message(Message(role="user", blocks=(block,)), thinking=False)


def test_keys_that_foreword_writes_itself_are_refused() -> None:
    """Two members of one name would be two answers to one question."""
    with pytest.raises(MalformedRequest, match=r"params\.keys\.max_tokens"):
        CODEC.keys(Params(model="m", max_output=1, keys={"max_tokens": 2}))


@pytest.mark.parametrize(
    "change, path",
    [
        ({"model": None}, "model"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [1]}, "messages.0"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user"}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages.0.content.0.text"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages.0.content.0.type"),
        ({"tools": [{"name": "t"}]}, "tools.0.input_schema"),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "tool_result",
                                "tool_use_id": "a",
                                "content": [{"type": "tool_use", "id": "i", "name": "n", "input": {}}],
                            }
                        ],
                    }
                ]
            },
            "messages.0.content.0.content.0",
        ),
        ({"max_tokens": None}, "max_tokens"),
        (
            {
                "messages": [
                    {
                        "role": "assistant",
                        "content": [{"type": "tool_use", "id": 7, "name": "n", "input": {}}],
                    }
                ]
            },
            "messages.0.content.0.id",
        ),
        ({"system": [{"type": "image", "source": {"type": "url", "url": "u"}}]}, "system.0"),
    ],
)
def test_a_malformed_request_names_the_path(change: dict[str, Any], path: str) -> None:
    """The error says where, in the wire's own words."""
    body = {"model": "m", "max_tokens": 1, "messages": []}
    with pytest.raises(MalformedRequest) as caught:
        CODEC.decode_request(body | change)
    assert caught.value.path == path


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b'{"a":"\\ud800"}', b"[" * 5000, b"\xff"])
def test_bytes_that_are_no_object_are_refused(body: bytes) -> None:
    """Whatever the bytes are, the error is one of the tree's."""
    with pytest.raises(MalformedRequest):
        CODEC.decode_request(body)
    with pytest.raises(MalformedResponse):
        CODEC.decode_response(body)


def test_sdk_objects_are_read_like_plain_values() -> None:
    """A caller appends the response's content as it is; members that the server didn't send stay out."""
    blocks = [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "text", "text": "a"},
        {"type": "tool_use", "id": "i", "name": "n", "input": {"b": None, "a": 1}},
    ]
    message = anthropic.types.Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": blocks,
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 2},
        }
    )
    (decoded,) = CODEC.decode_messages([{"role": "assistant", "content": message.content}])
    assert decoded == CODEC.decode_messages([{"role": "assistant", "content": blocks}])[0]
    assert decoded.blocks[2] == ToolCall(id="i", name="n", arguments='{"b":null,"a":1}')
    response = CODEC.decode_response(message)
    assert response.message == decoded
    assert (response.stop_reason, response.usage.uncached, response.usage.output) == ("tool_use", 1, 2)


def test_a_picture_kept_at_the_provider_is_opaque() -> None:
    """A source without a word in the model is carried as it is."""
    raw = {"type": "image", "source": {"type": "file", "file_id": "f"}}
    (message,) = CODEC.decode_messages([{"role": "user", "content": [raw]}])
    assert isinstance(message.blocks[0], Opaque)
    assert sent(*message.blocks, wire="anthropic") == [raw]


def test_an_error_body_is_no_response() -> None:
    """What a server says in place of a message isn't read as one."""
    with pytest.raises(MalformedResponse, match="an error"):
        CODEC.decode_response({"type": "error", "error": {"type": "overloaded_error", "message": "m"}})


def test_a_response_of_a_stand_in_is_of_the_sdks_type() -> None:
    """A server that stands in for the provider answers in the provider's form."""
    usage = Usage(uncached=1, cache_read=2, cache_write_short=3, cache_write_long=4, output=5)
    message = Message(
        role="assistant", blocks=(Text(text="a"), ToolCall(id="i", name="n", arguments='{"a":1}'))
    )
    body = CODEC.encode_response(
        Response(message=message, model="m", stop_reason="tool_use", response_id="r", usage=usage)
    )
    assert anthropic.types.Message.model_validate(body, strict=False).usage.cache_creation_input_tokens == 7


def test_a_system_message_may_hold_settings_only() -> None:
    """Its content is optional; what the values lack is kept with the message and named when left out."""
    raw = {"role": "system", "content": "a", "clear_at": "next_user_message"}
    bare, message = CODEC.decode_messages([{"role": "system", "output_config": {"effort": "low"}}, raw])
    assert (bare.blocks, bare.extra) == ((), {"output_config": {"effort": "low"}})
    (piece,) = CODEC.message(message, thinking=False)
    assert piece.lost == ("member clear_at of the message",)


def test_tools_are_read_without_their_marks() -> None:
    """A list of tools gives the same values as the tools of a request."""
    raw = {"name": "t", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
    assert CODEC.decode_tools([raw]) == [ToolSpec(name="t", schema={"type": "object"})]


def test_usage_members_without_a_bucket_survive() -> None:
    """They stay in the response's extra, in the wire's form."""
    body = {
        "id": "r",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    response = CODEC.decode_response(body | {"usage": {"input_tokens": 1, "service_tier": "batch"}})
    assert response.extra == {"usage": {"service_tier": "batch"}}
    assert CODEC.encode_response(response)["usage"]["service_tier"] == "batch"


@pytest.mark.parametrize("toolset", ["mail", None])
def test_a_result_names_the_toolset_of_its_call(toolset: str | None) -> None:
    """Refused by the provider otherwise; a result that a caller or a repair gives can't know it."""
    use: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    if toolset is not None:
        use["toolset_name"] = toolset
    (asked,) = CODEC.decode_messages([{"role": "assistant", "content": [use]}])
    given = ToolResult(
        call_id="t1", content=(Text(text="ok"),), extra={"anthropic": {"toolset_name": "other"}}
    )
    (piece,) = CODEC.results([given], asked)
    assert json.loads(piece.data).get("toolset_name") == toolset
