"""A generateContent request as its server sees it: contents as parts, with signatures, digests and sizes."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from foreword.testing.facts import ModelFacts
from foreword.testing.form import Misform
from foreword.testing.prefix_cache import Unit
from foreword.testing.wire import mapping, objects


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part. `kinds` are those it holds: exactly one, if it is well formed.

    `said`: digest of what a signature is for: the name and arguments of a call, or the text.
    """

    kinds: tuple[str, ...]
    data: dict[str, Any]
    signature: str | None
    said: bytes
    tokens: int

    @property
    def kind(self) -> str:
        """Its kind, "" if none."""
        return self.kinds[0] if self.kinds else ""

    @property
    def inside(self) -> dict[str, Any]:
        """The object of its kind, {} for text."""
        return mapping(self.data.get(self.kind))


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """One content. Paths of faults are relative to it. A missing role is the user's."""

    role: str
    data: dict[str, Any]
    parts: tuple[Part, ...]
    units: tuple[Unit, ...]
    misforms: tuple[Misform, ...]

    def count(self, kind: str) -> int:
        """How many parts of a kind it holds."""
        return sum(part.kind == kind for part in self.parts)

    @property
    def asks(self) -> bool:
        """Whether it is a user's content with real text: a turn begins with it."""
        texts = (part.data["text"] for part in self.parts if part.kind == "text")
        return self.role == "user" and any(isinstance(text, str) and text.strip() for text in texts)


class Stray(NamedTuple):
    """A signature that this server did not issue (`moved` False), or issued for another part."""

    path: str
    moved: bool


class GeminiRequest(msgspec.Struct, kw_only=True):
    """Everything the rules look at. Member names are in camelCase, whatever they came as."""

    body: dict[str, Any]
    size: int
    facts: ModelFacts
    contents: tuple[Content, ...]
    system: Content | None
    misforms: tuple[Misform, ...]
    units: tuple[Unit, ...]
    strays: tuple[Stray, ...] = ()

    @property
    def input_tokens(self) -> int:
        """The whole prompt in the server's measure."""
        return sum(unit.tokens for unit in self.units)

    @property
    def turn(self) -> int:
        """Index of the content that begins the current turn; 0 if none does."""
        asked = (at for at in range(len(self.contents) - 1, -1, -1) if self.contents[at].asks)
        return next(asked, 0)

    @property
    def declarations(self) -> list[tuple[str, dict[str, Any]]]:
        """The function declarations with their paths."""
        return [
            (f"tools[{at}].function_declarations[{index}]", declared)
            for at, tool in enumerate(objects(self.body.get("tools")))
            for index, declared in enumerate(objects(tool.get("functionDeclarations")))
        ]

    @property
    def generation(self) -> dict[str, Any]:
        """The generation options, {} if none."""
        return mapping(self.body.get("generationConfig"))

    @property
    def thinking(self) -> dict[str, Any]:
        """The thinking options, {} if none."""
        return mapping(self.generation.get("thinkingConfig"))

    @property
    def calling(self) -> dict[str, Any]:
        """The options of function calling, {} if none."""
        return mapping(mapping(self.body.get("toolConfig")).get("functionCallingConfig"))
