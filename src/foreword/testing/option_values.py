"""Options with a few values, or a range, as data: a way into the body, and what may stand there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foreword.testing.rule import Fault, fault
from foreword.testing.wire import mapping

Values = Mapping[str, frozenset[str]]
Ranges = Mapping[str, tuple[float, float]]


def stray_values(body: Mapping[str, Any], table: Values) -> Iterator[Fault]:
    """Yield each option of the table that has none of its values; what is absent or null passes."""
    for path, allowed in table.items():
        value = _at(body, path)
        if isinstance(value, str) and value not in allowed:
            yield fault(path, value=value, allowed=", ".join(f"'{name}'" for name in sorted(allowed)))


def out_of_range(body: Mapping[str, Any], table: Ranges) -> Iterator[Fault]:
    """Yield each number of the table outside its range, whose ends belong to it."""
    for path, (least, most) in table.items():
        value = _at(body, path)
        if isinstance(value, int | float) and not isinstance(value, bool) and not least <= value <= most:
            side = f"<= {most:g}" if value > most else f">= {least:g}"
            word = "above maximum" if value > most else "below minimum"
            yield fault(path, value=value, side=side, word=word, least=f"{least:g}", most=f"{most:g}")


def _at(body: Mapping[str, Any], path: str) -> object:
    value: object = body
    for name in path.split("."):
        value = mapping(value).get(name)
    return value
