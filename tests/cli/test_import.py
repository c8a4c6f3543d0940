"""foreword import: the same file, a grown one, a changed one, several, bad ones."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foreword.store.store import Store
from tests.cli.conftest import Run
from tests.cli.sessions import conversation, write

RunJson = Callable[..., Any]


def test_a_session_is_counted(run_json: RunJson, session_file: Path) -> None:
    """The document says what was recorded; what the file doesn't hold is null."""
    [row] = run_json("import", session_file)["sessions"]
    assert (row["steps"], row["tool_calls"], row["messages"], row["usage"]) == (7, 6, 14, None)
    assert row["format"] == "anthropic"
    assert row["tokens"] > 500
    assert row["added"] == row["events"] - 1


def test_the_same_file_again_adds_nothing(run_json: RunJson, session_file: Path) -> None:
    """Importing twice is importing once."""
    [first] = run_json("import", session_file)["sessions"]
    [again] = run_json("import", session_file)["sessions"]
    assert again["added"] == 0
    assert (again["session"], again["events"]) == (first["session"], first["events"])


def test_a_grown_file_adds_its_new_part(run_json: RunJson, home: Path) -> None:
    """What came later is appended to the same session."""
    whole = conversation(6)
    path = write(home / "grows.json", {**whole, "messages": whole["messages"][:7]})
    [before] = run_json("import", path)["sessions"]
    [after] = run_json("import", write(path, whole))["sessions"]
    assert after["session"] == before["session"]
    assert after["events"] == before["events"] + after["added"]
    assert after["steps"] == 7
    assert after["warnings"] == []


def test_a_changed_past_becomes_one_fork(run_json: RunJson, home: Path) -> None:
    """The recording stays; the other telling is a fork, made once, and named in a warning."""
    whole = conversation(6)
    path = write(home / "changes.json", whole)
    [first] = run_json("import", path)["sessions"]
    whole["messages"][6]["content"][0]["content"] = "told otherwise"
    write(path, whole)
    [fork] = run_json("import", path)["sessions"]
    assert fork["session"] != first["session"]
    assert fork["forked_from"][0] == first["session"]
    assert [warning["code"] for warning in fork["warnings"]] == ["forked"]
    [again] = run_json("import", path)["sessions"]
    assert (again["session"], again["added"], again["forked_from"]) == (fork["session"], 0, None)
    with Store.open(home / "data" / "foreword", read_only=True) as store:
        assert len(store.sessions()) == 2
        assert "told otherwise" not in str(store.load(first["session"]))


def test_what_was_erased_does_not_come_back(run_json: RunJson, home: Path, session_file: Path) -> None:
    """A file read again doesn't bring an erased result back, neither in the session nor in a fork."""
    from foreword.engine.session import Session

    [row] = run_json("import", session_file)["sessions"]
    place = home / "data" / "foreword"
    with Store.open(place) as store:
        session = Session.open(store, row["session"])
        target = next(event.seq for event in session.events if "the needle of step 2" in str(event.body))
        session.erase([target], "asked to")
    [again] = run_json("import", session_file)["sessions"]
    assert again["added"] == 0
    with Store.open(place, read_only=True) as store:
        assert [each.id for each in store.sessions()] == [row["session"]]
        assert "the needle of step 2\\n" not in str(store.load(row["session"]))


def test_packed_files_and_stdin_are_read(run_json: RunJson, home: Path, session_file: Path) -> None:
    """gzip is unpacked, and - reads stdin."""
    packed = home / "session.json.gz"
    packed.write_bytes(gzip.compress(session_file.read_bytes()))
    document = run_json("import", packed, "-", stdin=json.dumps(conversation(2, start=40)).encode())
    assert [row["steps"] for row in document["sessions"]] == [7, 3]


def test_a_bad_file_among_good_ones_is_named(run: Run, home: Path, session_file: Path) -> None:
    """The good ones are recorded whole, the bad one leaves no trace, and the exit code says so."""
    (home / "bad.jsonl").write_bytes(b"\x00\x01\x02")
    result = run("import", "bad.jsonl", session_file, "--json", code=2)
    assert len(json.loads(result.stdout)["sessions"]) == 1
    assert result.stderr.count("\n") == 1
    assert "bad.jsonl" in result.stderr


def test_the_table_is_aligned_text_when_piped(run: Run, session_file: Path) -> None:
    """Without a terminal there are columns, and no control sequences."""
    head, row = run("import", session_file).stdout.splitlines()
    assert head.split() == ["session", "alias", "format", "events", "added", "steps", "tool_calls", "tokens"]
    assert head.index("format") == row.index("anthropic")
