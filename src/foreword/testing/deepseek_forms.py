"""DeepSeek Chat: the members of every object a request may hold (rulebook 6).

Nothing here is proven by recordings: it is what the documentation names, and Chat Completions otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from foreword.testing import openai_chat_forms as chat
from foreword.testing.form import Table
from foreword.testing.option_values import Ranges, Values

_FOREIGN = frozenset(
    {"audio", "function_call", "functions", "logit_bias", "max_completion_tokens", "metadata", "modalities"}
    | {"moderation", "n", "parallel_tool_calls", "prediction", "prompt_cache_key", "prompt_cache_options"}
    | {"prompt_cache_retention", "safety_identifier", "seed", "service_tier", "store", "verbosity"}
    | {"web_search_options"}
)
BODY: Table = {
    **{name: kinds for name, kinds in chat.BODY.items() if name not in _FOREIGN},
    "thinking": "obj|null",
}

_NAMED: Table = {"role": "str!", "content": "str|list!", "name": "str"}
MESSAGES: Mapping[str, Table] = {
    "system": _NAMED,
    "user": _NAMED,
    "assistant": {
        "role": "str!",
        "content": "str|list|null",
        "name": "str",
        "prefix": "bool",
        "reasoning_content": "str|null",
        "refusal": "null",
        "tool_calls": "list",
    },
    "tool": chat.MESSAGES["tool"],
}
PARTS: Mapping[str, Table] = {
    "text": {"type": "str!", "text": "str!"},
    "image_url": {"type": "str!", "image_url": "obj!"},
}
ROLE_PARTS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"text"}),
    "user": frozenset({"text", "image_url"}),
    "assistant": frozenset({"text"}),
    "tool": frozenset({"text"}),
}
PART_BODIES: Mapping[str, Table] = {"image_url": chat.IMAGE_URL}
DETAILS = chat.DETAILS
CALLS: Mapping[str, Table] = {"function": {**chat.CALLS["function"], "index": "int"}}
CALL_BODIES: Mapping[str, Table] = {"function": chat.CALL_BODIES["function"]}
TOOLS: Mapping[str, Table] = {"function": chat.TOOLS["function"]}
TOOL_BODIES: Mapping[str, Table] = {"function": chat.TOOL_BODIES["function"]}
# low, high and max; the others are taken for one of them.
EFFORTS = frozenset({"minimal", "low", "medium", "high", "xhigh", "max", "ultra"})
# Up to 16, where OpenAI takes 4 (documentation of the Chat API).
MOST_STOPS: int = 16
VALUES: Values = {"response_format.type": frozenset({"text", "json_object"})}
RANGES: Ranges = {name: chat.RANGES[name] for name in ("temperature", "top_p", "top_logprobs")}
JSON_SCHEMA = chat.JSON_SCHEMA
CHOICES = chat.CHOICES
CHOICE_TYPES = frozenset({"function"})
THINKING_TYPES = frozenset({"enabled", "disabled"})
