"""What a response says about its bill beside the six buckets."""

from __future__ import annotations

from typing import Any

import pytest

from foreword.codecs import codec
from foreword.codecs.billing import NO_MORE, billing_from, billing_of
from foreword.codecs.doubts import doubts
from foreword.core.usage import Usage


def test_a_providers_own_summary_is_billed_beside_the_usage() -> None:
    """Each compaction among the iterations counts; messages are the usage itself, and a bad entry is none."""
    iterations = [
        {"type": "compaction", "input_tokens": 900, "output_tokens": 50, "cache_read_input_tokens": 100},
        {"type": "message", "input_tokens": 60, "output_tokens": 7},
        {"type": "compaction", "input_tokens": "many"},
        "odd",
    ]
    bill = billing_of(
        "anthropic", {"usage": {"input_tokens": 60, "output_tokens": 7, "iterations": iterations}}
    )
    assert bill.compactions == (
        Usage(uncached=900, cache_read=100, cache_write_short=0, cache_write_long=0, output=50),
    )
    assert billing_of("openai-chat", {"usage": {"iterations": iterations}}) == NO_MORE


@pytest.mark.parametrize(
    "wire, members, terms",
    [
        ("anthropic", {"usage": {"service_tier": "batch", "speed": "fast"}}, ("batch", "fast")),
        ("anthropic", {"usage": {"inference_geo": "us"}}, ("us",)),
        ("anthropic", {"usage": {"service_tier": "standard", "inference_geo": "not_available"}}, ()),
        ("openai-responses", {"service_tier": "batch", "usage": {}}, ("batch",)),
        ("gemini", {"usage": {"service_tier": "batch"}}, ()),
        ("gemini", {"usage": {"serviceTier": "flex"}}, ("flex",)),
        ("openai-chat", {"service_tier": "flex", "usage": {}}, ("flex",)),
        ("openai-chat", {"service_tier": "default", "usage": {}}, ()),
        ("anthropic", {"usage": {"service_tier": "priority"}}, ("priority",)),
        ("anthropic", {"usage": None}, ()),
        ("anthropic", {"usage": {"service_tier": ["batch"]}}, ()),
    ],
)  # fmt: skip
def test_terms_are_named_as_the_catalog_names_them(
    wire: str, members: dict[str, Any], terms: tuple[str, ...]
) -> None:
    """Batch, fast mode and region come from where each wire states them."""
    assert billing_of(wire, members).terms == terms


@pytest.mark.parametrize(
    "wire, usage, found",
    [
        (
            "anthropic",
            {"cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 4}},
            True,
        ),
        (
            "anthropic",
            {"cache_creation_input_tokens": 4, "cache_creation": {"ephemeral_1h_input_tokens": 4}},
            False,
        ),
        ("anthropic", {"cache_creation_input_tokens": 9}, False),
        ("anthropic", {"cache_creation": {"ephemeral_1h_input_tokens": 4}}, False),
        (
            "openai-responses",
            {
                "input_tokens": 9,
                "input_tokens_details": {
                    "cache_write_tokens": 9,
                    "cache_write_tokens_details": {"ttl_12h_tokens": 4},
                },
            },
            True,
        ),
        (
            "openai-responses",
            {
                "input_tokens": 9,
                "input_tokens_details": {
                    "cache_write_tokens": 4,
                    "cache_write_tokens_details": {"ttl_12h_tokens": 4},
                },
            },
            False,
        ),
        ("openai-chat", {"prompt_tokens": 5, "cached_tokens": 6}, True),
        ("openai-chat", {"prompt_tokens": 6, "cached_tokens": 6}, False),
        ("openai-chat", {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 6}}, True),
        ("openai-chat", {"prompt_tokens": 6, "prompt_tokens_details": {"cached_tokens": 6}}, False),
    ],
)
def test_counts_that_do_not_add_up_are_named(wire: str, usage: dict[str, Any], found: bool) -> None:
    """A split that is not its total, and more cached than there was."""
    assert bool(doubts(wire, usage)) is found
    assert billing_of(wire, {"usage": usage}).doubts == doubts(wire, usage)


@pytest.mark.parametrize(
    "wire, response",
    [
        ("anthropic", {
            "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "content": [],
            "usage": {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 9,
                      "cache_creation": {"ephemeral_1h_input_tokens": 4}},
        }),
        ("openai-chat", {
            "id": "c", "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 6}},
        }),
        ("openai-responses", {
            "id": "r", "object": "response", "model": "m", "status": "completed", "output": [],
            "usage": {"input_tokens": 5, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 6}},
        }),
    ],
)  # fmt: skip
def test_a_decoded_response_keeps_the_doubts_about_its_usage(wire: str, response: dict[str, Any]) -> None:
    """Decoding maps the counts to buckets, which add up; what the provider wrote did not."""
    found = billing_from(wire, codec(wire).decode_response(response))
    assert found.doubts == doubts(wire, response["usage"]) != ()
