"""Worked examples, checked to the line."""

from __future__ import annotations

import json

from foreword.codecs.check import check
from foreword.compiler.excerpt import excerpt_lines
from foreword.compiler.passes.reduce import Level, levels
from foreword.compiler.policy import Policy
from foreword.core.event import Repaired, Rewritten
from tests.engine.sessions import judged, plain, session
from tests.histories import target_of

ERROR = "CMake Error at CMakeLists.txt:42 (find_package): Could not find OpenSSL"
LOG = "\n".join([*(f"-- line {n}" for n in range(1, 301)), ERROR])


def chat_history() -> list[dict[str, object]]:
    """Ten messages: system, task, and four calls with their results, three of them errors."""
    listed: list[dict[str, object]] = [
        {"role": "system", "content": "You build software."},
        {"role": "user", "content": "Make the build pass."},
    ]
    outputs = [
        "error: missing header a.h " * 60,
        "error: missing header b.h " * 60,
        "error: link " * 20,
        "ok",
    ]
    for number, output in enumerate(outputs, 1):
        function = {"name": "bash", "arguments": json.dumps({"command": f"make target{number}"})}
        listed.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
            }
        )
        listed.append({"role": "tool", "tool_call_id": f"call_{number}", "content": output})
    return listed


def test_a_long_log_keeps_its_error() -> None:
    """Of 301 lines stay the first 5 and the last 15, the error last, and 281 are named as hidden."""
    excerpt = excerpt_lines(LOG, head=5, tail=15)
    assert excerpt.head == tuple(f"-- line {n}" for n in range(1, 6))
    assert excerpt.tail == (*(f"-- line {n}" for n in range(287, 301)), ERROR)
    assert (excerpt.hidden_lines, excerpt.total_lines, excerpt.first_hidden) == (281, 301, 6)
    shown = excerpt.text.split("\n")
    assert len(shown) == 5 + 1 + 15
    assert shown[5] == "[... 281 of 301 lines hidden: 6 to 286 ...]"
    assert shown[-1] == ERROR


def test_ten_messages_become_a_task_a_summary_and_two_pairs() -> None:
    """Over budget, the ten messages are sent as system, task, one summary and the last two pairs, all whole."""
    listed = chat_history()
    assert check(listed, "openai-chat") == []
    made = session(target_of("openai-chat", 1_700, reserve_output=300))
    made.policy = Policy(
        name="golden", keep_interactions=2, clear_over=10_000, result_tokens=0, result_share=0.9, batch_share=0,
        low_water=0.5, min_gain=0.0, summary_ratio=0.3, reserve_tool_result=0.0,
    )  # fmt: skip
    compiled = made.sync(listed).request
    messages = plain(compiled.body)["messages"]
    assert [m["role"] for m in messages] == [
        "system",
        "user",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert messages[0] == listed[0]
    assert messages[1] == listed[1]
    assert messages[2]["content"].startswith('<foreword kind="summary">')
    assert "make target1" in messages[2]["content"]
    assert "make target2" in messages[2]["content"]
    for sent, given in zip(messages[3:], listed[6:], strict=True):
        assert {k: v for k, v in sent.items() if v is not None} == {
            k: v for k, v in given.items() if v is not None
        }
    assert check(messages, "openai-chat") == []
    assert [e.body.how for e in made.events if isinstance(e.body, Rewritten)] == ["summarized"]


def test_a_cut_call_is_named_and_repaired() -> None:
    """Without its first call the list has an orphan at index 2; the request leaves it out, and the log says so."""
    listed = chat_history()
    del listed[2]
    faults = check(listed, "openai-chat")
    assert [(fault.index, fault.rule) for fault in faults] == [(2, "orphan-result")]
    made = session(target_of("openai-chat"))
    compiled = made.sync(listed).request
    assert check(plain(compiled.body)["messages"], "openai-chat") == []
    assert judged(made).violations == ()
    repairs = [e.body for e in made.events if isinstance(e.body, Repaired)]
    assert [repair.fault for repair in repairs] == ["orphan_result"]
    assert made.events[repairs[0].event].kind == "tool_returned"
    assert b"a.h" not in compiled.body
    assert made.read(f"{made.alias}#{repairs[0].event}").text == "error: missing header a.h " * 60


def test_levels_rise_from_cheap_to_last() -> None:
    """The first level only clears; later ones keep less and summarise harder; the last merges everything old."""
    made = levels(6, 0.1)
    assert made[0] == Level(keep=6, ratio=0.0)
    assert [level.keep for level in made] == sorted((level.keep for level in made), reverse=True)
    assert made[-1].merge
    assert made[-1].keep >= 1
