"""Items of the OpenAI Responses wire, as Codex records them, to blocks.

A call of the model is several items there: reasoning, messages, tool calls. Each is one or more blocks of one
message; members that have no place of their own travel in `extra`, so that an item can be built again.
"""

from typing import Any

from msgspec.structs import replace

from foreword.core.block import Block, Image, Opaque, Text, Thinking, ToolCall, ToolResult
from foreword.importers.decode import Unreadable, raw_of

WIRE = "openai-responses"

CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
"""Item that calls a tool -> the member with its arguments."""
RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "mcp_tool_call_output"})
HOSTED = frozenset({"web_search_call", "image_generation_call", "tool_search_call"})
"""Calls that the provider answers itself, or that this model of blocks has no word for."""
HOSTED_RESULTS = frozenset({"tool_search_output"})
COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})
NOT_SENT = frozenset({"internal_chat_message_metadata_passthrough", "metadata"})
"""Members that Codex keeps for itself."""
LOCAL_SHELL = "local_shell"
ITEM, PART = "item", "part"
"""Where texts of a message keep the members of their item, and their place in it, as the wire's codec does."""


def kind_of(item: dict[str, Any]) -> str:
    """Name the type of an item; "" when it has none."""
    kind = item.get("type")
    return kind if isinstance(kind, str) else ""


def is_answer(item: dict[str, Any]) -> bool:
    """Say whether the model wrote the item."""
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind == "reasoning" or kind in CALLS or kind in HOSTED


def answer_blocks(item: dict[str, Any], place: str) -> tuple[Block, ...]:
    """Return the blocks of an item that the model wrote. `place` stands for a missing call id.

    Raises Unreadable.
    """
    kind = item["type"]
    if kind == "message":
        return _message(item)
    if kind == "reasoning":
        return (_thinking(item),)
    if kind in CALLS:
        return (_call(item, place),)
    return (opaque(item),)


def content_blocks(content: object) -> tuple[Block, ...]:
    """Return the blocks of a message's content: a string, or parts. Raises Unreadable."""
    return tuple(_part(part) for part in _parts(content))


def result_of(item: dict[str, Any], place: str) -> ToolResult:
    """Return a tool's result. Raises Unreadable."""
    output = item.get("output")
    failed = False
    if isinstance(output, dict):
        failed = output.get("success") is False
        output = output.get("content", [output])
    content = tuple(part for part in map(_part, _parts(output)) if isinstance(part, Text | Image | Opaque))
    # Only a free-text tool's result is an item of its own type; others are sent as a function's.
    custom = item["type"] == "custom_tool_call_output"
    extra = _others(item, "call_id", "output", *(() if custom else ("type",)))
    return ToolResult(
        call_id=_call_id(item, place),
        content=content,
        is_error=failed,
        extra={WIRE: extra} if extra else None,
    )


def opaque(item: dict[str, Any]) -> Opaque:
    """Return an item or a part as it is. Raises Unreadable when it is nested too deeply."""
    raw = raw_of(_sent(item))
    if raw is None:
        raise Unreadable("nested too deeply")
    return Opaque(wire=WIRE, form=str(item.get("type")), raw=raw)


def _message(item: dict[str, Any]) -> tuple[Block, ...]:
    """Return a message of the model: a text for each part; one with any other part stays whole.

    The first text keeps the members of the item, such as its phase, a further one its place in it.
    """
    blocks = content_blocks(item.get("content"))
    if not blocks or not all(isinstance(block, Text) for block in blocks):
        return (opaque(item),)
    own = _others(item, "role", "content")
    return tuple(
        replace(block, extra={PART: index} if index else {ITEM: own}) for index, block in enumerate(blocks)
    )


def _parts(content: object) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    if not isinstance(content, list):
        raise Unreadable(f"content: expected text or a list, got {type(content).__name__}")
    return content


def _part(part: Any) -> Text | Image | Opaque:
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return Text(text=text)
        case {"type": "input_image", "image_url": str(url)}:
            extra = _others(part, "type", "image_url")
            head, comma, data = url.partition(";base64,")
            if comma and head.startswith("data:"):
                return Image(media_type=head.removeprefix("data:") or None, data=data, extra=extra)
            return Image(url=url, extra=extra)
        case {"type": str()}:
            return opaque(part)
        case _:
            raise Unreadable("content: a part without a type")


def _thinking(item: dict[str, Any]) -> Thinking:
    """Keep reasoning so that it can be sent back as it came: the encrypted form, and all that stands by it."""
    parts = [*_listed(item.get("summary")), *_listed(item.get("content"))]
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    proof = item.get("encrypted_content")
    return Thinking(
        text="\n".join(texts),
        signature=proof if isinstance(proof, str) else None,
        extra=_others(item, "type", "encrypted_content"),
    )


def _call(item: dict[str, Any], place: str) -> ToolCall:
    kind = item["type"]
    # Results of the local shell are recorded as those of a function, so its calls are one, too.
    shell = kind == "local_shell_call"
    given, name = item.get(CALLS[kind]), LOCAL_SHELL if shell else item.get("name")
    if not isinstance(name, str) or not name:
        raise Unreadable("a call without the name of its tool")
    arguments = given if isinstance(given, str) else "" if given is None else raw_of(given)
    if arguments is None:
        raise Unreadable("nested too deeply")
    known = ("call_id", "name", CALLS[kind], *(("type",) if kind == "function_call" else ()))
    return ToolCall(
        id=_call_id(item, place),
        name=name,
        arguments=arguments,
        extra=None if shell else _others(item, *known),
    )


def _call_id(item: dict[str, Any], place: str) -> str:
    return next((item[name] for name in ("call_id", "id") if isinstance(item.get(name), str)), place)


def _others(item: dict[str, Any], *known: str) -> dict[str, Any] | None:
    return _sent(item, *known) or None


def _sent(item: dict[str, Any], *known: str) -> dict[str, Any]:
    left = NOT_SENT.union(known)
    return {name: value for name, value in item.items() if name not in left and value is not None}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
