"""A turn that is not over begins with reasoning, where the parameters want it to."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.compiler.turn_start import begun_bare

_NAME = "turn_begun"


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    if not compiled.target.thinks_first:
        return
    last = compiled.size - 1
    if begun_bare(compiled.unit(index) for index in range(last, -1, -1)):
        fault = "a turn under way that began without reasoning"
        yield Broken(rule=_NAME, unit=last, events=compiled.unit(last).events, fault=fault)


RULE = Invariant(
    name=_NAME,
    source="Anthropic Messages 1.4, error text `a final assistant message must start with a thinking block` "
    "(public reports from 2025-05 to 2026-01)",
    holds=_holds,
)
