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
from foreword.testing.facts import GEMINI
from foreword.testing.gemini_referee import GeminiReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.openai_responses_referee import OpenAIResponsesReferee

CASSETTES = "provider_cassettes"


class Recorded(NamedTuple):
    """An accepted request: where it went, its body, and what came back."""

    name: str
    path: str
    body: bytes
    answer: dict[str, Any]


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
        if where.hostname == host and where.path.endswith(paths):
            body, answer = (
                side["parsed_body"] if "parsed_body" in side else msgspec.json.decode(side["body"])
                for side in (request, response)
            )
            yield Recorded(file.name, where.path, msgspec.json.encode(body), answer)


def test_real_anthropic_requests_are_accepted() -> None:
    """Ten messages and one token count, with server tools, thinking, deferred tools and a system message."""
    requests = recorded("api.anthropic.com", "/v1/messages", "/v1/messages/count_tokens")
    assert len(requests) >= 11
    for name, path, body, _ in requests:
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
    for name, _, body, _ in requests:
        assert referee.judge(body).violations == (), name


def _torn(body: bytes) -> bytes:
    """Take all reasoning out of a request."""
    asked: dict[str, Any] = msgspec.json.decode(body)
    return msgspec.json.encode(
        {**asked, "input": [item for item in asked["input"] if item.get("type") != "reasoning"]}
    )


def test_real_responses_requests_are_accepted() -> None:
    """Eight requests with hosted tools and their reasoning; marks are read to the exact boundary.

    Reasoning is sent back to a server that noted it when it answered, so a request without it is refused.
    """
    requests = recorded("api.openai.com", "/v1/responses")
    assert len(requests) >= 8
    by_file: dict[str, OpenAIResponsesReferee] = {}
    sent_back = 0
    for name, _, body, answer in requests:
        referee = by_file.setdefault(name, OpenAIResponsesReferee())
        verdict = referee.judge(body)
        assert verdict.violations == (), name
        assert verdict.dropped == (), name
        sent_back += body.count(b'"type":"reasoning"')
        referee.answered(answer["output"], answer["id"])
        wrong = {violation.code for violation in referee.judge(_torn(body)).violations}
        assert ("reasoning_missing" in wrong) == (b'"type":"reasoning"' in body), name
    assert sent_back >= 4
    marked = [
        OpenAIResponsesReferee(seed=1).judge(request.body).usage_body["input_tokens_details"]
        for request in requests
        if b"prompt_cache_breakpoint" in request.body
    ]
    assert marked
    assert all(details["cache_write_tokens"] > 1024 for details in marked)


def test_real_gemini_requests_are_accepted() -> None:
    """Seven requests: cached content, video, calls with a signature in either base64, a foreign history."""
    requests = recorded("generativelanguage.googleapis.com", ":generateContent")
    assert len(requests) >= 7
    by_file: dict[str, GeminiReferee] = {}
    for name, path, body, answer in requests:
        facts = msgspec.structs.replace(GEMINI, signs_calls="gemini-2.5" not in path)
        referee = by_file.setdefault(name, GeminiReferee(facts=facts))
        assert referee.judge(body).violations == (), name
        referee.answered(answer["candidates"][0]["content"])
    marks = (b'"thoughtSignature":"Cv', b'"thoughtSignature":"Er')
    signed = [request for request in requests if any(mark in request.body for mark in marks)]
    assert len(signed) >= 2
    for request in signed:
        assert GeminiReferee().judge(request.body).status == 400, request.name
