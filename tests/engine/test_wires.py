"""A session on each further wire: what the model said comes back as it was, and the request only grows."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from foreword.codecs import codec
from foreword.codecs.check import check
from foreword.codecs.gemini_parts import UNSIGNED
from foreword.core.block import Message, Text, Thinking, ToolCall, ToolSpec
from foreword.engine.session import Session
from tests.engine.sessions import session
from tests.histories import target_of

MODELS = {"openai-responses": "gpt-6.1-sol", "deepseek": "deepseek-flash", "gemini": "gemini-4-hydrogen"}
LISTS = {"openai-responses": "input", "deepseek": "messages", "gemini": "contents"}
ARGUMENTS = {"b": 1, "a": 2}
TOOL = ToolSpec(name="bash", description="d", schema={"type": "object"})


def responses_step(number: int) -> dict[str, Any]:
    """Write a response that reasons, speaks and calls twice, one of the tools a custom one (Responses)."""
    output = [
        {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"sealed{number}"},
        {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "let me see", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": "bash",
            "arguments": json.dumps(ARGUMENTS),
        },
        {
            "type": "custom_tool_call",
            "id": f"ctc_{number}",
            "call_id": f"patch_{number}",
            "name": "patch",
            "input": "x",
        },
    ]
    usage = {"input_tokens": 900, "output_tokens": 20}
    return {"id": f"resp_{number}", "model": "m", "status": "completed", "output": output, "usage": usage}


def deepseek_step(number: int) -> dict[str, Any]:
    """Write the like (DeepSeek)."""
    calls = [
        {"id": id_, "type": "function", "function": {"name": "bash", "arguments": json.dumps(ARGUMENTS)}}
        for id_ in (f"call_{number}", f"patch_{number}")
    ]
    message = {
        "role": "assistant",
        "content": "let me see",
        "reasoning_content": f"why{number}",
        "tool_calls": calls,
    }
    usage = {"prompt_tokens": 900, "completion_tokens": 20}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return {"id": "r", "model": "m", "choices": [choice], "usage": usage}


def gemini_step(number: int) -> dict[str, Any]:
    """Write the like (Gemini); only the first of parallel calls is signed."""
    calls = [
        {"functionCall": {"id": id_, "name": "bash", "args": ARGUMENTS}}
        for id_ in (f"call_{number}", f"patch_{number}")
    ]
    parts = [{"text": "let me see"}, calls[0] | {"thoughtSignature": f"signed{number:02}"}, calls[1]]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 900, "candidatesTokenCount": 20, "totalTokenCount": 920}
    return {"candidates": [candidate], "modelVersion": "m", "usageMetadata": usage}


STEPS: dict[str, Callable[[int], dict[str, Any]]] = {
    "openai-responses": responses_step,
    "deepseek": deepseek_step,
    "gemini": gemini_step,
}
PROOF = {"openai-responses": "sealed{}", "deepseek": "why{}", "gemini": "signed{:02}"}
"""What proves that the reasoning of a step is there."""


def begun(wire: str, window: int = 200_000, **more: Any) -> Session:
    """Open a session with instructions, a tool and a task."""
    made = session(target_of(wire, window, model=MODELS[wire], **more))
    made.instruct("You build software.", "Be brief.")
    made.offer([TOOL])
    made.say("Make the build pass.")
    return made


def step(made: Session, wire: str, number: int, output: str) -> bytes:
    """Compile, record the model's next step, and answer its calls; return what was sent."""
    body = made.compile().body
    made.record(STEPS[wire](number))
    made.returned(f"patch_{number}", "patched")
    made.returned(f"call_{number}", output)
    return body


def listed(wire: str, body: bytes) -> list[Any]:
    """Return the messages of a request that its provider takes."""
    found = json.loads(body)[LISTS[wire]]
    assert check(found, wire) == []
    return found


@pytest.mark.parametrize("wire", STEPS)
def test_a_request_only_adds_to_the_one_before(wire: str) -> None:
    """What the cache knows stands first, and the model's own steps return with all that they came with."""
    made = begun(wire)
    sent = [listed(wire, step(made, wire, number, f"output {number}")) for number in range(3)]
    last = made.compile().body
    sent.append(listed(wire, last))
    for before, after in pairwise(sent):
        assert after[: len(before)] == before
    for number in range(3):
        assert PROOF[wire].format(number) in last.decode()


@pytest.mark.parametrize("wire", STEPS)
def test_a_request_that_was_cut_is_one_that_the_provider_takes(wire: str) -> None:
    """Steps give way to their summary whole, with calls, results and reasoning."""
    made = begun(wire, 3_000, reserve_output=300)
    for number in range(12):
        listed(wire, step(made, wire, number, f"error: line {number}\n" * 60))
    assert len(made.view.fold.epochs) > 1
    listed(wire, made.compile().body)


@pytest.mark.parametrize("wire", STEPS)
def test_another_models_record_is_sent_without_its_reasoning(wire: str) -> None:
    """And with what this wire wants in its place."""
    made = begun(wire)
    thinking = Thinking(text="secret", signature="c2VjcmV0")
    blocks = (thinking, Text(text="x"), ToolCall(id="toolu_1", name="bash", arguments="{"))
    made.answered(Message(role="assistant", blocks=blocks, wire="anthropic"))
    made.returned("toolu_1", "done")
    body = made.compile().body
    listed(wire, body)
    assert b"secret" not in body
    assert b"c2VjcmV0" not in body
    stand_in = {
        "deepseek": '"reasoning_content":" "',
        "gemini": UNSIGNED,
        "openai-responses": '"call_id":"toolu_1"',
    }
    assert stand_in[wire] in body.decode()


def test_without_thinking_deepseek_gets_no_reasoning() -> None:
    """The request's own parameter says so."""
    made = begun("deepseek", keys={"thinking": {"type": "disabled"}})
    step(made, "deepseek", 0, "x")
    assert b"reasoning_content" not in made.compile().body


def test_a_rewritten_result_of_a_custom_tool_stays_one() -> None:
    """The provider pairs by the kind of the call."""
    made = begun("openai-responses", 3_000, reserve_output=300)
    made.compile()
    made.record(responses_step(0))
    made.returned("patch_0", "error: long\n" * 900)
    made.returned("call_0", "x")
    items = listed("openai-responses", made.compile().body)
    outputs = {item["call_id"]: item["type"] for item in items if item.get("type", "").endswith("_output")}
    assert outputs == {"call_0": "function_call_output", "patch_0": "custom_tool_call_output"}


@pytest.mark.parametrize("wire", STEPS)
def test_a_list_of_messages_that_a_caller_keeps_is_known_again(wire: str) -> None:
    """What the engine sent reads as what it has recorded: nothing is appended, nothing forked."""
    made = begun(wire, reader="none")
    step(made, wire, 0, "output")
    body = json.loads(made.compile().body)
    request = codec(wire).decode_request(body)
    synced = made.sync(body[LISTS[wire]])
    assert (synced.appended, synced.forked_at, synced.shortened) == (0, None, ())
    assert request.params.max_output > 0
