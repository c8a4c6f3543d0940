"""Bad input, command by command: one clear line, exit code 2, and nothing half-written."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run, one_line
from tests.cli.sessions import TARGET
from tests.cli.test_main import foreword

MIXED = (
    b'{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"x"}}\n'
    b'{"role":"user","content":"hi"}\n'
)
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "blank": (b"\n \n", "the file is empty"),
    "binary": (b"\x00\x01\x02\x03" * 50, "binary data"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not JSON"),
    "truncated": (b'{"messages": [{"role": "user", "content": "x"}, {"role"', "not JSON"),
    "gzip cut off": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x01\x02", "can't be read"),
    "number": (b"42", "no object or list"),
    "strange": (b'{"a": 1}', "not a file of session records"),
    "mixed formats": (MIXED, "two formats in one file"),
    "deep": (b'{"messages":' + b"[" * 100_000, "bad.json"),
}
COMMANDS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "import": lambda name: ("import", name),
    "compile": lambda name: ("compile", name, *TARGET, "--commit"),
    "replay": lambda name: ("replay", name, *TARGET, "--out", "out"),
    "blame": lambda name: ("blame", "x", name, *TARGET),
    "show": lambda name: ("show", name),
    "stats": lambda name: ("stats", name),
}


def untouched(home: Path, *names: str) -> None:
    """Nothing but these names is in the folder: no store, no results."""
    assert sorted(path.name for path in home.iterdir()) == sorted(names)


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_bad_file_is_one_line(command: str, kind: str, run: Run, home: Path) -> None:
    """What is wrong with which file; no store and no folder is made for it."""
    data, words = BAD[kind]
    (home / "bad.json").write_bytes(data)
    line = one_line(run(*COMMANDS[command]("bad.json"), code=2))
    assert "bad.json" in line
    assert words in line
    untouched(home, "bad.json")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_is_one_line(command: str, run: Run, home: Path) -> None:
    """A name that is neither a file nor a session."""
    assert "no such file" in one_line(run(*COMMANDS[command]("gone.json"), code=2))
    untouched(home)


def test_a_missing_file_is_one_also_beside_a_store(run: Run, session_file: Path) -> None:
    """A name that looks like a file's is called a missing file; any other one is an unknown session."""
    run("import", session_file)
    assert "no such file, and no session of that name" in one_line(run("show", "gone.json", code=2))
    assert "no session 'gone'" in one_line(run("show", "gone", code=2))


def test_a_missing_option_names_the_help(run: Run, session_file: Path) -> None:
    """What is missing, and where it is explained."""
    line = one_line(run("compile", session_file, code=2))
    assert "Missing option '--provider'; `" in line
    assert "compile --help` says what it takes" in line


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "blame"])
def test_a_folder_is_one_line(command: str, run: Run, home: Path) -> None:
    """A folder is no session file."""
    (home / "folder").mkdir()
    assert "is a folder" in one_line(run(*COMMANDS[command]("folder"), code=2))
    untouched(home, "folder")


@pytest.mark.parametrize("command", COMMANDS)
def test_empty_stdin_is_one_line(command: str, run: Run, home: Path) -> None:
    """- with nothing behind it."""
    assert "empty" in one_line(run(*COMMANDS[command]("-"), code=2, stdin=b""))
    untouched(home)


@pytest.mark.parametrize("command", ["compile", "blame", "show", "stats", "replay"])
def test_an_unknown_session_is_told_close_names(
    command: str, run: Run, home: Path, session_file: Path
) -> None:
    """The store is named, and what the name may have meant."""
    known = json.loads(run("import", session_file, "--json").stdout)["sessions"][0]["session"]
    line = one_line(run(*COMMANDS[command](f"{known}0"), code=2))
    assert f"no session '{known}0'" in line
    assert f"close: {known}" in line


@pytest.mark.parametrize("command", ["compile", "replay", "blame"])
def test_an_unknown_model_is_told_close_names(command: str, run: Run, home: Path, session_file: Path) -> None:
    """A slip in the model's name shows the names there are; nothing is written."""
    args = [arg.replace("claude-opus-4-8", "claude-opus-48") for arg in COMMANDS[command]("session.json")]
    line = one_line(run(*args, code=2))
    assert "unknown model 'claude-opus-48'" in line
    assert "claude-opus-4-8" in line
    untouched(home, "session.json")


@pytest.mark.parametrize("command", ["compile", "replay", "blame"])
@pytest.mark.parametrize(
    "option, value, words",
    [
        ("--provider", "antropic", "unknown wire"),
        ("--window", "0", "--window"),
        ("--window", "many", "--window"),
        ("--reserve-output", "-1", "--reserve-output"),
        ("--unseen", "some", "neither `recorded` nor a number"),
        ("--reader", "telepathy", "tool, shell, path:ROOT, none"),
        ("--reader", "path:", "tool, shell, path:ROOT, none"),
        ("--reader", "path:session.json", "is no folder"),
        ("--policy", "strict", "neither a name"),
        ("--format", "pdf", "unknown format"),
    ],
)
def test_a_bad_option_is_one_line(
    command: str, option: str, value: str, words: str, run: Run, home: Path, session_file: Path
) -> None:
    """Which option, and what it takes."""
    assert words in one_line(run(*COMMANDS[command]("session.json"), option, value, code=2))
    untouched(home, "session.json")


def test_a_reserve_over_the_window_is_one_line(run: Run, session_file: Path) -> None:
    """Output that leaves no room for a prompt is bad use, not an overflow."""
    args = ("compile", session_file, *TARGET, "--window", "1000", "--reserve-output", "1000")
    assert "leaves no room" in one_line(run(*args, code=2))


@pytest.mark.parametrize("command", ["import", "compile"])
@pytest.mark.parametrize(
    "store", ["session.json/below", "postgresql://host/db", "sqlite:///session.json", ""]
)
def test_a_store_that_cannot_be_is_one_line(
    command: str, store: str, run: Run, home: Path, session_file: Path
) -> None:
    """A path below a file, a place of another kind, another program's file; the file itself is unharmed."""
    before = session_file.read_bytes()
    line = one_line(run(*COMMANDS[command]("session.json"), "--store", store, code=2))
    assert line.startswith("foreword: store ")
    assert session_file.read_bytes() == before
    untouched(home, "session.json")


def test_results_that_cannot_be_written_are_one_line(run: Run, home: Path, session_file: Path) -> None:
    """A folder for results below a file."""
    assert "session.json" in one_line(
        run("replay", session_file, *TARGET, "--out", "session.json/out", code=2)
    )
    assert "session.json" in one_line(
        run("compile", session_file, *TARGET, "--out", "session.json/out", code=2)
    )
    untouched(home, "session.json")


def test_a_read_only_file_is_enough(run: Run, session_file: Path) -> None:
    """Nothing is written to a source."""
    session_file.chmod(0o444)
    run("stats", session_file)
    run("compile", session_file, *TARGET)


def test_real_processes_say_the_same(home: Path, session_file: Path) -> None:
    """Outside of the test's process too: one line on stderr, nothing on stdout, exit 2."""
    (home / "bad.jsonl").write_bytes(b"\x00")
    for args, stdin in (
        (("stats", "bad.jsonl"), b""),
        (("import", "-"), b""),
        (("compile", "session.json", *TARGET, "--policy", "nope"), b""),
        (("tokens", "-"), b"\xff"),
    ):
        done = foreword(*args, stdin=stdin)
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1), done


@pytest.mark.parametrize("command", ["compile", "replay", "blame"])
def test_a_model_on_a_wire_that_is_not_its_own_is_one_line(
    command: str, run: Run, session_file: Path, home: Path
) -> None:
    """It is refused, unless a gateway is named that serves it so."""
    asked = [str(word) for word in COMMANDS[command](str(session_file))]
    asked[asked.index("--model") + 1] = "gpt-6.1-sol"
    line = one_line(run(*asked, code=2))
    assert (
        "'gpt-6.1-sol' is not served on the wire anthropic: it speaks openai-chat, openai-responses" in line
    )
    assert "no profile has this name" in one_line(run(*asked, "--endpoint", "nope", code=2))
    run(*(word for word in asked if word != "--commit"), "--endpoint", "openrouter")


@pytest.mark.parametrize(
    "args, words",
    [
        (
            ("gate", "cache", "session.json", "--baseline", "nan", "--tolerance", "0.1"),
            "no number from 0 to 1",
        ),
        (("doctor", "--local", "http://[::1"), "is no address"),
    ],
)
def test_what_is_no_value_at_all_is_one_line(
    args: tuple[str, ...], words: str, run: Run, session_file: Path
) -> None:
    """A number that is none, an address that can't be taken apart."""
    assert words in one_line(run(*args, code=2))
