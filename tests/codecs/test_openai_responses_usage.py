"""What an answer of the Responses wire says that it cost, in the six buckets."""

from typing import Any

import pytest

from foreword.codecs.openai_responses import OpenAIResponsesCodec
from foreword.core.usage import Usage

CODEC = OpenAIResponsesCodec()


@pytest.mark.parametrize(
    "usage, expected",
    [
        ({}, Usage()),
        (
            {"input_tokens": 10, "output_tokens": 2},
            Usage(uncached=10, cache_read=0, cache_write_short=0, cache_write_long=0, output=2),
        ),
        (
            {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 50},
                "output_tokens": 9,
                "output_tokens_details": {"reasoning_tokens": 4},
            },
            Usage(
                uncached=20, cache_read=30, cache_write_short=50, cache_write_long=0, output=9, reasoning=4
            ),
        ),
        (
            {
                "input_tokens": 100,
                "input_tokens_details": {
                    "cached_tokens": 30,
                    "cache_write_tokens": 50,
                    "cache_write_tokens_details": {"ttl_30m_tokens": 20, "ttl_12h_tokens": 30},
                },
                "output_tokens": 9,
            },
            Usage(uncached=20, cache_read=30, cache_write_short=20, cache_write_long=30, output=9),
        ),
        (
            {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 8}},
            Usage(uncached=0, cache_read=8, cache_write_short=8, cache_write_long=0),
        ),
        (
            {
                "input_tokens": 100,
                "input_tokens_details": {
                    "cache_write_tokens": 50,
                    "cache_write_tokens_details": {"ttl_12h_tokens": 30},
                },
            },
            Usage(uncached=50, cache_read=0, cache_write_short=20, cache_write_long=30),
        ),
        (
            {
                "input_tokens": 100,
                "input_tokens_details": {"cache_write_tokens": 50, "cache_write_tokens_details": {}},
            },
            Usage(uncached=50, cache_read=0, cache_write_short=50, cache_write_long=0),
        ),
    ],
)
def test_usage_is_mapped(usage: dict[str, Any], expected: Usage) -> None:
    """Cached tokens are inside the input; writes not named as of 12 hours are short; nothing falls below 0."""
    assert CODEC.usage_from(usage) == expected
