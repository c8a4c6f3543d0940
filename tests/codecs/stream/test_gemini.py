"""Gemini's responses in pieces: signatures, usage, blocked prompts, the array form."""

import json
import random
from typing import Any

import pytest

from foreword.codecs import codec
from foreword.codecs.stream.decoder import Decoder
from foreword.codecs.stream.streamed import MALFORMED, Delta, Failure, Streamed
from foreword.core.block import ToolCall
from tests.codecs.stream.streams import events, gemini_body, gemini_events, stream


def run(*payloads: Any, wire: str = "gemini") -> tuple[list[Delta], Streamed]:
    """Decode responses."""
    decoder = Decoder(wire)
    return decoder.feed(events(iter(payloads), named=False)), decoder.end()


def piece(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Write a response of some parts."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "m", **more}


def whole(*parts: dict[str, Any], finish: str = "STOP") -> Any:
    """Read the same parts given at once."""
    return codec("gemini").decode_response(piece(*parts, finish=finish))


@pytest.mark.parametrize("indent", [None, 2])
def test_the_array_form_is_the_same(indent: int | None) -> None:
    """Without `alt=sse` the responses come as one JSON array, cut anywhere; the deltas are the same."""
    listed = list(gemini_events(gemini_body(), random.Random(0)))
    body = json.dumps(listed, ensure_ascii=False, indent=indent).encode()
    decoder = Decoder("gemini")
    expected = Decoder("gemini").feed(stream("gemini", 0))
    assert [delta for i in range(0, len(body), 7) for delta in decoder.feed(body[i : i + 7])] == expected
    assert decoder.end().response == codec("gemini").decode_response(gemini_body())
    for place in range(0, len(body), 97):
        decoder = Decoder("gemini")
        decoder.feed(body[:place])
        assert decoder.end().state in ("incomplete", "complete")


def test_signed_parts_are_never_merged() -> None:
    """A signature in a last part without text stays there, and the text before it is joined."""
    signed = {"text": "", "thoughtSignature": "c2ln"}
    _, streamed = run(piece({"text": "Hel"}), piece({"text": "lo"}), piece(signed, finish="STOP"))
    assert streamed.response == whole({"text": "Hello"}, signed)
    _, streamed = run(piece({"text": "a", "thoughtSignature": "c2ln"}), piece({"text": "b"}, finish="STOP"))
    assert streamed.response == whole({"text": "a", "thoughtSignature": "c2ln"}, {"text": "b"})


def test_thoughts_and_text_stay_apart() -> None:
    """Only texts of one kind go on with each other."""
    thought = {"text": "t", "thought": True}
    deltas, streamed = run(
        piece(thought, thought, {"text": "a"}), piece({"text": "b"}), piece(thought, finish="STOP")
    )
    assert streamed.response == whole({"text": "tt", "thought": True}, {"text": "ab"}, thought)
    assert [(delta.kind, delta.block) for delta in deltas[:-1]] == [
        ("thinking", 0),
        ("thinking", 0),
        ("text", 1),
        ("text", 1),
        ("thinking", 2),
    ]


def test_the_last_usage_wins_and_may_come_after_the_end() -> None:
    """Usage stands on every piece; each is the whole so far."""
    first, last = (
        {"promptTokenCount": 9},
        {"promptTokenCount": 9, "candidatesTokenCount": 4, "totalTokenCount": 13},
    )
    _, streamed = run(piece({"text": "a"}, finish="STOP", usageMetadata=first), {"usageMetadata": last})
    assert streamed.state == "complete"
    assert streamed.usage == codec("gemini").usage_from(last)


@pytest.mark.parametrize("end", [{}, {"finishReason": None}])
def test_no_finish_reason_is_incomplete(end: dict[str, Any]) -> None:
    """Without a finish reason the stream was cut."""
    cut = piece({"text": "half"})
    cut["candidates"][0] |= end
    _, streamed = run(cut)
    assert streamed.state == "incomplete"
    assert streamed.response is not None


def test_a_call_that_goes_on_is_partial() -> None:
    """A call says itself that more of its arguments follow; one that came whole isn't partial."""
    call = {"functionCall": {"name": "f", "args": {"a": 1}}}
    more = {"functionCall": {"name": "g", "args": {}, "willContinue": True}}
    deltas, streamed = run(piece(call, more))
    assert streamed.response is not None
    assert [type(block) for block in streamed.response.message.blocks] == [ToolCall, ToolCall]
    assert streamed.partial == (1,)
    assert [delta.text for delta in deltas if delta.kind == "tool_call_arguments"] == ['{"a":1}', "{}"]


@pytest.mark.parametrize("wrapped", [True, False])
def test_an_error_fails_also_in_a_list(wrapped: bool) -> None:
    """Errors in a stream may be wrapped in a list; what came before is kept."""
    error: Any = {"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}
    body = json.dumps([error] if wrapped else error).encode()
    failure = Failure(type="UNAVAILABLE", code=503, message="m")
    decoder = Decoder("gemini")
    decoder.feed(events(iter([piece({"text": "half"})]), named=False) + b"data: " + body + b"\n\n")
    streamed = decoder.end()
    assert (streamed.state, streamed.error) == ("failed", failure)
    assert streamed.response is not None
    decoder = Decoder("gemini")
    decoder.feed(body)
    assert decoder.end() == Streamed(state="failed", error=failure)


def test_a_blocked_prompt_fails_with_its_reason() -> None:
    """A prompt that was refused has no candidate, so there is no response; its tokens are counted."""
    feedback = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    deltas, streamed = run(feedback)
    failure = Failure(type="prompt_blocked", code="SAFETY", message="the prompt was blocked")
    assert deltas[-1] == Delta(kind="error", error=failure)
    assert (streamed.state, streamed.error, streamed.response) == ("failed", failure, None)
    assert streamed.usage is not None


def test_members_beside_the_content_are_kept() -> None:
    """Ratings, grounding and further candidates stand in the response as if given at once."""
    first = piece({"text": "a"})
    first["candidates"].append({"index": 1, "content": {"parts": [{"text": "other"}]}})
    last = piece({"text": "b"}, finish="STOP")
    last["candidates"][0]["groundingMetadata"] = {"x": 1}
    _, streamed = run(first, last)
    body = piece({"text": "ab"}, finish="STOP")
    body["candidates"][0]["groundingMetadata"] = {"x": 1}
    body["candidates"].append({"index": 1, "content": {"role": "model", "parts": [{"text": "other"}]}})
    assert streamed.response == codec("gemini").decode_response(body)


def test_snake_case_is_read_throughout() -> None:
    """The provider takes both spellings, and gateways write either: the same deltas and the same response."""
    call = {"name": "f", "args": {"some_path": 1}}
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 1, "totalTokenCount": 6}
    camel = piece({"functionCall": call, "thoughtSignature": "c2ln"}, finish="STOP", usageMetadata=usage)
    snake = {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [{"function_call": call, "thought_signature": "c2ln"}],
                },
                "index": 0,
                "finish_reason": "STOP",
            }
        ],
        "model_version": "m",
        "usage_metadata": {"prompt_token_count": 5, "candidates_token_count": 1, "total_token_count": 6},
    }
    assert run(snake) == run(camel)
    assert run(snake)[1].usage is not None


@pytest.mark.parametrize(
    "bad",
    [
        5,
        {"candidates": {}},
        {"candidates": [5]},
        {"candidates": [{"index": "0"}]},
        {"candidates": [{"content": "x"}]},
        {"candidates": [{"content": {"parts": [5]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": 5}}]}}]},
        {"promptFeedback": "x"},
    ],
)
def test_pieces_of_a_wrong_form_fail_the_stream(bad: Any) -> None:
    """What is known but wrong fails, and what came before stays."""
    _, streamed = run(piece({"text": "kept"}), bad)
    assert streamed.error is not None
    assert (streamed.state, streamed.error.type) == ("failed", MALFORMED)
    assert streamed.response is not None
    assert streamed.response.message.blocks == whole({"text": "kept"}).message.blocks
