"""A caller's own cache marks: they stay on what they marked, as far as the model's limit goes."""

from __future__ import annotations

import json
from typing import Any

from foreword.compiler.policy import Policy
from foreword.core.event import MarksSet
from foreword.engine.session import Session
from tests.histories import counting_clock, referee_for, target_of

MARK = {"cache_control": {"type": "ephemeral"}}
LONG = "Answer in one word, and in the language of the question. " * 300


def opened() -> Session:
    return Session.open(None, "caller", target=target_of("anthropic"), clock=counting_clock())


def texts_marked(body: dict[str, Any]) -> list[str]:
    """Return the beginnings of the marked texts, names and ids, in the order of the request."""
    found: list[str] = []
    for tool in body.get("tools", []):
        found += [tool["name"]] if "cache_control" in tool else []
    for block in [*body.get("system", []), *(b for m in body["messages"] for b in m["content"])]:
        name = block.get("text") or block.get("id") or block.get("tool_use_id")
        found += [name[:8]] if "cache_control" in block else []
    return found


def test_a_mark_stays_on_its_block() -> None:
    """A mark on the first of two blocks stands there, beside those without which nothing would be read."""
    made = opened()
    blocks = [{"type": "text", "text": f"context {LONG}", **MARK}, {"type": "text", "text": "question"}]
    synced = made.sync([{"role": "user", "content": blocks}], system=f"rules of {LONG}")
    assert texts_marked(synced.body) == ["rules of", "context ", "question"]
    assert synced.request.warnings == ()


def test_only_the_caller_s_marks_stand_where_none_are_to_be_planned() -> None:
    """A policy may leave all planning to the caller, who may also set none."""
    made = opened()
    made.policy = Policy(plan_marks=False)
    blocks = [{"type": "text", "text": f"context {LONG}", **MARK}, {"type": "text", "text": "question"}]
    assert texts_marked(made.sync([{"role": "user", "content": blocks}], system=LONG).body) == ["context "]
    blocks = [{"type": "text", "text": block["text"]} for block in blocks]
    assert texts_marked(made.sync([{"role": "user", "content": blocks}], system=LONG).body) == []


def test_marks_move_without_changing_what_was_sent() -> None:
    """A caller that marks its newest message each time moves a mark; no unit changes, and no event repeats."""
    made = opened()
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": LONG, **MARK}]}]
    before = made.sync(messages).request
    for number in range(4):
        messages[-1]["content"] = [{**messages[-1]["content"][0]}]
        messages[-1]["content"][0].pop("cache_control")
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"answer {number}"}]})
        messages.append({"role": "user", "content": [{"type": "text", "text": f"again {number}", **MARK}]})
        request = made.sync(messages).request
        assert request.units[: before.size] == before.units
        assert texts_marked(made.sync(messages).body)[-1] == f"again {number}"
        before = request
    assert sum(isinstance(event.body, MarksSet) for event in made.events) == 5


def test_one_budget_for_all_marks() -> None:
    """Seven marks of a caller: the ends of head and request stand, four in all, and a warning tells the rest."""
    made = opened()
    tools = [{"name": f"tool_{n}", "input_schema": {"type": "object"}, **MARK} for n in range(2)]
    tools[0]["description"] = LONG
    system = [{"type": "text", "text": f"part {n} {LONG}", **MARK} for n in range(2)]
    messages = [
        {
            "role": "assistant" if n % 2 else "user",
            "content": [{"type": "text", "text": f"said {n}.", **MARK}],
        }
        for n in range(3)
    ]
    synced = made.sync(messages, system=system, tools=tools)
    marked = texts_marked(synced.body)
    assert len(marked) == 4
    assert {"said 2.", "part 1 A"} <= set(marked)
    [warned] = synced.request.warnings
    assert (warned.code, warned.numbers) == ("cache_marker_budget", {"left_out": 3, "limit": 4})
    assert referee_for(made.target).judge(synced.request.body).status == 200


def test_four_marks_of_a_caller_leave_no_room_for_that_of_the_base() -> None:
    """They stand, and the one that the engine would add after the base is told of."""
    made = opened()
    messages = [
        {
            "role": "assistant" if n % 2 else "user",
            "content": [{"type": "text", "text": f"said {n}.", **({} if n % 2 else MARK)}],
        }
        for n in range(7)
    ]
    synced = made.sync(messages, system=LONG)
    assert texts_marked(synced.body) == ["said 0.", "said 2.", "said 4.", "said 6."]
    [warned] = synced.request.warnings
    assert (warned.code, warned.numbers) == ("cache_marker_budget", {"left_out": 1, "limit": 4})


def test_a_mark_on_results_stands_on_the_marked_one() -> None:
    """Of three parallel results the marked one has the mark, also where it stood on a part inside the result."""
    made = opened()
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}} for n in range(3)]
    results: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": f"t{n}", "content": [{"type": "text", "text": f"{n}"}]}
        for n in range(3)
    ]
    results[1]["content"][0] |= MARK
    messages = [
        {"role": "user", "content": LONG},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
        {"role": "assistant", "content": [{"type": "text", "text": "ok"}]},
        {"role": "user", "content": "y"},
    ]
    marked = texts_marked(made.sync(messages).body)
    assert [name for name in marked if name.startswith("t")] == ["t1"]


def test_marks_of_what_was_not_given_again_stay() -> None:
    """Tools and system text that a call leaves unchanged keep their marks; an empty wish takes them away."""
    made = opened()
    system = [{"type": "text", "text": f"first {LONG}", **MARK}, {"type": "text", "text": "second"}]
    messages = [{"role": "user", "content": "one"}]
    assert "first An" in texts_marked(made.sync(messages, system=system).body)
    messages += [{"role": "assistant", "content": "1"}, {"role": "user", "content": "two"}]
    assert len(made.view.fold.marks) == 1
    made.sync(messages)
    assert len(made.view.fold.marks) == 1
    made.sync(messages, system=[{"type": "text", "text": part["text"]} for part in system])
    assert made.view.fold.marks == ()


def test_marks_in_chat_form_arrive_in_anthropics() -> None:
    """On the system text, a result and a user's part, with their lives; a mark moved on in the list moves here too."""
    made = Session.open(None, "chat", target=target_of("openai-chat"), clock=counting_clock())
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    call = {"id": "v1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": [{"type": "text", "text": f"rules of {LONG}", **hour}]},
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "v1", "content": LONG, **MARK},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "next"},
    ]
    made.sync(messages)
    marks = made.view.fold.marks
    made.sync(messages)
    assert made.view.fold.marks == marks
    made.target = target_of("anthropic")
    body = json.loads(made.compile().body)
    assert texts_marked(body)[-3:] == ["rules of", "v1", "next"]
    assert body["system"][0]["cache_control"]["ttl"] == "1h"
    messages[0]["content"] = f"rules of {LONG}"
    made.target = target_of("openai-chat")
    made.sync(messages)
    assert [mark.section for mark in made.view.fold.marks] == ["message"]
