"""What the pairs of Responses requests are made of."""

from typing import Any

ASK = {"role": "user", "content": "Where is the harbour?"}
SAID = {"role": "assistant", "content": "In the north."}
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}


def body(*items: Any, **members: Any) -> dict[str, Any]:
    """Build a request; one plain question if no item is given."""
    return {"model": "m", "input": list(items) or [ASK], **members}


def cached(**options: Any) -> dict[str, Any]:
    """A request with options of the prompt cache."""
    return body(prompt_cache_options=options)


def call(identity: str = "c1", **members: Any) -> dict[str, Any]:
    """A function call."""
    return {"type": "function_call", "call_id": identity, "name": "look", "arguments": "{}", **members}


def output(identity: str = "c1", said: Any = "seen", **members: Any) -> dict[str, Any]:
    """The output of a function call."""
    return {"type": "function_call_output", "call_id": identity, "output": said, **members}


def said(role: str, content: Any, **members: Any) -> dict[str, Any]:
    """A message of a role."""
    return {"role": role, "content": content, **members}


def text(value: str, kind: str = "input_text", **members: Any) -> dict[str, Any]:
    """A text part."""
    return {"type": kind, "text": value, **members}


def tool(**members: Any) -> dict[str, Any]:
    """A function tool with other members."""
    return {**TOOL, **members}


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """The object without some members."""
    return {name: item for name, item in value.items() if name not in names}
