"""foreword compile: dry and committed, its files, its refusals."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foreword.store.store import Store
from tests.cli.conftest import Run, one_line
from tests.cli.sessions import TARGET, conversation, write

RunJson = Callable[..., Any]


def test_a_file_compiles_dry(run_json: RunJson, home: Path, session_file: Path) -> None:
    """The request holds the session; nothing is made on disk."""
    before = sorted(home.rglob("*"))
    document = run_json("compile", session_file, *TARGET)
    assert document["request"]["model"] == "claude-opus-4-8"
    assert "the needle of step 5" in json.dumps(document["request"]["messages"])
    assert document["manifest"]["step"] == 8
    assert document["manifest"]["violations"] == []
    assert sorted(home.rglob("*")) == before


def test_out_holds_the_exact_body(run: Run, home: Path, session_file: Path) -> None:
    """request.json is the body, and the manifest's segments tile it."""
    run("compile", session_file, *TARGET, "--out", "next/one")
    body = (home / "next/one/request.json").read_bytes()
    manifest = json.loads((home / "next/one/manifest.json").read_bytes())
    assert len(body) == manifest["bytes"]
    ends = [0, *(segment["end"] for segment in manifest["segments"])]
    assert [segment["start"] for segment in manifest["segments"]] == ends[:-1]
    assert ends[-1] == len(body)


def test_a_session_compiles_dry_and_then_for_good(run_json: RunJson, home: Path, session_file: Path) -> None:
    """Dry leaves the store as it was; --commit appends the request; both send the same."""
    [row] = run_json("import", session_file)["sessions"]
    dry = run_json("compile", row["session"][:9], *TARGET)
    place = home / "data" / "foreword"
    with Store.open(place, read_only=True) as store:
        assert len(store.load(row["session"])) == row["events"]
    kept = run_json("compile", row["alias"], *TARGET, "--commit")
    assert kept["request"] == dry["request"]
    with Store.open(place, read_only=True) as store:
        assert store.load(row["session"])[-1].kind == "request_sent"
    again = run_json("compile", row["alias"], *TARGET)
    assert again["request"] == kept["request"]


def test_commit_imports_a_file_first(run: Run, run_json: RunJson, session_file: Path) -> None:
    """After compile --commit the session is in the store and verifies."""
    document = run_json("compile", session_file, *TARGET, "--commit")
    proof = run_json("verify", document["manifest"]["session"])
    assert proof["ok"]
    assert proof["events"] >= 20


def test_what_does_not_fit_is_refused_with_a_list(
    run: Run, run_json: RunJson, home: Path, session_file: Path
) -> None:
    """Exit 1, one line, each required item, and no folder for a request that isn't there."""
    result = run("compile", session_file, *TARGET, "--window", "300", "--out", "next", code=1)
    assert "smallest window" in result.stderr
    assert "instructions" in result.stdout
    assert not (home / "next").exists()
    refusal = run_json("compile", session_file, *TARGET, "--window", "300", code=1)
    assert refusal["error"] == "OverBudget"
    assert {"instructions", "tools"} <= {item["name"] for item in refusal["required"]}
    assert refusal["smallest_window"] > 300


def test_the_smallest_window_named_is_enough(run: Run, run_json: RunJson, home: Path) -> None:
    """The next move that the refusal names works, and one token less than what is required does not."""
    path = write(home / "wordy.json", conversation(6, system="Pipes are round and valves are shut. " * 500))
    reserve = ("--reserve-output", "40")
    smallest = run_json("compile", path, *TARGET, "--window", "300", *reserve, code=1)["smallest_window"]
    run("compile", path, *TARGET, "--window", str(smallest + 400), *reserve)
    run("compile", path, *TARGET, "--window", str(smallest - 1), *reserve, code=1)


def test_an_unseen_prefix_takes_room(run_json: RunJson, session_file: Path) -> None:
    """--unseen counts in the budget and is never sent."""
    plain = run_json("compile", session_file, *TARGET)
    given = run_json("compile", session_file, *TARGET, "--unseen", "5137")
    assert given["request"]["messages"][:-1] == plain["request"]["messages"][:-1]
    assert "5137" not in json.dumps(given["request"])
    assert given["manifest"]["tokens"]["by_category"]["unseen"] == 5137
    assert (
        run_json("compile", session_file, *TARGET, "--window", "4000", "--unseen", "5137", code=1)["unseen"]
        == 5137
    )


def test_a_path_reader_finds_what_was_left_out(run_json: RunJson, home: Path) -> None:
    """Each path that a request names is there, with the exact content."""
    big = write(home / "big.json", conversation(3, lines=900))
    document = run_json("compile", big, *TARGET, "--window", "30000", "--reader", f"path:{home}/left")
    recovered = [
        omitted["recover"] for omitted in document["manifest"]["omitted"] if omitted["how"] == "artifact"
    ]
    assert recovered
    for path in recovered:
        assert Path(path).read_text(encoding="utf-8").startswith("the needle of step")
        assert Path(path).read_text(encoding="utf-8").count("\n") == 901


@pytest.mark.parametrize("reader, words", [("tool", "read"), ("shell", "foreword read"), ("none", None)])
def test_the_reader_is_the_one_named(reader: str, words: str | None, run_json: RunJson, home: Path) -> None:
    """The base holds the read tool only for `tool`, and notes name the reader's own call."""
    big = write(home / "big.json", conversation(3, lines=900))
    document = run_json("compile", big, *TARGET, "--window", "60000", "--reader", reader)
    names = [tool["name"] for tool in document["request"]["tools"]]
    assert ("read" in names) == (reader == "tool")
    calls = [
        omitted["recover"] for omitted in document["manifest"]["omitted"] if omitted["how"] == "artifact"
    ]
    assert all(words is not None and call.startswith(words) for call in calls)


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("p.toml", "keep_interaction = 3", "unknown field 'keep_interaction'"),
        ("p.toml", "keep_interactions = 'six'", "give a whole number, 0 or more"),
        ("p.toml", "low_water = -1", "give a share, 0 to 1"),
        ("p.toml", "result_share = 1.5", "give a share, 0 to 1"),
        ("p.toml", "uncalibrated_factor = 0", "give a number over 0"),
        ("p.toml", "= nothing", "not TOML"),
        ("p.json", "[1]", "not a table"),
        ("p.json", "{", "not JSON"),
    ],
)
def test_a_bad_policy_file_is_one_line(
    name: str, text: str, words: str, run: Run, home: Path, session_file: Path
) -> None:
    """What is wrong with a policy, and where, on one line."""
    (home / name).write_text(text, encoding="utf-8")
    line = one_line(run("compile", session_file, *TARGET, "--policy", name, code=2))
    assert name in line
    assert words in line


def test_a_policy_file_changes_what_it_names(run_json: RunJson, home: Path) -> None:
    """A smaller limit for results moves them out; the file's stem is the policy's name."""
    path = write(home / "s.json", conversation(3, lines=60))
    assert run_json("compile", path, *TARGET)["manifest"]["omitted"] == []
    (home / "tight.toml").write_text("result_tokens = 200\nexcerpt_tokens = 60\n", encoding="utf-8")
    omitted = run_json("compile", path, *TARGET, "--policy", "tight.toml")["manifest"]["omitted"]
    assert [one["how"] for one in omitted] == ["artifact"] * 3


def test_of_several_sessions_one_must_be_chosen(run: Run, home: Path) -> None:
    """A file of several sessions names them; --session takes one."""
    rows = [{"traj": conversation(2, start=start)["messages"]} for start in (0, 10)]
    path = home / "several.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    line = one_line(run("compile", path, *TARGET, code=2))
    assert "holds 2 sessions" in line
    chosen = line.rpartition(": ")[2].split(", ")[1]
    assert chosen in run("compile", path, *TARGET, "--session", chosen).stdout
