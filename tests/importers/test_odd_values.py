"""A value of an unexpected kind anywhere in a file costs its record at most."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from foreword.core.event import kind_of
from foreword.core.sealing import decode_body, encode_body
from foreword.errors import ImportFailed
from foreword.importers.read import read
from tests.importers.claude_file import ClaudeFile
from tests.importers.codex_file import CodexFile
from tests.importers.pi_file import PiFile, call, spent, text

ODD: tuple[Any, ...] = (None, 7, "odd", [], {}, True, [None], -1.5)


def codex() -> list[str]:
    file = CodexFile(instructions="Use tabs.")
    file.user("<environment_context>", "Fix it.")
    file.think()
    file.say("I look.", id="msg_1")
    file.call("c1", command="ls")
    file.item("custom_tool_call", call_id="c2", name="apply_patch", input="x")
    file.item("local_shell_call", call_id="c3", action={"command": ["ls"]})
    picture = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    file.result("c1", [{"type": "input_text", "text": "here"}, picture])
    file.item("custom_tool_call_output", call_id="c2", output={"content": "ok", "success": True})
    file.tokens()
    file.turn(collaboration_mode={"settings": {"developer_instructions": "Plan."}})
    file.row("compacted", {"message": "", "replacement_history": [{"type": "compaction"}]})
    file.user("More.")
    file.item("tool_search_call", call_id="c4", arguments={})
    file.item("tool_search_output", call_id="c4", tools=[])
    file.user("Again.")
    file.event("thread_rolled_back", num_turns=1)
    return file.lines


def pi() -> list[str]:
    file = PiFile()
    file.user([text("Build."), {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}])
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "{}"}
    file.answer(thought, text("I build."), call("t1", command="make"), api="openai-responses", responseId="r")
    file.result("t1")
    file.answer(usage=spent(0, 0, 0, 0), stopReason="aborted", errorMessage="stop")
    file.message("bashExecution", command="ls", output="a", exitCode=2, excludeFromContext=False)
    file.entry("compaction", summary="Half.", firstKeptEntryId="e3")
    file.entry("branch_summary", summary="Tabs.")
    file.entry("session_info", name="One")
    return file.lines


def claude() -> list[str]:
    file = ClaudeFile()
    file.user("Build it.", cwd="/w", version="2.1.0")
    file.answer("a", {"type": "thinking", "thinking": "hm", "signature": "s"}, text("I build."))
    cache = {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 0}
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 5, "cache_creation": cache}
    file.answer("a", call("t1", command="make"), usage=usage)
    file.result("t1", [{"type": "text", "text": "made"}], toolUseResult={"stdout": "made"})
    file.record("progress", data={"message": {"message": {"id": "m", "usage": {}}, "requestId": "r"}})
    file.record("system", subtype="compact_boundary", logicalParentUuid="u4", parentUuid=None)
    file.user("Half is done.", isCompactSummary=True)
    file.record("attachment", attachment={"type": "queued_command", "prompt": "More."})
    file.answer("b", text("Done."), isApiErrorMessage=False)
    file.user("Look.", isSidechain=True, agentId="x", parentUuid=None)
    file.loose(type="summary", summary="One", leafUuid="u1")
    return file.lines


def chat() -> list[str]:
    function = {"name": "make", "arguments": "{}"}
    messages = [
        {"role": "system", "content": "You build."},
        {"role": "user", "content": [{"type": "text", "text": "Build it."}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "t", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "t", "content": "made"},
        {"role": "assistant", "content": "Done.", "extra": {"response": {"usage": {"prompt_tokens": 1}}}},
    ]
    tools = [{"type": "function", "function": {"name": "make", "parameters": {"type": "object"}}}]
    response = {"id": "r", "choices": [{"message": {"role": "assistant", "content": "Bye."}}]}
    return [json.dumps({"tools": tools, "messages": messages, "response": response, "cost": 0.1})]


def anthropic() -> list[str]:
    used = {"type": "tool_use", "id": "t", "name": "make", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "made"}]}
    messages = [
        {"role": "user", "content": "Build it."},
        {"role": "assistant", "content": [{"type": "text", "text": "I build."}, used]},
        {"role": "user", "content": [result, {"type": "text", "text": "And?"}]},
        {"role": "assistant", "content": "Done."},
    ]
    tools = [{"name": "make", "input_schema": {"type": "object"}}]
    return [json.dumps({"system": "You build.", "tools": tools, "messages": messages})]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def changed(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    copied = copy.deepcopy(value)
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    return copied


@pytest.mark.parametrize("format_, made", [("codex", codex), ("pi", pi)])
def test_an_odd_value_anywhere_costs_its_record_at_most(format_: str, made: Callable[[], list[str]]) -> None:
    """Every place of every line in turn: the file is read into events that can be stored, or refused."""
    lines = made()
    whole = len(read("x", data="\n".join(lines).encode())[0].drafts)
    turn = 0
    for number, line in enumerate(lines):
        value = json.loads(line)
        for path in places(value):
            turn += 1
            for odd in (ODD[turn % len(ODD)], ODD[(turn + 3) % len(ODD)]):
                odd_lines = [*lines[:number], json.dumps(changed(value, path, odd)), *lines[number + 1 :]]
                try:
                    [one] = read("x", format=format_, data="\n".join(odd_lines).encode())
                except ImportFailed:
                    assert number == 0 or not path, (number, path, odd)
                    continue
                rewound = path[-1:] == ("parentId",) and odd is None
                assert rewound or len(one.drafts) >= whole // 2, (number, path, odd)
                for draft in one.drafts:
                    assert decode_body(kind_of(draft.body), 1, encode_body(draft.body)) == draft.body


@pytest.mark.parametrize("made", [claude, codex, pi, chat, anthropic])
def test_an_odd_value_anywhere_is_read_or_refused(made: Callable[[], list[str]]) -> None:
    """Also while the format is found, whatever the value: nothing but a refusal ends the reading."""
    lines = made()
    for number, line in enumerate(lines):
        value = json.loads(line)
        for path in places(value):
            for odd in ({"a": [1]}, [{}], 10**30):
                odd_lines = [*lines[:number], json.dumps(changed(value, path, odd)), *lines[number + 1 :]]
                try:
                    found = read("x", data="\n".join(odd_lines).encode())
                except ImportFailed:
                    continue
                for draft in (draft for one in found for draft in one.drafts):
                    assert decode_body(kind_of(draft.body), 1, encode_body(draft.body)) == draft.body


@pytest.mark.parametrize("made", [codex, pi])
@pytest.mark.parametrize("depth", [400, 930, 990])
def test_deep_nesting_costs_its_record(made: Callable[[], list[str]], depth: int) -> None:
    """In arguments, in results and in what is kept as it is."""
    lines = made()
    deep = '{"a":' * depth + "1" + "}" * depth
    for number, line in enumerate(lines):
        value = json.loads(line)
        for path in places(value):
            if path and path[-1] in ("arguments", "action", "summary", "tools", "content", "payload"):
                mark = json.dumps(changed(value, path, "DEEP")).replace('"DEEP"', deep)
                [one] = read("x", data="\n".join([*lines[:number], mark, *lines[number + 1 :]]).encode())
                assert len(one.drafts) > 4
