"""foreword show and stats: what fills a context, habits, usage and cost as recorded."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foreword.core.block import Message, Text
from foreword.core.event import Answered, Called, Draft, by_engine
from foreword.core.usage import Usage
from foreword.engine.session import Session
from foreword.evals.reads import is_cut
from foreword.store import Store
from tests.cli.conftest import Run, one_line
from tests.cli.sessions import conversation, write

RunJson = Callable[..., Any]


def record(number: int, kind: str, message: dict[str, Any]) -> dict[str, Any]:
    """Return one record of a Claude Code session."""
    return {
        "type": kind, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "pipes", "timestamp": f"2026-03-02T10:00:{number:02}.000Z", "version": "2.0.0",
        "cwd": "/home/a", "message": message,
    }  # fmt: skip


@pytest.fixture
def billed(home: Path) -> Path:
    """Two calls with usage: 100 uncached, 900 written; then 1,000 read, 50 uncached, 50 written."""
    usages = (
        {
            "input_tokens": 100,
            "cache_creation_input_tokens": 900,
            "cache_read_input_tokens": 0,
            "output_tokens": 20,
        },
        {
            "input_tokens": 50,
            "cache_creation_input_tokens": 50,
            "cache_read_input_tokens": 1000,
            "output_tokens": 30,
        },
    )
    records = []
    for number, usage in enumerate(usages):
        said = {"role": "user", "content": f"question {number}"}
        answer = {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-opus-4-8",
            "content": [{"type": "text", "text": f"answer {number}"}], "stop_reason": "end_turn",
            "usage": usage,
        }  # fmt: skip
        records += [record(2 * number, "user", said), record(2 * number + 1, "assistant", answer)]
    path = home / "billed.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def test_usage_and_cost_are_those_recorded(run_json: RunJson, billed: Path) -> None:
    """Sums, hit rate and ratio to the digit; cost by the catalog's prices, exactly."""
    from foreword.core.catalog import Catalog
    from foreword.core.price import picodollars

    one = run_json("stats", billed)
    assert (one["usage"]["uncached"], one["usage"]["cache_read"], one["usage"]["output"]) == (150, 1000, 50)
    assert one["usage"]["cache_write_short"] == 950
    assert one["cache_hit_rate"] == round(1000 / 2100, 4)
    assert one["input_to_output"] == 42.0
    price = Catalog.load().model("claude-opus-4-8").price
    assert price is not None
    rates = (price.input, price.cache_read, price.cache_write_short, price.output)
    per_token = [picodollars(rate or "") // 1_000_000 for rate in rates]
    expected = sum(tokens * rate for tokens, rate in zip((150, 1000, 950, 50), per_token, strict=True))
    assert picodollars(one["cost_usd"]) == expected
    assert one["calls_without_usage"] == 0


def test_stats_and_cost_say_the_same(run_json: RunJson, home: Path) -> None:
    """One bill: terms of the answer, the provider's own summaries and calls that failed are in both."""
    used = Usage(uncached=1_000_000, cache_read=0, cache_write_short=0, cache_write_long=0, output=0)
    message = Message(role="assistant", blocks=(Text(text="Mended."),))
    with Store.open(home / "store") as store:
        session = Session.open(store, "mine")
        session.say("Mend the pipe.")
        answer = Answered(
            message=message, model="claude-sonnet-4-5", usage=used, terms=("batch",), compactions=(used,)
        )
        session.append(Draft(body=answer, trust="model", actor="model"))
        session.append(by_engine(Called(model="claude-sonnet-4-5", usage=used, status="raced")))
        session.append(by_engine(Called(model="claude-sonnet-4-5", status="cancelled")))
    stats, cost = (run_json(command, "mine", "--store", home / "store") for command in ("stats", "cost"))
    assert stats["cost_usd"] == cost["cost_usd"] == "6"
    assert (
        (stats["unknown"], stats["cost_unknown"])
        == (cost["unknown"], cost["unknown_names"])
        == (1, ["usage"])
    )
    assert (stats["usage"], stats["calls_without_usage"]) == (cost["usage"], 1)
    assert stats["models"] == {"claude-sonnet-4-5": cost["calls"]} == {"claude-sonnet-4-5": 4}


def test_what_is_not_recorded_is_null(run_json: RunJson, session_file: Path) -> None:
    """A file without usage has no usage, no cost and no hit rate: null, never 0."""
    one = run_json("stats", session_file)
    assert [
        one[name] for name in ("usage", "cost_usd", "recorded_cost_usd", "cache_hit_rate", "input_to_output")
    ] == [None] * 5
    assert one["calls_without_usage"] == 7


def test_categories_and_steps_add_up(run_json: RunJson, session_file: Path) -> None:
    """The categories sum to the total, and the steps' additions and answers to the last context."""
    one = run_json("stats", session_file)
    assert sum(one["tokens"]["by_category"].values()) == one["tokens"]["total"]
    steps = one["by_step"]
    grown = sum(sum(step["added"].values()) + step["answer"] for step in steps[:-1])
    assert steps[-1]["context"] == grown + sum(steps[-1]["added"].values())
    assert one["tokens"]["total"] == steps[-1]["context"] + steps[-1]["answer"]
    assert one["tools"] == [
        {
            "tool": "look",
            "calls": 6,
            "argument_tokens": one["tokens"]["by_category"]["call"],
            "result_tokens": one["tokens"]["by_category"]["result"],
            "errors": 0,
        }
    ]


def test_habits_are_counted(run_json: RunJson, home: Path) -> None:
    """A result that came twice, a file read again, and paging by shell right after a cut."""
    whole = conversation(5)
    calls = [message["content"][1] for message in whole["messages"][1:11:2]]
    results = [message["content"][0] for message in whole["messages"][2:11:2]]
    for call in calls[:3]:
        call.update(name="read_file", input={"path": "src/pipe.c"})
    results[1]["content"] = results[0]["content"]
    results[2]["content"] = "int main(void)\n" * 30 + "[truncated: 812 more lines]"
    calls[3].update(name="bash", input={"command": "sed -n '31,90p' src/pipe.c"})
    calls[4].update(name="bash", input={"command": "make"})
    one = run_json("stats", write(home / "habits.json", whole))
    assert (one["repeated"]["copies"], one["repeated"]["top"][0]["steps"]) == (1, [2, 3])
    assert one["repeated"]["tokens"] == one["repeated"]["top"][0]["tokens"]
    assert one["reads"]["reread_paths"] == [
        {"step": 2, "path": "src/pipe.c", "first": 1},
        {"step": 3, "path": "src/pipe.c", "first": 1},
    ]
    assert one["reads"]["truncated_steps"] == [4]
    assert one["reads"]["paging_steps"] == [4]


@pytest.mark.parametrize(
    "text, cut",
    [
        ("a\n... [412 lines truncated] ...\nb", True),
        ("a" * 900 + "\n<12 lines truncated>\n" + "b" * 900, True),
        ("output truncated, see file", True),
        ("a" * 900 + "\nthe list must be truncated before it is sorted\n" + "b" * 900, False),
        ("def truncate(text):\n    return text[:10]", False),
        ("", False),
    ],
)
def test_a_cut_is_told_from_talk_of_cutting(text: str, cut: bool) -> None:
    """A tool's own note counts, source code about truncation does not."""
    assert is_cut(text) is cut


def test_show_gives_an_overview_and_a_step(run: Run, run_json: RunJson, session_file: Path) -> None:
    """The overview has a row a step; a step has its blocks whole in JSON."""
    text = run("show", session_file).stdout
    assert "7 steps" in text
    assert "result" in text
    step = run_json("show", session_file, "--step", "3")
    assert [row["category"] for row in step["rows"]] == ["result", "answer", "call"]
    assert step["rows"][0]["text"].startswith("the needle of step 1\n")
    assert step["new"] == step["rows"][0]["tokens"]
    assert "it has steps 1 to 7" in one_line(run("show", session_file, "--step", "9", code=2))


def test_a_session_of_the_store_measures_like_its_file(
    run_json: RunJson, session_file: Path, billed: Path
) -> None:
    """Figures don't depend on where the session is read from."""
    for path in (session_file, billed):
        [row] = run_json("import", path)["sessions"]
        stored, read = run_json("stats", row["session"]), run_json("stats", path)
        assert {**stored, "warnings": None} == {**read, "warnings": None}


def test_control_sequences_are_shown_not_obeyed(run: Run, home: Path) -> None:
    """A recorded escape sequence never reaches the terminal through a table."""
    whole = conversation(1)
    whole["messages"][0]["content"] = "\x1b]0;owned\x07 mend it"
    result = run("show", write(home / "s.json", whole))
    assert "\x1b" not in result.stdout
    assert "owned" in result.stdout


def test_a_catalog_of_ones_own_prices_stats_and_breaks(
    billed: Path, home: Path, run_json: RunJson, run: Run
) -> None:
    """As it prices `cost`: without it what a model of one's own cost is unknown."""
    text = billed.read_text(encoding="utf-8").replace("claude-opus-4-8", "of-our-own")
    billed.write_text(
        text.replace('"cache_read_input_tokens": 1000', '"cache_read_input_tokens": 0'), encoding="utf-8"
    )
    ours = home / "ours.toml"
    ours.write_text(
        '[[model]]\nid = "of-our-own"\nprovider = "ours"\nwires = ["anthropic"]\nwindow = 200000\n'
        'price = { input = "1", output = "10", cache_read = "0.1", cache_write_short = "2" }\n'
        'source = "ours"\nas_of = "2026-11-30"\n',
        encoding="utf-8",
    )
    for command in (("stats",), ("cache", "explain")):
        assert run_json(*command, billed)["cost_usd"] is None, command
        assert run_json(*command, billed, "--catalog", ours)["cost_usd"] is not None, command
    priced = run_json("cost", billed, "--catalog", ours)["cost_usd"]
    assert run_json("stats", billed, "--catalog", ours)["cost_usd"] == priced
    assert "nope.toml" in one_line(run("stats", billed, "--catalog", "nope.toml", code=2))
    assert "nope.toml" in one_line(run("cache", "explain", billed, "--catalog", "nope.toml", code=2))
