"""foreword sessions and models: what a store holds, what the catalog knows, and a catalog of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foreword.core.block import Message, Text
from foreword.core.catalog import Catalog
from foreword.core.usage import Usage
from foreword.engine.catalog_file import load_catalog
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.store import Store
from tests.cli.conftest import Run, one_line
from tests.cli.sessions import conversation, write
from tests.importers.claude_file import ClaudeFile

RunJson = Callable[..., Any]
OURS = """
[[model]]
id = "qwen3-8b"
provider = "ours"
wires = ["openai-chat"]
window = 32768
price = { input = "0.5", output = "1" }
source = "our own server"
as_of = "2026-11-30"
"""


@pytest.fixture
def ours(home: Path) -> Path:
    """A catalog file with a model of our own."""
    path = home / "mine.toml"
    path.write_text(OURS, encoding="utf-8")
    return path


def test_sessions_lists_what_the_store_holds(run: Run, run_json: RunJson, home: Path) -> None:
    """Oldest first, a fork with its origin; each name opens its session; people read the same rows."""
    with Store.open(home / "store") as store:
        made = Session.open(store, "pipes", provider="anthropic", model="claude-opus-4-8")
        made.say("mend it")
        made.fork(1, "pipes-2")
    rows = run_json("sessions", "--store", "store")["sessions"]
    assert [(row["session"], row["events"], row["forked_from"]) for row in rows] == [
        ("pipes", 2, None),
        ("pipes-2", 3, ["pipes", 1]),
    ]
    assert all(row["began"] <= row["last"] and row["last"].endswith("Z") for row in rows)
    assert run_json("show", rows[0]["alias"], "--store", "store")["session"] == "pipes"
    lines = run("sessions", "--store", "store").stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [[row["session"], row["alias"]] for row in rows]
    assert lines[2].endswith("pipes#1")


def test_an_imported_session_began_when_its_file_says(run: Run, run_json: RunJson, home: Path) -> None:
    """It is opened by the import, later than all that it tells of."""
    made = ClaudeFile()
    made.user("Mend the pipe.", timestamp="2026-11-28T10:00:00.000Z")
    made.answer("a", {"type": "text", "text": "Mended."}, timestamp="2026-11-28T10:00:05.000Z")
    (home / "session.jsonl").write_bytes(made.data)
    run("import", str(home / "session.jsonl"), "--store", "store")
    [row] = run_json("sessions", "--store", "store")["sessions"]
    assert [row["began"][:19], row["last"][:19]] == ["2026-11-28T10:00:00", "2026-11-28T10:00:05"]


def test_without_sessions(run: Run, home: Path) -> None:
    """An empty store says so; a place without a store is refused with the way to make one."""
    Store.open(home / "store").close()
    assert run("sessions", "--store", "store").stdout == "the store holds no session yet\n"
    assert "foreword import" in one_line(run("sessions", "--store", "nowhere", code=2))


def test_the_bill_of_a_whole_store(run: Run, run_json: RunJson, home: Path) -> None:
    """Without a file, `cost` bills each session of the store, and adds up over them."""
    for name in ("a", "b"):
        write(home / f"{name}.json", conversation(2))
        run("import", home / f"{name}.json", "--store", "store")
    names = [row["session"] for row in run_json("sessions", "--store", "store")["sessions"]]
    whole = run_json("cost", "--store", "store", "--by", "session")
    named = run_json("cost", *names, "--store", "store", "--by", "session")
    assert whole == named
    assert whole["calls"] > 0
    assert "foreword import" in one_line(run("cost", "--store", "nowhere", code=2))


def test_models_lists_the_catalog(run: Run, run_json: RunJson) -> None:
    """Every row stands in the document with the catalog's figures; TEXT is looked for in names of any kind."""
    catalog = Catalog.load()
    rows = run_json("models")["models"]
    assert [row["model"] for row in rows] == list(catalog.names)
    for row in rows:
        spec = catalog.model(row["model"])
        assert (row["window"], row["min_cacheable_tokens"]) == (spec.window, spec.min_cacheable_tokens)
        assert row["price"]["input"] == (spec.price.input if spec.price else None)
        assert all(catalog.model(alias) is spec for alias in row["aliases"])
    assert [row["model"] for row in run_json("models", "claude-opus-4.8")["models"]] == ["claude-opus-4-8"]
    assert {row["provider"] for row in run_json("models", "DeepSeek")["models"]} == {"deepseek"}
    assert "$5" in run("models", "opus-4-8").stdout
    nothing = run("models", "no-such-model")
    assert (nothing.stdout, "no-such-model" in nothing.stderr) == ("", True)


def test_a_model_of_ones_own(run: Run, run_json: RunJson, ours: Path, session_file: Path) -> None:
    """Named by the option, the file's model can be compiled for, counted for, simulated and listed."""
    aimed = ("--provider", "openai-chat", "--model", "qwen3-8b", "--endpoint", "vllm")
    assert "foreword models" in one_line(run("compile", session_file, *aimed, code=2))
    made = run_json("compile", session_file, *aimed, "--catalog", ours)
    assert made["manifest"]["budget"]["window"] == 32_768
    assert run_json("tokens", "one two", "--model", "qwen3-8b", "--catalog", ours)["model_tokens"] > 0
    sizes = ("--synthetic", "system=3000,step=1500,steps=4")
    rows = run_json("simulate", *sizes, "--models", "qwen3-8b", "--catalog", ours)["rows"]
    assert {row["model"] for row in rows} == {"qwen3-8b"}
    assert all(row["cost_usd"] is not None for row in rows if row["policy"] == "full-no-cache")
    assert [row["model"] for row in run_json("models", "qwen3-8b", "--catalog", ours)["models"]] == [
        "qwen3-8b"
    ]
    found = run_json("blame", "the needle of step 1", session_file, *aimed, "--catalog", ours)
    assert found["in_request"] is True


def test_a_catalog_of_the_settings(
    run_json: RunJson, ours: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings file and the variable name it as well; `cost` bills by its prices."""
    monkeypatch.setenv("FOREWORD_CATALOG", str(ours))
    assert run_json("models", "qwen3-8b")["models"][0]["price"]["output"] == "1"
    monkeypatch.delenv("FOREWORD_CATALOG")
    settings = home / "config.toml"
    settings.write_text(f'catalog = "{ours}"\n', encoding="utf-8")
    monkeypatch.setenv("FOREWORD_CONFIG", str(settings))
    assert run_json("models", "qwen3-8b")["models"][0]["window"] == 32_768
    with Store.open(home / "store") as store:
        made = Session.open(
            store, "local", target=target_for("openai-chat", "qwen3-8b", catalog=load_catalog(ours))
        )
        made.say("hi")
        made.compile()
        usage = Usage(uncached=2_000, cache_read=0, cache_write_short=0, cache_write_long=0, output=1_000)
        made.answered(Message(role="assistant", blocks=(Text(text="yes"),)), model="qwen3-8b", usage=usage)
    assert run_json("cost", "local", "--store", "store")["cost_usd"] == "0.002"
    settings.unlink()
    monkeypatch.delenv("FOREWORD_CONFIG")
    assert run_json("cost", "local", "--store", "store")["unknown"] == 1


@pytest.mark.parametrize(
    "text, facts",
    [
        ('[[model]]\nid = "x"\nwindow = 9\n', ("model x", "provider, wires, source, as_of")),
        ("[[model", ("TOML",)),
        ("colour = 3", ("colour",)),
    ],
)
def test_a_bad_catalog_is_one_line_with_the_file(
    run: Run, home: Path, text: str, facts: tuple[str, ...]
) -> None:
    """What a row lacks is named at once; the line names the file."""
    bad = home / "bad.toml"
    bad.write_text(text, encoding="utf-8")
    said = one_line(run("models", "--catalog", bad, code=2))
    assert all(fact in said for fact in ("bad.toml", *facts))
    assert "nope.toml" in one_line(run("models", "--catalog", "nope.toml", code=2))


def test_a_variable_that_is_misspelt_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that looks like a setting's is warned of; any other is none of our business."""
    monkeypatch.setenv("FOREWORD_WINDW", "5")
    monkeypatch.setenv("FOREWORD_THEME", "dark")
    said = run("models", "opus").stderr
    assert said == "warning: FOREWORD_WINDW sets nothing; did you mean FOREWORD_WINDOW?\n"


@pytest.mark.parametrize(
    "args, fact",
    [
        (("show", ""), "empty"),
        (("show", "nope.json"), "check the path"),
        (("tokens", "x", "--window", "2k"), "--window"),
        (("config", "--window", "2k"), "200000"),
        (("show", "nothing", "--store", "store"), "foreword sessions"),
    ],
)
def test_what_is_refused_says_what_to_do(run: Run, home: Path, args: tuple[str, ...], fact: str) -> None:
    """An empty name, a missing file, a size in words, an unknown session."""
    Store.open(home / "store").close()
    assert fact in one_line(run(*args, code=2))
