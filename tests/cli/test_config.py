"""Settings: argument before environment before file before default, said of each; and shell completion."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foreword.cli.main import COMMANDS
from foreword.cli.settings import SETTINGS, settings_file, shown
from tests.cli.conftest import Run, one_line
from tests.cli.sessions import conversation, write

RunJson = Callable[..., Any]


@pytest.fixture
def file(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings file of the test, not yet written."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "conf"))
    for setting in SETTINGS.values():
        monkeypatch.delenv(setting.variable, raising=False)
    path = home / "conf" / "foreword" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def rows(document: Any) -> dict[str, tuple[str | None, str]]:
    """Return (value, origin) by setting."""
    return {row["name"]: (row["value"], row["from"]) for row in document["settings"]}


def test_each_source_outranks_the_next(
    file: Path, run_json: RunJson, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same setting from all four, one taken away after the other."""
    asked = ("config", "--explain")
    assert rows(run_json(*asked))["reader"] == ("tool", "default")
    file.write_text('reader = "none"\n')
    assert rows(run_json(*asked))["reader"] == ("none", f"file {file}")
    monkeypatch.setenv("FOREWORD_READER", "shell")
    assert rows(run_json(*asked))["reader"] == ("shell", "environment FOREWORD_READER")
    assert rows(run_json(*asked, "--reader", "tool"))["reader"] == ("tool", "argument --reader")


def test_every_setting_can_come_from_every_source(
    file: Path, run_json: RunJson, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row of the table is read from the file and from its variable."""
    values = {
        "window": 5_000,
        "reserve_output": 500,
        "reader": "none",
        "unseen": "7",
        "provider": "anthropic",
    }
    given = {name: values.get(name, f"x-{name}") for name in SETTINGS}
    file.write_text("".join(f"{name} = {value!r}\n" for name, value in given.items()))
    found = rows(run_json("config", "--explain"))
    assert found == {name: (str(value), f"file {file}") for name, value in given.items()}
    for name, setting in SETTINGS.items():
        monkeypatch.setenv(setting.variable, str(given[name]))
    found = rows(run_json("config", "--explain"))
    assert {origin for _, origin in found.values()} == {
        f"environment {s.variable}" for s in SETTINGS.values()
    }


def test_the_file_sets_what_a_command_needs(file: Path, home: Path, run_json: RunJson) -> None:
    """Provider, model and window of the file make a request without an argument; an argument overrides one."""
    file.write_text('provider = "anthropic"\nmodel = "claude-opus-4-8"\nwindow = 50000\n')
    session = write(home / "session.json", conversation(3))
    assert run_json("compile", session)["manifest"]["budget"]["window"] == 50_000
    assert run_json("compile", session, "--window", "60000")["manifest"]["budget"]["window"] == 60_000


def test_leaving_a_model_out_still_means_something(
    file: Path, run_json: RunJson, run: Run, session_file: Path
) -> None:
    """Commands to which no model is a choice do not take one from the file."""
    file.write_text('provider = "anthropic"\nmodel = "claude-opus-4-8"\n')
    assert run_json("tokens", "words")["model"] is None
    assert "give --provider" in one_line(run("blame", "needle", session_file, code=2))


@pytest.mark.parametrize(
    "text, fault",
    [
        ("window = ", "not TOML"),
        ("windo = 5\n", "no setting 'windo'"),
        ('window = "5"\n', "window must be a whole number"),
        ("window = 0\n", "window must be a whole number"),
        ("window = true\n", "window must be a whole number"),
        ("model = 5\n", "model must be a text"),
    ],
)
def test_a_file_with_a_fault_is_refused_in_one_line(file: Path, run: Run, text: str, fault: str) -> None:
    """The file and the fault are named."""
    file.write_text(text)
    line = one_line(run("config", code=2))
    assert fault in line
    assert str(file) in line


def test_help_needs_no_settings(file: Path, run: Run) -> None:
    """A broken file doesn't hide the list of commands."""
    file.write_text("broken")
    assert "doctor" in run("--help").stdout


def test_no_secret_is_printed(file: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of keys only whether they are set; of an address neither name nor password."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("FOREWORD_STORE", "postgresql://me:pass@word@host/db")
    for options in (("--explain",), ("--explain", "--json"), ()):
        text = run("config", *options).stdout
        assert "sk-very-secret" not in text
        assert "pass" not in text
        assert "me:" not in text
    assert "***@host/db" in text
    assert shown("https://user:pw@host/v1?x=1") == "https://***@host/v1?x=1"


def test_the_place_of_the_file(tmp_path: Path) -> None:
    """XDG's folder if it is absolute, else the home's; a variable of its own names another file."""
    assert settings_file({}, tmp_path) == tmp_path / ".config" / "foreword" / "config.toml"
    assert settings_file({"XDG_CONFIG_HOME": "relative"}, tmp_path).is_relative_to(tmp_path / ".config")
    assert settings_file({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "foreword" / "config.toml"
    assert settings_file({"FOREWORD_CONFIG": str(tmp_path / "x")}) == tmp_path / "x"


def test_a_named_file_must_be_there(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A default that is missing is no fault; one that was asked for is."""
    monkeypatch.setenv("FOREWORD_CONFIG", str(home / "missing.toml"))
    assert "no such file" in one_line(run("config", code=2))


def test_a_refused_value_names_the_variable_that_holds_it(
    file: Path, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No argument of the command line is wrong there; one that is given goes before it."""
    path = write(home / "session.json", conversation(1))
    asked = ("compile", path, "--provider", "anthropic", "--model", "claude-opus-4-8")
    monkeypatch.setenv("FOREWORD_WINDOW", "abc")
    assert "FOREWORD_WINDOW" in one_line(run(*asked, code=2))
    assert "FOREWORD_WINDOW" not in one_line(run(*asked, "--window", "x", code=2))
    run(*asked, "--window", "50000")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_calls_back(shell: str, run: Run) -> None:
    """Each script names the variable that asks this command for words."""
    assert f"_FOREWORD_COMPLETE={shell}_complete" in run("completion", shell).stdout


@pytest.mark.parametrize(
    "words, number, expected",
    [
        ("foreword do", 1, ["doctor"]),
        ("foreword ", 1, list(COMMANDS)),
        ("foreword doctor --lo", 2, ["--local"]),
    ],
)
def test_words_are_completed(words: str, number: int, expected: list[str]) -> None:
    """The shell gets commands and options, and an exit code of 0."""
    program = [sys.executable, "-c", "from foreword.cli.main import main; main()"]
    environ = {
        **os.environ,
        "COMP_WORDS": words,
        "COMP_CWORD": str(number),
        "_FOREWORD_COMPLETE": "bash_complete",
    }
    code = "import sys; sys.argv[0] = 'foreword'; from foreword.cli.main import main; main()"
    done = subprocess.run([*program[:2], code], env=environ, capture_output=True, text=True, check=True)
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == expected
