"""foreword blame: entered, still there, left and by what, found nowhere."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, one_line
from tests.cli.sessions import TARGET, conversation, write

RunJson = Callable[..., Any]


@pytest.fixture
def long_file(home: Path) -> Path:
    """A session that a window of 12,000 tokens can't hold whole."""
    return write(home / "long.json", conversation(14, lines=90))


@pytest.fixture
def replayed(run: Run, long_file: Path) -> str:
    run("replay", long_file, *TARGET, "--window", "12000", "--out", "out")
    return "out"


def test_a_text_that_left_names_its_rewrite(run_json: RunJson, replayed: str) -> None:
    """Old results were rewritten: when, by which event, why, and the call that brings them back."""
    found = run_json("blame", "line 41 of pipe 1:", replayed)
    assert found["entered"]["kind"] == "tool_returned"
    assert found["entered"]["step"] == 3
    assert found["in_request"] is False
    assert found["where"] == []
    assert found["left"]["how"] in ("cleared", "summarized", "externalized")
    assert found["left"]["step"] >= found["entered"]["step"]
    event = found["entered"]["event"]
    alias = found["read"].removeprefix("foreword read ").partition("#")[0]
    assert found["recover"] == f'read(ref="{alias}#{event}")'
    page = run_json("read", f"{alias}#{event}", "--store", f"{replayed}/store", "--grep", "line 41 of")
    assert page["returned_lines"] == 1


def test_a_text_that_stays_names_its_segment(run_json: RunJson, home: Path, replayed: str) -> None:
    """A person's words stand in the last request; the segment is the one of the manifest."""
    found = run_json("blame", "keep the valve shut", replayed)
    assert (found["in_request"], found["left"]) == (True, None)
    [place] = [place for place in found["where"] if place["events"] == [found["entered"]["event"]]]
    manifest = json.loads((home / replayed / "steps/00015.manifest.json").read_text(encoding="utf-8"))
    segment = manifest["segments"][place["segment"]]
    assert (segment["kind"], segment["events"]) == (place["kind"], place["events"])
    body = (home / replayed / "steps/00015.request.json").read_bytes()
    assert b"keep the valve shut" in body[segment["start"] : segment["end"]]
    assert (
        place["place"] == {pin["event"]: pin["where"] for pin in manifest["pins"]}[found["entered"]["event"]]
    )


def test_a_file_is_replayed_first(run_json: RunJson, run: Run, home: Path, long_file: Path) -> None:
    """With replay's options the answer is that of the replay's folder, and nothing stays on disk."""
    found = run_json("blame", "line 41 of pipe 1:", long_file, *TARGET, "--window", "12000")
    assert found["left"]["how"] in ("cleared", "summarized", "externalized")
    assert found["read"] is None  # the store of that replay is gone
    assert sorted(path.name for path in home.iterdir()) == ["long.json"]
    assert "give --provider and --model" in one_line(run("blame", "pipe", long_file, code=2))
    assert "go together" in one_line(run("blame", "pipe", long_file, "--model", "claude-opus-4-8", code=2))


def test_a_session_without_requests_is_unknown_not_absent(run_json: RunJson, session_file: Path) -> None:
    """Nothing was sent from an import, so whether the text is in the request is null."""
    [row] = run_json("import", session_file)["sessions"]
    found = run_json("blame", "needle of step 2", row["session"])
    assert (found["in_request"], found["request"], found["left"]) == (None, None, None)
    run_json("compile", row["session"], *TARGET, "--commit")
    assert run_json("blame", "needle of step 2", row["session"])["in_request"] is True


def test_escaped_and_foreign_text_is_found_decoded(run_json: RunJson, home: Path) -> None:
    """Quotes, line ends and other scripts are looked for as they read, in arguments too."""
    whole = conversation(2)
    whole["messages"][1]["content"][1]["input"] = {"path": 'a "quoted"\npath', "note": "東京 é"}
    path = write(home / "s.json", whole)
    for text in ('a "quoted"\npath', "東京 é"):
        assert run_json("blame", text, path, *TARGET)["in_request"] is True


def test_a_text_found_nowhere_is_exit_1(run: Run, replayed: str) -> None:
    """One clear line."""
    assert "found nowhere" in one_line(run("blame", "no such words", replayed, code=1))


def test_a_folder_that_is_no_replay_is_refused(run: Run, home: Path) -> None:
    """A folder without a store, and an empty text."""
    (home / "empty").mkdir()
    assert "no folder of a replay" in one_line(run("blame", "x", "empty", code=2))
    assert "TEXT is empty" in one_line(run("blame", "", "empty", code=2))


def test_people_read_sentences(run: Run, replayed: str) -> None:
    """Entered, left, back by: one line each."""
    lines = run("blame", "line 41 of pipe 1:", replayed).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["session", "entered", "left", "back", "or"]
    command = lines[-1].split(maxsplit=2)[2]
    assert command.endswith(f"--store {replayed}/store")
    assert "line 41 of pipe 1:" in run(*command.split()[1:], "--grep", "line 41 of").stdout
