"""Real requests that real servers accepted, recorded as cassettes: the referees are no stricter than life."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import pytest
import yaml

from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee

CASSETTES = "provider_cassettes"


class Recorded(NamedTuple):
    """An accepted request: where it went and its body."""

    name: str
    path: str
    body: bytes


def recorded(host: str, *paths: str) -> list[Recorded]:
    """Return every request to these paths of a host that was answered with 200."""
    folder = os.environ.get("FOREWORD_DATA")
    if not folder:
        pytest.skip("FOREWORD_DATA names no folder of recorded data")
    return [
        request
        for file in sorted(Path(folder, CASSETTES).glob("*.yaml"))
        for request in _read(file, host, paths)
    ]


def _read(file: Path, host: str, paths: tuple[str, ...]) -> Iterator[Recorded]:
    cassette: dict[str, Any] = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)
    for interaction in cassette["interactions"]:
        # Frames of a web socket are interactions, too, without a request.
        request, response = interaction.get("request"), interaction.get("response")
        if request is None or response["status"]["code"] != 200:
            continue
        where = urlsplit(request["uri"])
        if where.hostname == host and where.path in paths:
            body = (
                request["parsed_body"] if "parsed_body" in request else msgspec.json.decode(request["body"])
            )
            yield Recorded(file.name, where.path, msgspec.json.encode(body))


def test_real_anthropic_requests_are_accepted() -> None:
    """Ten messages and one token count, with server tools, thinking, deferred tools and a system message."""
    requests = recorded("api.anthropic.com", "/v1/messages", "/v1/messages/count_tokens")
    assert len(requests) >= 11
    for name, path, body in requests:
        referee = AnthropicReferee(accept_foreign_signatures=True)
        if path.endswith("count_tokens"):
            status, answer = referee.count(body)
            assert status == 200, (name, answer)
        else:
            assert referee.judge(body).violations == (), name


def test_real_chat_requests_are_accepted() -> None:
    """Two completions with explicit cache breakpoints; the second reads what the first sent."""
    requests = recorded("api.openai.com", "/v1/chat/completions")
    assert len(requests) >= 2
    referee = OpenAIChatReferee()
    for name, _, body in requests:
        assert referee.judge(body).violations == (), name
