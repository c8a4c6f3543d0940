"""The model catalog: its data are sound, names resolve, operators can override."""

import subprocess
import sys
import tomllib
from importlib import resources

import pytest

from foreword.core.catalog import Catalog, ModelSpec
from foreword.errors import CatalogError, UnknownModel

TEXT = resources.files("foreword.core").joinpath("catalog.toml").read_text(encoding="utf-8")
NAMES = Catalog.load().names


@pytest.mark.parametrize("name", NAMES)
def test_row_is_sound(name: str) -> None:
    """Every row converts, states its source and date, and keeps input and output inside its window."""
    spec = Catalog.load().model(name)
    assert spec.id == name
    assert spec.wires
    assert len(spec.source) > 20, "a source key that names no [source] entry"
    assert len(spec.as_of) == 10
    assert spec.max_output is None or 0 < spec.max_output <= spec.window
    assert spec.max_input is None or 0 < spec.max_input <= spec.window
    assert 1.0 <= spec.token_factor_start <= 1.35


def test_lazy_reading_equals_reading_the_whole_file() -> None:
    """Cutting the file into rows gives the same rows as a TOML parser does."""
    rows = tomllib.loads(TEXT)["model"]
    assert tuple(row["id"] for row in rows) == NAMES
    whole = Catalog("").override(TEXT)
    for name in NAMES:
        assert whole.model(name) == Catalog.load().model(name)


def test_aliases_are_dated_and_lead_to_rows() -> None:
    """Every alias names a row that exists, is no row itself, and carries date and source."""
    data = tomllib.loads(TEXT)
    for alias in data["alias"]:
        assert alias["from"] not in NAMES
        assert Catalog.load().model(alias["from"]).id == alias["to"]
        assert alias["as_of"]
        assert alias["source"] in data["source"]


@pytest.mark.parametrize(
    "name,row",
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-sonnet-4.6", "claude-sonnet-4-6"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("route/vendor/claude-opus-4-6", "claude-opus-4-6"),
        ("deepseek-v4-flash", "deepseek-flash"),
    ],
)
def test_names_of_recorded_sessions_resolve(name: str, row: str) -> None:
    """Snapshots, other spellings and routes lead to the row they mean."""
    assert Catalog.load().model(name).id == row


def test_unknown_model_names_the_close_ones() -> None:
    """A typing error is answered with the name that was meant, as a field and in the text."""
    with pytest.raises(UnknownModel) as caught:
        Catalog.load().model("claude-opus-55")
    assert "claude-opus-5-5" in caught.value.close
    assert "claude-opus-5-5" in str(caught.value)


def test_figures_of_known_models() -> None:
    """Figures that were published stand in the rows as published."""
    load = Catalog.load().model
    sonnet = load("claude-sonnet-4-5")
    assert sonnet.price is not None
    assert (sonnet.price.input, sonnet.price.output) == ("3", "15")
    assert (sonnet.price.cache_read, sonnet.price.cache_write_short) == ("0.3", "3.75")
    assert (sonnet.max_marks, sonnet.lookback_blocks, sonnet.min_cacheable_tokens) == (4, 20, 1024)
    assert load("claude-fable-5-2").price.cache_read is None
    assert load("claude-sonnet-4").price is None
    assert {load(f"gemini-2.5-{name}").min_cacheable_tokens for name in ("pro", "flash", "flash-lite")} == {
        2_048
    }
    assert load("gpt-6.1-sol").window == 1_050_000
    assert load("gpt-6.1-sol").max_input == 922_000
    bound = {name for name in NAMES if load(name).provider == "anthropic" and load(name).binds_thinking}
    assert bound == {
        "claude-fable-5-1", "claude-fable-5-2", "claude-mythos-5-1", "claude-mythos-5-2",
        "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5",
    }  # fmt: skip
    assert not load("claude-sonnet-5").mid_system
    assert load("claude-opus-4-8").notice_channel == "system"
    assert load("claude-opus-4-7").notice_channel == "user"


@pytest.mark.parametrize(
    "name, close",
    [("opus", "claude-opus-5-5"), ("Sonnet", "claude-sonnet-5-5"), ("claude-opus-4.9", "claude-opus-4.8")],
)
def test_an_unknown_name_has_close_ones(name: str, close: str) -> None:
    """A part of an id finds those that have it, a slip those that look like it; at most three."""
    with pytest.raises(UnknownModel) as told:
        Catalog.load().model(name)
    assert close in told.value.close
    assert len(told.value.close) <= 3


def test_override_changes_only_what_it_names() -> None:
    """One price of one row changes; the rest, and the catalog it was laid over, stay as they were."""
    base = Catalog.load()
    other = base.override('[[model]]\nid = "claude-sonnet-4-5"\nprice = { input = "2.5" }\n')
    old, new = base.model("claude-sonnet-4-5"), other.model("claude-sonnet-4-5")
    assert new.price is not None
    assert (new.price.input, new.price.output) == ("2.5", "15")
    assert old.price is not None
    assert old.price.input == "3"
    assert new.window == old.window
    assert other.version != base.version
    assert other.override("").names == base.names


def test_override_adds_a_model_and_an_alias() -> None:
    """A new id is a new model with the defaults of its provider."""
    other = Catalog.load().override(
        '[[model]]\nid = "mine"\nprovider = "anthropic"\nwindow = 1000\n'
        'source = "own"\nas_of = "2026-01-01"\n'
        '[[alias]]\nfrom = "ours"\nto = "mine"\nas_of = "2026-01-01"\nsource = "own"\n'
    )
    assert other.model("ours").window == 1000
    assert other.model("ours").max_marks == 4
    assert other.model("ours").price is None


@pytest.mark.parametrize(
    "text,fact",
    [
        ("[[model]\n", "not valid TOML"),
        ("[models]\n", "unknown table 'models'"),
        ('[[model]]\nid = "gpt-4o"\nwindow = "large"\n', "window"),
        ('[[model]]\nid = "gpt-4o"\nwindow = 0\n', "must be positive"),
        ('[[model]]\nid = "gpt-4o"\nprise = { input = "1" }\n', "prise"),
        ('[[model]]\nid = "gpt-4o"\nprice = { input = "1e3" }\n', "plain decimal"),
        ('[[model]]\nid = "gpt-4o"\nprice = { input = 1.5 }\n', "Expected `str"),
        ("[[model]]\nwindow = 5\n", "has no id"),
        ('[[model]]\nid = "new"\nprovider = "anthropic"\nwindow = 5\n', "source"),
    ],
)
def test_bad_override_says_what_is_wrong(text: str, fact: str) -> None:
    """Data that cannot be used are refused when they are given, not when a model is asked for."""
    with pytest.raises(CatalogError, match=fact.replace("`", ".")):
        Catalog.load().override(text)


def test_assumed_model_knows_nothing_but_its_window() -> None:
    """A model outside the catalog can be worked with; its prices are unknown, not free."""
    spec = Catalog.load().assumed("local", wire="openai-chat", window=32_768)
    assert isinstance(spec, ModelSpec)
    assert (spec.window, spec.price, spec.max_marks) == (32_768, None, None)


def test_version_is_the_same_in_another_process() -> None:
    """The version depends on the data alone."""
    code = "from foreword.core.catalog import Catalog; print(Catalog.load().version)"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == Catalog.load().version
