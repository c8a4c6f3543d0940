"""What a unit's bytes say, for those who know a wire only by the names that its codec gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from foreword.core.block import Opaque
from foreword.core.request import Piece, Unit


def value_of(unit: Unit | Piece) -> Any:
    """Return a unit's bytes as a value; members alone as an object; None: they are a piece of a string, or no JSON."""
    data = unit.data if unit.data.startswith(b"{") else b"{" + unit.data + b"}"
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None


def opaque_in(unit: Unit | Piece, value: Any, wire: str) -> Opaque | None:
    """Return the block of a wire that a unit is, by what its bytes say; None: it is no such block."""
    form: Any = cast("dict[str, Any]", value).get("type") if isinstance(value, dict) else None
    if unit.kind != "opaque" or not isinstance(form, str):
        return None
    return Opaque(wire=wire, form=form, raw=unit.data.decode())


def texts_at(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts at a path in a value, those of every item where a list is on the way."""
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from texts_at(item, path)
    elif not path:
        if isinstance(value, str):
            yield value
    elif isinstance(value, dict):
        yield from texts_at(cast("dict[str, Any]", value).get(path[0]), path[1:])
