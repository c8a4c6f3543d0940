"""The driver never passes what it does not know, and never fails a right product for a fault of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.field_cases import checks
from tests.field_cases.checks.members import MEMBERS, NESTED
from tests.field_cases.test_run import PLAIN, case, ran

Given = dict[str, Any]
HOLDS: Given = {"check": "valid_wire"}


def said(text: str) -> Given:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def one(given: Given, *asked: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the first line printed of a run of one case."""
    return ran([case(given, *asked)], folder, capsys)[1][0]


def test_every_check_says_what_it_reads() -> None:
    """The table of members and the table of checks name the same checks."""
    assert MEMBERS.keys() == checks.TABLE.keys() | NESTED.keys() | {"applies_to"}


UNREAD: list[Any] = [
    "valid_wire",
    {},
    {"check": ["valid_wire"]},
    {"check": "valid_wire", "strictly": True},
    {"check": "contains", "text": "8080", "case_insensitive": True},
    {"check": "contains", "text": 8080},
    {"check": "contains"},
    {"check": "valid_wire", "outputs": []},
    {"check": "text_order", "equals": "Thanks."},
    {"check": "image_count", "lte": "many"},
    {"check": "image_count", "lte": True},
    {"check": "regex", "pattern": "("},
    {"check": "tool_result", "id": "p1"},
    {"check": "one_of", "any": []},
    {"check": "implies", "if": {"check": "image_count", "equals": 9}, "then": {"check": "dance"}},
    {"check": "applies_to"},
    {"check": "warning", "code": "pin_budget_exceeded"},
]


@pytest.mark.parametrize("check", UNREAD, ids=json.dumps)
def test_a_check_that_is_not_wholly_read_is_not_passed(
    check: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A member too many or too few, or of another form: beside one that holds, the case is unsupported."""
    assert one(PLAIN, HOLDS, check, folder=tmp_path, capsys=capsys) == "N1 unsupported"


INPUTS: list[Given] = [
    {"tools": -1},
    {"tools": "abc"},
    {"tools": [{"name": "f", "strict": True}]},
    {"clock": [], "settings": {"include_time": True}},
    {"system": {"a": 1}},
    {"system": 5},
    {"model_caps": {"flies": True}},
    {"model_caps": {"window": "big"}},
    {"model_caps": {"window": 0}},
    {"settings": []},
    {"settings": {"orphan_policy": "drop"}},
    {"settings": {"thinking": True}},
    {"wire": []},
    {"messages": [said("x") | {"recorded_at": "yesterday"}]},
    *(
        {"system": rule}
        for rule in (
            {"$repeat": "x", "times": 10**30},
            {"$repeat": "x"},
            {"$repeat": "x", "times": 2, "twice": True},
            {"$png": {"pixels": [0]}},
            {"$png": {"pixels": [-1, 70000]}},
            {"$png": {"pixels": [4, 4], "base64_len": 4001}},
            {"$progress": {"template": 5, "from": 0, "to": 3, "end": ""}},
            {"$numbered_lines": 10**30, "template": "x"},
        )
    ),
]


@pytest.mark.parametrize("given", INPUTS, ids=lambda given: json.dumps(given)[:60])
def test_an_input_that_is_not_wholly_read_is_not_passed(
    given: Given, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor does it fail, and the case after it is run."""
    lines = [case({**PLAIN, **given}, HOLDS), case(PLAIN, HOLDS, name="Z")]
    assert ran(lines, tmp_path, capsys)[1][:2] == ["N1 unsupported", "Z ok"]


def test_a_case_without_checks_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No check, none that holds."""
    assert one(PLAIN, folder=tmp_path, capsys=capsys) == "N1 unsupported"


def test_what_the_case_lacks_is_no_fault_of_the_product(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a name that no terminal shows is printed all the same."""
    lines = [case({"op": "fork"}, {"check": "no_exception"}), case(PLAIN, HOLDS, name="half \ud83d\nB ok")]
    assert ran(lines, tmp_path, capsys)[1][:2] == ["N1 unsupported", "half \\ud83d\\nB ok ok"]


def test_what_the_product_raises_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the case names no check of it."""
    given = {**PLAIN, "messages": [{"role": "alien", "content": "x"}]}
    assert one(given, {"check": "no_exception"}, folder=tmp_path, capsys=capsys).startswith("N1 FAIL")


def test_nested_checks_look_at_the_outputs_of_those_around_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`every_request` and `outputs` reach the checks within; one that can't be made spoils no choice."""
    sequence = {
        "op": "compile_sequence",
        "messages_per_request": [[said("first")], [said("first"), said("second")]],
    }
    absent = {"check": "not_contains", "text": "second"}
    wrapped = {"check": "one_of", "any": [{"check": "dance"}, absent]}
    both = {"check": "contains", "text": "second", "outputs": [1, 0]}
    choice = {"check": "one_of", "any": [{"check": "image_count", "equals": 9}, absent], "output": 0}
    assert one(sequence, choice, folder=tmp_path, capsys=capsys) == "N1 ok"
    every = {"check": "every_request", "of": {"check": "all_of", "all": [absent]}}
    assert one(sequence, every, folder=tmp_path, capsys=capsys).startswith("N1 FAIL: every_request")
    assert one(sequence, both, folder=tmp_path, capsys=capsys).startswith("N1 FAIL: contains")
    assert one(PLAIN, wrapped, folder=tmp_path, capsys=capsys) == "N1 unsupported"


def test_null_is_a_value_and_members_have_no_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A member that is not there is not null; true is not 1."""
    nothing = {"check": "equals_path", "path": "messages[0].nothing", "equals": None}
    assert one(PLAIN, nothing, folder=tmp_path, capsys=capsys).startswith("N1 FAIL")
    shown = {"op": "handle_access", "session": "A", "reads": [{"handle": "A#1"}]}
    wrong = {"check": "permission_prompts", "equals": False}
    assert one(shown, wrong, folder=tmp_path, capsys=capsys).startswith("N1 FAIL")
    part = {"thoughtSignature": "czE=", "functionCall": {"name": "f", "args": {"z": 1}}}
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [part]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]},
    ]
    given = {"op": "roundtrip", "wire": "gemini.generate", "contents": contents}
    same = {"check": "equals_input", "path": "contents[1].parts[0]"}
    assert one(given, same, folder=tmp_path, capsys=capsys) == "N1 ok"


def test_a_second_answer_in_a_row_went_on_from_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record is the engine's own: the second answer's reasoning was returned to us as well."""

    def answer(n: int) -> Given:
        thought = {"type": "thinking", "thinking": f"thought {n}", "signature": f"U0lH{n}AAA"}
        return {"role": "assistant", "content": [thought, {"type": "text", "text": f"part {n}"}]}

    calls = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    second = answer(2)
    second["content"].append(calls)
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]}
    given = {"op": "compile", "messages": [said("go"), answer(1), second, result]}
    kept = {"check": "contains", "text": "U0lH2AAA"}
    assert one(given, HOLDS, kept, folder=tmp_path, capsys=capsys) == "N1 ok"


def test_two_answers_with_open_calls_were_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No request lay between them, so that no call was given up before its result came."""
    asked = [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {"n": n}} for n in (1, 2)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"result {n}"} for n in (1, 2)]
    answers = [{"role": "assistant", "content": [call]} for call in asked]
    given = {"op": "compile", "messages": [said("q"), *answers, {"role": "user", "content": results}]}
    paired = {"check": "result_of_call", "arguments": '{"n":1}', "equals": "result 1"}
    assert one(given, HOLDS, paired, folder=tmp_path, capsys=capsys) == "N1 ok"


def test_what_a_server_made_is_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sealed compaction of the Responses wire; a server's call by MCP, which has its result beside it."""
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "on"}]},
    ]
    assert (
        one(
            {"op": "compile", "wire": "openai.responses", "items": items},
            HOLDS,
            folder=tmp_path,
            capsys=capsys,
        )
        == "N1 ok"
    )
    called = {"type": "mcp_tool_use", "id": "m1", "name": "f", "server_name": "s", "input": {}}
    result = {
        "type": "mcp_tool_result",
        "tool_use_id": "m1",
        "is_error": False,
        "content": [{"type": "text", "text": "x"}],
    }
    messages = [said("go"), {"role": "assistant", "content": [called, result]}, said("on")]
    paired = {"check": "pairs_complete", "include_server_tools": True}
    assert one({"op": "compile", "messages": messages}, paired, folder=tmp_path, capsys=capsys) == "N1 ok"


def test_a_stand_in_gives_way_to_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A call that was open and whose result came late has one result in the record."""
    call = {"id": "a", "name": "sh", "arguments": {"n": 1}}
    events = [{"type": "user", "text": "q"}, {"type": "assistant", "tool_calls": [call]}]
    given = {
        "op": "load_session",
        "events": events,
        "then_user": "go on",
        "late_result": {"id": "a", "content": "x"},
    }
    check = {"check": "tool_results_for", "id": "a", "equals": 1}
    assert one(given, check, folder=tmp_path, capsys=capsys) == "N1 ok"


def test_half_a_character_in_a_file_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As writers of such files do, as an escape; a file of lines takes it as it is."""
    row = {"type": "user", "message": {"role": "user", "content": "half \ud83d"}}
    given = {"op": "import_session", "format": "claude-code-jsonl", "files": [[row]], "then_user": "on"}
    assert one(given, HOLDS, {"check": "well_formed_unicode"}, folder=tmp_path, capsys=capsys) == "N1 ok"
    torn = {"op": "torn_tail", "file_lines": ['{"id":1,"t":"\ud83d"}\n'], "then_append": {"id": 2}}
    assert one(torn, {"check": "readable_ids", "equals": [1, 2]}, folder=tmp_path, capsys=capsys) == "N1 ok"


def test_a_last_line_that_is_no_record_is_torn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether or not something ended its line; one in the middle is damaged."""
    given = {"op": "load_lines", "cases": [['{"id":1}\n', '{"id":2,"t":"x\n'], ['{"id":2,\n', '{"id":3}\n']]}
    codes = {"check": "case_warning_codes", "equals": [["torn_record"], ["damaged_record"]]}
    assert one(given, codes, folder=tmp_path, capsys=capsys) == "N1 ok"


PICTURE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": {"$png": {"pixels": [2, 2]}}},
}


@pytest.mark.parametrize(
    "answer, ends", [({"text": "a cat", "delay_ms": 1}, "ok"), ({"error": {"status": 400}}, "FAIL")]
)
def test_a_describing_model_that_errs_is_heard(
    answer: Given, ends: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its error goes to whoever asked for the request, and fails the case."""
    messages = [{"role": "user", "content": [PICTURE, {"type": "text", "text": "see"}]}]
    given = {"op": "compile", "image_to_text": True, "fake_model": {"describe": answer}, "messages": messages}
    told = one(given, {"check": "contains", "text": "a cat"}, folder=tmp_path, capsys=capsys)
    assert told.startswith(f"N1 {ends}")


def test_a_file_is_found_whatever_its_wire_calls_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data behind the head of a URL on one wire, alone on another."""
    data = "JVBERi0xLjQKMSAwIG9iago8PD4+CmVuZG9iagp0cmFpbGVyPDw+Pgo="
    file = {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{data}"}
    words = {"type": "input_text", "text": "read"}
    messages = [{"type": "message", "role": "user", "content": [file, words]}]
    given = {"op": "convert", "from": "openai.responses", "wire": "anthropic.messages", "items": messages}
    stands = {"check": "media_present_or_handled", "equals": 1}
    assert one(given, stands, folder=tmp_path, capsys=capsys) == "N1 ok"


def test_a_path_that_names_a_mark_sees_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All other paths read the request without marks."""
    text = {"$repeat": "rule ", "times": 9000}
    given = {"op": "cache_plan", "messages": [said("q")], "system": [text]}
    seen = {
        "check": "equals_path",
        "path": "messages[0].content[0].cache_control.type",
        "equals": "ephemeral",
    }
    assert one(given, seen, folder=tmp_path, capsys=capsys) == "N1 ok"
