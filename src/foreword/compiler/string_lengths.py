"""Strings that a server refuses for their length, where nothing may be cut: found in the body, before it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from foreword.compiler.compile import Compiled
from foreword.core.canonical import read
from foreword.errors import StringTooLong


def check_strings(compiled: Compiled) -> None:
    """Raise StringTooLong for the longest string of a request, if it is over the model's ``max_string_chars``.

    A body that is no longer holds none.
    """
    limit = compiled.target.spec.max_string_chars
    if limit is None or len(compiled.body) <= limit:
        return
    length, path = max(_strings(read(compiled.body), ""), default=(0, ""))
    if length > limit:
        units = (unit for unit in compiled.units if len(unit.data) > limit)
        events = sorted({seq for unit in units for seq in unit.events if seq >= 0})
        opened = compiled.view.fold.opened
        session = opened.session if opened is not None else ""
        raise StringTooLong(session, path, length, limit, tuple(events))


def _strings(value: Any, path: str) -> Iterator[tuple[int, str]]:
    """Yield (characters, path) of each string."""
    if isinstance(value, str):
        yield len(value), path
    elif isinstance(value, dict):
        for name, member in cast("dict[str, Any]", value).items():
            yield from _strings(member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for n, member in enumerate(cast("list[Any]", value)):
            yield from _strings(member, f"{path}[{n}]")
