"""An Anthropic Messages request as its server sees it: messages as blocks, with places, digests and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from foreword.testing import anthropic_forms as forms
from foreword.testing.facts import ModelFacts
from foreword.testing.form import Misform, Misplaced
from foreword.testing.prefix_cache import Unit
from foreword.testing.wire import mapping, objects, text_of


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One content block. `kind` is "" for something that is no object with a type."""

    kind: str
    data: dict[str, Any]
    digest: bytes
    tokens: int


class Mark(NamedTuple):
    """A cache mark with the block or tool that carries it."""

    path: str
    value: object
    kind: str
    target: Mapping[str, Any]


class Blank(NamedTuple):
    """A text block, of a message or inside a tool result, without text or with white space only."""

    path: str
    empty: bool
    marked: bool


class Image(NamedTuple):
    """An image or a document, of a message or inside a tool result, as far as its source shows it.

    `media` is what the source says of data in base64 ("" for other sources), `readable` whether they are that, `found`
    what they begin like (None: unknown), `size` in pixels (None: unknown), `letters` the length of the base64.
    """

    path: str
    document: bool
    media: str
    readable: bool
    found: str | None
    size: tuple[int, int] | None
    letters: int


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message; `string` when its content came as a string (read as one text block, none if empty).

    Paths of its parts and faults are relative to the message.
    """

    role: str
    string: bool
    data: dict[str, Any]
    blocks: tuple[Block, ...]
    units: tuple[Unit, ...]
    blanks: tuple[Blank, ...]
    marks: tuple[Mark, ...]
    images: tuple[Image, ...]
    misforms: tuple[Misform, ...]
    misplaced: tuple[Misplaced, ...]


class Thought(NamedTuple):
    """What the server knows of one thinking block in a request."""

    path: str
    place: tuple[int, int]
    genuine: bool
    prefix_holds: bool
    chain_holds: bool
    boundary_holds: bool


class AnthropicRequest(msgspec.Struct, kw_only=True):
    """Everything the rules look at. `betas` is None when no headers were given: then they are not judged.

    The members from `thoughts` on are found in what the server remembers: its signatures and its cache.
    """

    body: dict[str, Any]
    size: int
    facts: ModelFacts
    version: str
    betas: frozenset[str] | None
    counting: bool
    strict_alternation: bool
    messages: tuple[Message, ...]
    system: tuple[Block, ...]
    misforms: tuple[Misform, ...]
    tool_digests: tuple[bytes, ...]
    by_kind: Mapping[str, list[tuple[int, int, Block]]]
    marks: tuple[Mark, ...]
    thoughts: tuple[Thought, ...] = ()
    prefix: bytes = b""
    last_signature: str | None = None
    forged_compactions: tuple[str, ...] = ()
    bare_calls: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()

    @property
    def input_tokens(self) -> int:
        """The whole prompt in the server's measure."""
        return sum(unit.tokens for unit in self.units)

    @property
    def dropped(self) -> frozenset[tuple[int, int]]:
        """Places of the thinking blocks that the server leaves out, on the request's own wish."""
        if not (self.facts.binds_thinking and self.drops_mismatched):
            return frozenset()
        loose = (at for at, seen in enumerate(self.thoughts) if not (seen.prefix_holds and seen.chain_holds))
        first = next(loose, len(self.thoughts))
        return frozenset(thought.place for thought in self.thoughts[first:])

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tool definitions that are objects."""
        return objects(self.body.get("tools"))

    @property
    def thinking(self) -> dict[str, Any]:
        """The thinking configuration, {} if none."""
        return mapping(self.body.get("thinking"))

    @property
    def drops_mismatched(self) -> bool:
        """Whether the request asks to drop thinking whose prefix changed instead of failing."""
        return mapping(self.thinking.get("block_binding")).get("prefix_mismatch_behavior") == "drop_block"

    @property
    def forced_tool(self) -> bool:
        """Whether the tool choice forces a call."""
        return text_of(mapping(self.body.get("tool_choice")).get("type")) in forms.FORCED_CHOICES

    def integer(self, name: str) -> int | None:
        """Return a whole-number member of the body, None for anything else."""
        value = self.body.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def blocks(self, *kinds: str) -> Iterator[tuple[int, int, Block]]:
        """Yield message index, block index and block, of the given kinds."""
        for kind in kinds:
            yield from self.by_kind.get(kind, ())

    def images(self) -> Iterator[Image]:
        """Yield every image and document of the messages."""
        for at, message in enumerate(self.messages):
            yield from (image._replace(path=f"messages.{at}.{image.path}") for image in message.images)

    def blanks(self) -> Iterator[Blank]:
        """Yield every blank text block: system, then messages."""
        for index, block in enumerate(self.system):
            yield from blank_text(f"system.{index}", block.data)
        for at, message in enumerate(self.messages):
            yield from (blank._replace(path=f"messages.{at}.{blank.path}") for blank in message.blanks)


def blank_text(path: str, data: Mapping[str, Any]) -> Iterator[Blank]:
    """Yield the block if it is a text block without text to read."""
    text = data.get("text")
    if data.get("type") == "text" and isinstance(text, str) and not text.strip():
        yield Blank(path, text == "", data.get("cache_control") is not None)
