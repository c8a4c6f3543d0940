"""Making a target: which model may be asked on which wire, and where."""

from __future__ import annotations

import math
from typing import Any

import pytest

from foreword.core.catalog import Catalog
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.errors import EndpointError, InvalidNumber, UnknownModel, UnknownWire, WireMismatch
from tests.engine.sessions import session
from tests.histories import target_of


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses", "deepseek", "gemini"])
@pytest.mark.parametrize("keys", [{"temperature": math.nan}, {"odd": {"deep": [-math.inf]}}])
def test_a_key_is_a_number_that_json_has(wire: str, keys: dict[str, Any]) -> None:
    """It would be sent as null, without a word."""
    made = session(target_of(wire, keys=keys))
    made.say("hi")
    with pytest.raises(InvalidNumber):
        made.compile()


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
