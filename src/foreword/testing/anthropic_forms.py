"""Anthropic Messages: the members of every object a request may hold (SDK 2.14.0 types, rulebook 1.1-1.6)."""

from __future__ import annotations

from collections.abc import Mapping

from foreword.testing.form import Table
from foreword.testing.option_values import Ranges, Values

_OPTIONAL_BODY: Table = {
    "betas": "list",
    "billing_policy": "any",
    "cache_control": "obj|null",
    "compaction": "obj|null",
    "container": "str|obj|null",
    "context_management": "obj|null",
    "diagnostics": "obj|null",
    "fallback_credit_token": "str|null",
    "fallbacks": "any",
    "inference_geo": "str|null",
    "mcp_servers": "list",
    "metadata": "obj",
    "output_config": "obj",
    "service_tier": "str",
    "speed": "str|null",
    "stop_sequences": "list",
    "stream": "bool",
    "system": "str|list",
    "temperature": "num",
    "thinking": "obj",
    "thread": "obj|null",
    "tool_choice": "obj",
    "tools": "list",
    "top_k": "int",
    "top_p": "num",
    "user_profile_id": "str|null",
    "workspace_id": "str|null",
}
BODY: Table = {**_OPTIONAL_BODY, "max_tokens": "int!", "messages": "list!", "model": "str!"}
# Of what only an answer needs, a count takes nothing (rulebook 9.1).
_UNCOUNTED = frozenset(
    {
        "container",
        "diagnostics",
        "fallback_credit_token",
        "fallbacks",
        "inference_geo",
        "metadata",
        "service_tier",
    }
    | {"stop_sequences", "stream", "temperature", "thread", "top_k", "top_p"}
)
COUNT_BODY: Table = {
    **{name: kinds for name, kinds in _OPTIONAL_BODY.items() if name not in _UNCOUNTED},
    "messages": "list!",
    "model": "str!",
}

MESSAGE: Table = {"role": "str!", "content": "str|list!"}
SYSTEM_MESSAGE: Table = {
    "role": "str!",
    "content": "str|list",
    "clear_at": "str|null",
    "output_config": "obj",
}

# `cache_control` and `type` belong to every block: where marks are forbidden is a rule of its own.
_EVERY: Table = {"type": "str!", "cache_control": "obj|null"}
_SERVER_RESULT: Table = {"tool_use_id": "str!", "content": "any!", "caller": "obj"}


def _block(**members: str) -> Table:
    return {**_EVERY, **members}


BLOCKS: Mapping[str, Table] = {
    "text": _block(text="str!", citations="list|null"),
    "image": _block(source="obj!", transformations="any"),
    "document": _block(source="obj!", title="str|null", context="str|null", citations="obj|null"),
    "search_result": _block(content="list!", source="str!", title="str!", citations="obj|null"),
    "thinking": _block(thinking="str!", signature="str!"),
    "redacted_thinking": _block(data="str!"),
    "tool_use": _block(id="str!", name="str!", input="obj!", caller="obj", toolset_name="str|null"),
    "tool_result": _block(tool_use_id="str!", content="str|list", is_error="bool", toolset_name="str|null"),
    "server_tool_use": _block(id="str!", name="str!", input="obj!", caller="obj"),
    "web_search_tool_result": _block(**_SERVER_RESULT),
    "web_fetch_tool_result": _block(**_SERVER_RESULT),
    "advisor_tool_result": _block(**_SERVER_RESULT),
    "code_execution_tool_result": _block(**_SERVER_RESULT),
    "bash_code_execution_tool_result": _block(**_SERVER_RESULT),
    "text_editor_code_execution_tool_result": _block(**_SERVER_RESULT),
    "tool_search_tool_result": _block(**_SERVER_RESULT),
    "mcp_tool_use": _block(id="str!", name="str!", input="obj!", server_name="str!"),
    "mcp_tool_result": _block(tool_use_id="str!", content="str|list", is_error="bool"),
    "container_upload": _block(file_id="str!"),
    "compaction": _block(
        content="str|null", signature="str|null", encrypted_content="str|null", tool_changes="any"
    ),
    "tool_addition": _block(tool="obj!"),
    "tool_removal": _block(tool="obj!"),
    "mcp_tool_listing": _block(mcp_server_name="str", tools="list"),
    "fallback": {**_EVERY, "from": "any!", "to": "any", "trigger": "any"},
    "connector_text": _EVERY,
    "tool_reference": _block(tool_name="str!"),
    "browser_state": _EVERY,
}
# Named in the rulebook, but without their members: any member passes.
OPEN_BLOCKS = frozenset({"connector_text", "browser_state"})
UNMARKABLE = frozenset({"thinking", "redacted_thinking", "mcp_tool_listing", "fallback"})
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
SERVER_RESULTS = frozenset(kind for kind in BLOCKS if kind.endswith("_tool_result"))
# What answers a server's tool, by its name; the tools of MCP servers have one kind of answer for all names.
ANSWERS: Mapping[str, str] = {
    "advisor": "advisor_tool_result",
    "bash_code_execution": "bash_code_execution_tool_result",
    "code_execution": "code_execution_tool_result",
    "text_editor_code_execution": "text_editor_code_execution_tool_result",
    "tool_search_tool_bm25": "tool_search_tool_result",
    "tool_search_tool_regex": "tool_search_tool_result",
    "web_fetch": "web_fetch_tool_result",
    "web_search": "web_search_tool_result",
}

ROLE_BLOCKS: Mapping[str, frozenset[str]] = {
    "user": frozenset(
        {"text", "image", "document", "search_result", "tool_result", "container_upload", "compaction"}
        | {"tool_addition", "tool_removal", "mcp_tool_listing"}
    ),
    "assistant": frozenset(
        {"text", "thinking", "redacted_thinking", "tool_use", "compaction", "fallback", "connector_text"}
        | {"mcp_tool_listing", "container_upload", "document"}
        | SERVER_CALLS
        | SERVER_RESULTS
    ),
    "system": frozenset({"text", "tool_addition", "tool_removal"}),
}
RESULT_BLOCKS = frozenset({"text", "image", "search_result", "document", "tool_reference", "browser_state"})

IMAGE_SOURCES: Mapping[str, Table] = {
    "base64": {"type": "str!", "media_type": "str!", "data": "str!"},
    "url": {"type": "str!", "url": "str!"},
    "file": {"type": "str!", "file_id": "str!"},
}
DOCUMENT_SOURCES: Mapping[str, Table] = {
    **IMAGE_SOURCES,
    "text": {"type": "str!", "media_type": "str!", "data": "str!"},
    "content": {"type": "str!", "content": "str|list!"},
}
SOURCES: Mapping[str, Mapping[str, Table]] = {"image": IMAGE_SOURCES, "document": DOCUMENT_SOURCES}
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})

CUSTOM_TOOL: Table = {
    "type": "str|null",
    "name": "str!",
    "description": "str",
    "input_schema": "obj!",
    "cache_control": "obj|null",
    "allowed_callers": "list",
    "defer_loading": "bool",
    "eager_input_streaming": "bool|null",
    "input_examples": "list",
    "strict": "bool",
}
TOOL_FAMILIES = (
    "bash_",
    "code_execution_",
    "browser_toolset_",
    "computer_",
    "memory_",
    "text_editor_",
    "web_search_",
    "web_fetch_",
    "advisor_",
    "tool_search_tool_bm25",
    "tool_search_tool_regex",
    "mcp_toolset",
)
VALUES: Values = {
    "service_tier": frozenset({"auto", "standard_only"}),
    "thinking.block_binding.prefix_mismatch_behavior": frozenset({"error", "drop_block"}),
    "thread.type": frozenset({"create", "continue"}),
}
RANGES: Ranges = {"temperature": (0, 1), "top_p": (0, 1)}
# Edits of the context, and the kinds of count that their members take.
_COUNTED: Table = {"type": "str!", "value": "int!"}
EDITS: Mapping[str, Table] = {
    "compact_20260112": {
        "type": "str!",
        "instructions": "str|null",
        "pause_after_compaction": "bool",
        "trigger": "obj|null",
    },
    "clear_tool_uses_20250919": {
        "type": "str!",
        "clear_at_least": "obj|null",
        "clear_tool_inputs": "bool|list|null",
        "exclude_tools": "list|null",
        "keep": "obj",
        "trigger": "obj",
    },
    "clear_thinking_20251015": {"type": "str!", "keep": "str|obj"},
}
EDIT_COUNTS: Mapping[str, frozenset[str]] = {
    "trigger": frozenset({"input_tokens", "tool_uses"}),
    "clear_at_least": frozenset({"input_tokens"}),
    "keep": frozenset({"tool_uses", "thinking_turns", "all"}),
}
# Options that are objects: of one form, or of one for each kind.
OPTIONS: Mapping[str, Table] = {
    "metadata": {"user_id": "str|null"},
    "compaction": {"type": "str!", "instructions": "str|null"},
    "context_management": {"edits": "list"},
    "thread": {"type": "str!", "previous_message_id": "str"},
}
_THINKING: Table = {"type": "str!", "block_binding": "obj|null", "display": "any"}
_CHOICE: Table = {"type": "str!", "disable_parallel_tool_use": "bool"}
OPTION_KINDS: Mapping[str, Mapping[str, Table]] = {
    "thinking": {
        "adaptive": _THINKING,
        # Whether its budget is there is a rule of its own.
        "enabled": {**_THINKING, "budget_tokens": "int"},
        "disabled": {"type": "str!"},
        "between_tools": {"type": "str!"},
    },
    "tool_choice": {
        "auto": _CHOICE,
        "any": _CHOICE,
        "tool": {**_CHOICE, "name": "str!"},
        "none": {"type": "str!"},
    },
}
TASK_BUDGET: Table = {"type": "str!", "total": "int!", "remaining": "int|null"}
EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})
THINKING_DISPLAYS = frozenset({"summarized", "omitted", "updates"})
THINKING_TYPES = frozenset({"adaptive", "enabled", "disabled", "between_tools"})
TOOL_CHOICES = frozenset({"auto", "any", "tool", "none"})
OFFERING_CHOICES = TOOL_CHOICES - {"none"}
FORCED_CHOICES = frozenset({"any", "tool"})
