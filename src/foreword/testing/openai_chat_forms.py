"""OpenAI Chat Completions: the members of every object a request may hold (SDK 3.57.0, rulebook 5.1)."""

from __future__ import annotations

from collections.abc import Mapping

from foreword.testing.form import Table
from foreword.testing.option_values import Ranges, Values

BODY: Table = {
    "audio": "obj|null",
    "frequency_penalty": "num|null",
    "function_call": "str|obj",
    "functions": "list",
    "logit_bias": "obj|null",
    "logprobs": "bool|null",
    "max_completion_tokens": "int|null",
    "max_tokens": "int|null",
    "messages": "list!",
    "metadata": "obj|null",
    "modalities": "list|null",
    "model": "str!",
    "moderation": "any",
    "n": "int|null",
    "parallel_tool_calls": "bool",
    "prediction": "obj|null",
    "presence_penalty": "num|null",
    "prompt_cache_key": "str|null",
    "prompt_cache_options": "obj|null",
    "prompt_cache_retention": "str|null",
    "reasoning_effort": "str|null",
    "response_format": "obj",
    "safety_identifier": "str|null",
    "seed": "int|null",
    "service_tier": "str|null",
    "stop": "str|list|null",
    "store": "bool|null",
    "stream": "bool|null",
    "stream_options": "obj|null",
    "temperature": "num|null",
    "tool_choice": "str|obj",
    "tools": "list",
    "top_logprobs": "int|null",
    "top_p": "num|null",
    "user": "str",
    "verbosity": "str|null",
    "web_search_options": "obj",
}

_NAMED: Table = {"role": "str!", "content": "str|list!", "name": "str"}
MESSAGES: Mapping[str, Table] = {
    "developer": _NAMED,
    "system": _NAMED,
    "user": _NAMED,
    "assistant": {
        "role": "str!",
        "content": "str|list|null",
        "name": "str",
        "audio": "obj|null",
        "function_call": "obj|null",
        "refusal": "str|null",
        "tool_calls": "list",
    },
    # Not in the SDK type, but sent by older clients and taken.
    "tool": {"role": "str!", "content": "str|list!", "tool_call_id": "str!", "name": "str"},
    "function": {"role": "str!", "content": "str|null", "name": "str!"},
}

_BREAKPOINT: Table = {"type": "str!", "prompt_cache_breakpoint": "obj|null"}
PARTS: Mapping[str, Table] = {
    "text": {**_BREAKPOINT, "text": "str!"},
    "image_url": {**_BREAKPOINT, "image_url": "obj!"},
    "input_audio": {**_BREAKPOINT, "input_audio": "obj!"},
    "file": {**_BREAKPOINT, "file": "obj!"},
    "refusal": {"type": "str!", "refusal": "str!"},
}
ROLE_PARTS: Mapping[str, frozenset[str]] = {
    "developer": frozenset({"text"}),
    "system": frozenset({"text"}),
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
    "tool": frozenset({"text"}),
}
IMAGE_URL: Table = {"url": "str!", "detail": "str"}
# What a part holds beside its image: member of the part, and the members of that.
PART_BODIES: Mapping[str, Table] = {
    "image_url": IMAGE_URL,
    "input_audio": {"data": "str!", "format": "str!"},
    "file": {"file_data": "str", "file_id": "str", "filename": "str"},
}
DETAILS = frozenset({"auto", "low", "high", "original"})

CALLS: Mapping[str, Table] = {
    "function": {"id": "str!", "type": "str!", "function": "obj!"},
    "custom": {"id": "str!", "type": "str!", "custom": "obj!"},
}
CALL_BODIES: Mapping[str, Table] = {
    "function": {"name": "str!", "arguments": "str!"},
    "custom": {"name": "str!", "input": "str!"},
}

TOOLS: Mapping[str, Table] = {
    "function": {"type": "str!", "function": "obj!"},
    "custom": {"type": "str!", "custom": "obj!"},
}
TOOL_BODIES: Mapping[str, Table] = {
    "function": {
        "name": "str!",
        "description": "str",
        "parameters": "obj|null",
        "strict": "bool|null",
    },
    "custom": {"name": "str!", "description": "str", "format": "obj"},
}
EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})
MOST_STOPS: int = 4
VALUES: Values = {
    "response_format.type": frozenset({"text", "json_object", "json_schema"}),
    "verbosity": frozenset({"low", "medium", "high"}),
}
RANGES: Ranges = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
    "n": (1, 128),
    "top_logprobs": (0, 20),
}
JSON_SCHEMA: Table = {"name": "str!", "description": "str", "schema": "obj", "strict": "bool|null"}
CHOICES = frozenset({"none", "auto", "required"})
CHOICE_TYPES = frozenset({"function", "custom", "allowed_tools"})
