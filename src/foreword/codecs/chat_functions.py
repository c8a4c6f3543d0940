"""Function calls of the Chat wire before tools (2023) as tool calls, which replaced them."""

from __future__ import annotations

from typing import Any, cast


def with_tool_calls(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with `function_call` or of role `function` in the form of a tool call.

    The old form has no ids: a call and its result share one made of the function's name. Others come back as they
    are.
    """
    call = message.get("function_call")
    if isinstance(call, dict):
        rest = {name: value for name, value in message.items() if name != "function_call"}
        function = cast(dict[str, Any], call)
        made = {"id": function_id(function.get("name")), "type": "function", "function": function}
        return {**rest, "tool_calls": [*(message.get("tool_calls") or ()), made]}
    if message.get("role") == "function":
        rest = {name: value for name, value in message.items() if name != "name"}
        return {**rest, "role": "tool", "tool_call_id": function_id(message.get("name"))}
    return message


def function_id(name: object) -> str:
    """Return the id that the calls of a function and their results share."""
    return f"function-{name}"
