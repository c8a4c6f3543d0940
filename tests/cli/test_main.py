"""The command line as a whole: help, laziness, errors in one line, exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from foreword.cli.main import COMMANDS, cli
from tests.cli.conftest import Run, one_line
from tests.cli.sessions import TARGET


def foreword(
    *args: str, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-c", "from foreword.cli.main import main; main()", *args]
    return subprocess.run(
        command, input=stdin, capture_output=True, timeout=60, check=False, env={**os.environ, **(env or {})}
    )


def test_help_lists_every_command(run: Run) -> None:
    """The list of commands comes from the table, in its order."""
    text = run("--help").stdout
    places = [text.index(f"\n  {name} ") for name in COMMANDS]
    assert places == sorted(places)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str, run: Run) -> None:
    """Each row of the table loads, and its help shows how the command is called."""
    assert f"foreword {name}" in run(name, "--help").stdout.partition("Examples:")[2]


@pytest.mark.parametrize(
    "args", [("--help",), ("--version",), ("nope",), ("replay", "--help"), ("stats", "--help")]
)
def test_light_use_loads_nothing_heavy(args: tuple[str, ...]) -> None:
    """Help and refusals need no store, no codec, no counter and no drawing."""
    heavy = (
        "rich",
        "apsw",
        "toktok",
        *(f"foreword.{layer}" for layer in ("engine", "evals", "store", "codecs")),
    )
    program = (
        "import sys\nfrom foreword.cli.main import cli\n"
        "try:\n    cli(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in sys.modules if name.startswith({heavy!r})], file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, check=True)
    assert run.stderr.splitlines()[-1] == "[]"


def test_an_unknown_command_is_told_its_neighbour(run: Run) -> None:
    """A slip of the keys gets the name that was meant."""
    assert "did you mean replay" in one_line(run("replya", code=2))


def test_a_planned_command_is_said_to_be_one(run: Run) -> None:
    """Not taken for a slip of another name."""
    assert "reduce is not built yet" in one_line(run("reduce", "-", code=2))


def test_version_is_that_of_the_package(run: Run) -> None:
    """--version prints name and version."""
    from foreword import __version__

    assert run("--version").stdout == f"foreword {__version__}\n"


def test_an_unforeseen_fault_is_one_line_too(
    run: Run, monkeypatch: pytest.MonkeyPatch, session_file: Path
) -> None:
    """A bug shows its kind on one line and asks for a report, never a traceback."""

    def broken(*_: object) -> None:
        raise RuntimeError("first line\nsecond \x1b[31mline")

    monkeypatch.setattr("foreword.evals.stats.stats", broken)
    line = one_line(run("stats", session_file, code=2))
    assert "RuntimeError: first line second" in line
    assert "\x1b" not in line


def test_errors_are_raised_for_callers_that_ask(session_file: Path) -> None:
    """With standalone_mode off the exception itself comes through."""
    from foreword.errors import UnknownModel

    with pytest.raises(UnknownModel):
        cli(
            ["compile", str(session_file), "--provider", "anthropic", "--model", "no-such"],
            standalone_mode=False,
        )


def test_a_real_process_ends_with_the_exit_code(session_file: Path) -> None:
    """Exit codes and streams hold outside of the test's process as well."""
    done = foreword("stats", str(session_file), "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    refused = foreword("compile", str(session_file), *TARGET, "--window", "200")
    assert refused.returncode == 1
    assert refused.stderr.count(b"\n") == 1


def test_the_module_is_the_command() -> None:
    """`python -m foreword` is for where the script is not on the path."""
    command = [sys.executable, "-m", "foreword", "nope"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no command 'nope'" in done.stderr


def test_a_reader_that_goes_away_is_no_error(session_file: Path) -> None:
    """`foreword … | head` ends quietly, with the exit code of a closed pipe."""
    program = "from foreword.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, "stats", str(session_file), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == 141


def test_output_is_utf8_whatever_the_locale(home: Path) -> None:
    """JSON documents don't depend on the terminal's encoding."""
    done = foreword(
        "tokens", "東京", "--pieces", "--json", env={"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    )
    assert done.returncode == 0
    assert "東" in done.stdout.decode()
