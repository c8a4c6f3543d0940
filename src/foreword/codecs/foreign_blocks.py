"""Blocks that stand in a list in another wire's form, as agents leave them that change their provider in mid-work.

Each is read as its own wire reads it, so that it goes out in the form of whichever wire is asked: what is sent as it
came would be refused for ever. Forms that no wire has, of the Model Context Protocol and of frameworks, are read too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import replace

from foreword.codecs import codec
from foreword.codecs.known import KNOWN, PLACES
from foreword.codecs.parts import inline_image
from foreword.codecs.reading import At
from foreword.core.block import Block, Image, Opaque, Text, Thinking, ToolCall, ToolResult
from foreword.core.canonical import lossless
from foreword.errors import CodecError

WORDS = frozenset({"text", "input_text", "output_text"})
"""Types of a plain text, of whichever wire."""
RESPONSES = "openai-responses"
_ORIGINS = ("anthropic", "openai-chat", RESPONSES)
"""Wires whose parts name their type, in the order in which one is looked for that knows it."""
_MODELS = frozenset({"tool_use", "thinking", "redacted_thinking"})
"""Blocks that only a model's message holds."""
MCP = "mcp"
"""Whose form a block has that no wire takes (its specification of 2026-07-28)."""
INSIDE = "another message"
"""Whose form a block has that stands where no wire takes it."""
_MCP = frozenset({"audio", "resource", "resource_link"})


def foreign_block(found: dict[str, Any], kind: str, at: At) -> Block | None:
    """Read a block of another wire in a list of this one; None: it is none, as far as is known.

    Its foreign members stay behind: in this list they would pass for this wire's. So does a seal of reasoning, which
    no other provider opens. A response holds what its server wants back, whatever another wire calls so.
    Raises: MalformedRequest.
    """
    if at.response and kind not in WORDS:
        return None
    try:
        return _read(found, kind, at)
    except CodecError:
        if at.response:  # it can't be asked for a second time
            return None
        raise


def as_listed(block: Block) -> Block:
    """Return what a caller's list is read as that repeats a block of an answer: see ``foreign_block``."""
    if not isinstance(block, Opaque) or block.wire not in KNOWN or block.wire == "gemini":
        return block
    at = At(block.wire)
    try:
        return _read(at.body(block.raw), block.form, at) or block
    except CodecError:
        return block


def _read(found: dict[str, Any], kind: str, at: At) -> Block | None:
    if kind == "image" and "source" not in found:
        return _loose_image(found, at)
    if kind in KNOWN[at.wire] or kind in PLACES.get(at.wire, ()):
        return None
    if kind in WORDS:
        return Text(text=at.words(found, "text"))
    if kind in _MCP:
        return _resource(found, kind)
    origin = next((wire for wire in _ORIGINS if kind in KNOWN[wire]), None)
    # A server of the Chat wire has a type `thinking` of its own, whose reasoning is a list.
    if origin is None or (kind == "thinking" and not isinstance(found.get("thinking"), str)):
        return None
    role = "assistant" if kind in _MODELS else "user"
    item = origin == RESPONSES and kind != "refusal" and not kind.startswith("input_")
    try:
        [message] = codec(origin).decode_messages([found if item else {"role": role, "content": [found]}])
    except CodecError as error:
        raise at.fault(f"a {kind} of {origin} that can't be read: {error}") from error
    return _plain(message.blocks[0]) if len(message.blocks) == 1 else None


def no_chat_calls(found: Mapping[str, Any], at: At, form: str) -> None:
    """Raise the error of `at` where a message lists calls as OpenAI Chat does: left out, their results had none."""
    if found.get("tool_calls"):
        raise (at / "tool_calls").fault(f"calls in the form of OpenAI Chat; this wire takes them as {form}")


def foreign_part(found: dict[str, Any], kind: str, at: At) -> Text | Image | Opaque | None:
    """Read a part of another wire where a call, a result and reasoning can't stand, as in a tool's result."""
    block = foreign_block(found, kind, at)
    if block is None or isinstance(block, Text | Image | Opaque):
        return block
    return Opaque(wire=INSIDE, form=kind, raw=lossless(found).decode())


def _plain(block: Block) -> Block:
    match block:
        case Opaque():
            return block
        case ToolResult(content=content):
            parts = cast("tuple[Text | Image | Opaque, ...]", tuple(_plain(part) for part in content))
            return replace(block, content=parts, extra=None)
        case Thinking(text=text):
            return Thinking(text=text)
        case ToolCall() | Text() | Image():
            return replace(block, extra=None)


def _loose_image(found: dict[str, Any], at: At) -> Image:
    data = at.text(found, "data") or at.text(found, "base64")
    media_type = at.text(found, "mimeType") or at.text(found, "mime_type")
    url = at.text(found, "url") or at.text(found, "image")
    if data is None and url is None:
        raise at.fault("an image without source, data or url")
    return inline_image(Image(media_type=media_type, data=data, url=url if data is None else None))


def _resource(found: dict[str, Any], kind: str) -> Text | Opaque:
    held: Any = found.get("resource")
    text: Any = cast("dict[str, Any]", held).get("text") if isinstance(held, dict) else None
    if isinstance(text, str):
        return Text(text=text)
    return Opaque(wire=MCP, form=kind, raw=lossless(found).decode())
