"""What an Anthropic answer says that it cost, in the six buckets."""

from typing import Any

import pytest

from foreword.codecs.anthropic import AnthropicCodec
from foreword.core.usage import Usage
from foreword.errors import MalformedResponse

CODEC = AnthropicCodec()


@pytest.mark.parametrize(
    "usage, expected",
    [
        ({}, Usage()),
        (
            {"input_tokens": 3, "output_tokens": 1},
            Usage(uncached=3, cache_read=0, cache_write_short=0, cache_write_long=0, output=1),
        ),
        (
            {
                "input_tokens": 3,
                "cache_read_input_tokens": 4,
                "cache_creation_input_tokens": 5,
                "output_tokens": 1,
            },
            Usage(uncached=3, cache_read=4, cache_write_short=5, cache_write_long=0, output=1),
        ),
        (
            {
                "input_tokens": 3,
                "cache_read_input_tokens": 4,
                "cache_creation_input_tokens": 5,
                "output_tokens": 9,
                "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 3},
                "output_tokens_details": {"thinking_tokens": 7},
            },
            Usage(uncached=3, cache_read=4, cache_write_short=2, cache_write_long=3, output=9, reasoning=7),
        ),
        (
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": 700,
                "cache_creation": {"ephemeral_1h_input_tokens": 300},
                "output_tokens": 1,
            },
            Usage(uncached=3, cache_read=0, cache_write_short=400, cache_write_long=300, output=1),
        ),
    ],
)
def test_usage_is_mapped_to_the_six_buckets(usage: dict[str, Any], expected: Usage) -> None:
    """Counts that are absent beside a known input are 0; without any figure all are unknown."""
    assert CODEC.usage_from(usage) == expected


def test_a_usage_that_is_no_count_is_refused() -> None:
    """A figure from a provider is data, and may be wrong."""
    with pytest.raises(MalformedResponse, match=r"usage\.input_tokens: expected a count, got str"):
        CODEC.usage_from({"input_tokens": "3"})
