"""Function calls of the Chat wire before tools (2023) as tool calls, which replaced them."""

from typing import Any


def with_tool_calls(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with `function_call` or of role `function` in the form of a tool call.

    The old form has no ids: a call and its result share one made of the function's name. Others come back
    unchanged, but for a null `tool_calls`, which some tools write.
    """
    call = message.get("function_call")
    if isinstance(call, dict):
        rest = {name: value for name, value in message.items() if name != "function_call"}
        made = {"id": _id(call.get("name")), "type": "function", "function": call}
        return {**rest, "tool_calls": [*(message.get("tool_calls") or ()), made]}
    if message.get("role") == "function":
        rest = {name: value for name, value in message.items() if name != "name"}
        return {**rest, "role": "tool", "tool_call_id": _id(message.get("name"))}
    return {name: value for name, value in message.items() if value is not None or name == "content"}


def _id(name: object) -> str:
    return f"function-{name}"
