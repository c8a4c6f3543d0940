"""Asking a provider how many tokens a request has: the question and the answer of each wire's own route.

Pure. Where the routes are is in `core/endpoints.toml`; what a wire's route takes is that of the official SDKs
(anthropic 2.14.0, openai 3.57.0, google-genai 3.6.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from foreword.core.endpoint import Counting
from foreword.errors import MalformedResponse

KEPT = {
    "anthropic": "billing_policy cache_control compaction context_management mcp_servers messages model "
    "output_config speed system thinking tool_choice tools user_profile_id workspace_id",
    "openai-responses": "conversation input instructions model parallel_tool_calls personality "
    "previous_response_id reasoning text tool_choice tools truncation",
    "gemini": "contents generationConfig generation_config systemInstruction system_instruction tools",
}
"""Wire -> members of a request that its route takes; it refuses others."""
TOLD = {"anthropic": "input_tokens", "openai-responses": "input_tokens", "gemini": "totalTokens"}
"""Wire -> the member of the answer that holds the count of the whole input, cached or not."""

Tokens = Annotated[int, msgspec.Meta(ge=0)]


def count_body(
    wire: str, members: Mapping[str, msgspec.Raw], model: str, counting: Counting, adds: Mapping[str, str]
) -> bytes:
    """Return the body that asks for the tokens of a request.

    ``members``: of that request. ``model``: as it is called here. ``adds``: members that a cloud wants.
    """
    if counting.inside is not None:
        return msgspec.json.encode({counting.inside: {"model": f"models/{model}", **members}})
    listed = KEPT[wire].split()
    kept: dict[str, object] = {name: value for name, value in members.items() if name in listed}
    named = {"model": model} if "model" in kept else {}
    return msgspec.json.encode({**kept, **named, **adds})


def counted_tokens(wire: str, answer: bytes) -> int:
    """Return the tokens that an answer tells. Raises: MalformedResponse."""
    name = TOLD[wire]
    try:
        told = msgspec.json.decode(answer, type=dict[str, msgspec.Raw])[name]
        return msgspec.json.decode(told, type=Tokens)
    except (KeyError, msgspec.DecodeError, RecursionError) as error:
        raise MalformedResponse(wire, name, "expected a count of tokens") from error
