"""A server of the Chat wire that takes only the members of its API gets no other, and each server else its own back."""

from __future__ import annotations

import json
from typing import Any, get_type_hints

import pytest
from openai.types.chat import (
    chat_completion_assistant_message_param,
    chat_completion_content_part_image_param,
    chat_completion_content_part_refusal_param,
    chat_completion_content_part_text_param,
    chat_completion_developer_message_param,
    chat_completion_message_function_tool_call_param,
    chat_completion_system_message_param,
    chat_completion_tool_message_param,
    chat_completion_user_message_param,
)

from foreword.codecs import codec
from foreword.codecs.chat_members import MEMBERS
from foreword.core.block import Image, Message, Text, ToolResult, ToolSpec
from foreword.core.request import Params

RETURNED = {
    "reasoning": "r",
    "reasoning_details": [{"type": "reasoning.text", "text": "r"}],
    "reasoning_content": "r",
    "annotations": [],
    "provider_specific_fields": {"a": 1},
}
"""What servers of this wire give with an answer, beside what its API takes back."""


def sent(message: dict[str, Any], *, exact: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a message as it is sent again, and what got lost."""
    spoken = codec("openai-chat", exact=exact)
    (decoded,) = spoken.decode_messages([message])
    (piece,) = spoken.message(decoded, thinking=True)
    return json.loads(piece.data), piece.lost


def test_members_of_other_servers_are_left_out_and_told() -> None:
    """OpenAI's own refuses them with every later request, whoever gave them."""
    said = {"role": "assistant", "content": "a"}
    found, lost = sent(said | RETURNED, exact=True)
    assert found == said
    assert lost == tuple(f"member {name}" for name in RETURNED)


def test_members_of_a_server_go_back_to_it() -> None:
    """A gateway may want its reasoning back."""
    said = {"role": "assistant", "content": "a"} | RETURNED
    assert sent(said, exact=False) == (said, ())


def test_members_within_a_message_are_known_too() -> None:
    """Of parts and of calls; sound that was heard goes back by its id, and a part of an unknown type as it came."""
    message = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
            {"type": "new", "x": 1},
        ],
        "audio": {"id": "au", "data": "AAAA", "expires_at": 1, "transcript": "hi"},
        "tool_calls": [
            {
                "id": "c",
                "type": "function",
                "function": {"name": "t", "arguments": "{}", "parsed": {}},
                "extra_content": {"a": 1},
            }
        ],
    }
    found, lost = sent(message, exact=True)
    assert found == {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}, {"type": "new", "x": 1}],
        "audio": {"id": "au"},
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}],
    }
    assert set(lost) == {
        f"member {name}"
        for name in ("cache_control", "data", "expires_at", "transcript", "parsed", "extra_content")
    }


def test_results_tools_and_system_texts_hold_members_of_the_api_only() -> None:
    """Wherever a request is refused for one."""
    spoken = codec("openai-chat", exact=True)
    (message,) = spoken.decode_messages(
        [{"role": "tool", "tool_call_id": "c", "content": "x", "status": "ok"}]
    )
    (piece,) = spoken.message(message, thinking=True)
    assert json.loads(piece.data) == {"role": "tool", "tool_call_id": "c", "content": "x"}
    assert piece.lost == ("member status",)
    extra = {"openai-chat": {"cache_control": {"type": "ephemeral"}}}
    tool = ToolSpec(name="t", schema={"type": "object", "properties": {}}, extra=extra)
    assert "cache_control" not in json.loads(spoken.tool(tool).data)
    assert spoken.tool(tool).lost == ("member cache_control",)
    body = {"model": "m", "messages": [{"role": "system", "content": "s", "id": "x"}]}
    (system,) = spoken.decode_request(body).system
    assert json.loads(spoken.system(system).data) == {"role": "system", "content": "s"}


@pytest.mark.parametrize("wire", ["anthropic", "openai-responses", "gemini", "deepseek"])
def test_other_wires_know_no_such_difference(wire: str) -> None:
    """They are the same codec, whatever a profile says."""
    assert type(codec(wire, exact=True)) is type(codec(wire))
    assert codec(wire, exact=True).exact is False  # type: ignore[attr-defined]


def test_the_tables_say_what_the_sdk_says() -> None:
    """Every member that they name is one of the SDK's types, and none of these is missing but the old function call."""
    typed: dict[str, Any] = {
        "system": chat_completion_system_message_param.ChatCompletionSystemMessageParam,
        "developer": chat_completion_developer_message_param.ChatCompletionDeveloperMessageParam,
        "user": chat_completion_user_message_param.ChatCompletionUserMessageParam,
        "assistant": chat_completion_assistant_message_param.ChatCompletionAssistantMessageParam,
        "tool": chat_completion_tool_message_param.ChatCompletionToolMessageParam,
    }
    for role, kind in typed.items():
        older = {"name"} if role == "tool" else set()
        assert set(MEMBERS[role]) == set(kind.__annotations__) - {"function_call"} | older, role
    parts: dict[str, Any] = {
        "text": chat_completion_content_part_text_param.ChatCompletionContentPartTextParam,
        "image_url": chat_completion_content_part_image_param.ChatCompletionContentPartImageParam,
        "refusal": chat_completion_content_part_refusal_param.ChatCompletionContentPartRefusalParam,
    }
    for name, kind in parts.items():
        assert set(MEMBERS["user"]["content"][name]) == set(get_type_hints(kind)), name
    call = chat_completion_message_function_tool_call_param.ChatCompletionMessageFunctionToolCallParam
    assert set(MEMBERS["assistant"]["tool_calls"]["function"]) == set(get_type_hints(call))


@pytest.mark.parametrize(
    "name, fit", [("bob", "bob"), ("Bob Smith", "Bob_Smith"), ("a" * 80, "a" * 64), ("", "_")]
)
def test_the_name_of_who_speaks_is_one_that_is_taken(name: str, fit: str) -> None:
    """A space in it is refused with every later request; a fit name stays."""
    assert sent({"role": "user", "content": "a", "name": name}, exact=False)[0]["name"] == fit


@pytest.mark.parametrize("exact", [True, False])
def test_an_exact_server_reads_no_file_and_knows_one_limit(exact: bool) -> None:
    """The vendor refuses either for some models; local servers read their files and may know the older name only."""
    spoken = codec("openai-chat", exact=exact)
    params = Params(model="m", max_output=5, keys={"max_tokens": 5})
    closed = json.loads(spoken.close(None, params))
    assert closed == {"messages": [], "max_completion_tokens" if exact else "max_tokens": 5}
    picture = Image(url="file:///a.png")
    said = spoken.message(Message(role="user", blocks=(Text(text="see"), picture)), thinking=True)
    shown = spoken.results([ToolResult(call_id="c", content=(picture,))])
    for piece in (said[-1], shown[-1]):
        assert (b'"image_url"' in piece.data) == (not exact)
        assert b"file:///a.png" in piece.data
