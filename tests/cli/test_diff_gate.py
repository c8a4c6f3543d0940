"""foreword diff and foreword gate cache."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, one_line
from tests.evals.test_diff import anthropic, as_sent

RunJson = Callable[..., Any]


def bodies(folder: Path) -> tuple[Path, Path]:
    body = anthropic()
    before, after = folder / "a.request.json", folder / "b.request.json"
    before.write_bytes(as_sent(body))
    body["system"][0]["text"] = body["system"][0]["text"].replace("10:00:00", "10:01:01")
    after.write_bytes(as_sent(body))
    return before, after


def test_diff_prints_its_document(run_json: RunJson, tmp_path: Path) -> None:
    """The members of the contract, with the cause and its fix."""
    before, after = bodies(tmp_path)
    found = run_json("diff", before, after, "--provider", "anthropic")
    assert found.keys() >= {
        "common_units", "common_tokens", "lost_tokens", "first_difference", "cause", "layer", "fix",
    }  # fmt: skip
    assert (found["cause"], found["layer"], found["common_units"]) == ("timestamp", "system", 3)
    assert found["first_difference"]["path"] == "system[0].text"
    assert "10:00:00" in found["first_difference"]["a"]
    assert run_json("diff", before, "-", "--provider", "anthropic", stdin=after.read_bytes()) == found
    same = run_json("diff", before, before, "--provider", "anthropic")
    assert (same["first_difference"], same["cause"], same["lost_tokens"]) == (None, None, 0)


def test_diff_for_a_person(run: Run, tmp_path: Path) -> None:
    """Plain lines: what is lost, where, why, and what to do."""
    before, after = bodies(tmp_path)
    said = run("diff", before, after, "--provider", "anthropic").stdout
    assert "cause   timestamp" in said
    assert "at      system[0].text" in said
    assert "lost    nothing" in run("diff", before, before, "--provider", "anthropic").stdout


def test_diff_refuses_what_is_no_request(run: Run, tmp_path: Path) -> None:
    """One line each for a missing file, other content, another wire, and stdin twice."""
    before, _ = bodies(tmp_path)
    other = tmp_path / "other.json"
    other.write_bytes(b"[1]")
    assert "missing.json" in one_line(
        run("diff", before, tmp_path / "missing.json", "--provider", "anthropic", code=2)
    )
    assert "no JSON object" in one_line(run("diff", before, other, "--provider", "anthropic", code=2))
    assert "input" in one_line(run("diff", before, before, "--provider", "openai-responses", code=2))
    assert "stdin" in one_line(run("diff", "-", "-", "--provider", "anthropic", code=2))
    assert "--provider" in one_line(run("diff", before, before, code=2))


def responses(path: Path, rates: list[float], *, member: str = "cache_read_input_tokens") -> Path:
    lines = [
        {
            "id": f"msg_{n}",
            "usage": {
                "input_tokens": 1_000 - round(1_000 * rate),
                member: round(1_000 * rate),
                "output_tokens": 5,
            },
        }
        for n, rate in enumerate(rates)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def gate(*sources: Path, baseline: float = 0.9) -> list[str | Path]:
    return ["gate", "cache", *sources, "--baseline", str(baseline), "--tolerance", "0.05"]


def test_the_gate_takes_usage_of_any_client(run_json: RunJson, run: Run, tmp_path: Path) -> None:
    """Lines of responses are runs; green is exit 0, red is exit 1 with the same document."""
    runs = [responses(tmp_path / f"{n}.jsonl", [0.8, 0.95, 0.95]) for n in range(3)]
    found = run_json(*gate(*runs))
    assert (found["ok"], found["median"], found["reason"]) == (True, 0.9, None)
    assert [one["calls"] for one in found["runs"]] == [3, 3, 3]
    red = json.loads(run(*gate(*runs, baseline=0.99), "--json", code=1).stdout)
    assert (red["ok"], red["reason"]) == (False, "below")
    assert "RED" in run(*gate(*runs, baseline=0.99), code=1).stdout


def test_a_renamed_field_is_told(run: Run, tmp_path: Path) -> None:
    """When nothing was read in any run, the message says what probably happened."""
    renamed = [responses(tmp_path / f"{n}.jsonl", [0.9], member="cached_input_tokens") for n in range(2)]
    assert "changed its name" in run(*gate(*renamed), code=1).stdout


@pytest.mark.parametrize("line", [{"usage": None}, {"usage": {"input_tokens": "5"}}, {"input_tokens": -5}])
def test_a_run_whose_usage_cannot_be_read_is_red(run: Run, tmp_path: Path, line: dict[str, Any]) -> None:
    """It is a run, and nothing was measured in it."""
    path = tmp_path / "unread.jsonl"
    path.write_text(2 * f"{json.dumps(line)}\n")
    red = json.loads(run(*gate(path), "--json", code=1).stdout)
    assert (red["reason"], red["runs"][0]["calls_without_usage"]) == ("no_usage", 2)


def test_a_session_file_is_a_run(run_json: RunJson, tmp_path: Path) -> None:
    """Recorded sessions give the same rate as their bill."""
    session = tmp_path / "s.json"
    messages: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]
    for number in range(3):
        usage = {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 5}
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": f"answer {number}"}], "usage": usage},
            {"role": "user", "content": f"more {number}"},
        ]
    session.write_text(json.dumps(messages))
    found = run_json(*gate(session), "--format", "anthropic")
    bill = run_json("cost", session, "--format", "anthropic")
    assert found["runs"][0]["hit_rate"] == bill["cache_hit_rate"]


def test_the_gate_refuses_bad_use(run: Run, tmp_path: Path) -> None:
    """A percentage, a file of something else and a missing baseline: one line each."""
    good = responses(tmp_path / "r.jsonl", [0.9])
    empty = tmp_path / "other.txt"
    empty.write_text("nothing of the kind\n")
    assert "93" in one_line(run("gate", "cache", good, "--baseline", "93", "--tolerance", "3", code=2))
    assert "other.txt" in one_line(run(*gate(empty), code=2))
    assert "--baseline" in one_line(run("gate", "cache", good, "--tolerance", "0", code=2))
