"""The driver's view of runs: every check of what is known of a call can hold, and can fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.field_cases.test_run import case, ran

RUNS = {
    "op": "record_tool_result",
    "sequence": [
        {"t": 0, "event": "start", "id": "a", "command": "make"},
        {"t": 0, "event": "start", "id": "b", "command": "sleep 9"},
        {"t": 1, "event": "output", "id": "a", "stdout": "begun\n"},
        {"t": 2, "event": "moved_to_background", "id": "a"},
        {"t": 3, "event": "exit", "id": "a"},
        {"t": 4, "event": "exit", "id": "b", "exit_code": -9},
        {"t": 5, "event": "end_marker", "id": "a", "exit_code": 1, "stderr": "broken\n"},
        {"t": 6, "event": "exit", "id": "a", "exit_code": None},
    ],
}
RIGHT: list[dict[str, Any]] = [
    {"check": "status_at", "t": -0.5, "id": "a", "status": "never_started"},
    {"check": "status_at", "t": 2, "id": "a", "status": "running", "run_state": "running"},
    {"check": "status_at", "t": 3, "id": "a", "status": "unknown", "exit_code": None},
    {"check": "status_at", "t": 7, "id": "a", "status": "failed", "exit_code": 1},
    {"check": "status_at", "t": 4, "id": "b", "status": "failed", "exit_code": -9},
    {"check": "never_status", "id": "a", "status": "succeeded"},
    {"check": "run_state", "id": "a", "equals": "completed"},
    {"check": "recorded_status", "id": "b", "equals": "failed"},
    {"check": "retryable", "equals": []},
    {"check": "regex", "in": "tool_result:b", "pattern": "exit code -9"},
    {"check": "contains", "text": "broken"},
    {"check": "pairs_complete"},
    {"check": "valid_wire"},
]
WRONG: list[dict[str, Any]] = [
    {"check": "status_at", "t": 2, "id": "a", "status": "succeeded"},
    {"check": "status_at", "t": 3, "id": "a", "exit_code": 0},
    {"check": "status_at", "t": -9, "id": "a", "status": "unknown"},
    {"check": "status_at", "t": 3, "id": "nobody", "status": "unknown"},
    {"check": "never_status", "id": "a", "status": "running"},
    {"check": "never_status", "id": "nobody", "status": "running"},
    {"check": "run_state", "id": "a", "equals": "running"},
    {"check": "retryable", "equals": ["a"]},
]
WIRES = ["anthropic.messages", "openai.chat", "openai.responses", "deepseek.chat", "gemini.generate"]


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_known_of_a_run(wire: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the background, ended with an unknown code, and told later: each at its time."""
    assert ran([case({**RUNS, "wire": wire}, *RIGHT)], tmp_path, capsys)[1][0] == "N1 ok"


@pytest.mark.parametrize("check", WRONG)
def test_each_check_of_a_run_can_fail(
    check: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another label, another code, a time before the call, or a call that is not there."""
    code, printed = ran([case(RUNS, check)], tmp_path, capsys)
    assert code == 1
    assert printed[0].startswith(f"N1 FAIL: {check['check']}: ")


def test_an_event_of_another_kind_is_not_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that the driver can't tell makes the case unsupported."""
    sequence = [*RUNS["sequence"], {"t": 9, "event": "crash", "id": "b"}]
    given = {**RUNS, "sequence": sequence}
    assert ran([case(given, {"check": "no_exception"})], tmp_path, capsys)[1][0] == "N1 unsupported"
