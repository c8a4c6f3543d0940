"""What blocks the API of a wire takes in a history, by type (SDKs anthropic 2.14.0, openai 3.57.0 and google-genai

3.6.1; for DeepSeek the provider's documentation; all read 2026-11-30).

The compiler asks it of blocks that another tool recorded: such tools keep items of their own beside the API's. What
came first-hand is sent whether the table knows it or not, since providers add types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from foreword.core.block import Opaque

# fmt: off
KNOWN: Mapping[str, frozenset[str]] = {
    "anthropic": frozenset({
        "text", "image", "document", "search_result", "thinking", "redacted_thinking", "tool_use", "tool_result",
        "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "advisor_tool_result",
        "code_execution_tool_result", "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result", "tool_search_tool_result", "mcp_tool_use", "mcp_tool_result",
        "container_upload", "compaction", "tool_addition", "tool_removal", "mcp_tool_listing", "fallback",
        "tool_reference", "browser_state",
    }),
    "openai-chat": frozenset({"text", "image_url", "input_audio", "file", "refusal"}),
    "deepseek": frozenset({"text"}),
    "openai-responses": frozenset({
        "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
        "reasoning", "compaction", "compaction_trigger", "item_reference", "tool_search_call",
        "tool_search_output", "additional_tools", "configuration_update", "shell_call", "shell_call_output",
        "local_shell_call", "local_shell_call_output", "apply_patch_call", "apply_patch_call_output",
        "computer_call", "computer_call_output", "web_search_call", "file_search_call", "code_interpreter_call",
        "image_generation_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "mcp_call",
        "program", "program_output",
        "input_text", "input_image", "input_file", "output_text", "refusal",
    }),
    "gemini": frozenset({
        "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
        "codeExecutionResult", "toolCall", "toolResponse",
    }),
}
# fmt: on
"""Wire -> the types of blocks, parts and items (on Gemini: the member that a part holds)."""

# fmt: off
TOOLS = frozenset({
    "function", "custom", "namespace", "apply_patch", "code_interpreter", "computer", "computer_use_preview",
    "file_search", "image_generation", "local_shell", "mcp", "programmatic_tool_calling", "shell",
    "tool_search", "web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11",
})
# fmt: on
"""The types of tools that items of OpenAI Responses may define (`tool_search_output`, `additional_tools`)."""
_DEFINING = frozenset({"tool_search_output", "additional_tools"})
"""Blocks that define tools by type; the list of a connector's (`mcp_list_tools`, `mcp_tool_listing`) has none."""
SOURCES: Mapping[str, tuple[str, ...]] = {
    "input_image": ("image_url", "file_id"),
    "input_file": ("file_data", "file_url", "file_id"),
}
"""Part of OpenAI Responses -> the members of which one has to say what it holds."""
_CHAT = frozenset({"openai-chat"})
_OPENAI = _CHAT | {"openai-responses"}
# fmt: off
_OF_CHAT = (
    "refusal", "audio", "function_call", "tool_calls", "tool_call_id", "images", "reasoning", "reasoning_content",
    "reasoning_details", "thinking_blocks", "provider_specific_fields", "stop_reason", "finish_reason", "usage",
)
# fmt: on
OWNERS: Mapping[str, frozenset[str]] = {
    "cache_control": _CHAT | {"anthropic"},
    "citations": _CHAT | {"anthropic"},
    "is_error": frozenset({"anthropic"}),
    "name": _CHAT | {"deepseek"},
    "detail": _OPENAI | {"deepseek"},
    "prompt_cache_breakpoint": _OPENAI,
    "annotations": _OPENAI,
    "logprobs": _OPENAI,
    **dict.fromkeys(_OF_CHAT, _CHAT),
}
"""Member of a message or a block -> the wires that have it, or on which some servers do; of one that is not listed

nothing is said: providers add members. Lists that were kept for another wire hold them.
"""
_SAID = frozenset({"user", "tool", "system", "developer"})
PLACES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "anthropic": {
        "image": frozenset({"user", "tool"}),
        "document": frozenset({"user", "tool"}),
        "search_result": frozenset({"user", "tool"}),
        "tool_reference": frozenset({"tool"}),
        "browser_state": frozenset({"tool"}),
    },
    "openai-chat": {
        "input_audio": frozenset({"user"}),
        "file": frozenset({"user"}),
        "refusal": frozenset({"assistant"}),
    },
    "openai-responses": {
        "input_image": _SAID,
        "input_file": _SAID,
        "input_audio": frozenset({"user", "system", "developer"}),
        "refusal": frozenset(),
        "output_text": frozenset(),
    },
}
"""Wire -> type -> the roles in whose messages it may stand, "tool" being a result; other types may stand anywhere.

Of OpenAI Responses: as a part. Its answers give a refusal and a text in an item, which is carried whole.
"""


def stands(block: Opaque, wire: str, role: str) -> bool:
    """Whether a block of this wire may be sent as it came in a message of a role."""
    roles = PLACES.get(wire, {}).get(block.form)
    return block.wire == wire and (roles is None or role in roles) and _has_source(block)


def known(block: Opaque, wire: str) -> bool:
    """Whether the API of a wire has such a block, and the tools that it defines."""
    if block.form not in KNOWN[wire]:
        return False
    return block.form not in _DEFINING or all(kind in TOOLS for kind in _tools(_members(block)))


def named(form: str) -> bool:
    """Whether any wire's API has blocks of this type."""
    return any(form in forms for forms in KNOWN.values())


def _has_source(block: Opaque) -> bool:
    names = SOURCES.get(block.form)
    if names is None or block.wire != "openai-responses":
        return True
    members = _members(block)
    return any(members.get(name) for name in names)


def _tools(members: dict[str, Any]) -> Iterator[object]:
    listed: Any = members.get("tools")
    for tool in cast("list[Any]", listed) if isinstance(listed, list) else ():
        inner: dict[str, Any] = cast("dict[str, Any]", tool) if isinstance(tool, dict) else {}
        yield inner.get("type")
        yield from _tools(inner)


def _members(block: Opaque) -> dict[str, Any]:
    """Return what a block holds; {}: no object, or one that can't be read."""
    try:
        found: Any = msgspec.json.decode(block.raw)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
