"""Lists of messages: what each wire's words become, and how sessions are told apart."""

import gzip
import json
import time
from typing import Any

import pytest

from foreword.core.block import Text, ToolCall, ToolResult
from foreword.core.event import (
    Answered,
    Draft,
    ForeignNoted,
    InstructionsSet,
    Said,
    ToolReturned,
    ToolsSet,
    UnseenPrefix,
)
from foreword.core.usage import Usage
from foreword.errors import ImportFailed
from foreword.importers.imported import Imported
from foreword.importers.read import read
from tests.importers.claude_file import codes, story


def chat_call(id_: str, name: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "You book rooms."},
    {"role": "user", "content": "A room for two."},
    {"role": "assistant", "content": None, "tool_calls": [chat_call("c1", "find", '{"beds": 2}')]},
    {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "Room 4"},
    {"role": "assistant", "content": "Room 4?"},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Yes."},
]
PLAIN: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
"""Text that stands in blocks, as both wires have it."""
BLOCKS: list[dict[str, Any]] = [
    {"role": "user", "content": "List it."},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "a.c", "is_error": True},
            {"type": "text", "text": "Only C files."},
        ],
    },
]
TOOL = {"name": "bash", "description": "Run.", "input_schema": {"type": "object", "properties": {}}}


def imported(value: Any, name: str = "talk.json", **more: Any) -> Imported:
    [one] = read(name, data=json.dumps(value).encode(), **more)
    return one


def bodies(one: Imported, kind: type) -> list[Any]:
    return [draft.body for draft in one.drafts if isinstance(draft.body, kind)]


def jsonl(*values: Any) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def test_a_chat_list_becomes_a_session() -> None:
    """The leading system text is the instructions, a later one is said; stubs stand first."""
    one = imported(CHAT)
    assert one.format == "openai-chat"
    assert bodies(one, InstructionsSet) == [InstructionsSet(blocks=(Text(text="You book rooms."),))]
    assert story(one) == [
        "person: A room for two.",
        "model: c1",
        "result c1",
        "model: Room 4?",
        "operator: Be brief.",
        "person: Yes.",
    ]
    [call] = bodies(one, Answered)[0].message.blocks
    assert call == ToolCall(id="c1", name="find", arguments='{"beds": 2}')
    assert isinstance(one.drafts[0].body, ToolsSet)
    assert one.drafts[0].body.tools[0].schema["properties"] == {"beds": {}}


def test_repeated_ids_stay_as_they_are() -> None:
    """Pairing is by order; the record keeps what the file says."""
    again = [*CHAT[:4], *CHAT[2:4]]
    assert [r.result.call_id for r in bodies(imported(again), ToolReturned)] == ["c1", "c1"]


def test_foreign_members_of_a_bare_result_stand_under_their_wire() -> None:
    """So that they are sent on that wire only."""
    [returned] = bodies(imported(CHAT), ToolReturned)
    assert returned.result == ToolResult(
        call_id="c1", content=(Text(text="Room 4"),), extra={"openai-chat": {"name": "find"}}
    )


def test_function_calls_of_old_are_tool_calls() -> None:
    """The call and the result of a function share an id made of its name."""
    old = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "function_call": {"name": "get", "arguments": "{}"}},
        {"role": "function", "name": "get", "content": "Rain"},
    ]
    assert story(imported(old)) == ["person: Weather?", "model: function-get", "result function-get"]


def test_usage_and_model_of_a_kept_response_are_read() -> None:
    """In `response` or `extra.response`; then the unseen part of the prompt is inferred."""
    usage = {"prompt_tokens": 900, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 600}}
    response = {"id": "r1", "model": "gpt-6.1", "usage": usage, "choices": [{"finish_reason": "stop"}]}
    for kept in ({"response": response}, {"extra": {"response": response}}):
        one = imported([CHAT[1], {**CHAT[4], **kept}])
        [answer] = bodies(one, Answered)
        assert answer.usage == Usage(
            uncached=300, cache_read=600, cache_write_short=0, cache_write_long=0, output=4, reasoning=None
        )
        assert (answer.model, answer.stop_reason, answer.response_id) == ("gpt-6.1", "stop", "r1")
        assert answer.message.extra is None
        assert 880 < bodies(one, UnseenPrefix)[0].tokens < 900


def test_members_that_no_request_holds_are_left_out_and_named() -> None:
    """A reward or a time stamp beside a message is never sent."""
    one = imported([{**CHAT[1], "reward": 1}, CHAT[4]])
    assert bodies(one, Said)[0].message.extra is None
    assert [flaw.text.split(" is")[0] for flaw in one.flaws] == ["member reward of 1 messages"]


def test_result_rows_are_a_session_each() -> None:
    """Named by file, task and trial; a second row of the same task and trial is numbered."""
    rows = [
        {"task_id": task, "trial": trial, "traj": CHAT} for task, trial in ((0, 0), (0, 1), (3, 0), (3, 0))
    ]
    names = ["air-0-0", "air-0-1", "air-3-0", "air-3-0-2"]
    assert [one.session for one in read("air.jsonl", data=jsonl(*rows))] == names
    assert [one.session for one in read("air.json", data=json.dumps(rows).encode())] == names


def test_an_anthropic_document_becomes_a_session() -> None:
    """System, tools and model are read; results come before the words beside them."""
    one = imported({"model": "claude-opus-4-8", "system": "Be brief.", "tools": [TOOL], "messages": BLOCKS})
    assert one.format == "anthropic"
    assert bodies(one, InstructionsSet) == [InstructionsSet(blocks=(Text(text="Be brief."),))]
    [tools] = bodies(one, ToolsSet)
    assert [(tool.name, tool.description, tool.inferred) for tool in tools.tools] == [("bash", "Run.", False)]
    assert story(one) == ["person: List it.", "model: t1", "result t1", "person: Only C files."]
    assert bodies(one, Answered)[0].model == "claude-opus-4-8"
    assert bodies(one, ToolReturned)[0].result.is_error


@pytest.mark.parametrize(
    "value, format_",
    [
        (CHAT, "openai-chat"),
        (BLOCKS, "anthropic"),
        ([{"role": "user", "content": "Hi"}], "openai-chat"),
        ([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "anthropic"),
        ({"system": "S", "messages": [{"role": "user", "content": "Hi"}]}, "anthropic"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}]},
            "openai-chat",
        ),
        ({"messages": PLAIN, "tools": [{"type": "function", "function": {"name": "bash"}}]}, "openai-chat"),
        ({"messages": PLAIN, "response": {"choices": []}}, "openai-chat"),
        ({"messages": PLAIN, "tools": [TOOL]}, "anthropic"),
    ],
)
def test_a_format_is_told_by_its_content(value: Any, format_: str) -> None:
    """Neither name nor ending counts, and one message a line is the same list."""
    assert imported(value, "claude.txt").format == format_
    if isinstance(value, list):
        [one] = read("x", data=jsonl(*value))
        assert (one.format, [d.body for d in one.drafts]) == (
            format_,
            [d.body for d in imported(value).drafts],
        )


def test_a_named_format_is_taken_at_its_word() -> None:
    """Plain words that fit both are read as asked."""
    assert imported([{"role": "user", "content": "Hi"}], format="anthropic").format == "anthropic"


def test_a_pretty_printed_document_is_one() -> None:
    """Lines are not taken for JSONL when they make up one document."""
    data = json.dumps({"messages": CHAT}, indent=2).encode()
    assert len(story(read("x", data=data)[0])) == 6


def test_a_session_keeps_its_id_when_its_file_grows() -> None:
    """The id rests on the system text and the first words of a person; other words, another id."""
    short, long = imported(CHAT[:3]), imported(CHAT)
    assert short.session == long.session
    assert short.session.startswith("talk-")
    assert imported([CHAT[0], {"role": "user", "content": "A room."}]).session != long.session


def test_a_bad_message_costs_only_itself() -> None:
    """It is a note with its JSON, and named."""
    one = imported([*CHAT[:2], {"role": "wizard", "content": "no role"}, CHAT[4]])
    assert story(one) == ["person: A room for two.", "model: Room 4?"]
    [note] = bodies(one, ForeignNoted)
    assert note.code == "unreadable"
    assert note.raw == '{"role":"wizard","content":"no role"}'
    assert [(flaw.code, flaw.where) for flaw in one.flaws] == [("unreadable", "item 3")]


def test_tools_in_the_wrong_form_are_named_and_stubs_serve() -> None:
    """A setting that can't be read is a note; the calls still tell the tools."""
    one = imported({"tools": [{"nonsense": 1}], "messages": CHAT})
    assert "unreadable" in codes(one)
    assert [tool.inferred for body in bodies(one, ToolsSet) for tool in body.tools] == [True]


def test_two_formats_in_one_list_are_refused() -> None:
    """OpenAI tool calls beside Anthropic blocks fit no wire."""
    with pytest.raises(ImportFailed, match="two formats"):
        imported([*CHAT, *BLOCKS])


def test_reading_twice_gives_equal_sessions() -> None:
    """Packed or not."""
    data = jsonl(*CHAT)
    assert read("a.jsonl", data=data) == read("a.jsonl", data=data)
    packed: tuple[Draft, ...] = read("a.jsonl.gz", data=gzip.compress(data))[0].drafts
    assert [draft.body for draft in packed] == [draft.body for draft in read("a.jsonl", data=data)[0].drafts]


def test_a_response_beside_the_messages_is_their_answer() -> None:
    """As in a log of one call: its words, usage, cost and stop reason."""
    response = {
        "id": "chatcmpl-1",
        "model": "gpt-6.1-sol",
        "choices": [
            {"finish_reason": "stop", "index": 0, "message": {"role": "assistant", "content": "Done."}}
        ],
        "usage": {
            "prompt_tokens": 900,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 600},
        },
    }
    one = imported({"messages": CHAT, "response": response, "cost": 0.0125})
    assert story(one)[-2:] == ["person: Yes.", "model: Done."]
    answer = one.drafts[-1].body
    assert isinstance(answer, Answered)
    assert answer.usage is not None
    assert (answer.usage.uncached, answer.usage.cache_read, answer.usage.output) == (300, 600, 7)
    assert (answer.model, answer.stop_reason, answer.response_id) == ("gpt-6.1-sol", "stop", "chatcmpl-1")
    assert answer.recorded_cost_usd == "0.0125"
    message = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    usage = {"input_tokens": 5, "output_tokens": 1}
    blocks = imported({"messages": BLOCKS, "response": {**message, "id": "msg_1", "usage": usage}})
    answer = blocks.drafts[-1].body
    assert isinstance(answer, Answered)
    assert answer.usage is not None
    assert (answer.usage.total_input, answer.recorded_cost_usd) == (5, None)


def test_a_response_that_the_list_ends_with_counts_once() -> None:
    """Some loggers append the answer to the list first; its usage and cost are the answer's."""
    answer = {"role": "assistant", "content": "Done."}
    usage = {"prompt_tokens": 900, "completion_tokens": 7}
    response = {"choices": [{"message": {**answer, "tool_calls": None}}], "usage": usage}
    one = imported({"messages": [*CHAT, answer], "response": response, "cost": 0.5})
    assert story(one)[-2:] == ["person: Yes.", "model: Done."]
    last = bodies(one, Answered)[-1]
    assert last.usage is not None
    assert (last.usage.total_input, last.recorded_cost_usd) == (900, "0.5")


def test_a_response_may_be_its_text_alone() -> None:
    """It is the answer, once."""
    for messages in (CHAT, [*CHAT, {"role": "assistant", "content": "Done."}]):
        one = imported({"messages": messages, "response": "Done."})
        assert story(one)[-2:] == ["person: Yes.", "model: Done."]


@pytest.mark.parametrize("response", ["", {"choices": []}, {"error": {"message": "no"}}, [1]])
def test_a_response_without_a_message_is_named(response: Any) -> None:
    """The history beside it is whole."""
    one = imported({"messages": CHAT, "response": response})
    assert ["response" in flaw.where for flaw in one.flaws if flaw.code == "left_out"] == [True]
    assert story(one)[-1] == "person: Yes."
    assert bodies(one, ForeignNoted) == []


def test_many_system_messages_are_read_in_their_time() -> None:
    """Twenty thousand at the start; what each costs does not grow with those before it."""
    rows = b'{"role":"system","content":"x"}\n' * 20_000 + b'{"role":"user","content":"Hi"}\n'
    start = time.perf_counter()
    [one] = read("x", data=rows)
    assert time.perf_counter() - start < 8
    assert len(one.drafts) == 2
