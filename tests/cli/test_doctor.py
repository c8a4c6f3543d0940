"""foreword doctor: the installation, and windows that agree or not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from foreword.engine.installation import check_age, check_extras, check_python, check_store
from tests.cli.conftest import Run, one_line
from tests.engine.http_routes import LLAMA_PROPS, OLLAMA_SHOW, VLLM_MODELS, Routes

MODEL = "claude-opus-4-8"
ASK = ("doctor", "--provider", "anthropic", "--model", MODEL)
TOLD = {f"/v1/models/{MODEL}": {"max_input_tokens": 1_000_000, "max_tokens": 128_000}}
RunJson = Callable[..., Any]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """A key in the customary variable, and no settings of the person who runs this."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-shown")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return "sk-not-shown"


def codes(document: Any) -> dict[str, str]:
    """Return level by code."""
    return {finding["code"]: finding["level"] for finding in document["findings"]}


def test_a_sound_installation(run_json: RunJson, home: Path) -> None:
    """Each check has a finding; the store that is not there yet is not made."""
    document = run_json("doctor")
    assert document["ok"] is True
    found = codes(document)
    assert found["python"] == found["sqlite"] == found["store"] == "ok"
    assert {"tokens", "http"} <= found.keys()
    assert not (home / "data").exists()


def test_a_window_assumed_too_small_is_named(run_json: RunJson) -> None:
    """128k configured where the endpoint serves 1M: a warning with the figure to set."""
    with Routes(TOLD) as running:
        document = run_json(*ASK, "--base-url", running.url, "--window", "128000")
    (finding,) = [found for found in document["findings"] if found["code"] == "window_too_small"]
    assert "128,000 assumed" in finding["text"]
    assert "serves 1,000,000" in finding["text"]
    assert "set the window to 1000000" in finding["move"]
    assert document["ok"] is True
    assert document["windows"]["catalog"] == document["windows"]["observed"] == 1_000_000


def test_windows_that_agree_are_ok(run_json: RunJson, key: str, run: Run) -> None:
    """The endpoint, the catalog and what requests are compiled for say the same; the key is never printed."""
    with Routes(TOLD) as running:
        assert codes(run_json(*ASK, "--base-url", running.url))["window"] == "ok"
        text = run(*ASK, "--base-url", running.url).stdout
    assert "window of claude-opus-4-8: 1,000,000 assumed" in text
    assert key not in text


def test_a_window_assumed_too_large_is_a_problem(run_json: RunJson) -> None:
    """Requests would be refused, so the exit code is 1."""
    with Routes({"/v1/models": VLLM_MODELS}) as running:
        document = run_json(
            "doctor", "--provider", "openai-chat", "--model", "qwen3", "--endpoint", "vllm",
            "--base-url", f"{running.url}/v1", "--window", "128000", code=1,
        )  # fmt: skip
    assert codes(document)["window_too_large"] == "problem"
    assert codes(document)["model_unknown"] == "warning"


def test_a_model_of_ones_own_is_known(run_json: RunJson, tmp_path: Path) -> None:
    """With --catalog the window of its row is compared, and nothing is said of an unknown model."""
    mine = tmp_path / "mine.toml"
    mine.write_text(
        '[[model]]\nid = "qwen3"\nprovider = "ours"\nwires = ["openai-chat"]\nwindow = 128000\n'
        'source = "ours"\nas_of = "2026-11-30"\n',
        encoding="utf-8",
    )
    with Routes({"/v1/models": VLLM_MODELS}) as running:
        document = run_json(
            "doctor", "--provider", "openai-chat", "--model", "qwen3", "--endpoint", "vllm",
            "--base-url", f"{running.url}/v1", "--catalog", mine, code=1,
        )  # fmt: skip
    assert (document["windows"]["catalog"], document["windows"]["configured"]) == (128_000, None)
    assert codes(document)["window_too_large"] == "problem"
    assert "model_unknown" not in codes(document)
    assert "will be refused" in str(document["findings"])


def test_a_silent_server_s_window_is_told_with_its_danger(run_json: RunJson) -> None:
    """Ollama cuts a long prompt without a word."""
    with Routes({"/api/version": {"version": "1"}, "/api/show": OLLAMA_SHOW}) as running:
        document = run_json("doctor", "--local", running.url, "--model", "qwen3", "--window", "40960", code=1)
    assert "is cut in silence" in str(document["findings"])
    assert codes(document)["window_below_model"] == "note"


def test_a_local_server_s_cache(run_json: RunJson, run: Run) -> None:
    """llama.cpp does not tell the shape; given, 65,536 tokens need 5.37 GB at f16 and 2.85 GB at Q8_0."""
    with Routes({"/props": LLAMA_PROPS}) as running:
        asked = ("doctor", "--local", running.url)
        bare = run_json(*asked)
        assert bare["kv_cache"] is None
        assert codes(bare)["kv_cache_unknown"] == "note"
        document = run_json(*asked, "--shape", "40,4,128")
        text = run(*asked, "--shape", "40,4,128").stdout
    assert document["kv_cache"]["tokens"] == 65_536
    assert document["kv_cache"]["bytes"]["f16"] == 5_368_709_120
    assert "65,536 tokens: 5.37 GB at f16, 2.85 GB at q8_0" in text
    assert "keeps 2 such contexts" in text


def test_the_server_s_own_shape_and_another_length(run_json: RunJson) -> None:
    """Ollama tells the shape; --tokens asks for another length than its window."""
    with Routes({"/api/version": {"version": "1"}, "/api/show": OLLAMA_SHOW}) as running:
        document = run_json("doctor", "--local", running.url, "--model", "qwen3", "--tokens", "65536")
    assert document["kv_cache"]["bytes"]["f16"] == 5_368_709_120


@pytest.mark.parametrize(
    "table, code",
    [({}, "model_not_served"), ({f"/v1/models/{MODEL}": (401, {"error": {"message": "no"}})}, "key_refused")],
)
def test_an_endpoint_that_refuses_is_a_problem(run_json: RunJson, table: dict[str, Any], code: str) -> None:
    """A model it doesn't serve, and a key it doesn't take."""
    with Routes(table) as running:
        assert codes(run_json(*ASK, "--base-url", running.url, code=1))[code] == "problem"


@pytest.mark.parametrize("asked", [(*ASK, "--base-url"), ("doctor", "--local")])
def test_nobody_there_is_a_problem(run_json: RunJson, asked: tuple[str, ...]) -> None:
    """A named endpoint and a local server alike: what was checked does not hold, and the rest is still told."""
    document = run_json(*asked, "http://127.0.0.1:9", code=1)
    assert codes(document)["endpoint_unreachable"] == "problem"
    assert codes(document)["python"] == "ok"


def test_a_dead_port_is_no_server_of_any_kind(run_json: RunJson) -> None:
    """The first kind that is asked for is not named: nobody said that it is one."""
    document = run_json("doctor", "--local", "http://127.0.0.1:9", code=1)
    [found] = [one for one in document["findings"] if one["code"] == "endpoint_unreachable"]
    assert found["text"].startswith("no server answers at http://127.0.0.1:9: ")
    assert found["move"]


def test_an_address_of_no_known_server_is_bad_use(run: Run) -> None:
    """Something answers there, but no model server: the one line says what to use instead."""
    with Routes({}) as running:
        assert "use --provider and --base-url" in one_line(run("doctor", "--local", running.url, code=2))


def test_without_a_key_the_catalog_is_compared(run_json: RunJson, monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoint can't be asked; what is configured is still compared with the catalog."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    found = codes(run_json(*ASK, "--window", "128000"))
    assert found["endpoint_not_asked"] == found["window_too_small"] == "warning"
    assert "window_not_told" not in found


def test_a_model_nobody_knows_needs_a_window(run_json: RunJson) -> None:
    """Not in the catalog and not configured: the served one is what to set."""
    asked = ("doctor", "--provider", "openai-chat", "--model", "qwen3", "--endpoint", "vllm")
    with Routes({"/v1/models": VLLM_MODELS}) as running:
        document = run_json(*asked, "--base-url", f"{running.url}/v1")
    (finding,) = [found for found in document["findings"] if found["code"] == "window_not_configured"]
    assert "32,768 tokens for qwen3" in finding["text"]


def test_a_model_that_is_not_listed_is_a_problem(run_json: RunJson) -> None:
    """The server lists what it serves instead."""
    asked = ("doctor", "--provider", "openai-chat", "--model", "gpt-4.1", "--endpoint", "vllm")
    with Routes({"/v1/models": VLLM_MODELS}) as running:
        document = run_json(*asked, "--base-url", f"{running.url}/v1", code=1)
    assert codes(document)["model_not_served"] == "problem"


def test_a_key_in_clear_is_told(run_json: RunJson, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain http to another machine would show the key to everyone between."""
    monkeypatch.setenv("no_proxy", "*")
    document = run_json(*ASK, "--base-url", "http://127.0.0.2:9", code=1)
    assert codes(document)["key_in_clear"] == "warning"
    assert key not in str(document)


def test_missing_extras_are_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small installation is sound; each note says what to install."""
    monkeypatch.setattr("foreword.engine.installation.find_spec", lambda name: None)
    findings = check_extras()
    assert [(found.code, found.level) for found in findings] == [
        ("tokens_missing", "note"),
        ("language_missing", "note"),
        ("http_missing", "note"),
    ]
    assert all("pip install 'foreword[" in found.move for found in findings)


def test_bad_use_is_one_line(run: Run) -> None:
    """A model without a provider, a shape that is none, a profile that is none."""
    assert "--provider" in one_line(run("doctor", "--model", MODEL, code=2))
    assert "LAYERS" in one_line(run("doctor", "--shape", "40,x,128", code=2))
    assert "unknown wire 'smtp'" in one_line(run("doctor", "--model", MODEL, "--provider", "smtp", code=2))
    assert "no profile" in one_line(run(*ASK, "--endpoint", "nope", code=2))


def test_an_old_catalog_and_an_old_python_are_told() -> None:
    """Ages are counted from the newest row; a Python below the lowest is a problem."""
    findings = check_age(date(2027, 3, 1))
    assert {finding.code for finding in findings} == {"catalog_old", "endpoints_old"}
    assert check_python((3, 10, 2)).level == "problem"


def test_a_store_that_is_none_is_a_problem(home: Path) -> None:
    """Another program's database, and a place that is no path."""
    (home / "s").mkdir()
    (home / "s" / "log.db").write_bytes(b"not a database" * 100)
    assert [finding.code for finding in check_store(str(home / "s"))] == ["store_unavailable"]
    assert [finding.code for finding in check_store("http://x")] == ["store_unavailable"]
    assert [finding.code for finding in check_store("/proc/foreword")] == ["store_not_writable"]


def test_a_store_that_is_there_is_opened(home: Path, run: Run, session_file: Path, run_json: RunJson) -> None:
    """Its sessions are counted."""
    run("import", session_file, "--store", home / "s")
    (finding,) = [
        found for found in run_json("doctor", "--store", home / "s")["findings"] if found["code"] == "store"
    ]
    assert finding["text"].endswith("1 sessions")
