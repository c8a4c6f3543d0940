"""Where the next request parts from the one before, what that costs, and why: for bodies sent by any client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, cast

from msgspec import Struct

from foreword.core.canonical import compact
from foreword.core.tokens import Counter, counter
from foreword.evals.diff_causes import FIXES, Parting, cause_of
from foreword.evals.request_units import (
    IMAGES,
    MARKS,
    Marks,
    RequestUnit,
    Section,
    read_body,
    sections,
    text_of,
)
from foreword.evals.volatile import first_difference

SHOWN = 80
"""Characters of a text that are shown on each side of the difference."""


class Difference(Struct, frozen=True, kw_only=True):
    """The first difference. ``path``: where it stands in B's body, in A's when B has nothing there.

    ``a``, ``b``: what stands there, around the first character that differs; "" where a request has nothing.
    ``offset``: characters of the text before it.
    """

    path: str
    a: str
    b: str
    offset: int = 0


class Diff(Struct, frozen=True, kw_only=True):
    """What two requests have in common. ``first_difference`` None: B holds all of A and only adds to it.

    ``lost_tokens``: those of A behind the difference, which were cached and can't be read. ``cause`` None and ``fix``
    "" without a difference. ``layer``: the first that is lost; "" none. Tokens by the counter, media estimated.
    """

    common_units: int
    common_tokens: int
    lost_tokens: int
    first_difference: Difference | None
    cause: str | None
    layer: str
    fix: str


def diff(a: bytes, b: bytes, wire: str, *, count: Counter | None = None) -> Diff:
    """Compare two bodies of a wire, A sent before B, in time linear in their size.

    Raises: MalformedRequest; UnknownWire.
    """
    counted = count or counter()
    bodies = read_body(a, wire), read_body(b, wire)
    one, other = (sections(body, wire) for body in bodies)
    common: list[RequestUnit] = []
    parting: Parting | None = None
    layer = ""
    for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        last = number == len(one) - 1
        kept = _key_prefix(mine, theirs) if mine[0] == "key" else _prefix(mine[2], theirs[2])
        common += mine[2][:kept]
        if kept < len(mine[2]) or (kept < len(theirs[2]) and not last):
            layer = mine[1]
            parting = _parting(mine, theirs, kept)
            if mine[0] == "key" and not last:
                parting = _last_picture(parting, one[number + 1], other[number + 1])
            break
    if parting is None:
        return _same((a, b), bodies, common, one, other, counted)
    every = [unit for section in one for unit in section[2]]
    shorter = parting.b is None and parting.kind == "message"
    cause = cause_of(parting)
    return Diff(
        common_units=len(common),
        common_tokens=_tokens(common, counted),
        lost_tokens=0 if shorter else _tokens(every[len(common) :], counted),
        first_difference=_shown(parting, cause),
        cause=cause,
        layer=layer,
        fix=FIXES[cause],
    )


def _same(
    data: tuple[bytes, bytes],
    bodies: tuple[dict[str, Any], dict[str, Any]],
    common: list[RequestUnit],
    one: list[Section],
    other: list[Section],
    count: Counter,
) -> Diff:
    """Nothing cached was lost: say whether marks moved, or the same values were only written otherwise."""
    found: tuple[str, Difference] | None = None
    pairs = [
        (mine, theirs)
        for section, twin in zip(one, other, strict=True)
        for mine, theirs in zip(section[2], twin[2], strict=False)
    ]
    grown = sum(len(section[2]) for section in other) > len(pairs)
    moved = next((pair for pair in pairs if _placed(pair[0]) != _placed(pair[1])), None)
    if moved is not None:
        mine, theirs = moved
        found = "mark_only", _mark_difference(mine.marks, theirs.marks)
    elif (whole := [_whole_mark(body) for body in bodies])[0] != whole[1]:
        found = "mark_only", _mark_difference(*whole)
    elif not grown and data[0] != data[1]:
        found = _written_otherwise(*data)
    cause, difference = found if found is not None else (None, None)
    return Diff(
        common_units=len(common),
        common_tokens=_tokens(common, count),
        lost_tokens=0,
        first_difference=difference,
        cause=cause,
        layer="",
        fix="" if cause is None else FIXES[cause],
    )


def _written_otherwise(a: bytes, b: bytes) -> tuple[str, Difference] | None:
    """Tell bodies that hold the same units in other bytes: a provider reads the same in both."""
    one, other = a.decode("utf-8", "replace"), b.decode("utf-8", "replace")
    if "".join(one.split()) == "".join(other.split()):
        cause = "whitespace"
    elif compact(read_body(a, "")) == compact(read_body(b, "")):
        cause = "unicode"
    else:
        return None
    at = first_difference(one, other)
    return cause, Difference(path="$", a=_around(one, at), b=_around(other, at), offset=at)


def _placed(unit: RequestUnit) -> tuple[tuple[str, bytes], ...]:
    return tuple((path.removeprefix(unit.path), value) for path, value in unit.marks)


def _whole_mark(body: Mapping[str, Any]) -> Marks:
    """Return the mark that a request has as a whole: the provider puts it on the last block."""
    return tuple((name, compact(body[name])) for name in sorted(MARKS) if body.get(name) is not None)


def _mark_difference(mine: Marks, theirs: Marks) -> Difference:
    one, other = dict(mine), dict(theirs)
    path = next(path for path in [*one, *other] if one.get(path) != other.get(path))
    return Difference(path=path, a=one.get(path, b"").decode(), b=other.get(path, b"").decode())


def _prefix(mine: Sequence[RequestUnit], theirs: Sequence[RequestUnit]) -> int:
    kept = 0
    for one, other in zip(mine, theirs, strict=False):
        if one.data != other.data:
            break
        kept += 1
    return kept


def _last_picture(parting: Parting, mine: Section, theirs: Section) -> Parting:
    """Say how the last picture went, where messages hold none any more: that is why their layer is lost."""
    kept = _prefix(mine[2], theirs[2])
    gone = parting.a is not None and parting.b is None and parting.a.path.endswith(IMAGES)
    return _parting(mine, theirs, kept) if gone and kept < len(mine[2]) else parting


def _key_prefix(mine: Section, theirs: Section) -> int:
    """Keys are compared by name: one more, one less or another value all change the layer."""
    pairs = zip_longest(mine[2], theirs[2])
    kept = 0
    for one, other in pairs:
        if one is None or other is None or one.path != other.path or one.data != other.data:
            break
        kept += 1
    return kept


def _parting(mine: Section, theirs: Section, kept: int) -> Parting:
    a = mine[2][kept] if kept < len(mine[2]) else None
    b = theirs[2][kept] if kept < len(theirs[2]) else None
    if mine[0] == "key" and a is not None and b is not None and a.path != b.path:
        a, b = (a, None) if a.path < b.path else (None, b)
    leaf, leaf_a, leaf_b = _leaf(a.value if a else None, b.value if b else None)
    return Parting(
        kind=mine[0],
        a=a,
        b=b,
        before=mine[2][kept - 1] if kept else None,
        rest_a=mine[2][kept:],
        rest_b=theirs[2][kept:],
        leaf=leaf,
        leaf_a=leaf_a,
        leaf_b=leaf_b,
    )


def _leaf(a: Any, b: Any) -> tuple[tuple[str | int, ...], Any, Any]:
    """Go down to the first member that differs; stop where the members themselves differ in name or order."""
    path: list[str | int] = []
    while True:
        step = _step(a, b)
        if step is None:
            return tuple(path), a, b
        path.append(step)
        a, b = a[step], b[step]


def _step(a: Any, b: Any) -> str | int | None:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        one, other = cast("Mapping[str, Any]", a), cast("Mapping[str, Any]", b)
        if list(one) != list(other) and all(
            name in one and name in other and compact(one[name]) == compact(other[name])
            for name in {**one, **other}
        ):
            return None
        return next(
            (name for name in one if name in other and compact(one[name]) != compact(other[name])), None
        )
    if isinstance(a, list) and isinstance(b, list):
        pairs = enumerate(zip(cast("list[Any]", a), cast("list[Any]", b), strict=False))
        return next((index for index, (one, other) in pairs if compact(one) != compact(other)), None)
    return None


def _shown(parting: Parting, cause: str) -> Difference:
    """Show the members that differ; of units that have nothing to do with each other all of both."""
    unit = parting.b or parting.a
    assert unit is not None
    path = unit.path
    if cause == "message_removed":
        one, other = (_text(each.value) if each is not None else "" for each in (parting.a, parting.b))
    else:
        one, other = _text(parting.leaf_a), _text(parting.leaf_b)
        for step in parting.leaf:
            path += f"[{step}]" if isinstance(step, int) else f".{step}"
    if parting.a is not None and parting.b is not None and parting.a.role != parting.b.role:
        one, other = f"{parting.a.role}: {one}", f"{parting.b.role}: {other}"
    at = first_difference(one, other)
    return Difference(path=path, a=_around(one, at), b=_around(other, at), offset=at)


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else compact(value).decode()


def _around(text: str, at: int) -> str:
    start, end = max(0, at - SHOWN), at + SHOWN
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def _tokens(units: Sequence[RequestUnit], count: Counter) -> int:
    read = [text_of(unit) for unit in units]
    return sum(count.count_many([text for text, _ in read])) + sum(media for _, media in read)
