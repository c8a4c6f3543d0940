"""The driver of field cases tells right from wrong, and what it can't judge from both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.field_cases.run import main

PLAIN = {
    "op": "compile",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Which port?"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "p1", "name": "ports", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "p1", "content": "8080"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "It is 8080."}]},
        {"role": "user", "content": [{"type": "text", "text": "Thanks."}]},
    ],
}


def case(given: dict[str, Any], *checks: dict[str, Any], name: str = "N1") -> str:
    """Return the line of a case."""
    row = {"id": name, "topic": "made", "input": given, "expect": {"right": "", "checks": list(checks)}}
    return json.dumps(row)


def ran(
    lines: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, list[str]]:
    """Run a file of cases; return the exit code and the lines printed."""
    path = folder / "cases.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    code = main([str(path), *options])
    return code, capsys.readouterr().out.splitlines()


def test_each_case_gets_its_line_and_a_failure_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A case that holds is ok, one that does not says which check, an unknown operation is unsupported."""
    lines = [
        case(PLAIN, {"check": "valid_wire"}, {"check": "contains", "text": "8080"}, name="A"),
        case(PLAIN, {"check": "not_contains", "text": "8080"}, name="B"),
        case({"op": "dance"}, {"check": "no_exception"}, name="C"),
    ]
    code, printed = ran(lines, tmp_path, capsys)
    assert code == 1
    assert printed[0] == "A ok"
    assert printed[1].startswith("B FAIL: not_contains: expected no '8080' in request, got ")
    assert printed[2:] == ["C unsupported", "1 passed, 1 failed, 1 unsupported"]
    assert ran([lines[0], lines[2]], tmp_path, capsys)[0] == 0


WRONG = [
    {"check": "last_user_text", "equals": "Which port?"},
    {"check": "first_role", "equals": "assistant"},
    {"check": "occurs", "text": "8080", "times": 1},
    {"check": "text_order", "equals": ["Thanks.", "Which port?"]},
    {"check": "tool_result", "id": "p1", "content": "80"},
    {"check": "result_order", "equals": ["p2"]},
    {"check": "block_types", "message": 1, "equals": ["text"]},
    {"check": "equals_path", "path": "messages[0].content[0].text", "equals": "Which"},
    {"check": "path_present", "path": "messages[9].content"},
    {"check": "path_absent", "path": "messages[0].content"},
    {"check": "regex", "in": "tool_result:p1", "pattern": "^9"},
    {"check": "image_count", "equals": 1},
    {"check": "record_user_origin_count", "equals": 3},
    {"check": "record_has_text", "text": "9090"},
    {"check": "recorded_status", "id": "p1", "equals": "unknown"},
    {"check": "marker_count", "gte": 1},
    {"check": "contains_in", "part": "tail", "text": "Which port?"},
    {"check": "event", "type": "compaction"},
    {"check": "warning", "code": "torn_record"},
    {"check": "raises", "code": "over_budget"},
    {"check": "compiled_tokens", "lte": 10},
    {"check": "equals_input", "path": "messages[9]"},
    {"check": "media_present_or_handled", "equals": 1},
    {"check": "messages_after_reload", "equals": 4},
    {"check": "dropped_result_has_handle", "id": "p2"},
    {"check": "handle_resolves_to_bytes", "id": "p1", "equals": 5},
    {
        "check": "one_of",
        "any": [{"check": "image_count", "equals": 2}, {"check": "image_count", "equals": 3}],
    },
]


@pytest.mark.parametrize("check", WRONG, ids=[check["check"] for check in WRONG])
def test_a_check_that_does_not_hold_fails(
    check: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each kind of check can fail, and says so under its name."""
    code, printed = ran([case(PLAIN, check)], tmp_path, capsys)
    assert code == 1
    assert printed[0].startswith(f"N1 FAIL: {check['check']}: expected ")


def test_an_unknown_member_is_never_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What an operation, a setting or a check does not know makes the case unsupported, though all else holds."""
    lines = [
        case({**PLAIN, "moon": "full"}, {"check": "valid_wire"}),
        case({**PLAIN, "settings": {"moon": "full"}}, {"check": "valid_wire"}),
        case(PLAIN, {"check": "valid_wire"}, {"check": "moon"}),
    ]
    code, printed = ran(lines, tmp_path, capsys)
    assert (code, printed[:3]) == (0, ["N1 unsupported"] * 3)


def test_what_the_product_raises_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A request that does not fit is refused: a failure, unless the case asks for just that."""
    tight = {**PLAIN, "settings": {"window": 60, "reserve_output": 10}}
    refused = {"check": "raises", "code": "over_budget", "has_numbers": ["window", "reserve_output"]}
    code, printed = ran([case(tight, {"check": "valid_wire"}), case(tight, refused)], tmp_path, capsys)
    assert code == 1
    assert "raised OverBudget" in printed[0]
    assert printed[1] == "N1 ok"


def test_thinking_is_judged_by_the_prefix_it_was_signed_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record is made request by request: bound reasoning is known again at the server that signed it."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}
    messages = [dict(message) for message in PLAIN["messages"]]
    messages[1] = {**messages[1], "content": [thought, *messages[1]["content"]]}
    bound = {**PLAIN, "messages": messages, "model_caps": {"binds_thinking": True}}
    checks = [{"check": "valid_wire"}, {"check": "occurs", "text": "c2lnbmVk", "times": 1}]
    assert ran([case(bound, *checks)], tmp_path, capsys)[1][0] == "N1 ok"


SOME_LINES = {"$numbered_lines": 400, "template": "row {i}\n"}
CUT = {"op": "externalise", "settings": {"max_bytes": 2000}}
RESULTS = [
    ({**CUT, "result": {"id": "x", "stdout": SOME_LINES}}, {"check": "has_marker", "equals": False}),
    ({**CUT, "result": {"id": "x", "stdout": SOME_LINES}}, {"check": "preview_bytes", "lte": 100}),
    ({**CUT, "result": {"id": "x", "stdout": SOME_LINES}}, {"check": "preview_chars", "gte": 4000}),
    (
        {"op": "read_pages", "content": "a\n", "limit": 5, "extra_reads": [{"offset": 1}]},
        {"check": "extra_read_error", "index": 0, "equals": True},
    ),
    (
        {
            "op": "concurrent_append",
            "processes": 2,
            "events_each": 2,
            "event_bytes": 9,
            "same_session": False,
        },
        {"check": "events_per_session", "equals": 4},
    ),
    (
        {"op": "sqlite_contention", "writers": 1, "writes": 2, "table_rows_before": 3},
        {"check": "rows_added", "equals": 5},
    ),
    (
        {
            "op": "fork",
            "steps": [["A", "add", "p"], ["A", "add", "q"], ["A", "fork", "B"], ["B", "rewind_to", "p"]],
        },
        {"check": "history", "session": "B", "equals": ["p", "q"]},
    ),
]


@pytest.mark.parametrize("given, check", RESULTS, ids=[check["check"] for _, check in RESULTS])
def test_a_check_of_another_result_can_fail(
    given: dict[str, Any], check: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So can checks of what was stored, read back or shown of a long text."""
    code, printed = ran([case(given, check)], tmp_path, capsys)
    assert code == 1
    assert printed[0].startswith(f"N1 FAIL: {check['check']}: expected ")


def test_notes_on_a_long_text_are_counted_against_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An excerpt of the product holds what its note says, and its handle gives the whole."""
    checks = [{"check": name} for name in ("marker_numbers_exact", "single_marker", "handle_resolves_to_raw")]
    shown = {"check": "has_marker", "equals": True}
    lines = case({**CUT, "result": {"id": "x", "stdout": SOME_LINES}}, shown, *checks)
    assert ran([lines], tmp_path, capsys)[1][0] == "N1 ok"


def test_calls_without_an_id_are_paired_by_name_and_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the Gemini wire; what else stands in a content does not count."""
    call = {"functionCall": {"name": "at", "args": {"n": 1}}, "thoughtSignature": "c2ln"}
    second = {"functionCall": {"name": "at", "args": {"n": 2}}}
    results = [{"functionResponse": {"name": "at", "response": {"output": text}}} for text in ("one", "two")]
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"text": "Both."}, call, second]},
        {"role": "user", "parts": results},
    ]
    given = {"op": "compile", "wire": "gemini.generate", "contents": contents}
    paired = {"check": "result_of_call", "arguments": '{"n":2}', "equals": "two"}
    assert ran([case(given, {"check": "pairs_complete"}, paired)], tmp_path, capsys)[1][0] == "N1 ok"


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["nothing.jsonl"], ["--loud", "a"]])
def test_bad_use_says_what_is_right(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Without a file that can be read there is nothing to judge: exit 2, one line."""
    assert main(arguments) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_line_that_is_no_case_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A broken line costs only itself; it is told with its number, and the run ends with 2."""
    path = tmp_path / "cases.jsonl"
    whole = case(PLAIN, {"check": "valid_wire"}, name="A")
    broken = ["{}", "[" * 3000, '{"id": "B", "input": {"op": []}, "expect": {"checks": []}}', "\ud83d", "5"]
    lines = "\n".join([whole, *broken, whole.replace('"A"', '"Z"')])
    path.write_bytes(lines.encode("utf-8", "surrogatepass"))
    assert main([str(path)]) == 2
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "A ok"
    assert said.out.splitlines()[-2:] == ["Z ok", "2 passed, 0 failed, 5 unsupported"]
    assert [f"line {number}: no case" in said.err for number in range(1, 8)] == [False, *[True] * 5, False]
