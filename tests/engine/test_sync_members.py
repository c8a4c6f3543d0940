"""What a caller's list holds beside texts and calls, and lists cut otherwise than the log."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest

from foreword.core.event import EpochStarted, Repaired
from foreword.engine.session import Session
from foreword.errors import InvalidNumber
from tests.engine.sessions import answer_message, session
from tests.histories import referee_for, target_of

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "name": "ann", "content": "hi"},
    {"role": "assistant", "content": "look", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "bash", "content": "out"},
]
TEXT = {"type": "text", "text": "look"}
USE = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"x": 1}, "toolset_name": "set"}
MORE = {"type": "tool_use", "id": "c2", "name": "bash", "input": {}}
HI = {"role": "user", "content": "hi"}
RESULTS = {
    "role": "user",
    "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": "out", "toolset_name": "set"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
    ],
}
ANTHROPIC: list[dict[str, Any]] = [HI, {"role": "assistant", "content": [TEXT, USE, MORE]}, RESULTS]
RESPONSES: list[dict[str, Any]] = [
    {"role": "user", "content": "hi"},
    {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "x"},
    {"type": "custom_tool_call_output", "call_id": "c1", "output": "out"},
]


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    """An assistant's message."""
    return {"role": "assistant", "content": list(blocks)}


def legal(made: Session, body: bytes) -> dict[str, Any]:
    """Return a request that a referee takes."""
    assert made.target is not None
    assert referee_for(made.target, foreign=True).judge(body).violations == ()
    return json.loads(body)


def early(wire: str) -> list[Any]:
    """Return a list in which the results of both calls stand before them, and that of one behind, too."""
    if wire == "anthropic":
        results = [
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id_, "content": id_}]}
            for id_ in ("c0", "c2")
        ]
        return [HI, *results, said({**MORE, "id": "c0"}, MORE), results[1], HI]
    if wire == "gemini":
        result = {
            "role": "user",
            "parts": [{"functionResponse": {"name": "bash", "response": {"output": "x"}}}],
        }
        person = {"role": "user", "parts": [{"text": "hi"}]}
        return [
            person,
            result,
            {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}}}]},
            person,
        ]
    if wire == "openai-responses":
        asked, told = RESPONSES[1:]
        return [HI, told, asked, HI]
    return [HI, CHAT[3], CHAT[2], HI]


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "deepseek", "openai-responses", "gemini"])
def test_a_result_before_its_call(wire: str) -> None:
    """It answers none, which repairs record; the request is legal, and the list goes on in the same log."""
    made, listed = session(target_of(wire)), early(wire)
    legal(made, made.sync(listed).request.body)
    faults = [event.body.fault for event in made.events if isinstance(event.body, Repaired)]
    orphans = 2 if wire == "anthropic" else 1
    assert sorted(faults) == ["open_call", *["orphan_result"] * orphans]
    for _ in range(2):
        listed.append(listed[0])
        synced = made.sync(listed)
        legal(made, synced.request.body)
        assert (synced.appended, synced.forked_at) == (1, None)


def test_members_of_results_are_sent_again() -> None:
    """What the wire has and the model of blocks lacks stands beside a result as it stood in the list."""
    for wire, listed in (("anthropic", ANTHROPIC), ("openai-chat", CHAT), ("openai-responses", RESPONSES)):
        made = session(target_of(wire))
        body = legal(made, made.sync(listed).request.body)
        if wire == "anthropic":
            assert body["messages"][2]["content"] == RESULTS["content"]
        else:
            assert body["messages" if wire == "openai-chat" else "input"][-1] == listed[-1]


def test_the_name_of_who_speaks_is_sent_and_compared() -> None:
    """Another name is another speaker: an edit, and so a fork."""
    made = session(target_of("openai-chat"))
    made.sync(CHAT)
    assert made.sync(CHAT).forked_at is None
    edited = copy.deepcopy(CHAT)
    edited[1]["name"] = "bob"
    synced = made.sync(edited)
    assert synced.forked_at is not None
    assert legal(made, synced.request.body)["messages"][1] == edited[1]


@pytest.mark.parametrize("wire", ["openai-chat", "deepseek", "openai-responses"])
def test_a_system_message_taken_out_is_sent_no_more(wire: str) -> None:
    """It changes the instructions, so an epoch begins; one that the library set stays."""
    listed = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]
    made = session(target_of(wire))
    assert b"be brief" in made.sync(listed).request.body
    without = made.sync(listed[1:])
    assert without.forked_at is None
    assert b"be brief" not in without.request.body
    assert [event.body.why for event in made.events if isinstance(event.body, EpochStarted)] == [
        "start",
        "instructions",
    ]
    assert made.sync(listed[1:]).request.body == without.request.body
    made.instruct("be kind")
    assert b"be kind" in made.sync(listed[1:]).request.body


@pytest.mark.parametrize(
    "wire, listed",
    [
        ("anthropic", [HI, said({**USE, "input": {"x": math.nan}})]),
        ("anthropic", [{"role": "user", "content": [{"type": "document", "source": {"x": math.inf}}]}]),
        ("anthropic", [{"role": "user", "content": [{"type": "text", "text": "hi", "odd": math.nan}]}]),
        (
            "gemini",
            [
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"x": [-math.inf]}}}]},
            ],
        ),
    ],
)
def test_a_number_that_json_lacks_is_refused(wire: str, listed: list[dict[str, Any]]) -> None:
    """It would become null without a word; nothing is recorded."""
    made = session(target_of(wire))
    with pytest.raises(InvalidNumber):
        made.sync(listed)
    assert [event.kind for event in made.events] == ["session_opened"]


SPLITS = [
    [HI, said(TEXT), said(USE, MORE), RESULTS],
    [HI, said(TEXT, USE), said(MORE), RESULTS],
    [HI, said(TEXT), said(USE), said(MORE), RESULTS],
]


@pytest.mark.parametrize("split", SPLITS)
def test_one_message_told_in_several_is_the_same(split: list[dict[str, Any]]) -> None:
    """And several told in one: providers join neighbours of one role."""
    for first, second in ((ANTHROPIC, split), (split, ANTHROPIC), (split, SPLITS[0])):
        made = session(target_of("anthropic"))
        body = made.sync(first).request.body
        again = made.sync(second)
        assert (again.appended, again.forked_at, again.shortened) == (0, None, ())
        assert again.request.body == body
        grown = made.sync(
            [*second, {"role": "assistant", "content": "done"}, {"role": "user", "content": "on"}]
        )
        assert (grown.appended, grown.forked_at) == (2, None)
        legal(made, grown.request.body)


@pytest.mark.parametrize(
    "edited",
    [
        [HI, said(TEXT), said(USE), RESULTS],
        [HI, said(TEXT), HI, said(USE, MORE), RESULTS],
        [HI, said(TEXT), said({**USE, "input": {"x": 2}}, MORE), RESULTS],
        [HI, said(USE), said(TEXT, MORE), RESULTS],
        [HI, said(TEXT)],
    ],
)
def test_a_split_that_changes_something_is_an_edit(edited: list[dict[str, Any]]) -> None:
    """A block that is gone, moved or another, or words between the parts."""
    made = session(target_of("anthropic"))
    made.sync(ANTHROPIC)
    assert made.sync(edited).forked_at is not None


def test_a_response_that_was_recorded_matches_its_parts() -> None:
    """As when a client keeps text and calls of one response apart."""
    made = session(target_of("anthropic"))
    made.sync([HI])
    made.answered(answer_message("one"))
    made.answered(answer_message("two"))
    joined = said({"type": "text", "text": "one"}, {"type": "text", "text": "two"})
    synced = made.sync([HI, joined, {"role": "user", "content": "on"}])
    assert (synced.appended, synced.forked_at) == (1, None)


@pytest.mark.parametrize("depth", [900, 5_000])
def test_arguments_nested_without_measure_are_compared_as_a_text(depth: int) -> None:
    """A model that runs away writes them; the list goes on, and an edit in them is one."""
    made = session(target_of("openai-chat"))
    listed = copy.deepcopy(CHAT)
    listed[2]["tool_calls"][0]["function"]["arguments"] = '{"a":' * depth + "1" + "}" * depth
    assert made.sync(listed).forked_at is None
    listed.append({"role": "user", "content": "go on"})
    assert made.sync(listed).forked_at is None
    listed[2]["tool_calls"][0]["function"]["arguments"] = '{"a":' * depth + "2" + "}" * depth
    assert made.sync(listed).forked_at is not None


def test_a_block_nested_without_measure_is_compared_as_a_text() -> None:
    """Of a type that is not known."""
    deep: Any = 1
    for _ in range(700):
        deep = {"a": deep}
    made = session(target_of("anthropic"))
    listed: list[dict[str, Any]] = [{"role": "user", "content": [TEXT, {"type": "odd", "x": deep}]}]
    made.sync(listed)
    listed += [{"role": "assistant", "content": "so"}, HI]
    assert made.sync(listed).forked_at is None


@pytest.mark.parametrize(
    "part",
    [
        {"type": "thinking", "thinking": "hm"},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]},
        {"type": "hologram", "data": "x"},
    ],
    ids=lambda part: part["type"],
)
def test_a_part_of_an_answer_that_another_wire_has_is_no_edit_of_the_list(part: dict[str, Any]) -> None:
    """The answer is kept as it came, while a list that repeats it is read as that wire's."""
    made = session(target_of("openai-chat", model="qwen3.8-max"))
    listed: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
    for turn in range(2):
        assert made.sync(listed).forked_at is None
        said = {"role": "assistant", "content": [part, {"type": "text", "text": "so"}]}
        made.record({
            "id": f"r{turn}", "object": "chat.completion", "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": said}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
        })  # fmt: skip
        listed += [said, {"role": "user", "content": f"more {turn}"}]
    assert made.sync(listed).forked_at is None
