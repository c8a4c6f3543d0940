"""Content, usage and cost of pi messages to blocks and values."""

from decimal import Decimal
from typing import Any

import msgspec

from foreword.core.block import Block, Image, Text, Thinking, ToolCall
from foreword.core.usage import Usage
from foreword.importers.decode import Unreadable, raw_of

WIRES = {
    "anthropic-messages": "anthropic",
    "openai-completions": "openai-chat",
    "openai-responses": "openai-responses",
    "openai-codex-responses": "openai-responses",
}
"""pi's name of an interface -> the wire; other names are kept, so that no wire takes their reasoning for its own."""
BUCKETS = ("input", "output", "cacheRead", "cacheWrite")


def wire_of(api: object) -> str:
    """Name the wire of a message of the model."""
    return WIRES.get(api, api) if isinstance(api, str) and api else "pi"


def words(content: object) -> tuple[Text | Image, ...]:
    """Return content that the model did not write: a string, or text and pictures. Raises Unreadable."""
    if isinstance(content, str):
        return (Text(text=content),)
    return tuple(_word(part) for part in _parts(content))


def answer_blocks(content: object, wire: str, place: str) -> tuple[Block, ...]:
    """Return what the model wrote. `place` stands for missing call ids. Raises Unreadable."""
    if isinstance(content, str):
        return (Text(text=content),)
    return tuple(_written(part, wire, f"{place}-{index}") for index, part in enumerate(_parts(content)))


def usage_of(usage: object) -> Usage | None:
    """Read the usage of a call; None: not given, or all zero, which means that nothing came of it.

    A count that is missing is unknown. The time that cache writes live is not told; pi asks for the short one unless
    it is set up otherwise. Raises Unreadable.
    """
    if usage is None:
        return None
    if not isinstance(usage, dict):
        raise Unreadable("usage: expected counts")
    counts = [usage.get(name) for name in BUCKETS]
    if not all(count is None or (type(count) is int and count >= 0) for count in counts):
        raise Unreadable("usage: expected counts")
    if not any(counts):
        return None
    fresh, output, read, write = counts
    long = None if write is None else 0
    return Usage(
        uncached=fresh, cache_read=read, cache_write_short=write, cache_write_long=long, output=output
    )


def cost_of(usage: object) -> str | None:
    """Return the cost of a call in USD as it was recorded, as a decimal; None: not given."""
    cost = usage.get("cost") if isinstance(usage, dict) else None
    total = cost.get("total") if isinstance(cost, dict) else None
    if isinstance(total, bool) or not isinstance(total, int | float) or total < 0:
        return None
    return f"{Decimal(repr(total)):f}"


def _word(part: Any) -> Text | Image:
    match part:
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {"type": "image", "data": str(data)}:
            kind = part.get("mimeType")
            return Image(media_type=kind if isinstance(kind, str) else None, data=data)
        case _:
            raise Unreadable(f"content: a part of type {_kind(part)}")


def _written(part: Any, wire: str, place: str) -> Block:
    match part:
        case {"type": "thinking", "thinking": str(text)}:
            return _thinking(part, text, wire)
        case {"type": "toolCall", "name": str(name)}:
            given = part.get("arguments", {})
            arguments = given if isinstance(given, str) else raw_of(given)
            if arguments is None:
                raise Unreadable("nested too deeply")
            id_ = part.get("id")
            return ToolCall(id=id_ if isinstance(id_, str) else place, name=name, arguments=arguments)
        case _:
            return _word(part)


def _thinking(part: dict[str, Any], text: str, wire: str) -> Thinking:
    """Keep reasoning with what proves it: pi keeps a signature, or a whole item, in one member."""
    proof = part.get("thinkingSignature")
    if not isinstance(proof, str):
        return Thinking(text=text)
    if wire == "openai-responses":
        try:
            item = msgspec.json.decode(proof, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            return Thinking(text=text)
        proof = item.pop("encrypted_content", None)
        item.pop("type", None)
        return Thinking(text=text, signature=proof if isinstance(proof, str) else None, extra=item or None)
    if wire != "anthropic":
        return Thinking(text=text)
    return (
        Thinking(text="", data=proof)
        if part.get("redacted") is True
        else Thinking(text=text, signature=proof)
    )


def _parts(content: object) -> list[Any]:
    if not isinstance(content, list):
        raise Unreadable(f"content: expected text or a list, got {type(content).__name__}")
    return content


def _kind(part: object) -> str:
    return str(part.get("type"))[:60] if isinstance(part, dict) else type(part).__name__
