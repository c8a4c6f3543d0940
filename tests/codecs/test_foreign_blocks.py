"""Blocks that stand in a list in another wire's form go out in the form of the wire that is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreword.codecs import CODECS, codec
from foreword.core.block import Image, Opaque, Text, Thinking, ToolCall, ToolResult
from foreword.engine.session import Session
from foreword.errors import MalformedRequest
from tests.histories import PIXEL, referee_for, target_of
from tests.sdk_types import validate

PDF = "JVBERi0xLjQKJUVPRg=="
PICTURES: dict[str, dict[str, Any]] = {
    "chat": {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "high"},
    },
    "responses": {
        "type": "input_image",
        "image_url": f"data:image/png;base64,{PIXEL}",
        "detail": "low",
    },
    "anthropic": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
        "cache_control": {"type": "ephemeral"},
    },
    "mcp": {"type": "image", "data": PIXEL, "mimeType": "image/png"},
    "framework": {"type": "image", "source_type": "base64", "data": PIXEL, "mime_type": "image/png"},
    "framework, later": {"type": "image", "base64": PIXEL, "mime_type": "image/png"},
}
OTHERS: dict[str, dict[str, Any]] = {
    "chat address": {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    "chat address alone": {"type": "image_url", "image_url": "https://example.com/a.png"},
    "chat audio": {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    "chat file": {
        "type": "file",
        "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
    },
    "chat file of the provider": {"type": "file", "file": {"file_id": "file-1"}},
    "responses text": {"type": "input_text", "text": "hi"},
    "responses answer": {"type": "output_text", "text": "hi", "annotations": []},
    "responses image of the provider": {"type": "input_image", "file_id": "file-1", "detail": "auto"},
    "responses file": {
        "type": "input_file",
        "filename": "a.pdf",
        "file_data": f"data:application/pdf;base64,{PDF}",
    },
    "responses file address": {"type": "input_file", "file_url": "https://example.com/a.pdf"},
    "anthropic text": {"type": "text", "text": "hi"},
    "anthropic image of the provider": {"type": "image", "source": {"type": "file", "file_id": "file-1"}},
    "anthropic document": {
        "type": "document",
        "title": "T",
        "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
    },
    "anthropic words": {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "words"},
    },
    "anthropic search result": {
        "type": "search_result",
        "source": "s",
        "title": "t",
        "content": [{"type": "text", "text": "found"}],
    },
    "anthropic reasoning": {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    "refusal": {"type": "refusal", "refusal": "no"},
    "mcp words": {"type": "resource", "resource": {"uri": "file:///a", "text": "abc"}},
    "mcp link": {"type": "resource_link", "uri": "file:///a", "name": "a"},
}
LISTED = sorted(set(CODECS) - {"gemini"})
"""Wires whose messages hold a list of content."""


def said(wire: str, role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """Return a message of a wire that holds parts as they stand."""
    if wire == "gemini":
        return {"role": "model" if role == "assistant" else role, "parts": list(parts)}
    return {"role": role, "content": list(parts)}


def words(wire: str, role: str, text: str) -> dict[str, Any]:
    """Return a message of a wire that says something."""
    if wire == "gemini":
        return said(wire, role, {"text": text})
    return {"role": role, "content": text}


def taken(wire: str, messages: list[Any]) -> dict[str, Any]:
    """Return the body that a list makes, which the referee takes and which is of the SDK's types."""
    session = Session.open(None, "s", target=target_of(wire))
    body = session.sync(messages).request.body
    verdict = referee_for(session.target).judge(body)  # type: ignore[arg-type]
    assert verdict.violations == ()
    validate(wire, body)
    return json.loads(body)


@pytest.mark.parametrize("form", PICTURES)
@pytest.mark.parametrize("wire", CODECS)
def test_a_picture_of_any_wire_is_shown_on_each(wire: str, form: str) -> None:
    """Its bytes go out in the form of the wire that is asked, wherever a list kept them in another one."""
    part = PICTURES[form]
    body = taken(wire, [said(wire, "user", part)])
    assert PIXEL in json.dumps(body)
    (message,) = codec(wire).decode_messages([said(wire, "user", part)])
    (block,) = message.blocks
    assert isinstance(block, Image)
    assert (block.media_type, block.data, block.url) == ("image/png", PIXEL, None)


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("wire", CODECS)
def test_a_block_of_any_wire_is_taken_by_each(wire: str, role: str) -> None:
    """In a form of its own, or told in words; in no request stands one that the provider refuses."""
    listed: list[Any] = [words(wire, "user", "q")]
    other = "assistant" if role == "user" else "user"
    parts = {**PICTURES, **OTHERS}
    if wire == "openai-responses":
        del parts["chat audio"]  # see `test_sound_stays...`
    for part in parts.values():
        listed += [said(wire, role, part), words(wire, other, "more")]
    taken(wire, [*listed, words(wire, "user", "more")])


@pytest.mark.parametrize("wire", CODECS)
def test_a_block_of_any_wire_is_taken_in_a_result(wire: str) -> None:
    """A tool's result may hold it: reasoning alone has no place there, and is refused with its own error."""
    parts = {**PICTURES, **OTHERS}
    if wire == "anthropic":
        with pytest.raises(MalformedRequest):
            codec(wire).decode_messages(pair(wire, [parts.pop("anthropic reasoning")]))
    listed: list[Any] = [words(wire, "user", "q")]
    for part in parts.values():
        listed += pair(wire, [part])
    taken(wire, [*listed, words(wire, "user", "more")])


def pair(wire: str, content: Any) -> list[dict[str, Any]]:
    """Return a call and its result in a wire's list."""
    match wire:
        case "anthropic":
            use = {"type": "tool_use", "id": "c", "name": "bash", "input": {}}
            back = {"type": "tool_result", "tool_use_id": "c", "content": content}
            return [said(wire, "assistant", use), said(wire, "user", back)]
        case "openai-responses":
            call = {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"}
            return [call, {"type": "function_call_output", "call_id": "c", "output": content}]
        case "gemini":
            call = {"id": "c", "name": "bash", "args": {}}
            back = {"id": "c", "name": "bash", "response": {"output": "x"}, "parts": content}
            return [
                said(wire, "model", {"functionCall": call}),
                said(wire, "user", {"functionResponse": back}),
            ]
        case _:
            call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
            asked = {"role": "assistant", "content": None, "tool_calls": [call]}
            return [asked, {"role": "tool", "tool_call_id": "c", "content": content}]


@pytest.mark.parametrize("wire", [*LISTED, "gemini"])
def test_calls_and_results_of_another_wire_stay_a_pair(wire: str) -> None:
    """A list that was kept for Anthropic is answered on each wire."""
    use = {"type": "tool_use", "id": "c", "name": "bash", "input": {"a": 1}}
    back = {"type": "tool_result", "tool_use_id": "c", "content": [PICTURES["chat"]], "is_error": False}
    listed = [words(wire, "user", "q"), said(wire, "assistant", use), said(wire, "user", back)]
    _, asked, answered = codec(wire).decode_messages(listed)
    (call,), (result,) = asked.blocks, answered.blocks
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.id, call.name, call.arguments, result.call_id) == ("c", "bash", '{"a":1}', "c")
    assert isinstance(result.content[0], Image)
    assert "unknown" not in json.dumps(taken(wire, listed))


def test_a_call_that_a_client_lists_twice_is_one() -> None:
    """Some clients keep a call among the parts of the content, too."""
    use = {"type": "tool_use", "id": "c", "name": "bash", "input": {}}
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    listed = [{"role": "assistant", "content": [use], "tool_calls": [call]}]
    (message,) = codec("openai-chat").decode_messages(listed)
    assert message.blocks == (ToolCall(id="c", name="bash", arguments="{}"),)


@pytest.mark.parametrize("wire", sorted(set(CODECS) - {"anthropic"}))
def test_a_seal_of_another_wire_stays_behind(wire: str) -> None:
    """In a message of this wire it would pass for this provider's, which can't open it."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    (message,) = codec(wire).decode_messages([said(wire, "assistant", thought)])
    assert message.blocks == (Thinking(text="hm"),)


def test_reasoning_of_a_chat_server_is_no_foreign_block() -> None:
    """One server of the wire gives parts of a type that Anthropic has, with a list in them, and wants them back."""
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    (message,) = codec("openai-chat").decode_messages([{"role": "assistant", "content": [part]}])
    (block,) = message.blocks
    assert isinstance(block, Opaque)
    assert (block.wire, json.loads(block.raw)) == ("openai-chat", part)


@pytest.mark.parametrize("wire", LISTED)
def test_a_type_that_nobody_knows_is_sent_as_it_came(wire: str) -> None:
    """A provider may have a type that is newer than the tables."""
    (message,) = codec(wire).decode_messages([said(wire, "user", {"type": "new", "x": 1})])
    assert message.blocks == (Opaque(wire=wire, form="new", raw='{"type":"new","x":1}'),)


@pytest.mark.parametrize("parts", [[{"type": "new"}], [{"type": 1}]])
def test_a_type_that_nobody_knows_is_refused_on_gemini(parts: list[Any]) -> None:
    """Its parts name no type, so the provider would; a member that is no name may be a new one."""
    message = said("gemini", "user", *parts)
    if parts == [{"type": 1}]:
        assert isinstance(codec("gemini").decode_messages([message])[0].blocks[0], Opaque)
        return
    with pytest.raises(MalformedRequest) as caught:
        codec("gemini").decode_messages([message])
    assert caught.value.path == "contents.0.parts.0"


def test_a_part_of_another_wire_keeps_its_spelling_on_gemini() -> None:
    """Only names of the wire's own are spelled anew, so that the other wire's reader knows them; system texts too."""
    body = {
        "systemInstruction": {"parts": [{"type": "text", "text": "s"}]},
        "contents": [said("gemini", "user", {"type": "text", "text": "t"}, PICTURES["chat"])],
    }
    request = codec("gemini").decode_request(body)
    text, picture = request.messages[0].blocks
    assert request.system == (Text(text="s"),)
    assert text == Text(text="t")
    assert isinstance(picture, Image)


@pytest.mark.parametrize("wire", ["anthropic", "openai-responses"])
def test_calls_in_the_form_of_chat_are_refused_where_they_would_be_lost(wire: str) -> None:
    """Their results would have no call, and the model would not know that it asked."""
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    with pytest.raises(MalformedRequest, match="OpenAI Chat") as caught:
        codec(wire).decode_messages([{"role": "assistant", "content": "a", "tool_calls": [call]}])
    assert caught.value.path.endswith("0.tool_calls")
    codec(wire).decode_messages([{"role": "assistant", "content": "a", "tool_calls": []}])


def test_a_message_in_another_form_is_refused_on_gemini() -> None:
    """A content without parts would say nothing in silence."""
    with pytest.raises(MalformedRequest, match="list of parts"):
        codec("gemini").decode_messages([{"role": "user", "content": "x"}])


def test_a_block_that_its_own_wire_can_not_read_is_refused_here() -> None:
    """With the place in the list that was given."""
    broken = {"type": "tool_use", "id": "c", "input": {}}
    with pytest.raises(MalformedRequest, match="tool_use of anthropic") as caught:
        codec("openai-chat").decode_messages([said("openai-chat", "assistant", broken)])
    assert (caught.value.wire, caught.value.path) == ("openai-chat", "messages.0.content.0")
    with pytest.raises(MalformedRequest, match="without source"):
        codec("anthropic").decode_messages([said("anthropic", "user", {"type": "image"})])


def test_an_item_among_the_parts_of_a_message_is_refused() -> None:
    """On the wire whose item it is: the provider takes it in the list itself only."""
    item = {"type": "reasoning", "summary": []}
    with pytest.raises(MalformedRequest, match="in the list itself"):
        codec("openai-responses").decode_messages([said("openai-responses", "user", item)])


def test_a_leading_system_message_holds_text_only() -> None:
    """Another part is told in it; parts of text stay as they came."""
    for part, content in ((PICTURES["anthropic"], None), ({"type": "text", "text": "a", "x": 1}, "raw")):
        body = {
            "model": "m",
            "messages": [said("openai-chat", "system", part), words("openai-chat", "user", "q")],
        }
        (system,) = codec("openai-chat").decode_request(body).system
        sent = json.loads(codec("openai-chat").system(system).data)
        assert sent["content"] == ([part] if content == "raw" else "[image image/png, not shown]")


def test_sound_stays_on_a_wire_that_the_sdk_does_not_say_takes_it() -> None:
    """The error text of Responses names its type among those it takes."""
    part = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    (message,) = codec("openai-responses").decode_messages([said("openai-responses", "user", part)])
    (piece,) = codec("openai-responses").message(message, thinking=True)
    assert json.loads(piece.data)["content"] == [part]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image"},
        {"type": "tool_use", "id": "c"},
        {"type": "new"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a", "signature": "S"}]},
        {"type": "document", "document": {"id": "d"}},
        {"type": "output_text"},
    ],
)
@pytest.mark.parametrize("wire", ["openai-chat", "gemini"])
def test_a_part_of_an_answer_is_kept_as_it_came(wire: str, part: dict[str, Any]) -> None:
    """A server may call a part as another wire does, and want it back; nor can it be asked for a second time."""
    message = said(wire, "assistant", part)
    answer = (
        {"choices": [{"message": message}]}
        if wire == "openai-chat"
        else {"candidates": [{"content": message}]}
    )
    (block,) = codec(wire).decode_response({"model": "m", **answer}).message.blocks
    assert isinstance(block, Opaque)
    assert json.loads(block.raw) == part
