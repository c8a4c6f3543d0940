"""foreword replay: the folder it writes, its report, its exit codes."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from foreword.core.block import Message, Text
from foreword.core.usage import Usage
from foreword.engine.calls import note_failed
from foreword.engine.session import Session
from foreword.store import Store
from tests.cli.conftest import Run, one_line
from tests.cli.sessions import MODEL, TARGET, conversation, write

RunJson = Callable[..., Any]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_replay_writes_what_the_contract_says(run_json: RunJson, home: Path, session_file: Path) -> None:
    """One request and one manifest a step, the report, and a store that verifies."""
    report = run_json("replay", session_file, *TARGET, "--out", "out")
    assert names(home / "out") == ["report.json", "steps", "store"]
    expected = [f"{step:05}.{kind}.json" for step in range(1, 8) for kind in ("manifest", "request")]
    assert names(home / "out/steps") == expected
    assert json.loads((home / "out/report.json").read_text(encoding="utf-8")) == report
    assert (report["steps"], report["violations"], report["unexplained_prefix_breaks"]) == (7, 0, 0)
    assert run_json("verify", "--all", "--store", "out/store")["ok"]


@pytest.mark.parametrize("provider, model", [("anthropic", MODEL), ("openai-chat", "gpt-4.1")])
def test_the_steps_add_up_to_the_report(
    run_json: RunJson, home: Path, session_file: Path, provider: str, model: str
) -> None:
    """Tokens and money, to the last digit, with a prefix that the record lacks: paid for once, then read."""
    target = ("--provider", provider, "--model", model, "--unseen", 20_000)
    report = run_json("replay", session_file, *target, "--out", "out")
    made = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((home / "out/steps").glob("*.manifest.json"))
    ]
    assert len(made) == report["steps"]
    usages = [one["usage"] for one in made]
    spent = {name: sum(usage[name] for usage in usages) for name in usages[0] if name != "reasoning"}
    write = spent["cache_write_short"] + spent["cache_write_long"]
    assert report["tokens"] == {
        "sent": spent["uncached"] + spent["cache_read"] + write,
        "cache_read": spent["cache_read"],
        "cache_write": write,
        "uncached": spent["uncached"],
        "output": spent["output"],
    }
    for part in ("total", "input", "output"):
        assert sum(Decimal(one["cost_usd"][part]) for one in made) == Decimal(report["cost_usd"][part])
    parts = report["cost_usd"]
    assert Decimal(parts["input"]) + Decimal(parts["output"]) == Decimal(parts["total"]) > 0
    first = usages[0]
    assert first["uncached"] + first["cache_write_short"] >= 20_000 > first["cache_read"]
    assert all(usage["cache_read"] >= 20_000 for usage in usages[1:])


def test_a_second_replay_replaces_the_first(run_json: RunJson, home: Path, session_file: Path) -> None:
    """The same folder again holds the new replay alone."""
    run_json("replay", session_file, *TARGET, "--out", "out")
    shorter = write(home / "shorter.json", conversation(2))
    report = run_json("replay", shorter, *TARGET, "--out", "out", "--keep-requests", "none")
    assert names(home / "out/steps") == [f"{step:05}.manifest.json" for step in (1, 2, 3)]
    assert report["steps"] == 3


def test_a_folder_with_other_files_is_left_alone(run: Run, home: Path, session_file: Path) -> None:
    """Nothing is removed where something stands that no replay wrote."""
    run("replay", session_file, *TARGET, "--out", "out")
    (home / "out/steps/mine.txt").write_text("mine", encoding="utf-8")
    before = names(home / "out/steps")
    assert "mine.txt" in one_line(run("replay", session_file, *TARGET, "--out", "out", code=2))
    assert names(home / "out/steps") == before
    assert "is a file" in one_line(run("replay", session_file, *TARGET, "--out", session_file, code=2))
    assert session_file.stat().st_size > 0


def test_several_sessions_get_a_folder_each(run_json: RunJson, run: Run, home: Path) -> None:
    """One subfolder a session and one store; the reports come in one document."""
    path = home / "several.json"
    rows = [{"traj": conversation(2, start=start)["messages"]} for start in (0, 10)]
    path.write_text(json.dumps(rows), encoding="utf-8")
    document = run_json("replay", path, *TARGET, "--out", "out")
    ids = [report["session"] for report in document["sessions"]]
    assert names(home / "out") == sorted([*ids, "store"])
    for report in document["sessions"]:
        stored = json.loads((home / "out" / report["session"] / "report.json").read_text(encoding="utf-8"))
        assert stored == report
    assert run("replay", path, *TARGET, "--out", "out").stdout.count("\n") == 5
    found = json.loads(run("blame", "the needle of step 11", "out", "--json").stdout)
    assert found["session"] == ids[1]


def test_a_sample_keeps_every_nth_request(run: Run, home: Path, session_file: Path) -> None:
    """sample:3 writes the bodies of steps 1, 4 and 7; manifests are all there."""
    run("replay", session_file, *TARGET, "--out", "out", "--keep-requests", "sample:3")
    kept = [name for name in names(home / "out/steps") if "request" in name]
    assert kept == ["00001.request.json", "00004.request.json", "00007.request.json"]


def test_refused_steps_are_told_and_are_no_failure(run_json: RunJson, home: Path, session_file: Path) -> None:
    """A window that holds nothing refuses each step with its reasons."""
    report = run_json("replay", session_file, *TARGET, "--out", "out", "--window", "300")
    assert report["refused_steps"] == report["steps"] == 7
    refusal = json.loads((home / "out/steps/00003.error.json").read_text(encoding="utf-8"))
    assert (refusal["error"], refusal["step"]) == ("OverBudget", 3)


def test_a_revocation_is_measured_and_replayed(run_json: RunJson, home: Path) -> None:
    """What it revokes is found again in the replay's log, where other events stand before it, and is sent no more."""
    with Store.open(home / "data" / "foreword") as store:
        session = Session.open(store, "plumbing", provider="anthropic", model="claude-opus-4-8")
        session.say("Hello.")
        session.compile()
        session.answered(Message(role="assistant", blocks=(Text(text="Hi."),)))
        pin = session.pin("Never touch include/.")
        session.say("Mend it.")
        session.compile()
        usage = Usage(uncached=60, cache_read=40, cache_write_short=0, cache_write_long=0, output=2)
        session.answered(Message(role="assistant", blocks=(Text(text="Done."),)), usage=usage)
        session.revoke(pin, "It may change.")
        session.say("Change it.")
        session.compile()
        session.answered(Message(role="assistant", blocks=(Text(text="Changed."),)))
        pinned, said = session.pin("Be brief."), session.say("Now test it.")
        session.erase([pinned], "asked for")
        session.revoke(pinned, "Be long.")
        session.revoke(said, "Don't.")
        session.say("Stop.")
        session.compile()
        session.answered(Message(role="assistant", blocks=(Text(text="Stopped."),)))
    assert run_json("show", "plumbing")["steps"] == 4
    assert run_json("gate", "cache", "plumbing", "--baseline", "0.4", "--tolerance", "0")["ok"]
    report = run_json("replay", "plumbing", *TARGET, "--out", "out")
    assert (report["steps"], report["epochs"], report["unexplained_prefix_breaks"]) == (4, 3, 0)
    sent = [path.read_text("utf-8") for path in sorted((home / "out/steps").glob("*.request.json"))]
    assert ["Never touch include/." in body for body in sent] == [False, True, False, False]
    assert "Now test it." not in sent[-1]
    assert run_json("verify", "--all", "--store", "out/store")["ok"]


def test_a_call_that_failed_is_no_lost_content(run_json: RunJson, home: Path) -> None:
    """It is billed beside the history, and what was recorded after it reads back."""
    with Store.open(home / "data" / "foreword") as store:
        session = Session.open(store, "plumbing", provider="anthropic", model="claude-opus-4-8")
        session.say("Mend it.")
        session.compile()
        note_failed(session, TimeoutError())
        session.answered(Message(role="assistant", blocks=(Text(text="Done."),)))
    assert run_json("replay", "plumbing", *TARGET, "--out", "out")["unrecoverable_bytes"] == 0


@pytest.mark.parametrize("field", ["violations", "unexplained_prefix_breaks", "unrecoverable_bytes"])
def test_a_broken_rule_is_exit_1(
    field: str, run: Run, session_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report is printed all the same, and the exit code says that something does not hold."""
    from foreword.evals.replay import Replay

    honest = Replay.report
    monkeypatch.setattr(Replay, "report", lambda self: {**honest(self), field: 1})
    result = run("replay", session_file, *TARGET, "--out", "out", "--json", code=1)
    assert json.loads(result.stdout)[field] == 1


def test_a_session_of_the_store_is_replayed_beside_itself(
    run_json: RunJson, home: Path, session_file: Path
) -> None:
    """The recording stays as it was, also when the replay goes into the same store, by another name."""
    [row] = run_json("import", session_file)["sessions"]
    report = run_json("replay", row["session"], *TARGET, "--out", "out")
    assert report["session"] == row["session"]
    again = run_json("replay", row["session"], *TARGET, "--out", "out2", "--store", home / "data/foreword")
    assert again["session"] == f"{row['session']}~replay1"
    assert names(home / "out2") == ["report.json", "steps"]
    [same] = run_json("import", session_file)["sessions"]
    assert (same["added"], same["events"]) == (0, row["events"])


def test_a_replay_has_its_own_store_whatever_the_default_is(
    run: Run, home: Path, session_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store named in the environment is that of the user's sessions; `blame` finds the replay's in its folder."""
    monkeypatch.setenv("FOREWORD_STORE", str(home / "mine"))
    run("replay", session_file, *TARGET, "--out", "out")
    assert not (home / "mine").exists()
    assert "entered" in run("blame", "pressure 7 mbar", "out").output


def test_a_path_reader_finds_every_file_that_requests_name(run_json: RunJson, home: Path) -> None:
    """Whatever a manifest says how to get back is there."""
    big = write(home / "big.json", conversation(5, lines=700))
    run_json("replay", big, *TARGET, "--out", "out", "--window", "30000", "--reader", f"path:{home}/left")
    calls = {
        omitted["recover"]
        for path in (home / "out/steps").glob("*.manifest.json")
        for omitted in json.loads(path.read_text(encoding="utf-8"))["omitted"]
        if omitted["how"] in ("artifact", "cleared", "summary")
    }
    assert len(calls) >= 5
    assert [call for call in calls if not Path(call).is_file()] == []


def test_the_summary_is_for_people(run: Run, session_file: Path) -> None:
    """Without --json there is a table of the figures and the place of the results."""
    text = run("replay", session_file, *TARGET, "--out", "out").stdout
    for words in (
        "steps",
        "refused",
        "epochs",
        "cache hit rate",
        "cost",
        "peak tokens",
        "violations",
        "results in out",
    ):
        assert words in text
