"""Pictures go only to a model that reads them, and only ones whose bytes are a picture of the kind that is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.core.block import Image, pictures
from foreword.core.image import picture_type
from foreword.core.item import Interaction, Item, Turn

_NAME = "pictures_legal"
_KINDS = ("image", "tool_result")
"""Kinds of units in which a picture of the record may stand."""
_TEXTS = ("text", "content", "output")
"""Members that hold words: a picture's bytes are none there."""
_TYPES = ("media_type", "mimeType")


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    blind = compiled.target.spec.vision is False
    fold = compiled.view.fold
    for index, unit in compiled.since(start):
        seq = unit.events[0] if unit.kind in _KINDS and unit.events else -1
        for image in _pictures(fold.item(seq), seq):
            data = _data(image)
            for named in _shown(compiled, index, data or image.url or ""):
                found = picture_type(data) if data is not None else named
                if blind:
                    fault = "a picture for a model that reads none"
                elif found != named:
                    fault = f"data of {found or 'no picture'}, named {named or 'nothing'}"
                else:
                    continue
                yield Broken(rule=_NAME, unit=index, events=unit.events, fault=fault)


def _pictures(item: Item | None, seq: int) -> Iterator[Image]:
    if isinstance(item, Turn | Interaction) and item.seq == seq:
        yield from pictures(item.message.blocks)
    elif isinstance(item, Interaction):  # Chat shows the pictures of all its results in one unit
        yield from pictures(result for result in item.results if result is not None)


def _data(image: Image) -> str | None:
    """Return the base64 data of a picture; None: it is named by where it is."""
    if image.data is None and image.url is not None and image.url.startswith("data:"):
        return image.url.partition(",")[2]
    return image.data


def _shown(compiled: Compiled, index: int, picture: str) -> Iterator[str]:
    """Yield the type that a picture is named with, for each place of a unit where it stands ("": with none)."""
    if picture and picture.encode() in compiled.unit(index).data:
        yield from _named(compiled.value(index), picture)


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
