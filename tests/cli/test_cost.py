"""foreword cost: the bill of files and sessions, as a table, a document and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from foreword.core.block import Message, Text
from foreword.core.usage import Usage
from foreword.engine.session import Session
from foreword.evals.cost import COLUMNS
from foreword.store import Store
from tests.cli.conftest import Run, one_line
from tests.cli.sessions import conversation, write
from tests.importers.claude_file import SESSION, ClaudeFile
from tests.importers.codex_file import CodexFile
from tests.store.logs import said, start

RunJson = Callable[..., Any]
MODEL = "claude-sonnet-4-5"
MEMBERS = {
    "calls", "usage", "cost_usd", "recorded_cost_usd", "mismatches", "unknown", "cache_hit_rate", "peak_input",
    "by_model", "steps",
}  # fmt: skip


def pi_file(path: Path, *calls: dict[str, Any], session: str = "pipes") -> Path:
    """Write a pi session: a question and an answer for each usage, which may state its cost."""
    rows: list[dict[str, Any]] = [
        {"type": "session", "id": session, "timestamp": "2026-03-02T10:00:00Z", "cwd": "/home/a"}
    ]
    for number, call in enumerate(calls):
        at = f"2026-03-0{2 + number}T10:00:01Z"
        said = {"role": "user", "content": [{"type": "text", "text": f"question {number}"}]}
        answer = {
            "role": "assistant", "api": "anthropic-messages", "provider": "anthropic", "model": MODEL,
            "content": [{"type": "text", "text": f"answer {number}"}], "stopReason": "stop", **call,
        }  # fmt: skip
        rows += [{"type": "message", "timestamp": at, "message": message} for message in (said, answer)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def usage(input: int, output: int, read: int, write: int, cost: float | None = None) -> dict[str, Any]:
    """Return a usage in pi's form."""
    counts = {"input": input, "output": output, "cacheRead": read, "cacheWrite": write}
    return {"usage": counts if cost is None else {**counts, "cost": {"total": cost}}}


@pytest.fixture
def billed(home: Path) -> Path:
    """Three calls: one stated right, one stated a cent too high, one that was refused."""
    refused = {"stopReason": "error", "content": [], "errorMessage": "busy", **usage(0, 0, 0, 0, 0)}
    return pi_file(
        home / "billed.jsonl", usage(3, 50, 0, 1_000, 0.004509), refused, usage(5, 7, 1_000, 0, 0.01042)
    )


def test_the_document_has_the_members_of_the_contract(run_json: RunJson, billed: Path) -> None:
    """Sums to the digit, mismatches, hit rate and peak; a failed call is a call that cost nothing."""
    found = run_json("cost", billed)
    assert found.keys() >= MEMBERS
    assert found["calls"] == 3
    assert found["usage"] == {
        "uncached": 8, "cache_read": 1_000, "cache_write_short": 1_000, "cache_write_long": 0, "output": 57,
        "reasoning": None,
    }  # fmt: skip
    assert (found["cost_usd"], found["recorded_cost_usd"]) == ("0.004929", "0.014929")
    assert (found["mismatches"], found["unknown"], found["peak_input"]) == (1, 0, 1_005)
    assert found["cache_hit_rate"] == pytest.approx(1_000 / 2_008, abs=1e-6)
    assert found["by_model"][MODEL]["cost_usd"] == "0.004929"
    assert [(step["step"], step["turn"], step["status"]) for step in found["steps"]] == [
        (1, 1, "ok"), (2, 2, "failed"), (2, 2, "ok"),
    ]  # fmt: skip
    assert found["steps"][0]["at"] == "2026-03-02T10:00:01Z"
    assert [step["mismatch"] for step in found["steps"]] == [False, False, True]


def test_the_same_call_in_two_files_counts_once(run_json: RunJson, billed: Path, home: Path) -> None:
    """The same file twice is one bill, and another session adds to it."""
    other = pi_file(home / "other.jsonl", usage(1_000, 0, 0, 0), session="wires")
    assert run_json("cost", billed, billed)["cost_usd"] == "0.004929"
    both = run_json("cost", billed, other)
    assert (both["calls"], both["cost_usd"]) == (4, "0.007929")


def test_own_prices_go_before_the_catalogs(run_json: RunJson, run: Run, billed: Path, home: Path) -> None:
    """A list in TOML or JSON; what it does not price is unknown; a bad one is one line."""
    prices = home / "mine.toml"
    prices.write_text("input = 1\noutput = 1\ncache_read = 1\ncache_write_5m = 1\n", encoding="utf-8")
    assert run_json("cost", billed, "--prices", prices)["cost_usd"] == "0.002065"
    few = write(home / "few.json", {MODEL: {"input": "1", "output": 1}})
    found = run_json("cost", billed, "--prices", few)
    assert (found["cost_usd"], found["unknown"]) == ("0", 2)
    assert found["unknown_names"] == ["price.cache_write_short", "price.cache_read"]
    shown = run("cost", billed, "--prices", few).stdout
    assert "unknown cost: 2 of 3 calls" in shown
    assert (
        f'--prices FILE, in dollars per million tokens: ["{MODEL}"] cache_read, cache_write_short\n' in shown
    )
    bad = home / "bad.toml"
    bad.write_text("colour = 3", encoding="utf-8")
    assert "colour" in one_line(run("cost", billed, "--prices", bad, code=2))
    bad.write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in one_line(run("cost", billed, "--prices", bad, code=2))
    assert "does not exist" in one_line(run("cost", billed, "--prices", home / "none", code=2))


def test_a_model_without_a_price_gets_the_table_that_prices_it(
    run: Run, run_json: RunJson, home: Path
) -> None:
    """Its name as a key of TOML and the members that its calls use; a list with these prices every call."""
    path = pi_file(home / "own.jsonl", {"model": "of.our-own", **usage(1_000, 20, 500, 0)})
    shown = run("cost", path).stdout
    assert "unknown cost: 1 of 1 calls (model.of.our-own); not in the sums" in shown
    assert 'tokens: ["of.our-own"] input, cache_read, output\n' in shown
    prices = home / "mine.toml"
    prices.write_text('["of.our-own"]\ninput = 1\ncache_read = 0\noutput = 0\n', encoding="utf-8")
    found = run_json("cost", path, "--prices", prices)
    assert (found["unknown"], found["cost_usd"]) == (0, "0.001")
    assert "--prices" not in run("cost", path, "--prices", prices).stdout


def test_unknown_is_null_in_a_file_without_usage(run_json: RunJson, run: Run, home: Path) -> None:
    """No call of it can be priced: the sums are null, and the count of unknown calls says so."""
    path = write(home / "plain.json", conversation(3))
    found = run_json("cost", path)
    assert (found["calls"], found["unknown"]) == (4, 4)
    assert found["usage"] is found["cost_usd"] is found["cache_hit_rate"] is found["peak_input"] is None
    shown = run("cost", path).stdout
    assert "–" in shown
    assert "--prices" not in shown


def test_calls_without_usage_are_estimated_apart(run_json: RunJson, run: Run, home: Path) -> None:
    """The estimate is marked as one, stands beside the unknown cost and adds up by call, in every form."""
    path = write(home / "plain.json", conversation(3))
    found = run_json("cost", path)
    assert (found["without_usage"], found["estimated"], found["cost_usd"]) == (4, 4, None)
    estimates = [step["estimate"] for step in found["steps"]]
    assert all(later["input"] > earlier["input"] for earlier, later in pairwise(estimates))
    assert sum(Decimal(one["cost_usd"]) for one in estimates) == Decimal(found["estimated_cost_usd"])
    assert found["by_model"]["claude-opus-4-8"]["estimated_cost_usd"] == found["estimated_cost_usd"]
    assert "estimate for 4 of 4 calls, as if what is unknown had not been cached" in run("cost", path).stdout
    rows = list(csv.DictReader(io.StringIO(run("cost", path, "--csv").stdout)))
    assert [(row["cost_usd"], row["estimated_cost_usd"]) for row in rows] == [
        ("", one["cost_usd"]) for one in estimates
    ]


def test_usage_that_does_not_add_up_is_a_warning(run_json: RunJson, run: Run, home: Path) -> None:
    """In a file and, once imported, in the store: the call, the count, and a bill that drops no token."""
    file = ClaudeFile()
    file.user("Mend it.")
    split = {"cache_creation_input_tokens": 1_000, "cache_creation": {"ephemeral_1h_input_tokens": 400}}
    used = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0, **split}
    file.answer("a", {"type": "text", "text": "Mended."}, usage=used, stop_reason="end_turn", model=MODEL)
    path = home / f"{SESSION}.jsonl"
    path.write_text("".join(line + "\n" for line in file.lines), encoding="utf-8")
    run("import", path)
    for source in (path, SESSION):
        found = run_json("cost", source)
        assert found["cost_usd"] == "0.00465"
        assert found["doubts"] == {"cache_split_mismatch": 1}
        assert found["steps"][0]["doubts"] == ["cache_split_mismatch"]
        assert "1 calls does not add up (cache_split_mismatch)" in run("cost", source).stdout


def test_recorded_costs_of_calls_that_came_to_nothing_are_compared(run_json: RunJson, billed: Path) -> None:
    """The refused call's 0 stands beside the others, under the model that was asked."""
    refused = run_json("cost", billed)["steps"][1]
    assert (refused["status"], refused["model"]) == ("failed", MODEL)
    assert (refused["cost_usd"], refused["recorded_cost_usd"], refused["mismatch"]) == ("0", "0", False)


def test_by_project_and_by_step(run: Run, run_json: RunJson, billed: Path, home: Path) -> None:
    """The project is the folder that a file names; a store keeps it, and a session of one's own is given it."""
    store_of = ("--store", home / "store")
    run("import", billed, *store_of)
    with Store.open(home / "store") as store:
        session = Session.open(store, "own", provider="anthropic", model=MODEL, project="wires")
        session.say("Go.")
        session.compile()
        text = Message(role="assistant", blocks=(Text(text="Yes."),))
        used = Usage(uncached=1_000, cache_read=0, cache_write_short=0, cache_write_long=0, output=0)
        session.answered(text, usage=used, model=MODEL)
    assert run_json("cost", billed, "--by", "project")["groups"]["/home/a"]["calls"] == 3
    groups = run_json("cost", "pipes", "own", "--by", "project", *store_of)["groups"]
    assert {name: one["cost_usd"] for name, one in groups.items()} == {
        "/home/a": "0.004929",
        "wires": "0.003",
    }
    steps = run_json("cost", billed, "--by", "step")["groups"]
    assert {name: one["calls"] for name, one in steps.items()} == {"pipes step 1": 1, "pipes step 2": 2}


def test_a_session_of_the_store_is_billed_like_its_file(run: Run, run_json: RunJson, billed: Path) -> None:
    """Importing changes no figure."""
    run("import", billed)
    (file, stored) = run_json("cost", billed), run_json("cost", "pipes")
    assert file == stored


def test_a_damaged_session_does_not_stop_the_bill_of_the_store(
    run: Run, run_json: RunJson, billed: Path, home: Path
) -> None:
    """The others are billed, it is warned of, and the exit code says that the bill is not whole."""
    place = home / "store"
    run("import", billed, "--store", place)
    with Store.open(place) as store:
        start(store, "broken", said("x" * 300_000))
    for path in (place / "artifacts").rglob("*"):
        if path.is_file():
            path.unlink()
    assert run_json("cost", "--store", place, code=1)["calls"] == 3
    assert "warning: broken is not billed" in run("cost", "--store", place, code=1).stderr


def test_a_sub_agent_is_one_by_what_is_recorded_not_by_its_name(run_json: RunJson, home: Path) -> None:
    """A slash in an id says nothing; files of Claude Code and of Codex tell, and the store keeps it."""
    place = home / "store"
    with Store.open(place) as store:
        Session.open(store, "team/agent-1").answered(Message(role="assistant", blocks=(Text(text="Yes."),)))
    assert run_json("cost", "team/agent-1", "--store", place)["kinds"] == {"call": 1}
    claude = ClaudeFile()
    claude.user("Go.")
    claude.answer("m1", {"type": "text", "text": "I let it look."})
    claude.user("Look.", parentUuid=None, isSidechain=True, agentId="a7f")
    claude.answer("s1", {"type": "text", "text": "None."}, isSidechain=True, agentId="a7f")
    codex = CodexFile(source={"subagent": {"thread_spawn": {"parent_thread_id": "p"}}})
    codex.user("Look into it.")
    codex.say("Done.")
    for name, data, kinds in (
        ("a", claude.data, {"call": 1, "sub_context": 1}),
        ("b", codex.data, {"sub_context": 1}),
    ):
        path = home / f"{name}.jsonl"
        path.write_bytes(data)
        assert run_json("cost", path)["kinds"] == kinds
        for row in run_json("import", path, "--store", place)["sessions"]:
            found = run_json("cost", row["session"], "--store", place)["kinds"]
            assert found == {"sub_context" if "/" in row["session"] or name == "b" else "call": 1}


def test_own_sessions_show_epochs_latency_and_users(run_json: RunJson, home: Path) -> None:
    """What only the engine's own log holds: rewrites by kind, first tokens by phase, groups by user."""
    with Store.open(home / "store") as store:
        session = Session.open(store, "own", provider="anthropic", model=MODEL)
        session.user = "ada"
        for number, read in enumerate((0, 900, 950)):
            session.say(f"question {number}")
            session.compile()
            used = Usage(
                uncached=1_000 - read, cache_read=read, cache_write_short=0, cache_write_long=0, output=1
            )
            text = Message(role="assistant", blocks=(Text(text="Yes."),))
            session.answered(text, usage=used, model=MODEL, first_token_ms=100 * (number + 1))
    found = run_json("cost", "own", "--store", home / "store", "--by", "user")
    assert found["first_token_ms"] == {
        "cold": {"calls": 1, "p50": 100, "p95": 100}, "warm": {"calls": 2, "p50": 200, "p95": 300},
    }  # fmt: skip
    assert found["rewrites"] == {"epochs": 1}
    assert found["groups"]["ada"]["calls"] == 3


def test_a_table_by_day(run: Run, billed: Path) -> None:
    """One line a day and one for all, with what the tool itself had recorded."""
    lines = run("cost", billed, "--by", "day").stdout.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["day", "2026-03-02", "2026-03-03", "2026-03-04", "all"]
    assert "1 calls with another cost" in lines[-2]
    assert lines[-1] == "calls that did not end well: 1 failed"


def test_csv_has_a_line_a_call(run: Run, billed: Path, home: Path) -> None:
    """Columns in their order, unknown as an empty cell, and no name that a spreadsheet would run."""
    rows = list(csv.DictReader(io.StringIO(run("cost", billed, "--csv").stdout)))
    assert tuple(rows[0]) == COLUMNS
    assert [row["cost_usd"] for row in rows] == ["0.004509", "0", "0.00042"]
    assert (rows[0]["cache_write_short"], rows[0]["reasoning"]) == ("1000", "")
    evil = pi_file(home / "evil.jsonl", {**usage(1, 1, 1, 1), "model": "=cmd|'/c calc'!A1"}, session="evil")
    (row,) = csv.DictReader(io.StringIO(run("cost", evil, "--csv").stdout))
    assert row["model"].startswith("'=")
    assert "one result" in one_line(run("cost", billed, "--csv", "--json", code=2))
