"""The DeepSeek Chat wire: where it differs from OpenAI's."""

import json
from typing import Any

import openai.types.chat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from foreword.codecs.decoded import Request
from foreword.codecs.deepseek import DeepSeekCodec
from foreword.core.block import Block, Message, Opaque, Role, Text, Thinking, ToolCall, ToolResult, ToolSpec
from foreword.core.request import Params
from foreword.core.usage import Usage
from foreword.errors import MalformedRequest, MalformedResponse
from tests.codecs.body import body_of
from tests.codecs.values import deepseek_messages

CODEC = DeepSeekCodec()
MESSAGE_PARAM: TypeAdapter[Any] = TypeAdapter(openai.types.chat.ChatCompletionMessageParam)
CALL = ToolCall(id="a", name="t", arguments="{}")
WIRE_CALL = {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [WIRE_CALL]}
ON, OFF = ({"thinking": {"type": word}} for word in ("enabled", "disabled"))
MINE, OTHER = Thinking(text="why"), Thinking(text="why", signature="s")


def sent(
    *blocks: Block,
    wire: str | None = "deepseek",
    thinking: bool = True,
    keys: dict[str, Any] | None = None,
    role: Role = "assistant",
) -> list[Any]:
    """Encode one message and read each piece back as JSON."""
    message = Message(role=role, blocks=blocks, wire=wire)
    params = None if keys is None else Params(model="m", max_output=1, keys=keys)
    return [json.loads(piece.data) for piece in CODEC.message(message, thinking=thinking, params=params)]


@pytest.mark.parametrize("keys", [None, {}, ON, {"thinking": None}, {"thinking": "disabled"}])
@pytest.mark.parametrize(
    "blocks, wire, thinking, reasoning",
    [
        ((MINE, CALL), "deepseek", True, {"reasoning_content": "why"}),
        ((Thinking(text=""), CALL), "deepseek", True, {"reasoning_content": ""}),
        ((MINE, Thinking(text="2"), CALL), "deepseek", True, {"reasoning_content": "why2"}),
        ((MINE, CALL), "deepseek", False, {"reasoning_content": " "}),
        ((CALL,), "deepseek", True, {"reasoning_content": " "}),
        ((OTHER, CALL), "anthropic", True, {"reasoning_content": " "}),
        ((CALL,), None, False, {"reasoning_content": " "}),
    ],
)
def test_a_message_with_calls_always_has_its_reasoning(
    blocks: tuple[Block, ...], wire: str | None, thinking: bool, reasoning: dict[str, str], keys: Any
) -> None:
    """Its own exactly, a space for what was lost or is another model's; the model thinks unless told not to."""
    assert sent(*blocks, wire=wire, thinking=thinking, keys=keys) == [CALLED | reasoning]


@pytest.mark.parametrize("blocks", [(MINE, CALL), (CALL,), (MINE, Text(text="x"))])
@pytest.mark.parametrize("thinking", [True, False])
def test_without_thinking_no_reasoning_is_sent(blocks: tuple[Block, ...], thinking: bool) -> None:
    """The request says so in its parameters."""
    (message,) = sent(*blocks, thinking=thinking, keys=OFF)
    assert "reasoning_content" not in message


def test_a_message_without_calls_has_only_its_own_reasoning() -> None:
    """The provider ignores it there, so nothing is made up."""
    said = {"role": "assistant", "content": "x"}
    assert sent(MINE, Text(text="x")) == [said | {"reasoning_content": "why"}]
    assert sent(MINE, Text(text="x"), thinking=False) == [said]
    assert sent(Text(text="x"), wire="anthropic") == [said]


def test_reasoning_that_is_not_sent_counts_as_lost() -> None:
    """And what is sent is read by the counter."""
    kept, lost = (
        CODEC.message(Message(role="assistant", blocks=(MINE, CALL), wire="deepseek"), thinking=own)[0]
        for own in (True, False)
    )
    assert (kept.lost, lost.lost) == ((), ("reasoning",))
    assert "why" in kept.text
    assert "why" not in lost.text


@settings(max_examples=30, deadline=None)
@given(st.lists(deepseek_messages(), min_size=1, max_size=3))
def test_messages_are_of_the_chat_sdks_type(messages: list[Message]) -> None:
    """The wire is that SDK's, with a member more."""
    request = Request(params=Params(model="m", max_output=1), messages=tuple(messages))
    for message in json.loads(body_of(CODEC, request))["messages"]:
        MESSAGE_PARAM.validate_python(message)


def test_the_output_limit_and_the_roles_have_their_older_names() -> None:
    """`max_tokens`, and no developer."""
    request = CODEC.decode_request({"model": "m", "messages": [], "max_tokens": 5, **ON})
    assert request.params == Params(model="m", max_output=5, keys=ON)
    assert json.loads(body_of(CODEC, request)) == {"model": "m", **ON, "messages": [], "max_tokens": 5}
    assert sent(Text(text="x"), role="developer", wire=None) == [{"role": "system", "content": "x"}]
    with pytest.raises(MalformedRequest, match="deepseek"):
        CODEC.keys(Params(model="m", max_output=1, keys={"max_tokens": 1}))


def test_members_and_parts_of_this_wire_return_and_those_of_openai_do_not() -> None:
    """Each wire's own, though their forms are the same."""
    raw = {"role": "user", "content": [{"type": "text", "text": "x", "mine": 1}, {"type": "new", "x": 2}]}
    (message,) = CODEC.decode_messages([raw])
    assert message.wire == "deepseek"
    assert sent(*message.blocks, role="user") == [raw]
    (foreign,) = sent(
        Opaque(wire="openai-chat", form="input_audio", raw="{}"), role="user", wire="openai-chat"
    )
    assert foreign["content"].startswith("[input_audio of openai-chat")
    tool = {"type": "function", "function": {"name": "t", "strict": True}}
    assert json.loads(CODEC.tool(CODEC.decode_tools([tool])[0]).data) == tool
    assert (
        "strict" not in CODEC.tool(ToolSpec(name="t", extra={"openai-chat": {"strict": True}})).data.decode()
    )


def test_results_are_those_of_the_chat_wire() -> None:
    """A message of role `tool` each."""
    (piece,) = CODEC.results([ToolResult(call_id="a", content=(Text(text="x"),))])
    assert json.loads(piece.data) == {"role": "tool", "tool_call_id": "a", "content": "x"}


def test_a_response_gives_reasoning_and_hits() -> None:
    """Reasoning stands first; hits and misses are the provider's own words."""
    message = {"role": "assistant", "content": "x", "reasoning_content": "why", "tool_calls": [WIRE_CALL]}
    usage = {
        "prompt_tokens": 100,
        "prompt_cache_hit_tokens": 64,
        "prompt_cache_miss_tokens": 36,
        "completion_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    body = {
        "id": "r",
        "model": "m",
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": usage,
    }
    response = CODEC.decode_response(body)
    assert response.message.blocks == (MINE, Text(text="x"), CALL)
    assert response.usage == Usage(
        uncached=36, cache_read=64, cache_write_short=0, cache_write_long=0, output=9, reasoning=4
    )
    assert CODEC.encode_response(response)["choices"][0]["message"] == message
    with pytest.raises(MalformedResponse) as caught:
        CODEC.decode_response({"model": "m", "choices": [{"message": {"reasoning_content": 5}}]})
    assert caught.value.path == "choices.0.message.reasoning_content"
