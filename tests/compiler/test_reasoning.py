"""Reasoning of answers to no request of ours, and of copies: words that nobody seals go back, sealed ones don't."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreword.core.block import Message, Text, Thinking, ToolCall
from foreword.core.event import Answered, Draft
from foreword.engine.session import Session
from tests.engine.sessions import session
from tests.histories import MODELS, from_scratch, referee_for, target_of

CALL = ToolCall(id="c", name="bash", arguments="{}")
LISTED: list[dict[str, Any]] = [
    {"role": "user", "content": "q"},
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": "second",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "out"},
]


def answered(*blocks: Any, wire: str, model: str | None = None) -> Answered:
    return Answered(message=Message(role="assistant", blocks=blocks, wire=wire), model=model)


def thoughts(made: Session) -> list[str | None]:
    """Compile, judge, and return the reasoning of each assistant message."""
    compiled = made.compile()
    assert made.target is not None
    assert referee_for(made.target, foreign=True).judge(compiled.body).violations == ()
    assert from_scratch(made, compiled).body == compiled.body
    messages: list[dict[str, Any]] = json.loads(compiled.body)["messages"]
    return [each.get("reasoning_content") for each in messages if each["role"] == "assistant"]


def followed(wire: str, *, origin: Any = "library", model: str | None = None) -> Session:
    """A session with two answers to one request: the second asked for a tool, and answers none of ours."""
    made = session(target_of(wire))
    made.say("q")
    made.compile()
    first = answered(Thinking(text="first", signature="S1"), Text(text="a"), wire=wire)
    made.append_answer(first)
    second = answered(Thinking(text="second", signature="S2"), CALL, wire=wire, model=model)
    made.append(Draft(body=second, origin=origin, trust="model", actor="model"))
    made.returned("c", "out")
    return made


def test_plain_reasoning_of_an_answer_to_no_request_of_ours_goes_back() -> None:
    """DeepSeek wants it beside calls, in every later request, and has nothing to seal it with."""
    made = followed("deepseek")
    assert thoughts(made) == ["first", "second"]
    listed = session(target_of("deepseek"))
    listed.sync(LISTED)
    assert thoughts(listed) == ["second"]


@pytest.mark.parametrize("given", [{"origin": "import:claude_code"}, {"model": "another"}])
def test_reasoning_of_others_does_not(given: dict[str, Any]) -> None:
    """What another tool recorded or another model thought is told by a space, as what was lost is."""
    assert thoughts(followed("deepseek", **given))[-1] == " "


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_sealed_reasoning_of_an_answer_to_no_request_is_left_out_with_a_true_word(wire: str) -> None:
    """Which prefix it is bound to is not known; nothing was rebuilt, and the note doesn't say so."""
    made = followed(wire)
    body = made.compile().body.decode()
    assert "S2" not in body
    assert "The reasoning of the steps above is not repeated here." in body


def test_a_copy_of_an_answer_stands_without_its_ids_and_its_reasoning() -> None:
    """A client that retries may list items twice; the provider takes each id once."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E1"}
    part = {"type": "output_text", "text": "a", "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "bash", "arguments": "{}"}
    made = session(target_of("openai-responses"))
    made.say("q")
    referee = referee_for(target_of("openai-responses"), foreign=True)
    for items in ([thought, said], [thought, said], [call], [{**call, "call_id": "d"}]):
        made.compile()
        made.record({"id": "r", "model": MODELS["openai-responses"], "output": items})
        for item in items:
            if item["type"] == "function_call":
                made.returned(item["call_id"], "out")
        made.say("again")
    compiled = made.compile()
    assert referee.judge(compiled.body).violations == ()
    assert from_scratch(made, compiled).body == compiled.body
    listed: list[dict[str, Any]] = json.loads(compiled.body)["input"]
    assert [item["id"] for item in listed if "id" in item] == ["rs_1", "msg_1", "fc_1"]
    assert sum(item.get("role") == "assistant" for item in listed) == 2


@pytest.mark.parametrize("wire", MODELS)
def test_reasoning_that_a_caller_made_blocks_of_goes_back(wire: str) -> None:
    """A loop that reads answers itself gives the words and the seal, and none of the wire's members."""
    made = session(target_of(wire))
    made.say("Mend the pipe.")
    made.compile()
    thought = Thinking(text="It leaks\nat the valve.", signature="c2VhbA==")
    calling = ToolCall(id="a", name="bash", arguments="{}")
    made.answered(Message(role="assistant", blocks=(thought, calling)))
    made.returned("a", "mended")
    body = made.compile().body
    assert (b"c2VhbA==" in body) is (wire in ("anthropic", "openai-responses", "gemini"))
