"""What providers and gateways say when they fail, as tables (public documentation and error texts, 2026-11-30)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal[
    "overflow", "rate_limited", "overloaded", "auth", "invalid", "not_found", "timeout", "unknown"
]  # fmt: skip


class Sign(Struct, frozen=True):
    """A phrase of an overflow, in lower case, and what the numbers next to it mean.

    ``before`` and ``after``: the meaning of the nearest numbers on each side, in reading order: "tokens" (what
    was sent), "limit", or "" for one that says neither.
    """

    phrase: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


OVERFLOW = (
    Sign("prompt is too long", after=("tokens", "limit")),  # Anthropic
    Sign("exceed context limit", after=("tokens", "", "limit")),
    Sign("maximum context length is", after=("limit", "tokens")),  # OpenAI, DeepSeek, vLLM
    Sign("exceeds the context window"),
    Sign("longer than the model's context length", before=("tokens",), after=("limit",)),
    Sign("longer than the maximum model length", before=("tokens",), after=("limit",)),
    Sign("exceeds the maximum number of tokens allowed", before=("tokens",), after=("limit",)),  # Gemini
    Sign("request payload size exceeds"),
    Sign("input is too long"),  # Bedrock
    Sign("exceed model maximum", before=("tokens",), after=("limit",)),
    Sign("input tokens exceed the configured limit", after=("limit",)),
    Sign("exceeds the available context size", before=("tokens",), after=("limit",)),  # llama.cpp
    Sign("exceeds the model's maximum context length", after=("limit", "tokens")),  # SGLang
    Sign("current length is", after=("tokens", "limit")),
    Sign("maximum input length is", after=("limit",)),
    Sign("range of input length should be", after=("", "limit")),  # Qwen
    Sign("tokens in request more than max tokens allowed"),
    Sign("maximum prompt length is", after=("limit", "tokens")),  # xAI
    Sign("exceeded model token limit", after=("limit", "tokens")),  # Kimi
    Sign("too large for model with", before=("tokens", ""), after=("limit",)),  # Mistral
    Sign("tokens in the prompt cannot exceed", after=("limit", "tokens")),  # Cohere
    Sign("prompt token count of", after=("tokens", "limit")),  # Copilot
    Sign("reduce the length of the messages"),  # Groq
)
OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_too_large",
        "context_window_exceeded",
        "request_too_large",
        "request_body_too_large_after_decoding",
    }
)
NO_OVERFLOW = ("string_above_max_length", "string too long")
"""What names the limit of one parameter, in words that a long prompt's error uses too."""
SENT = (" in the messages", " in the prompt", " in your prompt", " tokens from the input messages",
        " of text input", " input tokens")  # fmt: skip
"""What stands after the number of prompt tokens where another number counts the output in."""

KINDS: dict[str, Kind] = {
    # Anthropic
    "invalid_request_error": "invalid",
    "authentication_error": "auth",
    "billing_error": "auth",
    "permission_error": "auth",
    "not_found_error": "not_found",
    "rate_limit_error": "rate_limited",
    "timeout_error": "timeout",
    "overloaded_error": "overloaded",
    "conflict_error": "invalid",
    # OpenAI
    "invalid_api_key": "auth",
    "insufficient_quota": "auth",
    "model_not_found": "not_found",
    "rate_limit_exceeded": "rate_limited",
    "server_is_overloaded": "overloaded",
    "slow_down": "overloaded",
    # Gemini
    "invalid_argument": "invalid",
    "failed_precondition": "invalid",
    "permission_denied": "auth",
    "unauthenticated": "auth",
    "not_found": "not_found",
    "resource_exhausted": "rate_limited",
    "unavailable": "overloaded",
    "deadline_exceeded": "timeout",
    # Bedrock
    "validationexception": "invalid",
    "accessdeniedexception": "auth",
    "resourcenotfoundexception": "not_found",
    "throttlingexception": "rate_limited",
    "serviceunavailableexception": "overloaded",
    "modelnotreadyexception": "overloaded",
    "modeltimeoutexception": "timeout",
}
"""Type, code or status word, in lower case -> kind."""
STATUSES: dict[int, Kind] = {
    400: "invalid",
    401: "auth",
    402: "auth",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "invalid",
    413: "overflow",
    422: "invalid",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
    524: "timeout",
    529: "overloaded",
}
STOPPED: dict[str, Kind] = {
    "model_context_window_exceeded": "overflow",  # Anthropic
    "model_length": "overflow",  # Mistral
    "insufficient_system_resource": "overloaded",  # DeepSeek
}
"""Stop reasons that are failures, though the status is 200."""
STOP_AT: dict[str, tuple[str | int, ...]] = {
    "anthropic": ("stop_reason",),
    "openai-chat": ("choices", 0, "finish_reason"),
    "openai-responses": ("incomplete_details", "reason"),
    "deepseek": ("choices", 0, "finish_reason"),
    "gemini": ("candidates", 0, "finishReason"),
}
"""Wire -> where its response says why it stopped."""
