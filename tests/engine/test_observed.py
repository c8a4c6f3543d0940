"""What endpoints tell of a model's window, each kind at a real server on loopback."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from foreword.core.endpoint import endpoint
from foreword.core.kv_cache import Shape
from foreword.engine.gguf import read_shape
from foreword.engine.local_server import local_endpoint
from foreword.engine.observed import Observed, observe
from foreword.errors import AuthFailed, ConnectionFailed, EndpointError, Rejected
from tests.engine.http_routes import LLAMA_PROPS, OLLAMA_SHOW, VLLM_MODELS, Routes

KEYS = {
    "ANTHROPIC_API_KEY": "k-secret",
    "OPENAI_API_KEY": "k",
    "GEMINI_API_KEY": "k",
    "OPENROUTER_API_KEY": "k",
}
SHAPE = Shape(layers=40, kv_heads=4, head_dim=128, value_dim=128)
OPENROUTER = {"data": [{"id": "a/b", "context_length": 1_000_000,
                        "top_provider": {"context_length": 200_000, "max_completion_tokens": 64_000}}]}  # fmt: skip
LITELLM = {
    "data": [{"model_name": "big", "model_info": {"max_input_tokens": 922_000, "max_output_tokens": 128_000}}]
}


def told(name: str, table: dict[str, Any], model: str | None, base: str = "") -> Observed:
    """Ask a server that answers by a table."""
    with Routes(table) as running:
        return observe(endpoint(name, base_url=running.url + base), model, environ=KEYS)


@pytest.mark.parametrize(
    "name, base, table, model, figures",
    [
        ("anthropic", "", {"/v1/models/m": {"max_input_tokens": 1_000_000, "max_tokens": 128_000}}, "m",
         (1_000_000, None, 128_000, None)),
        ("gemini", "", {"/models/g": {"inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536}}, "g",
         (None, 1_048_576, 65_536, None)),
        ("openai", "", {"/models": {"data": [{"id": "gpt"}, {"id": "x"}]}}, "gpt", (None, None, None, None)),
        ("vllm", "/v1", {"/v1/models": VLLM_MODELS}, None, (32_768, None, None, None)),
        ("openrouter", "", {"/models": OPENROUTER}, "a/b", (1_000_000, None, 64_000, None)),
        ("litellm", "", {"/model/info": LITELLM}, "big", (None, 922_000, 128_000, None)),
        ("llama.cpp", "/v1", {"/props": LLAMA_PROPS}, None, (65_536, None, None, None)),
        ("ollama", "/v1", {"/api/show": OLLAMA_SHOW}, "qwen3", (8_192, None, None, 40_960)),
    ],
)  # fmt: skip
def test_each_kind_tells_its_window(
    name: str, base: str, table: dict[str, Any], model: str | None, figures: tuple[int | None, ...]
) -> None:
    """(window, largest prompt, largest output, the model's own window); None where it is not told."""
    seen = told(name, table, model, base)
    assert (seen.window, seen.max_input, seen.max_output, seen.trained) == figures
    assert seen.where


def test_the_key_goes_with_the_question_and_no_further() -> None:
    """The header carries it; a redirect is refused instead of followed."""
    with Routes({"/v1/models/m": {"max_input_tokens": 5}}) as running:
        observe(endpoint("anthropic", base_url=running.url), "m", environ=KEYS)
        ((_, _, headers, _),) = running.heard
    assert headers["x-api-key"] == "k-secret"
    with pytest.raises(Rejected, match="redirects"):
        told("anthropic", {"/v1/models/m": (302, {})}, "m")


def test_a_loaded_model_s_window_counts_at_ollama() -> None:
    """`/api/ps` tells what is served now; num_ctx only what the model's file asks for."""
    loaded = {"models": [{"name": "qwen3:latest", "context_length": 4_096}]}
    seen = told("ollama", {"/api/show": OLLAMA_SHOW, "/api/ps": loaded}, "qwen3", "/v1")
    assert seen.window == 4_096
    assert seen.shape == SHAPE
    seen = told("ollama", {"/api/show": {"model_info": {}}}, "qwen3", "/v1")
    assert (seen.window, seen.shape) == (None, None)
    assert "default" in seen.notes[0]


@pytest.mark.parametrize(
    "table, model, fault",
    [
        (
            {"/v1/models": {"data": [{"id": "a"}, {"id": "b"}]}},
            None,
            "serves several models; name one of a, b",
        ),
        ({"/v1/models": VLLM_MODELS}, "other", r"no model 'other' among those it lists \(qwen3\)"),
        ({"/v1/models": {"data": []}}, None, "serves no model; load one"),
    ],
)
def test_a_model_that_is_not_there_is_named(table: dict[str, Any], model: str | None, fault: str) -> None:
    """What is served instead is listed."""
    with pytest.raises((EndpointError, Rejected), match=fault):
        told("vllm", table, model, "/v1")


def test_failures_keep_their_type() -> None:
    """A wrong key, an unknown model, no JSON, nobody there: each is its own error, none quotes the key."""
    with pytest.raises(AuthFailed) as raised:
        told("anthropic", {"/v1/models/m": (401, {"error": {"message": "bad k-secret"}})}, "m")
    assert "k-secret" not in str(raised.value)
    with pytest.raises(Rejected):
        told("anthropic", {}, "m")
    with pytest.raises(ConnectionFailed, match="no JSON"):
        told("anthropic", {"/v1/models/m": (200, b"<html>")}, "m")
    with pytest.raises(ConnectionFailed, match="could not be reached"):
        observe(endpoint("anthropic", base_url="http://127.0.0.1:9"), "m", environ=KEYS)


@pytest.mark.parametrize(
    "table, name",
    [
        ({"/api/version": {"version": "0.40"}}, "ollama"),
        ({"/props": LLAMA_PROPS}, "llama.cpp"),
        ({"/health/liveliness": "I'm alive!"}, "litellm"),
        ({"/version": {"version": "0.20"}}, "vllm"),
        ({"/v1/models": VLLM_MODELS}, "vllm"),
    ],
)
def test_a_local_server_is_recognised(table: dict[str, Any], name: str) -> None:
    """By a route that only its kind has; the address may end in /v1 or lack its scheme."""
    with Routes(table) as running:
        assert local_endpoint(f"{running.url}/v1", {}).name == name
        assert local_endpoint(running.url.removeprefix("http://"), {}).name == name


def test_a_server_of_another_kind_is_refused() -> None:
    """It answers, but as none that is known."""
    with Routes({"/": {}}) as running, pytest.raises(EndpointError, match="none of the servers"):
        local_endpoint(running.url, {})


def gguf(path: Path, **figures: int | list[int]) -> Path:
    """Write the head of a model file, with texts and a list of words between the figures."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    rows = [text("general.architecture") + struct.pack("<I", 8) + text("qwen3")]
    words = ["a", "bc", "def"]
    rows.append(text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 3) + b"".join(map(text, words)))
    for name, value in figures.items():
        named = text(f"qwen3.{name.replace('__', '.')}")
        if isinstance(value, list):
            rows.append(named + struct.pack(f"<IIQ{len(value)}I", 9, 4, len(value), *value))
        else:
            rows.append(named + struct.pack("<II", 4, value))
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(rows)) + b"".join(rows))
    return path


def test_the_model_file_tells_the_shape(tmp_path: Path) -> None:
    """llama.cpp names its file; on this machine its head is read, also where heads go by layer."""
    file = gguf(
        tmp_path / "m.gguf",
        block_count=40, context_length=262_144, embedding_length=5_120, attention__head_count=40,
        attention__head_count_kv=[0, 4, 0, 4], attention__key_length=128, attention__value_length=128,
    )  # fmt: skip
    seen = told("llama.cpp", {"/props": {**LLAMA_PROPS, "model_path": str(file)}}, None, "/v1")
    assert (seen.shape, seen.trained, seen.slots) == (SHAPE, 262_144, 2)


@pytest.mark.parametrize("cut", [0, 3, 12, 30, 60, 100, 200])
def test_a_damaged_model_file_tells_nothing(tmp_path: Path, cut: int) -> None:
    """However it is cut, no figure is made up and nothing is raised."""
    file = gguf(tmp_path / "m.gguf", block_count=40, attention__head_count=40, embedding_length=5_120)
    file.write_bytes(file.read_bytes()[:cut])
    assert read_shape(file).shape is None
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 2**62) + struct.pack("<Q", 2**63 - 1) + b"x" * cut)
    assert read_shape(file).shape is None
