"""Exit codes that Codex recorded are kept, and none is made up."""

import json
from typing import Any

import pytest
from msgspec import UNSET

from foreword.core.event import ToolReturned
from tests.importers.codex_file import CodexFile

EXEC = "Chunk ID: 94c2d6\nWall time: 0.0100 seconds\nProcess {}\nOriginal token count: 0\nOutput:\n"
OLDER = {"output": "no\n", "metadata": {"exit_code": 3, "duration_seconds": 0.1}}


@pytest.mark.parametrize(
    "output, code, run",
    [
        (EXEC.format("exited with code 1"), 1, "ended"),
        (EXEC.format("exited with code -9"), -9, "ended"),
        (EXEC.format("running with session ID 4411"), UNSET, "running"),
        ("Wall time: 2.0 seconds\nProcess exited with code 0\nOutput:\nx", 0, "ended"),
        ("Exit code: 127\nWall time: 0 seconds\nOutput:\nx", 127, "ended"),
        ([{"type": "input_text", "text": "Exit code: 2\nWall time: 0 seconds\nOutput:\n"}], 2, "ended"),
        (json.dumps(OLDER), 3, "ended"),
        (json.dumps(OLDER | {"metadata": {"exit_code": True, "duration_seconds": 1}}), UNSET, "ended"),
        (json.dumps(OLDER | {"metadata": {"exit_code": 10**30, "duration_seconds": 1}}), UNSET, "ended"),
        (json.dumps(OLDER | {"metadata": {"exit_code": None, "duration_seconds": 1}}), UNSET, "ended"),
        ('{"output":' * 9_000, UNSET, "ended"),
        ("Wall time: 2.0 seconds\nOutput:\nProcess exited with code 1\n", UNSET, "ended"),
        ("the docs say\nExit code: 1\nWall time: 0 seconds\n", UNSET, "ended"),
        ("Exit code: 1 means nothing was found", UNSET, "ended"),
        ("exit code 1", UNSET, "ended"),
        ("", UNSET, "ended"),
    ],
)
def test_only_what_codex_itself_wrote_is_an_exit_code(output: Any, code: Any, run: str) -> None:
    """The header in front of the output tells it; the same words in an output tell nothing."""
    file = CodexFile()
    file.user("Run it.")
    file.call("a", command=["make"])
    file.result("a", output)
    file.tokens()
    [body] = [draft.body for draft in file.read().drafts if isinstance(draft.body, ToolReturned)]
    assert (body.exit_code, body.run, body.result.is_error) == (code, run, False)
