"""Endpoint profiles: every row is usable and sourced, and an endpoint is made of it without its key."""

from __future__ import annotations

import re
import traceback
from datetime import date

import msgspec
import pytest

from foreword.core.endpoint import endpoint, profiles
from foreword.errors import EndpointError

ROWS = [(name, wire) for name, profile in profiles().items() for wire in profile.paths]


@pytest.mark.parametrize("name, wire", ROWS)
def test_every_row_makes_an_endpoint(name: str, wire: str) -> None:
    """Each wire of each profile has an address for a model, streamed or not; a name in it can't leave its place."""
    made = endpoint(name, wire, base_url=profiles()[name].base_url or "https://host.example/v1")
    for stream in (True, False):
        url = made.url("a/b?c", stream=stream)
        assert url.startswith(made.base_url)
        assert "{" not in url
        assert "a/b?c" not in url


@pytest.mark.parametrize("name", profiles())
def test_every_row_is_dated_and_sourced(name: str) -> None:
    """A fact without a day and a source can't be judged; nothing claims to be verified without saying what."""
    profile = profiles()[name]
    assert date.fromisoformat(profile.as_of) <= date(2100, 1, 1)
    assert len(profile.source) > 10
    assert profile.probe is None or profile.probe_path.startswith("/")
    assert profile.auth.key_env is None or re.fullmatch(r"[A-Z_]+", profile.auth.key_env)


def test_a_silent_endpoint_names_no_error() -> None:
    """Where a long prompt is cut in silence, there is no phrase to wait for."""
    assert [name for name, row in profiles().items() if row.overflow.silent] == ["ollama"]
    assert profiles()["ollama"].overflow.phrase == ""


def test_phrases_are_those_that_failures_know() -> None:
    """What a profile says its overflow reads like is a row of the table that recognises overflows."""
    from foreword.codecs.failure_signs import OVERFLOW

    known = {sign.phrase for sign in OVERFLOW} | {""}
    assert {profile.overflow.phrase for profile in profiles().values()} <= known


@pytest.mark.parametrize(
    "name, options, fault",
    [
        ("nope", {}, "name one of anthropic"),
        ("anthropic", {"wire": "gemini"}, "it serves anthropic"),
        ("anthropic", {"wire": "smtp"}, "does not serve"),
        ("azure", {}, "give a base URL"),
        ("anthropic", {"base_url": "ftp://host"}, "no http or https address"),
        ("anthropic", {"base_url": "host/v1"}, "no http or https address"),
        ("anthropic", {"base_url": "https://me:pw@host"}, "put the key into a variable"),
        ("anthropic", {"base_url": "https://host?key=pw"}, "put the key into a variable"),
    ],
)
def test_what_makes_no_endpoint_is_refused(name: str, options: dict[str, str], fault: str) -> None:
    """Each refusal says the next move, and repeats no password."""
    with pytest.raises(EndpointError, match=fault) as raised:
        endpoint(name, **options)
    assert "pw@" not in str(raised.value)


@pytest.mark.parametrize(
    "base_url",
    [
        "alice:s3cretpw@host/v1",
        "ftp://u:s3cretpw@h",
        "http://u:s3cretpw@[bad",
        "http://u:s3cretpw@h\N{FULLWIDTH QUESTION MARK}x",
        "http://u:s3cretpw@host/v1",
        "ftp://h?key=s3cretpw",
        "http://[bad#s3cretpw",
    ],
)
def test_a_refused_address_shows_no_password(base_url: str) -> None:
    """Whatever else is wrong with it, what stands before an `@` or behind a `?` is in no error and no cause."""
    with pytest.raises(EndpointError) as raised:
        endpoint("openai", base_url=base_url)
    shown = "".join(traceback.format_exception(raised.value))
    assert "s3cretpw" not in shown


def test_the_key_is_read_when_it_is_needed() -> None:
    """The endpoint holds a variable's name alone; its form is the profile's."""
    environ = {"ANTHROPIC_API_KEY": " k ", "MINE": "other"}
    made = endpoint("anthropic")
    assert made.key_headers(environ) == {"x-api-key": "k"}
    assert "'k'" not in repr(made)
    assert endpoint("anthropic", key_env="MINE").key_headers(environ) == {"x-api-key": "other"}
    assert endpoint("anthropic", key_env="").key_headers(environ) == {}
    assert endpoint("gemini").key_headers({"GEMINI_API_KEY": "k"}) == {"x-goog-api-key": "k"}
    compatible = endpoint("gemini", "openai-chat")
    assert compatible.key_headers({"GEMINI_API_KEY": "k"}) == {"authorization": "Bearer k"}
    assert endpoint("openai").key_headers({"OPENAI_API_KEY": "k"}) == {"authorization": "Bearer k"}


def test_a_local_server_needs_no_key_unless_one_is_named() -> None:
    """The customary variable is optional there; one that was named must be set."""
    assert endpoint("vllm").key_headers({}) == {}
    with pytest.raises(EndpointError, match="MINE"):
        endpoint("vllm", key_env="MINE").key_headers({})


def test_addresses_below_base_and_host() -> None:
    """A path that starts with two slashes is below the host; a query of the profile is added."""
    made = endpoint("ollama", base_url="http://127.0.0.1:1/v1/")
    assert made.at("/models") == "http://127.0.0.1:1/v1/models"
    assert made.at("//api/show") == "http://127.0.0.1:1/api/show"
    asked = msgspec.structs.replace(made, query={"api-version": "a b"})
    assert asked.at("/x?y=1") == "http://127.0.0.1:1/v1/x?y=1&api-version=a%20b"
    assert made.local
    assert not endpoint("openai").local
