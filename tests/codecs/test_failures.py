"""What providers and gateways say when they fail, and what must not be taken for an overflow."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.codecs.failure_signs import OVERFLOW
from foreword.codecs.failures import Failure, classify, silent_overflow
from foreword.core.usage import Usage


def anthropic(type_: str, message: str, **details: Any) -> dict[str, Any]:
    """Write an error of Anthropic."""
    error = {"type": type_, "message": message} | ({"details": details} if details else {})
    return {"type": "error", "error": error, "request_id": "req_1"}


def openai(message: str, code: str | None = None, type_: str = "invalid_request_error") -> dict[str, Any]:
    """Write an error of OpenAI."""
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}


def google(code: int, status: str, message: str, *details: Any) -> dict[str, Any]:
    """Write an error of Gemini."""
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


def told(message: str) -> dict[str, Any]:
    """Write an error of Bedrock."""
    return {"message": message}


INVALID = "invalid_request_error"
OVERFLOWS: list[tuple[str, Any, int | None, int | None]] = [
    ("anthropic", anthropic(INVALID, "prompt is too long: 213462 tokens > 200000 maximum"), 213462, 200000),
    (
        "anthropic",
        anthropic(
            INVALID, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease"
        ),
        188240,
        200000,
    ),
    (
        "openai-chat",
        openai(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130064 tokens.",
            "context_length_exceeded",
        ),
        130064,
        128000,
    ),
    (
        "deepseek",
        openai(
            "This model's maximum context length is 65536 tokens. However, you requested 70001 tokens "
            "(66001 in the messages, 4000 in the completion). Please reduce the length of the messages."
        ),
        66001,
        65536,
    ),
    ("openai-responses", openai("Your input exceeds the context window of this model.", None), None, None),
    ("openai-responses", openai("no words for it", "context_too_large"), None, None),
    (
        "openai-chat",
        openai("The input (210000 tokens) is longer than the model's context length (202752 tokens)."),
        210000,
        202752,
    ),
    (
        "gemini",
        google(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        ),
        1196265,
        1048575,
    ),
    (
        "gemini",
        google(400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."),
        None,
        None,
    ),
    ("anthropic", told("Input is too long for requested model."), None, None),
    ("anthropic", told("prompt tokens (250,001) exceed model maximum (200,000)"), 250001, 200000),
    ("anthropic", told("The input tokens exceed the configured limit of 5000"), None, 5000),
    (
        "openai-chat",
        openai("request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it"),
        9001,
        8192,
    ),
    (
        "openai-chat",
        told(
            "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a "
            "total of 141000 tokens: 140000 tokens from the input messages and 1000 tokens for the completion."
        ),
        140000,
        131072,
    ),
    ("openai-chat", openai("Current length is 132000 while limit is 131072"), 132000, 131072),
    ("openai-chat", openai("Range of input length should be [1, 129024]"), None, 129024),
    (
        "openai-chat",
        openai("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        537812,
        131072,
    ),
    ("openai-chat", {"error": "the request exceeds the available context size"}, None, None),
    (
        "openai-chat",
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": json.dumps(anthropic(INVALID, "prompt is too long: 5 tokens > 4 maximum"))
                },
            }
        },
        5,
        4,
    ),
]


@pytest.mark.parametrize("wire, body, tokens, limit", OVERFLOWS)
def test_an_overflow_is_seen_with_its_numbers(
    wire: str, body: dict[str, Any], tokens: int | None, limit: int | None
) -> None:
    """Parsed, as text, as bytes, in a list and as an event of a stream it reads the same."""
    expected = Failure(kind="overflow", tokens=tokens, limit=limit)
    assert classify(wire, 400, body) == expected
    text = json.dumps(body)
    assert classify(wire, 400, text) == expected
    assert classify(wire, 400, text.encode()) == expected
    assert classify(wire, 400, [body]) == expected
    assert classify(wire, None, f"event: error\ndata: {text}\n\n") == expected


OTHERS: list[tuple[int | None, Any, str]] = [
    (
        400,
        openai("Invalid 'user': string too long. Expected 64, got 100.", "string_above_max_length"),
        "invalid",
    ),
    (
        400,
        openai(
            "Invalid 'input[0].id': string too long; the maximum context length is 64",
            "string_above_max_length",
        ),
        "invalid",
    ),
    (
        429,
        openai("Request too large for m: Limit 30000, Requested 33000.", "rate_limit_exceeded"),
        "rate_limited",
    ),
    (429, told("Too many tokens, please wait: prompt is too long"), "rate_limited"),
    (429, openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), "auth"),
    (400, anthropic(INVALID, "messages: text content blocks must be non-empty"), "invalid"),
    (
        400,
        anthropic(
            INVALID, "image too large", error_code="image_dimensions_too_large", max_side_length_pixels=8000
        ),
        "invalid",
    ),
    (413, anthropic("request_too_large", "Request exceeds the maximum size"), "overflow"),
    (413, "", "overflow"),
    (529, anthropic("overloaded_error", "Overloaded"), "overloaded"),
    (None, anthropic("overloaded_error", "Overloaded"), "overloaded"),
    (500, anthropic("api_error", "Internal server error"), "unknown"),
    (401, anthropic("authentication_error", "invalid x-api-key"), "auth"),
    (404, anthropic("not_found_error", "model: x"), "not_found"),
    (404, openai("The model `x` does not exist", "model_not_found"), "not_found"),
    (403, google(403, "PERMISSION_DENIED", "no"), "auth"),
    (503, google(503, "UNAVAILABLE", "The model is overloaded."), "overloaded"),
    (504, google(504, "DEADLINE_EXCEEDED", "late"), "timeout"),
    (504, b"<html>Gateway timeout</html>", "timeout"),
    (502, b"\xff\xfe", "unknown"),
    (400, {"__type": "ThrottlingException", "message": "slow"}, "rate_limited"),
    (
        None,
        {"type": "response.failed", "response": {"error": {"code": "server_is_overloaded"}}},
        "overloaded",
    ),
    (200, {"type": "error", "code": "context_length_exceeded", "message": "m", "param": None}, "overflow"),
]


@pytest.mark.parametrize("status, body, kind", OTHERS)
def test_other_failures_are_of_their_kind(status: int | None, body: Any, kind: str) -> None:
    """A word of the provider says more than the status; a limit by time is no overflow."""
    found = classify("anthropic", status, body)
    assert found is not None
    assert (found.kind, found.soft) == (kind, False)


@pytest.mark.parametrize(
    "wire, body, kind",
    [
        ("anthropic", {"type": "message", "stop_reason": "model_context_window_exceeded"}, "overflow"),
        ("openai-chat", {"choices": [{"finish_reason": "model_length"}]}, "overflow"),
        ("deepseek", {"choices": [{"finish_reason": "insufficient_system_resource"}]}, "overloaded"),
        ("anthropic", {"type": "message", "stop_reason": "end_turn"}, None),
        ("openai-chat", {"choices": []}, None),
        ("openai-chat", {"choices": {}}, None),
        ("openai-responses", {"error": None, "incomplete_details": {"reason": "max_output_tokens"}}, None),
        ("gemini", {"candidates": [{"finishReason": "STOP"}]}, None),
        ("gemini", [], None),
        ("gopher", {}, None),
    ],
)
def test_an_answer_that_was_cut_is_a_soft_failure(wire: str, body: Any, kind: str | None) -> None:
    """A status of 200 may still say that the window was full."""
    assert classify(wire, 200, body) == (Failure(kind=kind, soft=True) if kind else None)


@pytest.mark.parametrize(
    "body, headers, seconds",
    [
        (openai("Please try again in 1.5s.", "rate_limit_exceeded"), {}, 1.5),
        (openai("Please try again in 20ms.", "rate_limit_exceeded"), {}, 0.02),
        (openai("Please try again in 6m0s.", "rate_limit_exceeded"), {}, 360),
        (openai("Please try again in 1.5s.", "rate_limit_exceeded"), {"retry-after": "3"}, 3),
        (openai("x"), {"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        (openai("x"), {"retry-after": "Mon, 30 Nov 2026 00:00:00 GMT"}, None),
        (openai("x"), {"retry-after": "Mon, 30 Nov 2026 00:01:30 GMT", "date": "Mon, 30 Nov 2026 00:00:00 GMT"}, 90),
        (openai("x"), {"retry-after": "Monday, 30-Nov-26 00:01:30 GMT", "date": "Mon Nov 30 00:01:00 2026"}, 30),
        (openai("x"), {"retry-after": "Mon, 30 Nov 2020 00:00:00 GMT", "date": "Mon, 30 Nov 2026 00:00:00 GMT"}, 0),
        (openai("x"), {"retry-after": "Mon, 30 Nov 99999 00:00:00 GMT", "date": "Mon, 30 Nov 2026 00:00:00 GMT"},
         None),
        (openai("x"), {"retry-after": "nan"}, None),
        (google(429, "RESOURCE_EXHAUSTED", "x", {"@type": "RetryInfo", "retryDelay": "34.07s"}), {}, 34.07),
    ],
)  # fmt: skip
def test_the_time_to_wait_is_read(body: Any, headers: dict[str, str], seconds: float | None) -> None:
    """From headers first, then from the body."""
    assert classify("gemini", 429, body, headers) == Failure(
        kind=classify("gemini", 429, body).kind,
        retry_after=seconds,
    )


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none() | st.text(max_size=8) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "type", "code", "message", "details"]), inner, max_size=3
            )
        ),
    ),
    st.sampled_from([None, 200, 400, 429, 500]),
)
def test_any_body_is_classified(body: Any, status: int | None) -> None:
    """Whatever a gateway answers, there is a word for it."""
    found = classify("anthropic", status, body)
    assert found is not None or status == 200


@pytest.mark.parametrize("sign", OVERFLOW, ids=lambda sign: sign.phrase)
def test_reading_is_linear(sign: Any) -> None:
    """A megabyte of what a phrase is made of takes no longer than a look at it."""
    hostile = json.dumps(
        {"error": {"message": (sign.phrase[:-1] + "1,") * 40_000 + sign.phrase + "9," * 90_000}}
    )
    started = time.perf_counter()
    classify("anthropic", 400, hostile)
    classify("anthropic", 400, hostile[:-9])
    assert time.perf_counter() - started < 1


def test_more_than_the_window_is_a_silent_overflow() -> None:
    """A provider that took more than it holds left some of it out."""
    over = Usage(uncached=90, cache_read=20, cache_write_short=0, cache_write_long=0)
    assert silent_overflow(over, 100)
    assert not silent_overflow(over, 110)
    assert not silent_overflow(Usage(), 1)
