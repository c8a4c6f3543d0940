"""The OpenAI Chat Completions wire, case by case."""

import json
from typing import Any

import openai.types.chat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from foreword.codecs.decoded import Request, Response
from foreword.codecs.openai_chat import OpenAIChatCodec
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
from tests.codecs.values import chat_messages, tools

CODEC = OpenAIChatCodec()
MESSAGE_PARAM: TypeAdapter[Any] = TypeAdapter(openai.types.chat.ChatCompletionMessageParam)
PNG = "iVBORw0KGgpJRU5E"
CALL = ToolCall(id="a", name="t", arguments="{}")
WIRE_CALL = {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}


def sent(*blocks: Block, role: Role = "user", wire: str | None = None) -> list[Any]:
    """Encode one message and read each piece back as JSON."""
    message = Message(role=role, blocks=blocks, wire=wire)
    return [json.loads(piece.data) for piece in CODEC.message(message, thinking=True)]


@settings(max_examples=30, deadline=None)
@given(st.lists(chat_messages(), min_size=1, max_size=3))
def test_messages_are_of_the_sdks_type(messages: list[Message]) -> None:
    """The official SDK's parameter type accepts each message."""
    request = Request(
        params=Params(model="m", max_output=1), system=(Text(text="s"),), messages=tuple(messages)
    )
    for message in json.loads(body_of(CODEC, request))["messages"]:
        MESSAGE_PARAM.validate_python(message)


@settings(max_examples=30, deadline=None)
@given(tools)
def test_tools_are_of_the_sdks_type(tool: ToolSpec) -> None:
    """The official SDK's parameter type accepts each tool."""
    kind = TypeAdapter(openai.types.chat.ChatCompletionToolUnionParam)
    kind.validate_python(json.loads(CODEC.tool(tool).data))


@pytest.mark.parametrize(
    "blocks, content",
    [
        ((Text(text="a"),), "a"),
        ((Text(text=""), Text(text="a"), Text(text=" ")), "a"),
        ((Text(text="a"), Text(text="b")), [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        (
            (Image(data=PNG),),
            [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}],
        ),
        (
            (Text(text="a"), Image(url="https://example.com/a.png")),
            [
                {"type": "text", "text": "a"},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            ],
        ),
    ],
)
def test_a_user_message_is_a_string_or_parts(blocks: tuple[Block, ...], content: Any) -> None:
    """One text is a string; several texts, or a picture, are parts."""
    assert sent(*blocks) == [{"role": "user", "content": content}]


@pytest.mark.parametrize(
    "blocks, expected",
    [
        ((Text(text="a"),), {"content": "a"}),
        ((Text(text="a"), Text(text="b")), {"content": "a\n\nb"}),
        ((CALL,), {"content": None, "tool_calls": [WIRE_CALL]}),
        ((Text(text="a"), CALL, Text(text="b")), {"content": "a\n\nb", "tool_calls": [WIRE_CALL]}),
        ((Thinking(text="t", signature="s"), CALL), {"content": None, "tool_calls": [WIRE_CALL]}),
    ],
)
def test_an_assistant_message_has_text_and_calls(blocks: tuple[Block, ...], expected: dict[str, Any]) -> None:
    """Several texts are joined, calls follow, reasoning is never sent."""
    assert sent(*blocks, role="assistant") == [{"role": "assistant", **expected}]


def test_reasoning_left_out_counts_as_lost_and_alone_gives_nothing() -> None:
    """The wire takes no reasoning back."""
    (piece,) = CODEC.message(Message(role="assistant", blocks=(Thinking(text="t"), CALL)), thinking=True)
    assert piece.lost == ("reasoning",)
    assert sent(Thinking(text="t"), role="assistant") == []


@pytest.mark.parametrize(
    "arguments, shown",
    [
        ('{"b": 1,  "a": 2}', '{"b": 1,  "a": 2}'),
        ("", "{}"),
        (" ", "{}"),
        ('{"a":', '{"arguments":"{\\"a\\":"}'),
        ("[1]", '{"arguments":"[1]"}'),
        ("null", '{"arguments":"null"}'),
        ("\\", '{"arguments":"\\\\"}'),
    ],
)
def test_arguments_are_one_object_and_unchanged_when_they_came_so(arguments: str, shown: str) -> None:
    """Servers parse those of a history. What a server answers is what the model wrote."""
    message = Message(role="assistant", blocks=(ToolCall(id="a", name="t", arguments=arguments),))
    (piece,) = CODEC.message(message, thinking=True)
    assert json.loads(piece.data)["tool_calls"][0]["function"]["arguments"] == shown
    assert bool(piece.lost) == ("arguments" in shown)
    answer = CODEC.encode_response(Response(message=message, model="m"))["choices"][0]["message"]
    assert answer["tool_calls"][0]["function"]["arguments"] == arguments


def test_results_come_in_order_and_their_pictures_after_them() -> None:
    """A message of role tool holds text only: pictures follow in one user message that names each call."""
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    pieces = CODEC.results(
        [
            ToolResult(call_id="a", content=(Text(text="x"), Text(text="y"))),
            ToolResult(call_id="b", content=(Text(text="z"), Image(data=PNG))),
            ToolResult(call_id="c", is_error=True),
            ToolResult(call_id="d", content=(Image(data=PNG),), is_error=True),
        ]
    )
    assert [json.loads(piece.data) for piece in pieces] == [
        {"role": "tool", "tool_call_id": "a", "content": "x\n\ny"},
        {"role": "tool", "tool_call_id": "b", "content": "z\n\n[image: in the next user message]"},
        {"role": "tool", "tool_call_id": "c", "content": "[error] (no output)"},
        {"role": "tool", "tool_call_id": "d", "content": "[error] [image: in the next user message]"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "[images of the result of call b]"},
                picture,
                {"type": "text", "text": "[images of the result of call d]"},
                picture,
            ],
        },
    ]
    assert [piece.source for piece in pieces] == [0, 1, 2, 3, 1]
    assert [piece.role for piece in pieces] == ["tool", "tool", "tool", "tool", "user"]
    assert pieces[2].lost == ("is_error, told as text",)
    assert pieces[4].media_tokens > 0


def test_results_in_a_user_message_come_before_what_the_user_says() -> None:
    """Each wire message is a piece of its own."""
    pieces = sent(Text(text="go on"), ToolResult(call_id="a", content=(Text(text="x"),)))
    assert pieces == [
        {"role": "tool", "tool_call_id": "a", "content": "x"},
        {"role": "user", "content": "go on"},
    ]


@pytest.mark.parametrize(
    "raw",
    [
        {"role": "user", "content": "a", "name": "n"},
        {"role": "developer", "content": "a"},
        {"role": "assistant", "content": "a", "reasoning_content": "kept for a server that wants it back"},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"role": "assistant", "content": None, "tool_calls": [WIRE_CALL]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "t", "input": "free text"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": ""},
        {
            "role": "tool",
            "tool_call_id": "a",
            "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}],
        },
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                {"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}},
            ],
        },
    ],
)
def test_a_message_of_this_wire_is_written_as_it_came(raw: dict[str, Any]) -> None:
    """Unknown members, parts and forms survive."""
    (message,) = CODEC.decode_messages([raw])
    (piece,) = CODEC.message(message, thinking=True)
    assert json.loads(piece.data) == raw
    assert message.wire == "openai-chat"


def test_a_refusal_is_written_as_a_part() -> None:
    """A response tells it beside the content; a request can hold it in the content only."""
    (message,) = CODEC.decode_messages([{"role": "assistant", "content": None, "refusal": "no"}])
    assert sent(*message.blocks, role="assistant", wire="openai-chat") == [
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    ]


@pytest.mark.parametrize(
    "raw",
    [
        [{"role": "system", "content": "a"}],
        [{"role": "developer", "content": "a"}, {"role": "system", "content": "b", "name": "n"}],
        [
            {
                "role": "system",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "x": 1}],
            }
        ],
    ],
)
def test_leading_system_messages_keep_their_role_and_form(raw: list[dict[str, Any]]) -> None:
    """They become system blocks; a later one stays a message."""
    later = {"role": "system", "content": "later"}
    body = {"model": "m", "messages": [*raw, {"role": "user", "content": "hi"}, later]}
    request = CODEC.decode_request(body)
    assert len(request.system) == len(raw)
    assert json.loads(body_of(CODEC, request)) == body


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "t"}},
        {
            "type": "function",
            "function": {"name": "t", "description": "d", "parameters": {"b": 1}, "strict": True},
        },
        {"type": "custom", "custom": {"name": "t", "format": {"type": "text"}}},
    ],
)
def test_a_tool_is_written_as_it_came(tool: dict[str, Any]) -> None:
    """Members beside name, description and schema survive."""
    request = CODEC.decode_request({"model": "m", "messages": [], "tools": [tool]})
    assert json.loads(CODEC.tool(request.tools[0]).data) == tool
    assert CODEC.decode_tools([tool]) == list(request.tools)


@pytest.mark.parametrize(
    "limits, written",
    [
        ({"max_completion_tokens": 5}, {"max_completion_tokens": 5}),
        ({"max_tokens": 5}, {"max_tokens": 5}),
        ({"max_completion_tokens": 5, "max_tokens": 6}, {"max_completion_tokens": 5}),
        ({}, {}),
    ],
)
def test_the_output_limit_keeps_its_name(limits: dict[str, int], written: dict[str, int]) -> None:
    """Some servers of this wire know only the older name."""
    request = CODEC.decode_request({"model": "m", "messages": [], **limits})
    assert json.loads(body_of(CODEC, request)) == {"model": "m", "messages": [], **written}
    assert request.params.max_output == next(iter(written.values()), 0)


def test_long_ids_are_cut_and_stay_a_pair() -> None:
    """The provider takes ids of 40 characters."""
    id_ = "call_" + "x" * 80
    (message,) = sent(ToolCall(id=id_, name="t", arguments="{}"), role="assistant")
    (result,) = sent(ToolResult(call_id=id_))
    assert len(result["tool_call_id"]) == 40
    assert message["tool_calls"][0]["id"] == result["tool_call_id"]


def test_no_mark_is_put_on() -> None:
    """The wire has no marks of ours: units say so, and their bytes stay."""
    pieces = [
        *CODEC.keys(Params(model="m", max_output=1, keys={"tool_choice": "auto"})),
        CODEC.tool(ToolSpec(name="t")),
        CODEC.system(Text(text="s")),
        *CODEC.message(Message(role="user", blocks=(Text(text="a"),)), thinking=False),
        *CODEC.results([ToolResult(call_id="a")]),
    ]
    assert not any(piece.markable for piece in pieces)
    assert CODEC.mark(b"{}", "1h") == b"{}"


def test_a_block_of_another_wire_is_told_as_text() -> None:
    """What this wire has no word for is named in brackets."""
    block = Opaque(wire="anthropic", form="document", raw="{}")
    (piece,) = CODEC.message(Message(role="user", blocks=(block,)), thinking=False)
    assert json.loads(piece.data)["content"].startswith("[document of anthropic")
    assert piece.lost


@pytest.mark.parametrize(
    "block, role",
    [
        (Image(data=PNG), "assistant"),
        (CALL, "user"),
        (ToolResult(call_id="a"), "assistant"),
        (CALL, "system"),
    ],
)
def test_a_block_in_a_place_it_cant_have_is_told_as_text(block: Block, role: Role) -> None:
    """A foreign record's oddity doesn't make a request that the provider refuses."""
    (piece,) = CODEC.message(Message(role=role, blocks=(block,)), thinking=True)
    message = json.loads(piece.data)
    assert isinstance(message["content"], str)
    assert message["role"] == role
    assert piece.lost


def test_a_lone_surrogate_is_refused() -> None:
    """No wire takes it, so it is found before it is sent."""
    with pytest.raises(InvalidText):
        CODEC.message(Message(role="user", blocks=(Text(text="\ud800"),)), thinking=False)


def test_keys_that_foreword_writes_itself_are_refused() -> None:
    """Two members of one name would be two answers to one question."""
    with pytest.raises(MalformedRequest, match=r"params\.keys\.messages"):
        CODEC.keys(Params(model="m", max_output=1, keys={"messages": []}))


@pytest.mark.parametrize(
    "message, path",
    [
        (1, "messages.0"),
        ({"content": "x"}, "messages.0.role"),
        ({"role": "robot", "content": "x"}, "messages.0.role"),
        ({"role": "user", "content": 5}, "messages.0.content"),
        ({"role": "user", "content": [{"type": "text"}]}, "messages.0.content.0.text"),
        ({"role": "tool", "tool_call_id": 7, "content": "x"}, "messages.0.tool_call_id"),
        ({"role": "assistant", "tool_calls": [{"id": "a"}]}, "messages.0.tool_calls.0.function"),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"arguments": "{}"}}]},
            "messages.0.tool_calls.0.function.name",
        ),
    ],
)
def test_a_malformed_message_names_the_path(message: Any, path: str) -> None:
    """The error says where, in the wire's own words."""
    with pytest.raises(MalformedRequest) as caught:
        CODEC.decode_messages([message])
    assert caught.value.path == path


@pytest.mark.parametrize(
    "body, path",
    [
        ({"error": {"message": "m"}}, "error"),
        ({"model": "m", "choices": []}, "choices"),
        ({"model": "m", "choices": [{}]}, "choices.0.message"),
        ({"model": "m", "choices": [{"message": {"content": 3}}]}, "choices.0.message.content"),
    ],
)
def test_a_malformed_response_names_the_path(body: dict[str, Any], path: str) -> None:
    """An error body isn't read as a completion."""
    with pytest.raises(MalformedResponse) as caught:
        CODEC.decode_response(body)
    assert caught.value.path == path


def completion(**change: Any) -> dict[str, Any]:
    """Write a completion as the provider does."""
    message = {"role": "assistant", "content": "a", "refusal": None, "annotations": []}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]} | change


def test_an_sdk_object_is_read_like_a_plain_value() -> None:
    """A caller hands over what the SDK gave, response or message."""
    parsed = openai.types.chat.ChatCompletion.model_validate(completion())
    assert CODEC.decode_response(parsed) == CODEC.decode_response(completion())
    assert CODEC.decode_messages([parsed.choices[0].message]) == [CODEC.decode_response(completion()).message]


def test_further_choices_and_unknown_members_survive() -> None:
    """What has no place among the values is kept in the wire's form."""
    second = {"index": 1, "message": {"role": "assistant", "content": "b"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "cost": 0.1}
    body = completion(usage=usage, system_fingerprint="f")
    body["choices"].append(second)
    written = CODEC.encode_response(CODEC.decode_response(body))
    assert written["choices"][1] == second
    assert (written["system_fingerprint"], written["created"], written["usage"]["cost"]) == ("f", 1, 0.1)
    openai.types.chat.ChatCompletion.model_validate(written)


def test_a_response_of_a_stand_in_is_of_the_sdks_type() -> None:
    """A server that stands in for the provider answers in the provider's form."""
    usage = Usage(uncached=1, cache_read=2, cache_write_short=3, cache_write_long=0, output=5, reasoning=4)
    message = Message(role="assistant", blocks=(Thinking(text="t"), Text(text="a"), CALL))
    body = CODEC.encode_response(Response(message=message, model="m", stop_reason="tool_calls", usage=usage))
    parsed = openai.types.chat.ChatCompletion.model_validate(body | {"id": "r", "created": 1})
    assert parsed.usage is not None
    assert (parsed.usage.prompt_tokens, parsed.usage.total_tokens) == (6, 11)
    assert CODEC.decode_response(body).usage == usage


@pytest.mark.parametrize(
    "usage, expected",
    [
        ({}, Usage()),
        (
            {"prompt_tokens": 9, "completion_tokens": 1},
            Usage(uncached=9, cache_read=0, cache_write_short=0, cache_write_long=0, output=1),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(uncached=3, cache_read=4, cache_write_short=2, cache_write_long=0, output=5, reasoning=3),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2},
            },
            Usage(uncached=0, cache_read=8, cache_write_short=2, cache_write_long=0, output=5),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "prompt_cache_hit_tokens": 6,
                "prompt_cache_miss_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 6},
            },
            Usage(uncached=3, cache_read=6, cache_write_short=0, cache_write_long=0, output=5),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "prompt_cache_hit_tokens": 6,
                "prompt_cache_miss_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 7},
            },
            Usage(uncached=2, cache_read=7, cache_write_short=0, cache_write_long=0, output=5),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 5, "cached_tokens": 8},
            Usage(uncached=1, cache_read=8, cache_write_short=0, cache_write_long=0, output=5),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "cached_tokens": 8,
                "prompt_tokens_details": {"cached_tokens": 8},
            },
            Usage(uncached=1, cache_read=8, cache_write_short=0, cache_write_long=0, output=5),
        ),
    ],
)
def test_usage_is_mapped_to_the_six_buckets(usage: dict[str, Any], expected: Usage) -> None:
    """The cached part is taken out of the prompt, which includes it, and never below 0."""
    assert CODEC.usage_from(usage) == expected


def test_reasoning_that_a_server_wants_back_is_counted() -> None:
    """It is sent as a member of the message, so a tokenizer sees it."""
    raw = {"role": "assistant", "content": "a", "reasoning_content": "r"}
    (message,) = CODEC.decode_messages([raw])
    (piece,) = CODEC.message(message, thinking=False)
    assert piece.text == "r\na"


def test_function_calls_of_old_are_calls_and_results() -> None:
    """The form before tools (2023) is read in a history, and sent in the form that replaced it."""
    old = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "function_call": {"name": "get", "arguments": "{}"}},
        {"role": "function", "name": "get", "content": "Rain"},
    ]
    _, asked, returned = CODEC.decode_messages(old)
    assert asked.blocks == (ToolCall(id="function-get", name="get", arguments="{}"),)
    assert returned.blocks == (ToolResult(call_id="function-get", content=(Text(text="Rain"),)),)
