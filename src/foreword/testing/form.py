"""Form of JSON objects as data: which members an object may have, of which kinds, and which it must have.

A table maps a member to its kinds, joined by `|`, with `!` when it is required: `{"id": "str!"}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

Table = Mapping[str, str]
Problem = Literal["missing", "type", "extra"]

KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "obj": (dict,),
    "list": (list,),
    "bool": (bool,),
    "int": (int,),
    "num": (int, float),
    "null": (type(None),),
    "any": (object,),
}


class Misform(NamedTuple):
    """A member that is missing, of a wrong kind, or unknown; `wanted` are the kinds allowed."""

    path: str
    problem: Problem
    wanted: str


class Misplaced(NamedTuple):
    """A block, part or call of an unknown kind, or (`known`) one that its role may not hold."""

    path: str
    kind: str
    known: bool


def misforms(path: str, value: Mapping[str, Any], table: Table, *, join: str = ".") -> Iterator[Misform]:
    """Compare one object with its table. An empty `path` is the body itself."""
    prefix = f"{path}{join}" if path else ""
    for member, spec in table.items():
        wanted = spec.removesuffix("!")
        if member not in value:
            if spec != wanted:
                yield Misform(prefix + member, "missing", wanted)
        elif not is_kind(value[member], wanted):
            yield Misform(prefix + member, "type", wanted)
    for member in value:
        if member not in table:
            yield Misform(prefix + member, "extra", "")


def is_kind(value: object, kinds: str) -> bool:
    """Say whether a JSON value is of one of the kinds; true and false are no numbers."""
    for kind in kinds.split("|"):
        if isinstance(value, KINDS[kind]) and (kind in {"bool", "any"} or not isinstance(value, bool)):
            return True
    return False
