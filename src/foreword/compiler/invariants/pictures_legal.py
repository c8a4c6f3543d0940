"""Pictures go only to a model that reads them, and only ones whose bytes are a picture of the kind that is named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.compiler.unit_value import value_of
from foreword.core.block import Block, Image, ToolResult
from foreword.core.image import picture_type
from foreword.core.request import Unit
from foreword.core.view import Interaction, Item, Turn

_NAME = "pictures_legal"
_KINDS = ("image", "tool_result")
"""Kinds of units in which a picture of the record may stand."""
_TEXTS = ("text", "content", "output")
"""Members that hold words: a picture's bytes are none there."""
_TYPES = ("media_type", "mimeType")


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    blind = compiled.target.spec.vision is False
    fold = compiled.view.fold
    for index in range(start, compiled.size):
        unit = compiled.unit(index)
        item = fold.item(unit.events[0]) if unit.kind in _KINDS and unit.events else None
        for image in _pictures(item):
            data = _data(image)
            for named in _shown(unit, data or image.url or ""):
                found = picture_type(data) if data is not None else named
                if blind:
                    fault = "a picture for a model that reads none"
                elif found != named:
                    fault = f"data of {found or 'no picture'}, named {named or 'nothing'}"
                else:
                    continue
                yield Broken(rule=_NAME, unit=index, events=unit.events, fault=fault)


def _pictures(item: Item | None) -> Iterator[Image]:
    if isinstance(item, Turn):
        yield from _within(item.message.blocks)
    elif isinstance(item, Interaction):
        yield from _within(item.message.blocks)
        yield from _within([result for result in item.results if result is not None])


def _within(blocks: Sequence[Block]) -> Iterator[Image]:
    for block in blocks:
        if isinstance(block, Image):
            yield block
        elif isinstance(block, ToolResult):
            yield from _within(block.content)


def _data(image: Image) -> str | None:
    """Return the base64 data of a picture; None: it is named by where it is."""
    if image.data is None and image.url is not None and image.url.startswith("data:"):
        return image.url.partition(",")[2]
    return image.data


def _shown(unit: Unit, picture: str) -> Iterator[str]:
    """Yield the type that a picture is named with, for each place of a unit where it stands ("": with none)."""
    if picture and picture.encode() in unit.data:
        yield from _named(value_of(unit), picture)


def _named(value: Any, picture: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _named(item, picture)
    elif isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        for name, member in members.items():
            if not isinstance(member, str):
                yield from _named(member, picture)
            elif name not in _TEXTS and member == picture:
                yield next((str(members[kind]) for kind in _TYPES if members.get(kind)), "")
            elif name not in _TEXTS and member.startswith("data:") and member.endswith("," + picture):
                yield member[len("data:") :].partition(";")[0]


RULE = Invariant(
    name=_NAME,
    source="Anthropic, error text `The image was specified using the image/jpeg media type, but the image appears "
    "to be a image/png image` (2026-06); models that read no pictures: the catalog",
    holds=_holds,
)
