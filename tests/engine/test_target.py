"""Making a target: which model may be asked on which wire, and where."""

from __future__ import annotations

import pytest

from foreword.core.catalog import Catalog
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.errors import EndpointError, UnknownModel, UnknownWire, WireMismatch

OURS = """
[[model]]
id = "ours-7b"
provider = "house"
wires = ["openai-chat"]
window = 32768
source = "a test"
as_of = "2026-11-30"
"""


@pytest.mark.parametrize(
    "wire, model, endpoint",
    [
        ("anthropic", "claude-opus-4-8", None),
        ("openai-responses", "gpt-6.1-sol", None),
        ("openai-chat", "deepseek-v4-pro", None),  # DeepSeek's own address speaks these, too
        ("anthropic", "deepseek-v4-pro", None),
        ("openai-chat", "gemini-3.8-flash", None),
        ("anthropic", "gpt-6.1-sol", "openrouter"),
        ("openai-chat", "claude-opus-4-8", "litellm"),
        ("anthropic", "claude-opus-4-8", "ollama"),
    ],
)
def test_a_model_is_asked_on_the_wires_that_reach_it(wire: str, model: str, endpoint: str | None) -> None:
    """Its own, its vendor's, and those of a gateway that is named."""
    assert target_for(wire, model, endpoint=endpoint).codec.wire == wire


@pytest.mark.parametrize(
    "wire, model, endpoint, speaks",
    [
        ("anthropic", "gpt-6.1-sol", None, "it speaks openai-chat, openai-responses; name one"),
        ("openai-chat", "claude-opus-4-8", None, "it speaks anthropic;"),
        ("gemini", "claude-opus-4-8", None, "it speaks anthropic;"),
        ("anthropic", "gpt-6.1-sol", "anthropic", "at anthropic: it speaks openai-chat"),
        ("gemini", "gpt-6.1-sol", "openrouter", "at openrouter: it speaks openai-chat, openai-responses, anthropic;"),
    ],
)  # fmt: skip
def test_a_wire_that_does_not_reach_it_is_refused(
    wire: str, model: str, endpoint: str | None, speaks: str
) -> None:
    """The refusal names the wires that would do; another vendor's address serves its own models alone."""
    with pytest.raises(WireMismatch, match=speaks) as raised:
        target_for(wire, model, endpoint=endpoint)
    assert (raised.value.model, raised.value.wire) == (model, wire)
    if endpoint is None:
        with pytest.raises(WireMismatch):
            Session.open(None, "s", provider=wire, model=model)


def test_a_name_that_is_none_is_said_to_be() -> None:
    """A profile and a wire that nobody knows come before what they would serve."""
    with pytest.raises(EndpointError, match="no profile has this name"):
        target_for("anthropic", "claude-opus-4-8", endpoint="nope")
    with pytest.raises(UnknownWire):
        target_for("smtp", "claude-opus-4-8")


def test_a_row_of_one_s_own_is_laid_over_the_catalog() -> None:
    """What the refusal of an unknown model tells to do works."""
    with pytest.raises(UnknownModel, match=r"Catalog\.load\(\)\.override\(TOML\)"):
        target_for("openai-chat", "ours-7b")
    made = target_for("openai-chat", "ours-7b", catalog=Catalog.load().override(OURS))
    assert made.window == 32_768
    with pytest.raises(WireMismatch):
        target_for("anthropic", "ours-7b", catalog=Catalog.load().override(OURS))
    vllm = target_for("anthropic", "ours-7b", catalog=Catalog.load().override(OURS), endpoint="vllm")
    assert vllm.codec.wire == "anthropic"
