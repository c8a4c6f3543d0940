"""Breaks beside the request bodies, where they were kept: the first unit and character that differ.

Bodies stand in a folder under the number of their step, `00007.request.json`, as a replay writes them.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from foreword.evals.cache_explain import Break
from foreword.evals.diff import diff


class Parted(Struct, frozen=True, kw_only=True):
    """Where a request parts from the one before. ``unit``: from 0, in render order; ``offset``: characters into the

    text at ``path``, before which both are the same; ``byte``: how many bytes both bodies begin with, marks included.
    """

    unit: int
    layer: str
    path: str
    offset: int
    byte: int
    a: str
    b: str


def beside_bodies(one: Break, folder: Path, wire: str) -> Break:
    """Return a break with what the bodies of both calls show; as it is when one of them is not there.

    A difference is the cause, since it can't be read over; where there is none, the evidence says so.
    Raises: MalformedRequest; UnknownWire; OSError.
    """
    paths = [folder / f"{step:05}.request.json" for step in (one.step_before, one.step)]
    if not all(path.is_file() for path in paths):
        return one
    before, after = (path.read_bytes() for path in paths)
    found = diff(before, after, wire)
    difference = found.first_difference
    if difference is None or found.cause is None:
        same = "the bodies show that the request before is repeated whole"
        return replace(one, evidence=f"{one.evidence}; {same}")
    parted = Parted(
        unit=found.common_units,
        layer=found.layer,
        path=difference.path,
        offset=difference.offset,
        byte=_common(before, after),
        a=difference.a,
        b=difference.b,
    )
    where = (
        f"unit {parted.unit}, {parted.path}, character {parted.offset:,} (byte {parted.byte:,} of the body)"
    )
    if found.cause == "mark_only":
        return replace(one, difference=parted)
    return replace(
        one,
        cause=found.cause,
        certainty="shown",
        evidence=f"the bodies part at {where}",
        fix=found.fix,
        difference=parted,
    )


def _common(a: bytes, b: bytes) -> int:
    """Return how many bytes both begin with."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
