"""Making a target: which model may be asked on which wire, and where."""

from __future__ import annotations

import math
from typing import Any

import pytest

from foreword.core.block import ToolSpec
from foreword.core.catalog import Catalog
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.errors import (
    EndpointError,
    InvalidArgument,
    InvalidNumber,
    MalformedRequest,
    UnknownModel,
    UnknownWire,
    WireMismatch,
)
from tests.engine.sessions import session
from tests.histories import referee_for, target_of


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses", "deepseek", "gemini"])
@pytest.mark.parametrize("keys", [{"temperature": math.nan}, {"odd": {"deep": [-math.inf]}}])
def test_a_key_is_a_number_that_json_has(wire: str, keys: dict[str, Any]) -> None:
    """It would be sent as null, without a word."""
    with pytest.raises(InvalidNumber):
        target_of(wire, keys=keys)


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
    with pytest.raises(UnknownModel, match=r"catalog=load_catalog\(FILE\)"):
        target_for("openai-chat", "ours-7b")
    made = target_for("openai-chat", "ours-7b", catalog=Catalog.load().override(OURS))
    assert made.window == 32_768
    with pytest.raises(WireMismatch):
        target_for("anthropic", "ours-7b", catalog=Catalog.load().override(OURS))
    vllm = target_for("anthropic", "ours-7b", catalog=Catalog.load().override(OURS), endpoint="vllm")
    assert vllm.codec.wire == "anthropic"


@pytest.mark.parametrize(
    "given, takes",
    [
        ({"reader": "tol"}, "one of tool, shell, path:ROOT, none"),
        ({"reader": "path:"}, "one of tool, shell, path:ROOT, none"),
        ({"reader": None}, "one of tool, shell, path:ROOT, none"),
        ({"reader": f"path:{__file__}"}, "a folder"),
        ({"window": 1e5}, "a whole number of tokens from 1 to 1,000,000"),
        ({"window": "200k"}, "a whole number of tokens"),
        ({"window": 1_000_001}, "a whole number of tokens from 1 to 1,000,000"),
        pytest.param({"window": 10**5_000}, "a whole number of tokens", id="more digits than Python writes"),
        ({"window": -5}, "a whole number of tokens"),
        ({"reserve_output": -6_000}, "a whole number of tokens from 1 to 999,999"),
        ({"window": 6_000, "reserve_output": 6_000}, "a whole number of tokens from 1 to 5,999"),
        ({"max_output": 0}, "a whole number of tokens from 1 on"),
        ({"keys": ["temperature"]}, "a dict"),
        ({"count": "tiktoken"}, "auto, estimate or o200k"),
    ],
)
def test_what_no_target_takes_is_refused_where_it_is_given(given: dict[str, Any], takes: str) -> None:
    """A reader that nobody has would leave the model with references that it can't read."""
    with pytest.raises(InvalidArgument) as caught:
        target_for("anthropic", "claude-opus-4-8", **given)
    assert caught.value.name in given
    assert caught.value.takes.startswith(takes)


def test_responses_is_asked_for_no_fewer_tokens_than_it_takes() -> None:
    """It refuses under 16; a tiny window reserves as many."""
    with pytest.raises(InvalidArgument, match="at least 16 tokens"):
        target_for("openai-responses", "gpt-6.1-sol", reserve_output=1)
    assert target_for("openai-responses", "gpt-6.1-sol", window=100).params.max_output == 16
    assert target_for("openai-chat", "gpt-6.1-sol", reserve_output=1).params.max_output == 1


@pytest.mark.parametrize(
    "reader",
    [
        "tool",
        "none",
        "shell",
        "shell --store here",
        "path:left",
        "path:/tmp",
        pytest.param(f"path:/{'x' * 5_000}", id="a path too long"),
    ],
)
def test_every_reader_there_is_is_taken(reader: str) -> None:
    """Options of the command may follow the shell; a folder need not be there yet."""
    assert target_for("anthropic", "claude-opus-4-8", reader=reader).reader == reader


@pytest.mark.parametrize(
    "model, endpoint", [("deepseek-v4-pro", None), ("qwen3.8-max", "vllm"), ("glm-5.3", "openrouter")]
)
def test_rules_of_claude_are_not_those_of_its_wire(model: str, endpoint: str | None) -> None:
    """Other vendors' models are asked on it, too, and take what Claude refuses while it thinks."""
    keys = {"thinking": {"type": "enabled", "budget_tokens": 32_000}, "temperature": 0.3}
    assert target_for("anthropic", model, endpoint=endpoint, keys=keys).params.keys == keys
    with pytest.raises(InvalidArgument):
        target_for("anthropic", "claude-sonnet-4-5", keys=keys)


def test_an_endpoint_is_no_wire() -> None:
    """The likeliest slip names what the wires of that endpoint are."""
    with pytest.raises(UnknownWire, match="asked in openai-chat or openai-responses") as caught:
        target_for("openai", "gpt-6.1-sol")
    assert caught.value.close == ("openai-chat", "openai-responses")


@pytest.mark.parametrize(
    "wire, key, move",
    [
        ("anthropic", "max_tokens", "use max_output"),
        ("openai-chat", "max_completion_tokens", "use max_output"),
        ("openai-responses", "instructions", r"use Session\.instruct"),
        ("gemini", "contents", r"use Session\.say or Session\.sync"),
        ("deepseek", "model", "use model"),
    ],
)
def test_a_key_that_foreword_writes_is_refused_with_its_own_way(wire: str, key: str, move: str) -> None:
    """It would stand twice in the body."""
    with pytest.raises(MalformedRequest, match=move):
        target_of(wire, keys={key: 55})


@pytest.mark.parametrize(
    "wire, model, endpoint, sent",
    [
        ("anthropic", "claude-opus-4.8", None, "claude-opus-4-8"),
        ("anthropic", "anthropic/claude-opus-4.8", None, "claude-opus-4-8"),
        ("anthropic", "anthropic/claude-opus-4.8", "anthropic", "claude-opus-4-8"),
        ("anthropic", "claude-opus-4-5-20251101", None, "claude-opus-4-5-20251101"),
        ("anthropic", "anthropic/claude-opus-4-5-20251101", None, "claude-opus-4-5-20251101"),
        ("openai-chat", "gpt-4o-2024-08-06", None, "gpt-4o-2024-08-06"),
        ("gemini", "google/gemini-3.8-flash", None, "gemini-3.8-flash"),
        ("anthropic", "anthropic/claude-opus-4.8", "openrouter", "anthropic/claude-opus-4.8"),
        ("openai-chat", "anthropic/claude-opus-4.8", "litellm", "anthropic/claude-opus-4.8"),
        ("openai-chat", "moonshotai/kimi-k3", None, "moonshotai/kimi-k3"),  # whose vendor has no profile
    ],
)
def test_a_vendor_is_asked_for_its_own_name(wire: str, model: str, endpoint: str | None, sent: str) -> None:
    """A dated version stays, since it is another model; a gateway has names of its own."""
    target = target_for(wire, model, endpoint=endpoint)
    assert target.params.model == sent
    made = session(target)
    made.say("hi")
    assert f'"model":"{sent}"'.encode() in made.compile().body or wire == "gemini"


@pytest.mark.parametrize(
    "endpoint, sent", [(None, False), ("azure", False), ("openrouter", True), ("vllm", True)]
)
def test_members_of_other_servers_go_only_where_they_are_taken(endpoint: str | None, sent: bool) -> None:
    """A history recorded at OpenRouter is asked of OpenAI: what that refuses is left out and listed."""
    made = session(target_for("openai-chat", "gpt-6.1-sol", endpoint=endpoint))
    said = {"role": "assistant", "content": "Mended.", "reasoning": "It leaks.", "refusal": None}
    request = made.sync(
        [{"role": "user", "content": "Mend it."}, said, {"role": "user", "content": "And that?"}]
    ).request
    assert (b'"reasoning":"It leaks."' in request.body) is sent
    assert any("reasoning" in word for unit in request.units for word in unit.lost) is not sent


def test_an_alias_of_one_s_own_is_sent_as_what_it_stands_for() -> None:
    """Unless the row says that the vendor serves it."""
    alias = '[[alias]]\nfrom = "{}"\nto = "claude-opus-4-8"\nas_of = "2026-11-30"\nsource = "own"\n{}'
    catalog = Catalog.load().override(alias.format("fast", "") + alias.format("opus-now", "served = true\n"))
    assert target_for("anthropic", "fast", catalog=catalog).params.model == "claude-opus-4-8"
    assert target_for("anthropic", "opus-now", catalog=catalog).params.model == "opus-now"


THINKS = {"thinking": {"type": "enabled", "budget_tokens": 2_000}}
ADAPTS = {"thinking": {"type": "adaptive"}}
STILL = {"thinking": {"type": "disabled"}}
CLEARS = {"context_management": {"edits": [{"type": "clear_thinking_20251015"}]}}
FORCED: dict[str, Any] = {"tool_choice": {"type": "any"}}
NAMED: dict[str, Any] = {"tool_choice": {"type": "function", "function": {"name": "bash"}}}
SERVED: list[tuple[str, str, dict[str, Any]]] = [
    ("anthropic", "claude-opus-4-5", {"temperature": 0.3}),
    ("anthropic", "claude-opus-4-5", THINKS),
    ("anthropic", "claude-opus-4-5", THINKS | {"temperature": 1, "top_p": 0.95}),
    ("anthropic", "claude-opus-4-5", THINKS | CLEARS | {"tool_choice": {"type": "auto"}}),
    ("anthropic", "claude-opus-4-5", STILL | FORCED | {"temperature": 0.3}),
    ("anthropic", "claude-opus-4-8", FORCED),
    ("anthropic", "claude-opus-4-8", ADAPTS),
    ("anthropic", "claude-opus-4-8", CLEARS),
    ("anthropic", "claude-opus-4-8", {"stop_sequences": ["a"] * 20}),
    ("openai-chat", "gpt-6.1-sol", {"stop": ["a"] * 4}),
    ("openai-chat", "gpt-6.1-sol", {"stop": "a"}),
    ("openai-chat", "gpt-6.1-sol", {"max_tokens": 20_000}),
    ("deepseek", "deepseek-flash", {"tool_choice": "auto", "stop": ["a"] * 16}),
    ("deepseek", "deepseek-flash", STILL | {"tool_choice": "required"}),
    ("deepseek", "deepseek-flash", STILL | NAMED),
    ("gemini", "gemini-3.8-flash", {"generationConfig": {"stopSequences": ["a"] * 5}}),
]
REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("anthropic", "claude-opus-4-8", {"temperature": 0.3}, "nothing"),
    ("anthropic", "claude-opus-4-8", {"top_k": 5}, "nothing"),
    ("anthropic", "claude-opus-4-8", THINKS, "adaptive or disabled"),
    ("anthropic", "claude-opus-4-8", {"thinking": {"type": "adaptive", "budget_tokens": 2_000}}, "an effort"),
    ("anthropic", "claude-opus-4-5", ADAPTS, "enabled or disabled"),
    ("anthropic", "claude-fable-5-1", FORCED, "auto or none"),
    ("anthropic", "claude-opus-4-5", THINKS | {"temperature": 0.3}, "1 beside thinking"),
    ("anthropic", "claude-opus-4-5", THINKS | {"top_k": 5}, "nothing beside thinking"),
    ("anthropic", "claude-opus-4-5", THINKS | {"top_p": 0.9}, "0.95 or more beside thinking"),
    ("anthropic", "claude-opus-4-5", THINKS | FORCED, "auto or none beside thinking"),
    ("anthropic", "claude-opus-4-8", ADAPTS | FORCED, "auto or none beside thinking"),
    (
        "anthropic",
        "claude-opus-4-5",
        {"thinking": {"type": "enabled", "budget_tokens": 1_000}},
        "1,024 tokens",
    ),
    (
        "anthropic",
        "claude-opus-4-5",
        {"thinking": {"type": "enabled", "budget_tokens": 20_000}},
        "1,024 tokens",
    ),
    ("anthropic", "claude-opus-4-5", CLEARS, "no clear_thinking_20251015"),
    ("anthropic", "claude-opus-4-8", STILL | CLEARS, "no clear_thinking_20251015"),
    ("anthropic", "claude-opus-4-8", {"stop_sequences": ["a", " \n"]}, "strings that are not blank"),
    ("anthropic", "claude-opus-4-8", {"stop_sequences": ["a", 1]}, "a list of strings"),
    ("openai-chat", "gpt-6.1-sol", {"stop": ["a"] * 5}, "at most 4"),
    ("openai-chat", "gpt-6.1-sol", {"max_tokens": 500}, "20000, which is what max_output asks for"),
    ("deepseek", "deepseek-flash", {"stop": ["a"] * 17}, "at most 16"),
    ("deepseek", "deepseek-flash", {"tool_choice": "required"}, "auto or none beside thinking"),
    (
        "deepseek",
        "deepseek-v4-pro",
        NAMED | {"thinking": {"type": "enabled"}},
        "auto or none beside thinking",
    ),
    ("gemini", "gemini-3.8-flash", {"generationConfig": {"stopSequences": ["a"] * 6}}, "at most 5"),
]


@pytest.mark.parametrize("wire, model, keys", SERVED)
def test_keys_that_the_model_takes_are_sent(wire: str, model: str, keys: dict[str, Any]) -> None:
    """A key that one model refuses, or that clashes with another one, is taken elsewhere, and the referee says so."""
    target = target_for(wire, model, keys=keys, betas=True)
    assert target.params.keys == keys
    made = session(target)
    made.offer([ToolSpec(name="bash", description="x")])
    made.say("go")
    sent = made.compile()
    named = {"anthropic-beta": ",".join(sent.betas), "anthropic-version": "2023-06-01"}
    assert referee_for(target).judge(sent.body, named).violations == ()


@pytest.mark.parametrize("wire, model, keys, takes", REFUSED)
def test_keys_that_the_model_refuses_are_refused_first(
    wire: str, model: str, keys: dict[str, Any], takes: str
) -> None:
    """What is known to end in a 400 never becomes a request."""
    with pytest.raises(InvalidArgument, match=r"keys\.\w+") as refused:
        target_for(wire, model, keys=keys)
    assert refused.value.takes.startswith(takes)
    assert model in str(refused.value)
