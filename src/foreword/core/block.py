"""Blocks and messages: the neutral content that every wire is decoded to and encoded from.

A block is a value; it knows nothing of tokens, bytes or provenance. What a wire has and this model lacks
travels in ``extra`` (unknown members of a known block) or ``Opaque`` (an unknown block), and is sent again
only on the wire named beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, Literal

from msgspec import Struct

Role = Literal["user", "assistant", "system", "developer"]


class Text(Struct, frozen=True, kw_only=True, tag="text", omit_defaults=True):
    """Plain text. ``text`` may be empty in the record; it is never sent empty."""

    text: str
    extra: dict[str, Any] | None = None


class Thinking(Struct, frozen=True, kw_only=True, tag="thinking", omit_defaults=True):
    """Reasoning of a model.

    ``signature`` and ``data`` (redacted reasoning) are opaque and carried byte-exact. Reasoning without a
    signature of the provider that is asked next is never sent as reasoning (design, section 3).
    """

    text: str = ""
    signature: str | None = None
    data: str | None = None
    extra: dict[str, Any] | None = None

    @property
    def sealed(self) -> bool:
        """Whether a provider vouches for it."""
        return bool(self.signature or self.data)


class Image(Struct, frozen=True, kw_only=True, tag="image", omit_defaults=True):
    """A picture: base64 ``data`` with its ``media_type``, or a ``url``.

    ``ref``: where it is read back, for a codec that can't show it. Set on the way to a codec, never recorded.
    """

    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    extra: dict[str, Any] | None = None
    ref: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the data, or of the URL where there is none: the same picture again has the same."""
        return sha256((self.data or self.url or "").encode("utf-8", "surrogatepass")).hexdigest()


class ToolCall(Struct, frozen=True, kw_only=True, tag="tool_call", omit_defaults=True):
    """A model asks for a tool.

    ``arguments`` is JSON text as it came (key order kept: a provider's cache depends on it). It may be
    invalid JSON, as models write it; codecs say what is sent then. ``id`` may repeat in foreign records.
    """

    id: str
    name: str
    arguments: str
    extra: dict[str, Any] | None = None


class Opaque(Struct, frozen=True, kw_only=True, tag="opaque", omit_defaults=True, weakref=True):
    """A block of ``wire`` that this model has no word for: ``raw`` is its JSON text, sent back unchanged.

    ``ref``: as of a picture.
    """

    wire: str
    form: str
    raw: str
    ref: str | None = None


class ToolResult(Struct, frozen=True, kw_only=True, tag="tool_result", omit_defaults=True):
    """What came back from a call, in order. ``content`` may be empty."""

    call_id: str
    content: tuple[Text | Image | Opaque, ...] = ()
    is_error: bool = False
    extra: dict[str, Any] | None = None


Block = Text | Thinking | Image | ToolCall | ToolResult | Opaque


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A role and its blocks, in order.

    ``wire`` names the wire whose members stand in ``extra`` (here and in the blocks); None: made by Foreword
    or by a caller of the library, nothing foreign inside.
    """

    role: Role
    blocks: tuple[Block, ...]
    wire: str | None = None
    extra: dict[str, Any] | None = None


class ToolSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool offered to the model. ``schema`` is JSON Schema; key order is kept as first given.

    ``inferred``: a stub made from recorded calls, because the record lacks the definition. ``deferred``: it can be
    found and is not loaded: the model is told its name, or finds it by the provider's own search.
    """

    name: str
    description: str = ""
    schema: dict[str, Any] = {}
    inferred: bool = False
    deferred: bool = False
    extra: dict[str, Any] | None = None


def plain_text(blocks: tuple[Block, ...]) -> str:
    """Join the text of the text blocks with newlines; other blocks contribute nothing."""
    return "\n".join(block.text for block in blocks if isinstance(block, Text))


def pictures(blocks: Iterable[Block]) -> Iterator[Image]:
    """Yield the images among blocks, those in results of tools too, in order."""
    for block in blocks:
        if isinstance(block, Image):
            yield block
        elif isinstance(block, ToolResult):
            yield from pictures(block.content)
