"""The Gemini generateContent wire, case by case."""

import base64
import json
from typing import Any

import pytest
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.codecs.decoded import Request, Response
from foreword.codecs.gemini import GeminiCodec
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
from foreword.core.request import Params, unit_digest_input
from foreword.core.usage import Usage
from foreword.errors import InvalidText, MalformedRequest, MalformedResponse
from tests.codecs.body import as_unit, body_of
from tests.codecs.values import gemini_messages, tools

CODEC = GeminiCodec()
PNG = "iVBORw0KGgpJRU5E"
SIGNED = {"thoughtSignature": "Er0C+/8="}
PLACEHOLDER = base64.b64encode(b"skip_thought_signature_validator").decode()
CALL = ToolCall(id="a", name="t", arguments='{"b": 1,  "a": 2}')
WIRE_CALL = {"functionCall": {"id": "a", "name": "t", "args": {"b": 1, "a": 2}}}
SEARCH = {"googleSearch": {}}


def sent(*blocks: Block, role: Role = "user", wire: str | None = None, thinking: bool = True) -> list[Any]:
    """Encode one message and read each piece back as JSON."""
    message = Message(role=role, blocks=blocks, wire=wire)
    return [json.loads(piece.data) for piece in CODEC.message(message, thinking=thinking)]


def again(*parts: dict[str, Any], role: str = "model", thinking: bool = True) -> list[Any]:
    """Decode a content and encode what it came to."""
    (message,) = CODEC.decode_messages([{"role": role, "parts": list(parts)}])
    return [json.loads(piece.data) for piece in CODEC.message(message, thinking=thinking)]


@settings(max_examples=30, deadline=None)
@given(st.lists(gemini_messages(), min_size=1, max_size=3), st.booleans())
def test_contents_are_of_the_sdks_type(messages: list[Message], thinking: bool) -> None:
    """The official SDK's type accepts each content, with the model's signatures and without."""
    request = Request(params=Params(model="m", max_output=1), messages=tuple(messages))
    for content in json.loads(body_of(CODEC, request, thinking=thinking))["contents"]:
        for part in content["parts"]:
            # The parts that stand for an unknown one are of no real form.
            if "executableCode" not in part:
                types.Part.model_validate(part)
        assert content["role"] in ("user", "model")


@settings(max_examples=30, deadline=None)
@given(st.lists(tools, min_size=1, max_size=3))
def test_tools_are_of_the_sdks_type(given_: list[ToolSpec]) -> None:
    """The official SDK's type accepts the one list that all functions stand in."""
    request = Request(params=Params(model="m", max_output=1), tools=tuple(given_))
    (tool,) = json.loads(body_of(CODEC, request))["tools"]
    assert len(types.Tool.model_validate(tool).function_declarations or ()) == len(given_)


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "a"}],
        [{"text": "a", **SIGNED}],
        [{"text": "", **SIGNED}],
        [{"text": "why", "thought": True, **SIGNED}, {"text": "a"}],
        [{**WIRE_CALL, **SIGNED}, WIRE_CALL],
        [{"text": "a"}, {**WIRE_CALL, **SIGNED}],
        [{"functionCall": {"name": "t", "args": {}}, **SIGNED}],
        [{"functionCall": {"name": "t", "args": {}, "willContinue": True}, **SIGNED}],
        [
            {"executableCode": {"language": "PYTHON", "code": "1"}, **SIGNED},
            {"codeExecutionResult": {"output": "1"}},
        ],
        [{"toolCall": {"id": "x", "toolType": "GOOGLE_SEARCH", "args": {"some_key": 1}}}],
        [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
        [{"text": "a", "partMetadata": {"some_key": 1}}],
    ],
)
def test_a_part_of_this_wire_is_written_as_it_came(parts: list[dict[str, Any]]) -> None:
    """Every signature stands on the very part that it came on."""
    assert again(*parts) == parts


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
        {"inlineData": {"mimeType": "image/png", "data": PNG}, "mediaResolution": {"level": "LOW"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
        {"inlineData": {"mimeType": "image/png", "data": PNG, "displayName": "d"}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://example.com/a.png"}},
        {
            "fileData": {"mimeType": "video/mp4", "fileUri": "https://example.com/a"},
            "videoMetadata": {"fps": 1},
        },
        {"functionResponse": {"name": "t", "response": {"output": "x"}}},
        {"functionResponse": {"id": "a", "name": "t", "response": {"error": "x"}}},
        {"functionResponse": {"id": "a", "name": "t", "response": {}}},
        {"functionResponse": {"id": "a", "name": "t", "response": {"result": {"some_key": [1]}}}},
        {
            "functionResponse": {
                "id": "a",
                "name": "t",
                "response": {"output": {"x": 1}},
                "scheduling": "SILENT",
            }
        },
        {
            "functionResponse": {
                "id": "a",
                "name": "t",
                "response": {"output": "x"},
                "parts": [
                    {"inlineData": {"mimeType": "image/png", "data": PNG}},
                    {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
                ],
            }
        },
    ],
)
def test_a_users_part_of_this_wire_is_written_as_it_came(part: dict[str, Any]) -> None:
    """Unknown members and kinds survive; members inside a response keep their names."""
    assert again(part, role="user") == [part]


@pytest.mark.parametrize("wire, thinking", [("gemini", False), ("anthropic", True), (None, True)])
def test_a_call_that_this_model_did_not_sign_gets_the_placeholder(wire: str | None, thinking: bool) -> None:
    """On the first call of a step only; all other signatures and another's reasoning are left out."""
    extra = dict(SIGNED)
    blocks = (
        Thinking(text="why", signature="x"),
        Text(text="a", extra=extra),
        ToolCall(id="a", name="t", arguments="{}", extra=extra),
        ToolCall(id="b", name="t", arguments="{}"),
        Opaque(wire="gemini", form="executableCode", raw=json.dumps({"executableCode": {}, **SIGNED})),
    )
    pieces = CODEC.message(Message(role="assistant", blocks=blocks, wire=wire), thinking=thinking)
    if wire is None:  # blocks that a caller made himself: the seal is this provider's
        assert json.loads(pieces.pop(0).data) == {"text": "why", "thought": True, "thoughtSignature": "x"}
    assert [json.loads(piece.data) for piece in pieces] == [
        {"text": "a"},
        {"functionCall": {"id": "a", "name": "t", "args": {}}, "thoughtSignature": PLACEHOLDER},
        {"functionCall": {"id": "b", "name": "t", "args": {}}},
        {"executableCode": {}},
    ]
    assert [piece.source for piece in pieces] == [1, 2, 3, 4]
    assert pieces[0].lost == (() if wire is None else ("reasoning",))


def test_a_first_call_that_came_unsigned_gets_the_placeholder() -> None:
    """The provider refuses a step whose first call has none; the others have none anyway. A server answers as it is."""
    signed = {**WIRE_CALL, "thoughtSignature": PLACEHOLDER}
    assert again(WIRE_CALL, WIRE_CALL) == [signed, WIRE_CALL]
    assert again({**WIRE_CALL, "thoughtSignature": ""}) == [signed]
    assert again(WIRE_CALL, {**WIRE_CALL, **SIGNED}) == [signed, {**WIRE_CALL, **SIGNED}]
    assert again({"text": "why", "thought": True}, {"text": "a"}) == [{"text": "a"}]
    (message,) = CODEC.decode_messages([{"role": "model", "parts": [WIRE_CALL]}])
    answer = CODEC.encode_response(Response(message=message, model="m"))
    assert answer["candidates"][0]["content"]["parts"] == [WIRE_CALL]


def test_arguments_are_spliced_in_as_they_came() -> None:
    """A provider's cache sees the order and the spelling; what is no object becomes a member."""
    (piece,) = CODEC.message(Message(role="assistant", blocks=(CALL,)), thinking=True)
    assert b'"args":{"b": 1,  "a": 2}' in piece.data
    for arguments, args in (
        ("", {}),
        (" ", {}),
        ('{"a":', {"arguments": '{"a":'}),
        ("[1]", {"arguments": "[1]"}),
    ):
        (piece,) = CODEC.message(
            Message(role="assistant", blocks=(ToolCall(id="a", name="t", arguments=arguments),)),
            thinking=True,
        )
        assert json.loads(piece.data)["functionCall"]["args"] == args
        assert bool(piece.lost) == ("arguments" in args)


def test_results_come_before_what_the_user_says() -> None:
    """The provider wants them right after the calls."""
    parts = sent(Text(text="go on"), ToolResult(call_id="a"))
    assert [list(part) for part in parts] == [["functionResponse"], ["text"]]


def test_the_model_is_a_unit_without_bytes() -> None:
    """It stands in the URL; its digest still tells one model from another, and no comma is left behind."""
    one, other = (CODEC.keys(Params(model=model, max_output=1))[0] for model in ("a", "b"))
    assert one.data == b""
    assert unit_digest_input(one) != unit_digest_input(other)
    assert CODEC.close(as_unit(one), Params(model="a", max_output=0)) == b'"contents":[]}'
    keys = {"cachedContent": "c", "toolConfig": {}}
    request = Request(params=Params(model="a", max_output=0, keys=keys))
    assert body_of(CODEC, request) == b'{"cachedContent":"c","toolConfig":{},"contents":[]}'


@pytest.mark.parametrize(
    "order",
    [
        ["f"],
        ["s"],
        ["f", "f", "s"],
        ["s", "f", "f"],
        ["f", "s", "s", "f"],
    ],
)
def test_functions_share_a_list_and_served_tools_stand_beside_it(order: list[str]) -> None:
    """In the given order, whatever follows what."""
    specs = [
        ToolSpec(name=f"f{i}", schema={"type": "object"})
        if kind == "f"
        else ToolSpec(name="googleSearch", extra={"gemini": SEARCH})
        for i, kind in enumerate(order)
    ]
    request = Request(
        params=Params(model="m", max_output=0), tools=tuple(specs), system=(Text(text="a"), Text(text="b"))
    )
    body = json.loads(body_of(CODEC, request))
    found = [
        name
        for tool in body["tools"]
        for name in (
            [each["name"] for each in tool["functionDeclarations"]] if tool != SEARCH else ["googleSearch"]
        )
    ]
    assert found == [spec.name for spec in specs]
    assert body["systemInstruction"] == {"parts": [{"text": "a"}, {"text": "b"}]}
    assert CODEC.decode_request(body).tools == tuple(specs)


@pytest.mark.parametrize(
    "declaration",
    [
        {"name": "t"},
        {"name": "t", "description": "d", "parametersJsonSchema": {"b_c": 1}},
        {"name": "t", "parameters": {"type": "OBJECT", "properties": {"a_b": {"type": "STRING"}}}},
        {"name": "t", "parametersJsonSchema": {"b": 1}, "behavior": "BLOCKING"},
    ],
)
def test_a_declaration_is_written_as_it_came(declaration: dict[str, Any]) -> None:
    """The older form of a schema keeps its name; both are read."""
    (spec,) = CODEC.decode_tools([{"functionDeclarations": [declaration]}])
    assert json.loads(CODEC.tool(spec).data) == declaration
    assert spec.schema == (declaration.get("parametersJsonSchema") or declaration.get("parameters") or {})


def test_a_tool_of_several_members_is_taken_apart() -> None:
    """Functions and what the provider serves are tools of their own."""
    specs = CODEC.decode_tools(
        [{"functionDeclarations": [{"name": "t"}], "googleSearch": {}, "urlContext": {}}]
    )
    assert [spec.name for spec in specs] == ["t", "googleSearch"]
    assert json.loads(CODEC.tool(specs[1]).data) == {"googleSearch": {}, "urlContext": {}}


def test_names_with_underscores_and_sdk_objects_read_the_same() -> None:
    """The provider takes both spellings, and its SDK prints base64 in the URL's alphabet."""
    signature = base64.b64decode(SIGNED["thoughtSignature"])
    plain = {
        "role": "model",
        "parts": [
            {"functionCall": {"id": "a", "name": "t", "args": {"some_key": 1}}, **SIGNED},
            {"inlineData": {"mimeType": "image/png", "data": PNG}},
        ],
    }
    snake = {
        "role": "model",
        "parts": [
            {
                "function_call": {"id": "a", "name": "t", "args": {"some_key": 1}},
                "thought_signature": signature,
            },
            {"inline_data": {"mime_type": "image/png", "data": PNG}},
        ],
    }
    objects = types.Content.model_validate(snake)
    first, second, third = CODEC.decode_messages([plain, snake, objects])
    assert first == second == third
    assert CODEC.decode_messages(["hi"]) == [Message(role="user", blocks=(Text(text="hi"),), wire="gemini")]


def test_the_output_limit_stands_in_the_configuration() -> None:
    """Beside the members that came with it."""
    body = {
        "contents": [],
        "generationConfig": {"temperature": 0, "maxOutputTokens": 5},
        "labels": {"some_key": "x"},
    }
    request = CODEC.decode_request(body)
    assert request.params.max_output == 5
    assert json.loads(body_of(CODEC, request)) == body
    alone = {"contents": [], "generationConfig": {"maxOutputTokens": 5}}
    assert CODEC.decode_request(alone).params == Params(model="", max_output=5)
    assert json.loads(body_of(CODEC, CODEC.decode_request(alone))) == alone


@pytest.mark.parametrize(
    "block, role",
    [(CALL, "user"), (ToolResult(call_id="a"), "assistant"), (Opaque(wire="x", form="y", raw="{}"), "user")],
)
def test_a_block_in_a_place_it_cant_have_is_told_as_text(block: Block, role: Role) -> None:
    """A foreign record's oddity doesn't make a request that the provider refuses."""
    (piece,) = CODEC.message(Message(role=role, blocks=(block,)), thinking=True)
    assert list(json.loads(piece.data)) == ["text"]
    assert piece.lost


def test_a_system_message_among_the_contents_is_the_users() -> None:
    """The wire has no such role there."""
    (piece,) = CODEC.message(Message(role="developer", blocks=(Text(text="x"),)), thinking=False)
    assert piece.role == "user"
    assert piece.lost == ("a developer message, sent as a user's",)


def test_pictures_are_data_or_where_they_are() -> None:
    """And cost what the provider takes for one."""
    pieces = CODEC.message(
        Message(role="user", blocks=(Image(data=PNG), Image(url="https://example.com/a.png"), Image())),
        thinking=False,
    )
    assert [json.loads(piece.data) for piece in pieces[:2]] == [
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
        {"fileData": {"fileUri": "https://example.com/a.png"}},
    ]
    assert pieces[0].media_tokens > 0
    assert "not shown" in json.loads(pieces[2].data)["text"]


def test_what_is_refused() -> None:
    """A lone surrogate, and a member that Foreword writes itself."""
    with pytest.raises(InvalidText):
        sent(Text(text="\ud800"))
    with pytest.raises(MalformedRequest, match=r"params\.keys\.contents"):
        CODEC.keys(Params(model="m", max_output=1, keys={"contents": []}))


@pytest.mark.parametrize(
    "content, path",
    [
        (1, "contents.0"),
        ({"role": "robot", "parts": []}, "contents.0.role"),
        ({"parts": "x"}, "contents.0.parts"),
        ({"parts": [{"text": 5}]}, "contents.0.parts.0.text"),
        ({"parts": [{"functionCall": {"args": {}}}]}, "contents.0.parts.0.functionCall.name"),
        (
            {"parts": [{"functionResponse": {"name": 7, "response": {}}}]},
            "contents.0.parts.0.functionResponse.name",
        ),
    ],
)
def test_a_malformed_content_names_the_path(content: Any, path: str) -> None:
    """The error says where, in the wire's own words."""
    with pytest.raises(MalformedRequest) as caught:
        CODEC.decode_messages([content])
    assert caught.value.path == path


@pytest.mark.parametrize(
    "body, path",
    [
        ({"error": {"message": "m"}}, "error"),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "candidates"),
        ({"candidates": [{"content": {"parts": [{"text": 5}]}}]}, "candidates.0.content.parts.0.text"),
    ],
)
def test_a_malformed_response_names_the_path(body: dict[str, Any], path: str) -> None:
    """An error body, or a prompt that was blocked, isn't read as a response."""
    with pytest.raises(MalformedResponse) as caught:
        CODEC.decode_response(body)
    assert caught.value.path == path


def test_nesting_without_end_is_refused() -> None:
    """It is an error with a path, not a crash."""
    value: Any = {}
    for _ in range(100_000):
        value = {"x": value}
    with pytest.raises(MalformedRequest):
        CODEC.decode_messages([{"parts": [value]}])


@pytest.mark.parametrize(
    "usage, expected",
    [
        ({}, Usage()),
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12},
            Usage(uncached=10, cache_read=0, cache_write_short=0, cache_write_long=0, output=2),
        ),
        (
            {
                "promptTokenCount": 100,
                "cachedContentTokenCount": 60,
                "toolUsePromptTokenCount": 7,
                "candidatesTokenCount": 5,
                "thoughtsTokenCount": 3,
                "totalTokenCount": 115,
            },
            Usage(uncached=47, cache_read=60, cache_write_short=0, cache_write_long=0, output=8, reasoning=3),
        ),
        (
            {
                "promptTokenCount": 100,
                "toolUsePromptTokenCount": 7,
                "candidatesTokenCount": 8,
                "thoughtsTokenCount": 3,
                "totalTokenCount": 115,
            },
            Usage(uncached=107, cache_read=0, cache_write_short=0, cache_write_long=0, output=8, reasoning=3),
        ),
        (
            {"promptTokenCount": 10, "thoughtsTokenCount": 3, "totalTokenCount": 13},
            Usage(uncached=10, cache_read=0, cache_write_short=0, cache_write_long=0, output=3, reasoning=3),
        ),
        (
            {"promptTokenCount": 10, "totalTokenCount": 10},
            Usage(uncached=10, cache_read=0, cache_write_short=0, cache_write_long=0, output=0),
        ),
    ],
)
def test_usage_is_mapped(usage: dict[str, Any], expected: Usage) -> None:
    """Thoughts are beside the candidates unless the total says otherwise; server tools add to the input."""
    assert CODEC.usage_from(usage) == expected


def test_a_response_is_of_the_sdks_type() -> None:
    """What a stand-in server writes reads as the provider's own; a candidate without content is empty."""
    message = Message(role="assistant", blocks=(Text(text="a"), CALL), wire="gemini")
    usage = Usage(uncached=1, cache_read=2, cache_write_short=0, cache_write_long=0, output=5, reasoning=1)
    response = Response(message=message, model="m", stop_reason="STOP", response_id="r", usage=usage)
    parsed = types.GenerateContentResponse.model_validate(CODEC.encode_response(response))
    assert parsed.candidates
    assert parsed.candidates[0].finish_reason == types.FinishReason.STOP
    again = CODEC.decode_response(parsed)
    assert (again.message.blocks[0], again.usage, again.stop_reason) == (Text(text="a"), usage, "STOP")
    empty = CODEC.decode_response({"candidates": [{"finishReason": "MAX_TOKENS"}], "modelVersion": "m"})
    assert (empty.message.blocks, empty.stop_reason) == ((), "MAX_TOKENS")
