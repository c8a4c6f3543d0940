"""Broken requests of every form get a verdict, never a crash."""

import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.deepseek_referee import DeepSeekReferee
from foreword.testing.gemini_referee import GeminiReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.openai_responses_referee import OpenAIResponsesReferee
from foreword.testing.referee import Referee
from tests.testing import (
    anthropic_pairs,
    deepseek_pairs,
    gemini_pairs,
    openai_chat_pairs,
    openai_responses_pairs,
)

ROUNDS = 400
STRANGE: list[Any] = [None, True, 0, -1, 1e300, "", " ", "user", "text", [], [[]], {}, {"type": "text"}]
STRANGE += [{"type": []}, [{"type": {}}]]
MEMBERS = ["content", "type", "role", "id", "cache_control", "tools", "input", "call_id", "output", "summary"]
MEMBERS += ["encrypted_content", "parts", "functionCall", "thoughtSignature", "reasoning_content", "thinking"]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every (container, key) inside a JSON value."""
    stack = [value]
    while stack:
        item = stack.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ()
        for key in keys:
            yield item, key
            stack.append(item[key])


def broken(rng: random.Random, bodies: list[dict[str, Any]]) -> dict[str, Any]:
    """Take a request and put something strange in up to three places."""
    body = msgspec.json.decode(msgspec.json.encode(rng.choice(bodies)))
    for _ in range(rng.randint(1, 3)):
        found = list(places(body))
        if not found:
            break
        container, key = rng.choice(found)
        # A copy: a shared list could end up inside itself.
        strange = deepcopy(rng.choice(STRANGE))
        if rng.random() < 0.3:
            del container[key]
        elif isinstance(container, dict) and rng.random() < 0.2:
            container[rng.choice(MEMBERS)] = strange
        else:
            container[key] = strange
    return body


@pytest.mark.parametrize(
    "referee, pairs",
    [
        (AnthropicReferee(), anthropic_pairs.PAIRS),
        (OpenAIChatReferee(), openai_chat_pairs.PAIRS),
        (OpenAIResponsesReferee(), openai_responses_pairs.PAIRS),
        (DeepSeekReferee(), deepseek_pairs.PAIRS),
        (GeminiReferee(), gemini_pairs.PAIRS),
    ],
    ids=["anthropic", "openai-chat", "openai-responses", "deepseek", "gemini"],
)
def test_a_broken_request_gets_a_verdict(referee: Referee[Any], pairs: list[Any]) -> None:
    """Refused with text, or accepted with usage; both occur, and judging again gives the same status."""
    rng = random.Random(20261130)
    bodies = [body for pair in pairs for body in (pair.illegal, pair.legal) if isinstance(body, dict)]
    statuses: set[int] = set()
    for _ in range(ROUNDS):
        raw = msgspec.json.encode(broken(rng, bodies))
        verdict = referee.judge(raw, {})
        statuses.add(verdict.status)
        if verdict.status == 200:
            assert not verdict.violations
            assert verdict.usage_body
        else:
            assert verdict.error_body
            assert all(violation.text for violation in verdict.violations)
        assert referee.judge(raw, {}).status == verdict.status
    assert {200, 400} <= statuses <= {200, 400, 404}


def test_halves_of_characters_in_a_recorded_answer_are_what_a_service_says() -> None:
    """A record may hold them, a request can't: it has U+FFFD there, and is no other prefix for that."""
    half, whole = "a \ud83d", "a \ufffd"
    ask = {"role": "user", "content": [{"type": "text", "text": "Where?"}]}

    def said(text: str) -> list[dict[str, Any]]:
        thought = {"type": "thinking", "thinking": "", "signature": "S"}
        return [{"type": "text", "text": text}, thought, {"type": "text", "text": "b"}]

    claude = AnthropicReferee(accept_foreign_signatures=True)
    request = {"model": "m", "max_tokens": 10, "messages": [ask]}
    assert claude.judge(msgspec.json.encode(request)).violations == ()
    claude.answered(said(half))
    request["messages"] = [ask, {"role": "assistant", "content": said(whole)}, ask]
    assert claude.judge(msgspec.json.encode(request)).violations == ()

    call = {"functionCall": {"name": "look", "args": {"at": half}}, "thoughtSignature": "UzE="}
    GeminiReferee().answered({"role": "model", "parts": [{"text": half}, call]})

    responses = OpenAIResponsesReferee()
    body = {"model": "m", "input": [{"role": "user", "content": "Where?"}]}
    assert responses.judge(msgspec.json.encode(body)).violations == ()
    part = {"type": "output_text", "text": half, "annotations": []}
    responses.answered([{"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}])
