"""Tool calls of an answer that may not be whole, however it came: streamed or in one piece."""

from __future__ import annotations

import msgspec

from foreword.codecs.decoded import Response
from foreword.core.block import ToolCall
from foreword.core.canonical import read

_CHAT = frozenset({"length", "max_tokens", "content_filter", "insufficient_system_resource"})
STOPS = {
    "anthropic": frozenset({"max_tokens", "model_context_window_exceeded", "refusal"}),
    "openai-chat": _CHAT,
    "deepseek": _CHAT,
    "openai-responses": frozenset({"max_output_tokens", "content_filter"}),
    "gemini": frozenset(
        {
            "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "OTHER",
            "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
        }
    ),
}  # fmt: skip
"""Wire -> the stop reasons after which a trailing call is not to be run (rulebook of 2026-11-30)."""
_TEXTS = frozenset({"openai-chat", "deepseek", "openai-responses"})
"""Wires on which arguments are text, which may end anywhere whatever the stop reason says."""


def cut_calls(response: Response) -> frozenset[int]:
    """Return the indices of the blocks that are calls never to be run.

    Arguments that are no JSON in an answer that ended by itself are the model's own fault: the call stands, and whoever
    runs it tells the model so.
    """
    message = response.message
    if response.stop_reason not in STOPS.get(message.wire or "", ()):
        return frozenset()
    calls = {index: block for index, block in enumerate(message.blocks) if isinstance(block, ToolCall)}
    broken = {index for index, call in calls.items() if message.wire in _TEXTS and not _is_whole(call)}
    return frozenset(broken | calls.keys() & {len(message.blocks) - 1})


def _is_whole(call: ToolCall) -> bool:
    """Whether the arguments are an object, or none were given; a call of another type than a function's is any text."""
    if "type" in (call.extra or {}) or not call.arguments.strip():
        return True
    try:
        return isinstance(read(call.arguments), dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
