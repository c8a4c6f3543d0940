"""Usage of any client: each provider's object, wherever in a record it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import Usage as AnthropicUsage
from openai.types import CompletionUsage

from foreword.core.usage import Usage
from foreword.evals.usage_lines import tells_usage, usage_of

ANTHROPIC = {
    "input_tokens": 10,
    "cache_read_input_tokens": 80,
    "cache_creation_input_tokens": 10,
    "output_tokens": 3,
}
CHAT = {"prompt_tokens": 100, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 80}}
RESPONSES = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 80}, "output_tokens": 3}
DEEPSEEK = {
    "prompt_tokens": 100,
    "prompt_cache_hit_tokens": 80,
    "prompt_cache_miss_tokens": 20,
    "completion_tokens": 3,
}
GEMINI = {"promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 3}
SPAN_COUNTS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.output_tokens",
)
SPAN = {
    "gen_ai.usage.input_tokens": 100, "gen_ai.usage.cache_read.input_tokens": 80, "gen_ai.usage.output_tokens": 3,
}  # fmt: skip
BUCKETS = {
    "uncached": 20,
    "cache_read": 80,
    "cache_write_short": 0,
    "cache_write_long": 0,
    "output": 3,
    "reasoning": 0,
}
EVERY = [ANTHROPIC, CHAT, RESPONSES, DEEPSEEK, GEMINI, SPAN, BUCKETS]


@pytest.mark.parametrize("usage", EVERY, ids=lambda usage: next(iter(usage)))
@pytest.mark.parametrize(
    "wrapped",
    [
        lambda usage: usage,
        lambda usage: json.dumps(usage),
        lambda usage: json.dumps({"usage": usage}).encode(),
        lambda usage: {"id": "r", "response": {"model": "m", "usage": usage}},
        lambda usage: {"type": "assistant", "message": {"usage": usage}},
        lambda usage: {"usageMetadata": usage},
        lambda usage: {"attributes": usage},
    ],
)
def test_every_form_is_read(usage: dict[str, Any], wrapped: Any) -> None:
    """80 of 100 tokens were read from the cache, whoever says it and wherever."""
    found = usage_of(wrapped(usage))
    assert found is not None
    assert (found.cache_read, found.total_input, found.output) == (80, 100, 3)


def test_a_span_that_does_not_tell_its_prompt_is_unknown() -> None:
    """Not 0; a prompt without its reads has unknown parts too, and one without its writes counts them as uncached."""
    prompt, read, output = SPAN_COUNTS
    assert usage_of({prompt: None, output: 3}) == Usage(output=3)
    assert usage_of({prompt: 100, output: 3}) == Usage(cache_write_short=0, cache_write_long=0, output=3)
    found = usage_of({prompt: 100, read: 80})
    assert found == Usage(uncached=20, cache_read=80, cache_write_short=0, cache_write_long=0)


def test_a_dump_of_googles_client_is_read() -> None:
    """With the names of its Python fields."""
    counts = {"prompt_token_count": 100, "cached_content_token_count": 80, "candidates_token_count": 3}
    found = usage_of({"usage_metadata": {**counts, "total_token_count": 103, "prompt_tokens_details": None}})
    assert found is not None
    assert (found.cache_read, found.total_input, found.output) == (80, 100, 3)


@pytest.mark.parametrize(
    "value, tells",
    [({"usage": None}, True), ({"response": {"usage": {"input_tokens": "many"}}}, True), ({"input_tokens": -5}, True),
     ({"message": {"content": "hi"}}, False), ("usage", False), ([{"usage": 1}], False)],
)  # fmt: skip
def test_a_record_with_a_place_for_usage_is_one_of_a_call(value: Any, tells: bool) -> None:
    """Though nothing can be read there."""
    assert tells_usage(value) is tells


def test_objects_of_the_official_clients() -> None:
    """What an SDK returns is read as it is."""
    for given in (
        AnthropicUsage.model_validate(ANTHROPIC),
        CompletionUsage.model_validate(CHAT | {"total_tokens": 103}),
    ):
        found = usage_of(given)
        assert found is not None
        assert (found.cache_read, found.total_input) == (80, 100)
    mine = Usage(uncached=1)
    assert usage_of(mine) is mine


@pytest.mark.parametrize(
    "value",
    [None, 3, "no json", b"\xff", [], {}, {"usage": None}, {"usage": {"input_tokens": "many"}},
     {"usage": {"tokens": 3}},
     {"gen_ai.usage.input_tokens": True}, {"uncached": "x", "cache_read": 1}],
)  # fmt: skip
def test_what_holds_no_usage_gives_none(value: Any) -> None:
    """Anything else is no usage, and no error."""
    assert usage_of(value) is None
