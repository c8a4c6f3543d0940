"""foreword simulate: the rows of the contract, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Run

SIZES = "system=3000,step=1500,steps=40,keep=8,summary=800"


def test_the_rows(run_json: Callable[..., Any]) -> None:
    """One row a model and policy, in the order asked for."""
    rows = run_json("simulate", "--synthetic", SIZES, "--prices", "miss=0.15,hit=0.003")["rows"]
    assert [(row["policy"], row["cost_usd"]) for row in rows] == [
        ("full-no-cache", "0.1935"), ("full", "0.0129105"), ("compact-every-step", "0.068421"),
    ]  # fmt: skip
    models = run_json(
        "simulate", "--synthetic", SIZES, "--policies", "full", "--models", "claude-opus-4-8,deepseek-flash"
    )
    assert [row["model"] for row in models["rows"]] == ["claude-opus-4-8", "deepseek-flash"]
    own = run_json(
        "simulate", "--synthetic", SIZES, "--models", "claude-opus-4-8", "--prices", "miss=0.15,hit=0.003"
    )
    assert [row["cost_usd"] for row in own["rows"]] == [row["cost_usd"] for row in rows]


def test_what_a_person_reads(run: Run) -> None:
    """A table."""
    shown = run("simulate", "--synthetic", SIZES, "--prices", "miss=0.15,hit=0.003").stdout
    assert "1,290,000" in shown
    assert "$0.0129" in shown


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((), "--synthetic"),
        (("session.jsonl",), "FILE is not built yet"),
        (("--synthetic", SIZES, "--sweep", "step=1..2"), "--sweep is not built yet"),
        (("--synthetic", SIZES, "--window", "100"), "--window is not built yet"),
        (("--synthetic", "system=1,step=1"), "steps is missing"),
        (("--synthetic", "system=1,step=1,steps=x"), "no whole number"),
        (("--synthetic", "system=1,step=1,steps=0"), "not between 1 and 2,000"),
        (("--synthetic", "system=1,step=1,steps=2,step=3"), "once"),
        (("--synthetic", SIZES, "--policies", "all"), "full-no-cache"),
        (("--synthetic", SIZES, "--models", "gpt-0"), "gpt-0"),
        (("--synthetic", SIZES, "--prices", "miss=1"), "hit must be"),
        (("--synthetic", SIZES, "--prices", "miss=1e5,hit=0"), "miss must be"),
    ],
)
def test_bad_use_is_one_line(run: Run, arguments: tuple[str, ...], said: str) -> None:
    """What is wrong, in one line, with exit code 2."""
    error = run("simulate", *arguments, code=2).stderr.strip()
    assert said in error
    assert "\n" not in error
