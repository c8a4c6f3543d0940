"""The OpenAI Responses wire, case by case."""

import json
from typing import Any

import openai.types.responses
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseInputItemParam, ToolParam
from pydantic import TypeAdapter

from foreword.codecs.decoded import Request, Response
from foreword.codecs.openai_responses import OpenAIResponsesCodec
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
from tests.codecs.values import responses_messages, tools

CODEC = OpenAIResponsesCodec()
WIRE = "openai-responses"
ITEM: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam)
PNG = "iVBORw0KGgpJRU5E"
CALL = ToolCall(id="a", name="t", arguments="{}")
WIRE_CALL = {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"}
PICTURE = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"}
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "why"}],
    "encrypted_content": "gAAAA+/=_-",
}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [
        {"type": "output_text", "text": "a", "annotations": []},
        {"type": "output_text", "text": "b", "annotations": [], "logprobs": []},
    ],
}
SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}
CALLED = WIRE_CALL | {"id": "fc_1", "status": "completed"}
CUSTOM = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** x", "id": "ctc_1"}
TURN = [REASONING, SAID, REASONING | {"id": "rs_2"}, SEARCH, REASONING | {"id": "rs_3"}, CALLED, CUSTOM]


def sent(*blocks: Block, role: Role = "user", wire: str | None = None, thinking: bool = True) -> list[Any]:
    """Encode one message and read each piece back as JSON."""
    message = Message(role=role, blocks=blocks, wire=wire)
    return [json.loads(piece.data) for piece in CODEC.message(message, thinking=thinking)]


def again(items: list[Any], *, thinking: bool = True) -> list[Any]:
    """Decode items and encode what they came to."""
    pieces = [
        piece
        for message in CODEC.decode_messages(items)
        for piece in CODEC.message(message, thinking=thinking)
    ]
    return [json.loads(piece.data) for piece in pieces]


@settings(max_examples=30, deadline=None)
@given(st.lists(responses_messages(), min_size=1, max_size=3), st.booleans())
def test_items_are_of_the_sdks_type(messages: list[Message], thinking: bool) -> None:
    """The official SDK's parameter type accepts each item, with the model's reasoning and without."""
    request = Request(
        params=Params(model="m", max_output=1), system=(Text(text="s"),), messages=tuple(messages)
    )
    for item in json.loads(body_of(CODEC, request, thinking=thinking))["input"]:
        ITEM.validate_python(item)


@settings(max_examples=30, deadline=None)
@given(tools)
def test_tools_are_of_the_sdks_type(tool: ToolSpec) -> None:
    """The official SDK's parameter type accepts each tool."""
    TypeAdapter(ToolParam).validate_python(json.loads(CODEC.tool(tool).data))


@pytest.mark.parametrize(
    "blocks, content",
    [
        ((Text(text="a"),), "a"),
        ((Text(text=" "), Text(text="a")), "a"),
        (
            (Text(text="a"), Text(text="b")),
            [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
        ),
        ((Text(text="a"), Image(data=PNG)), [{"type": "input_text", "text": "a"}, PICTURE]),
    ],
)
def test_a_user_message_is_a_string_or_parts(blocks: tuple[Block, ...], content: Any) -> None:
    """One text is a string; several texts, or a picture, are parts."""
    assert sent(*blocks) == [{"role": "user", "content": content}]


def test_a_turn_of_the_model_is_one_message_and_returns_item_by_item() -> None:
    """Reasoning, texts and calls stay in order, each item with every member that it came with."""
    (message,) = CODEC.decode_messages(TURN)
    assert [type(block) for block in message.blocks] == [
        Thinking, Text, Text, Thinking, Opaque, Thinking, ToolCall, ToolCall
    ]  # fmt: skip
    assert again(TURN) == TURN
    pieces = CODEC.message(message, thinking=True)
    assert [piece.source for piece in pieces] == [0, 1, 3, 4, 5, 6, 7]
    assert [piece.lost for piece in pieces] == [()] * 7


def test_without_its_reasoning_no_item_keeps_the_id_it_is_looked_up_by() -> None:
    """The provider refuses an item that lacks the reasoning it was returned with, and pairs them by id."""
    (message,) = CODEC.decode_messages(TURN)
    pieces = CODEC.message(message, thinking=False)
    assert [json.loads(piece.data) for piece in pieces] == [
        {"role": "assistant", "content": "a", "phase": "commentary"},
        {"role": "assistant", "content": "b"},
        {"role": "assistant", "content": "[web_search_call: completed\nq]"},
        {name: value for name, value in CALLED.items() if name != "id"},
        {name: value for name, value in CUSTOM.items() if name != "id"},
    ]
    assert pieces[0].lost == ("reasoning",)
    assert pieces[2].lost == ("an item of type web_search_call",)


def test_reasoning_that_came_without_its_content_takes_all_of_the_turns_along() -> None:
    """Only the encrypted content makes an item stand by itself; half a chain would be refused."""
    bare = {name: value for name, value in REASONING.items() if name != "encrypted_content"}
    assert again([bare, CALLED]) == [WIRE_CALL | {"status": "completed"}]
    assert again([REASONING, CALLED, bare, CUSTOM])[0] == WIRE_CALL | {"status": "completed"}


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    """An answer that was cut ends in it, and the provider refuses it alone."""
    assert again([REASONING]) == []
    assert again([REASONING, CALLED, REASONING | {"id": "rs_2"}]) == [REASONING, CALLED]
    (message,) = CODEC.decode_messages([CALLED, REASONING])
    assert [piece.lost for piece in CODEC.message(message, thinking=True)] == [("reasoning",)]


def test_reasoning_of_another_wire_is_never_sent() -> None:
    """A signature of another provider means nothing here."""
    thinking = Thinking(text="t", signature="s")
    assert sent(thinking, CALL, role="assistant", wire="anthropic") == [WIRE_CALL]
    assert sent(thinking, role="assistant", wire="anthropic") == []


@pytest.mark.parametrize(
    "item",
    [
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "e"},
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
        {
            "type": "shell_call_output",
            "call_id": "s",
            "output": [{"stdout": "x", "stderr": "", "outcome": {}}],
        },
        {"type": "additional_tools", "role": "developer", "tools": []},
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
        {"type": "compaction_trigger"},
        {"type": "mcp_approval_response", "approval_request_id": "r", "approve": True},
        {"type": "something_new", "x": [1, {"y": None}]},
    ],
)
def test_an_unknown_item_is_sent_as_it_came(item: dict[str, Any]) -> None:
    """Compaction and hosted items are the provider's business, with and without reasoning."""
    assert again([item]) == [item]
    assert again([item], thinking=False) == [item]


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": "a"},
        {"type": "message", "role": "user", "content": "a", "id": "msg_1", "status": "completed"},
        {"role": "developer", "content": "a"},
        {"role": "assistant", "content": "a"},
        {"type": "message", "role": "assistant", "content": "a"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}], "id": "m"},
        {"role": "assistant", "content": [], "id": "m"},
        {"type": "function_call_output", "call_id": "a", "output": ""},
        {"type": "function_call_output", "call_id": "a", "output": "x", "id": "fco", "status": "completed"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "x"},
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [{"type": "input_text", "text": "x"}, PICTURE, {"type": "input_file", "file_id": "f"}],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "input_text",
                    "text": "x",
                    "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"},
                },
                {"type": "input_image", "detail": "low", "image_url": "https://example.com/a.png"},
                {"type": "input_image", "detail": "auto", "file_id": "f"},
                {"type": "input_file", "file_data": "AAAA", "filename": "f.pdf"},
            ],
        },
    ],
)
def test_an_item_of_this_wire_is_written_as_it_came(item: dict[str, Any]) -> None:
    """Unknown members, parts and forms survive."""
    assert again([item]) == [item]


def test_a_string_is_what_the_user_says() -> None:
    """The short form of a request."""
    request = CODEC.decode_request({"model": "m", "input": "hi", "instructions": "s"})
    assert request.messages == (Message(role="user", blocks=(Text(text="hi"),), wire=WIRE),)
    assert request.system == (Text(text="s"),)


def test_system_blocks_are_one_string() -> None:
    """Pieces of `instructions`, whatever stands in them, joined by an empty line."""
    blocks = (Text(text='a "quoted"\nline \\'), Text(text="é\U0001f600"))
    request = Request(params=Params(model="m", max_output=0), system=blocks)
    body = json.loads(body_of(CODEC, request))
    assert body == {"model": "m", "instructions": 'a "quoted"\nline \\\n\né\U0001f600', "input": []}


def test_a_result_answers_in_the_kind_of_its_call() -> None:
    """The output of a custom tool is another item, even after it was rewritten."""
    (asked,) = CODEC.decode_messages([CALLED, CUSTOM])
    results = [ToolResult(call_id="a", content=(Text(text="x"),)), ToolResult(call_id="c")]
    pieces = CODEC.results(results, asked)
    assert [json.loads(piece.data) for piece in pieces] == [
        {"type": "function_call_output", "call_id": "a", "output": "x"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "(no output)"},
    ]
    assert [(piece.role, piece.source) for piece in pieces] == [("tool", 0), ("tool", 1)]


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
def test_a_result_in_the_kind_of_another_call_takes_that_of_its_own(kind: str) -> None:
    """Some clients answer every call in one form; the provider finds no output for such a call."""
    (asked,) = CODEC.decode_messages([CALLED if kind == "function_call" else CUSTOM])
    other = {"function_call": "custom_tool_call", "custom_tool_call": "function_call"}[kind]
    id_ = next(block.id for block in asked.blocks if isinstance(block, ToolCall))
    (said,) = CODEC.decode_messages([{"type": f"{other}_output", "call_id": id_, "output": "x"}])
    (result,) = said.blocks
    assert isinstance(result, ToolResult)
    named = ToolResult(call_id=id_, content=result.content, extra={WIRE: result.extra or {}})
    (piece,) = CODEC.results([named], asked)
    assert json.loads(piece.data)["type"] == f"{kind}_output"


def test_results_hold_pictures_and_tell_failure_in_words() -> None:
    """The wire takes parts in an output and has no error flag."""
    results = [
        ToolResult(call_id="a", content=(Text(text="x"), Image(data=PNG)), is_error=True),
        ToolResult(call_id="b", content=(Image(data=PNG),), is_error=True),
        ToolResult(call_id="c", is_error=True),
    ]
    pieces = CODEC.results(results)
    assert [json.loads(piece.data)["output"] for piece in pieces] == [
        [{"type": "input_text", "text": "[error] x"}, PICTURE],
        [{"type": "input_text", "text": "[error]"}, PICTURE],
        "[error] (no output)",
    ]
    assert pieces[0].media_tokens > 0
    assert all(piece.lost == ("is_error, told as text",) for piece in pieces)


def test_an_answer_of_no_text_is_left_out() -> None:
    """Unless reasoning led to it, which is refused without it."""
    said = {
        "type": "message",
        "role": "assistant",
        "id": "m",
        "content": [{"type": "output_text", "text": "a"}],
    }
    empty = said | {"id": "e", "content": [{"type": "output_text", "text": ""}]}
    assert again([empty]) == []
    assert again([said, empty, CALLED]) == [said, CALLED]
    assert again([REASONING, empty, CALLED]) == [REASONING, empty, CALLED]
    (message,) = CODEC.decode_messages([empty])
    assert len(CODEC.encode_response(Response(message=message, model="m"))["output"]) == 1


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
    assert json.loads(piece.data)["arguments"] == shown
    assert bool(piece.lost) == ("arguments" in shown)
    (item,) = CODEC.encode_response(Response(message=message, model="m"))["output"]
    assert item["arguments"] == arguments


def test_long_ids_are_cut_and_stay_a_pair() -> None:
    """The provider takes ids of 64 characters."""
    id_ = "call_" + "x" * 80
    (call,) = sent(ToolCall(id=id_, name="t", arguments="{}"), role="assistant")
    (result,) = sent(ToolResult(call_id=id_))
    assert len(call["call_id"]) == 64
    assert call["call_id"] == result["call_id"]


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "name": "t", "parameters": {"b": 1}, "strict": True},
        {"type": "function", "name": "t", "description": "d", "parameters": {"b": 1}, "strict": False},
        {"type": "function", "name": "t", "parameters": {"b": 1}, "strict": None, "defer_loading": True},
        {"type": "custom", "name": "t", "format": {"type": "text"}},
        {"type": "web_search", "search_context_size": "medium"},
        {"type": "mcp", "server_label": "s", "server_url": "https://example.com"},
    ],
)
def test_a_tool_is_written_as_it_came(tool: dict[str, Any]) -> None:
    """Members beside name, description and schema survive, and tools of the provider's own."""
    (spec,) = CODEC.decode_tools([tool])
    assert json.loads(CODEC.tool(spec).data) == tool


def test_a_foreign_schema_is_not_strict() -> None:
    """The provider's default would refuse a schema that wasn't written for it."""
    assert json.loads(CODEC.tool(ToolSpec(name="t", schema={"a": 1})).data)["strict"] is False
    (absent,) = CODEC.decode_tools([{"type": "function", "name": "t", "parameters": {"b": 1}}])
    assert json.loads(CODEC.tool(absent).data)["strict"] is None


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
    item = json.loads(piece.data)
    ITEM.validate_python(item)
    assert isinstance(item["content"], str)
    assert item["role"] == role
    assert piece.lost


def test_a_block_of_another_wire_is_told_as_text() -> None:
    """What this wire has no word for is named in brackets."""
    (item,) = sent(Opaque(wire="anthropic", form="document", raw="{}"))
    assert item["content"].startswith("[document of anthropic")


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


def test_what_is_refused() -> None:
    """A lone surrogate, and a member that Foreword writes itself."""
    with pytest.raises(InvalidText):
        sent(Text(text="\ud800"))
    with pytest.raises(MalformedRequest, match=r"params\.keys\.input"):
        CODEC.keys(Params(model="m", max_output=1, keys={"input": []}))


@pytest.mark.parametrize(
    "item, path",
    [
        (1, "input.0"),
        ({"content": "x"}, "input.0.role"),
        ({"role": "robot", "content": "x"}, "input.0.role"),
        ({"role": "user", "content": [{"type": "input_text"}]}, "input.0.content.0.text"),
        ({"type": "function_call", "call_id": 7, "name": "t", "arguments": "{}"}, "input.0.call_id"),
        ({"type": "function_call", "call_id": "a", "arguments": "{}"}, "input.0.name"),
        ({"type": "function_call_output", "call_id": [], "output": "x"}, "input.0.call_id"),
        ({"type": "reasoning", "summary": [5]}, "input.0.summary.0"),
    ],
)
def test_a_malformed_item_names_the_path(item: Any, path: str) -> None:
    """The error says where, in the wire's own words."""
    with pytest.raises(MalformedRequest) as caught:
        CODEC.decode_messages([item])
    assert caught.value.path == path


@pytest.mark.parametrize(
    "body, path",
    [
        ({"error": {"message": "m"}}, "error"),
        ({"model": "m"}, "output"),
        ({"model": "m", "output": [5]}, "output.0"),
        ({"output": []}, "model"),
    ],
)
def test_a_malformed_response_names_the_path(body: dict[str, Any], path: str) -> None:
    """An error body isn't read as a response."""
    with pytest.raises(MalformedResponse) as caught:
        CODEC.decode_response(body)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "state, reason",
    [
        ({"status": "completed"}, "completed"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "max_output_tokens",
        ),
        ({}, None),
    ],
)
def test_the_stop_reason_is_the_status_or_why_it_is_incomplete(
    state: dict[str, Any], reason: str | None
) -> None:
    """And it is written as the provider would."""
    response = CODEC.decode_response({"model": "m", "output": []} | state)
    assert response.stop_reason == reason
    written = CODEC.encode_response(response)
    assert {name: written[name] for name in state} == state


def test_a_response_is_of_the_sdks_type() -> None:
    """What a stand-in server writes reads as the provider's own, values of no wire included."""
    message = Message(role="assistant", blocks=(Text(text="a"), CALL))
    given = {"created_at": 1, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    usage = Usage(uncached=1, cache_read=2, cache_write_short=3, cache_write_long=4, output=5, reasoning=1)
    response = Response(
        message=message, model="m", stop_reason="completed", response_id="r", usage=usage, extra=given
    )
    parsed = openai.types.responses.Response.model_validate(CODEC.encode_response(response))
    assert parsed.output_text == "a"
    assert parsed.usage is not None
    assert parsed.usage.total_tokens == 15
    assert CODEC.decode_response(parsed).message.blocks[1] == CALL
    assert CODEC.decode_response(parsed).usage == usage


def test_the_state_of_an_answer_s_reasoning_stays_behind() -> None:
    """The API gives it and refuses it in a request; a stand-in server still gives it."""
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "status": "completed", "encrypted_content": "x"}
    said = {"role": "assistant", "content": "a"}
    asked = {name: member for name, member in item.items() if name != "status"}
    assert again([item, said]) == [asked, said]
    response = CODEC.decode_response({"model": "m", "status": "completed", "output": [item]})
    assert CODEC.encode_response(response)["output"] == [item]
