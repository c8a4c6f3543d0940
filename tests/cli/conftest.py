"""Run commands in-process, in a folder and with a store of the test's own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from foreword.cli.main import cli
from tests.cli.sessions import conversation, write

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty folder; the default store is below `data`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("FOREWORD_STORE", raising=False)
    monkeypatch.delenv("FOREWORD_DEBUG", raising=False)
    return tmp_path


@pytest.fixture
def run() -> Run:
    """Run a command line; an exit code other than `code` fails with what it said."""

    def run_(*args: str | Path, code: int = 0, stdin: bytes | None = None) -> Result:
        result = CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin)
        assert result.exit_code == code, (
            result.exit_code,
            result.stdout[-500:],
            result.stderr,
            result.exception,
        )
        assert "Traceback" not in result.stderr
        return result

    return run_


@pytest.fixture
def run_json(run: Run) -> Callable[..., Any]:
    """Run a command with --json and return its document; stdout must hold nothing else."""

    def run_(*args: str | Path, code: int = 0, stdin: bytes | None = None) -> Any:
        return json.loads(run(*args, "--json", code=code, stdin=stdin).stdout)

    return run_


@pytest.fixture
def session_file(home: Path) -> Path:
    """A session of 6 steps."""
    return write(home / "session.json", conversation(6))


def one_line(result: Result) -> str:
    """Return what a refused command said: one line on stderr, nothing on stdout."""
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("foreword: ")
    return lines[0]
