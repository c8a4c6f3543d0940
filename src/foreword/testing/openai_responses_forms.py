"""OpenAI Responses: the members of every object a request may hold (rulebook 5.2 and 5.3, recorded requests).

Objects in `OPEN` are known by kind, and only their required members are judged: what else they may hold is
for the server that made them.
"""

from __future__ import annotations

from collections.abc import Mapping

from foreword.testing.form import Table
from foreword.testing.option_values import Ranges, Values

BODY: Table = {
    "access_programs": "list|null",
    "background": "bool|null",
    "background_options": "obj|null",
    "comparison_response_id": "str|null",
    "context_management": "list|null",
    "conversation": "str|obj|null",
    "image": "obj",
    "include": "list|null",
    "input": "str|list|null",
    "instructions": "str|null",
    "max_output_tokens": "int|null",
    "max_tool_calls": "int|null",
    "metadata": "obj|null",
    "model": "str!",
    "moderation": "any",
    "parallel_tool_calls": "bool|null",
    "previous_response_id": "str|null",
    "prompt": "obj|null",
    "prompt_cache_key": "str|null",
    "prompt_cache_options": "obj|null",
    "prompt_cache_retention": "str|null",
    "reasoning": "obj|null",
    "safety_identifier": "str|null",
    "service_tier": "str|null",
    "store": "bool|null",
    "stream": "bool|null",
    "stream_options": "obj|null",
    "temperature": "num|null",
    "text": "obj|null",
    "tool_choice": "str|obj|null",
    "tools": "list|null",
    "top_logprobs": "int|null",
    "top_p": "num|null",
    "truncation": "str|null",
    "user": "str|null",
}

# Options that are objects of known members.
OPTIONS: Mapping[str, Table] = {
    "reasoning": {
        "context": "any",
        "effort": "str|null",
        "generate_summary": "str|null",
        "mode": "any",
        "summary": "str|null",
    },
    "text": {"format": "obj|null", "verbosity": "str|null"},
}
_ITEM: Table = {"type": "str!", "id": "str|null", "status": "str|null"}
_CALL: Table = {**_ITEM, "call_id": "str!", "caller": "obj|null"}
_CALL_NAMED: Table = {**_CALL, "name": "str!", "namespace": "str|null"}
ITEMS: Mapping[str, Table] = {
    "message": {**_ITEM, "type": "str", "role": "str!", "content": "str|list!", "phase": "str|null"},
    "function_call": {**_CALL_NAMED, "arguments": "str!", "async": "bool|null"},
    "function_call_output": {
        **_CALL,
        "output": "str|list!",
        "name": "str|null",
        "namespace": "str|null",
    },
    "custom_tool_call": {**_CALL_NAMED, "input": "str!", "async": "bool|null"},
    "custom_tool_call_output": {**_CALL, "output": "str|list!"},
    # Without `status`, whatever the type says: "Unknown parameter: 'input[1].status'." (public reports, 2025-08 to
    # 2026-08).
    "reasoning": {
        "type": "str!",
        "id": "str|null",
        "summary": "list!",
        "content": "list|null",
        "encrypted_content": "str|null",
    },
    "compaction": {**_ITEM, "encrypted_content": "str!"},
    "compaction_trigger": {"type": "str!", "id": "str|null"},
    "item_reference": {"type": "str|null", "id": "str!"},
    "additional_tools": {**_ITEM, "role": "str!", "tools": "list!"},
    "configuration_update": {**_ITEM, "reasoning": "obj|null", "text": "obj|null"},
    "tool_search_call": {"type": "str!"},
    "tool_search_output": {"type": "str!", "tools": "list!"},
    "shell_call": {**_CALL, "action": "obj!"},
    "shell_call_output": {**_CALL, "output": "list!"},
    "local_shell_call": {**_CALL, "action": "obj!"},
    "local_shell_call_output": {"type": "str!", "output": "str!"},
    "apply_patch_call": {**_CALL, "operation": "obj!"},
    "apply_patch_call_output": {**_CALL, "output": "str|null"},
    "computer_call": {**_CALL},
    "computer_call_output": {**_CALL, "output": "obj!"},
    "web_search_call": {"type": "str!"},
    "file_search_call": {"type": "str!"},
    "code_interpreter_call": {"type": "str!"},
    "image_generation_call": {"type": "str!"},
    "mcp_list_tools": {"type": "str!"},
    "mcp_approval_request": {"type": "str!"},
    "mcp_approval_response": {"type": "str!", "approval_request_id": "str!", "approve": "bool!"},
    "mcp_call": {"type": "str!"},
    "program": {"type": "str!", "fingerprint": "str!"},
    "program_output": {"type": "str!"},
}
OPEN_ITEMS = frozenset(ITEMS) - {
    *("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
    *("reasoning", "compaction", "compaction_trigger", "item_reference", "configuration_update"),
}

# Which calls a client answers, and with what.
ANSWERS: Mapping[str, str] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "shell_call": "shell_call_output",
    "local_shell_call": "local_shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
}
OUTPUTS: Mapping[str, str] = {output: call for call, output in ANSWERS.items()}
# What a model can have made after its reasoning.
MADE = frozenset(ANSWERS) | {
    *("reasoning", "compaction", "tool_search_call", "web_search_call", "file_search_call", "program"),
    *("code_interpreter_call", "image_generation_call", "mcp_list_tools", "mcp_approval_request", "mcp_call"),
}

_MARKED: Table = {"type": "str!", "prompt_cache_breakpoint": "obj|null"}
PARTS: Mapping[str, Table] = {
    "input_text": {**_MARKED, "text": "str!"},
    "input_image": {**_MARKED, "detail": "str|null", "file_id": "str|null", "image_url": "str|null"},
    "input_file": {
        **_MARKED,
        "detail": "str|null",
        "file_data": "str|null",
        "file_id": "str|null",
        "file_url": "str|null",
        "filename": "str|null",
    },
    "input_audio": {**_MARKED, "input_audio": "obj!"},
    "output_text": {"type": "str!", "text": "str!", "annotations": "list", "logprobs": "list|null"},
    "refusal": {"type": "str!", "refusal": "str!"},
    "summary_text": {"type": "str!", "text": "str!"},
    "reasoning_text": {"type": "str!", "text": "str!"},
}
INPUT_PARTS = frozenset({"input_text", "input_image", "input_file", "input_audio"})
RESULT_PARTS = frozenset({"input_text", "input_image", "input_file"})
ROLE_PARTS: Mapping[str, frozenset[str]] = {
    "user": INPUT_PARTS,
    "system": INPUT_PARTS,
    "developer": INPUT_PARTS,
    "assistant": frozenset({"output_text", "refusal"}),
}
# The lists of parts in an item: member by kind, and the parts allowed there; None: by the message's role.
PART_LISTS: Mapping[str, Mapping[str, frozenset[str] | None]] = {
    "message": {"content": None},
    "function_call_output": {"output": RESULT_PARTS},
    "custom_tool_call_output": {"output": RESULT_PARTS},
    "reasoning": {"summary": frozenset({"summary_text"}), "content": frozenset({"reasoning_text"})},
}

TOOLS: Mapping[str, Table] = {
    "function": {
        "type": "str!",
        "name": "str!",
        "parameters": "obj|null",
        "description": "str|null",
        "strict": "bool|null",
        "defer_loading": "bool",
        "allowed_callers": "list|null",
        "async": "bool|null",
        "output_schema": "obj|null",
    },
    "custom": {
        "type": "str!",
        "name": "str!",
        "description": "str",
        "format": "obj",
        "defer_loading": "bool",
        "allowed_callers": "list|null",
        "async": "bool|null",
    },
}
HOSTED_TOOLS = frozenset(
    {"apply_patch", "code_interpreter", "computer", "computer_use_preview", "file_search", "image_generation"}
    | {"local_shell", "mcp", "namespace", "programmatic_tool_calling", "shell", "tool_search"}
    | {"web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"}
)
EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})
_STATUSES = frozenset({"in_progress", "completed", "incomplete"})
ITEM_VALUES: Mapping[str, Values] = {
    "message": {"phase": frozenset({"commentary", "final_answer"}), "status": _STATUSES},
    "function_call": {"status": _STATUSES},
    "function_call_output": {"status": _STATUSES},
    "additional_tools": {"role": frozenset({"developer"})},
    "configuration_update": {
        "reasoning.effort": EFFORTS,
        "text.format.type": frozenset({"text", "json_object", "json_schema"}),
    },
}
VALUES: Values = {
    "text.format.type": frozenset({"text", "json_object", "json_schema"}),
    "text.verbosity": frozenset({"low", "medium", "high"}),
}
RANGES: Ranges = {"temperature": (0, 2), "top_p": (0, 1), "top_logprobs": (0, 20)}
CONTEXTS = frozenset({"auto", "current_turn", "all_turns"})
CHOICES = frozenset({"none", "auto", "required"})
# A choice that is an object: a tool of these types, or a list of them.
CHOICE_TYPES = frozenset({"function", "custom", "allowed_tools", "computer_use"}) | HOSTED_TOOLS
DETAILS = frozenset({"auto", "low", "high", "original"})
INCLUDES = frozenset(
    {"code_interpreter_call.outputs", "computer_call_output.output.image_url", "file_search_call.results"}
    | {"message.input_image.image_url", "message.output_text.logprobs", "reasoning.encrypted_content"}
    | {"web_search_call.action.sources", "web_search_call.results"}
)
ID_PREFIXES: Mapping[str, str] = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
