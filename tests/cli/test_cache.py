"""foreword cache explain: the document of the contract, what a person reads, and bad input."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.conftest import Run
from tests.evals.test_cache_explain import ended, opened

RunJson = Callable[..., Any]


def test_the_document(home: Path, run_json: RunJson) -> None:
    """Every member of the contract, and the same from a file, from stdin and compressed by name."""
    data = ended(opened(), 400)
    path = home / "session.jsonl"
    path.write_bytes(data)
    document = run_json("cache", "explain", path)
    [one] = document["breaks"]
    assert {name: one[name] for name in ("step", "expected_read", "read", "tokens_rewritten", "cost_usd", "cause")} == {
        "step": 2, "expected_read": 40_010, "read": 0, "tokens_rewritten": 41_010, "cost_usd": "0.2300575",
        "cause": "ttl_passed",
    }  # fmt: skip
    assert "390 s" in one["evidence"]
    assert one["fix"]
    assert one["where"] == "line 4"
    assert (document["breaks_below_half"], document["tokens_rewritten_below_half"]) == (1, 41_010)
    assert run_json("cache", "explain", "-", stdin=data)["breaks"] == document["breaks"]


def test_what_a_person_reads(home: Path, run: Run) -> None:
    """Step, cause, figures, evidence, mend; a session without breaks says so in figures."""
    path = home / "session.jsonl"
    path.write_bytes(ended(opened(), 400))
    shown = run("cache", "explain", path).stdout
    assert "step 2 (line 4): ttl_passed (shown)" in shown
    assert "read 0 of 40,010 tokens; $0.2301 more than a hit" in shown
    path.write_bytes(ended(opened(), 20, 40_000))
    assert "breaks below half" in run("cache", "explain", path).stdout


def test_a_session_of_the_store(home: Path, run: Run, run_json: RunJson) -> None:
    """An imported session is explained from its log; the signs of its file are not kept."""
    path = home / "session.jsonl"
    path.write_bytes(ended(opened(), 400))
    [row] = run_json("import", path)["sessions"]
    [one] = run_json("cache", "explain", row["session"])["breaks"]
    assert one["cause"] == "ttl_passed"


def test_bodies_show_where_requests_part(home: Path, run: Run, run_json: RunJson) -> None:
    """A time in the system text: the unit, the path and the byte where both bodies part."""
    (home / "session.jsonl").write_bytes(ended(opened(), 20))
    bodies = home / "bodies"
    bodies.mkdir()
    for step, time in ((1, "10:00:01"), (2, "10:00:22")):
        body = {
            "model": "claude-opus-4-8", "max_tokens": 100, "system": f"You build. It is {time}.",
            "messages": [{"role": "user", "content": "Build it."}],
        }  # fmt: skip
        (bodies / f"{step:05}.request.json").write_text(json.dumps(body))
    arguments = ("cache", "explain", "session.jsonl", "--bodies", bodies, "--provider", "anthropic")
    [one] = run_json(*arguments)["breaks"]
    assert (one["cause"], one["certainty"]) == ("timestamp", "shown")
    difference = one["difference"]
    assert (difference["layer"], difference["path"]) == ("system", "system")
    first = (bodies / "00001.request.json").read_bytes()
    assert first[difference["byte"] :].startswith(b"01.")
    assert f"byte {difference['byte']}" in run(*arguments).stdout
    (bodies / "00001.request.json").unlink()
    assert run_json(*arguments)["breaks"][0]["difference"] is None
    assert "go together" in run("cache", "explain", "session.jsonl", "--bodies", bodies, code=2).stderr


def test_bad_input_is_one_line(home: Path, run: Run) -> None:
    """A folder, a missing file, a file that is no session."""
    (home / "odd.json").write_text(json.dumps({"a": 1}))
    for name in (str(home), "nothing.jsonl", "odd.json"):
        error = run("cache", "explain", name, code=2).stderr.strip()
        assert error.startswith("foreword: ")
        assert "\n" not in error
