"""Comparing a value with what a check asks for."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from tests.field_cases.cases import Unsupported
from tests.field_cases.outcome import CheckFailed, Outcome

Check = Callable[[Outcome, dict[str, Any]], None]


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; the order of an object's members is no part of it, true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "equals": same,
    "not_equals": lambda one, other: not same(one, other),
    "lte": operator.le,
    "gte": operator.ge,
    "gt": operator.gt,
    "lt": operator.lt,
}


ORDERED = frozenset({"lte", "gte", "gt", "lt"})


def compare(args: dict[str, Any], value: Any, *, what: str = "") -> None:
    """Apply every comparison among a check's members. Raises CheckFailed; Unsupported when there is none."""
    found = [name for name in COMPARISONS if name in args]
    if not found:
        raise Unsupported(f"check {args.get('check')} without a comparison")
    for name in found:
        if (name in ORDERED and not isinstance(value, int | float)) or not COMPARISONS[name](
            value, args[name]
        ):
            raise CheckFailed(f"{what}{' ' if what else ''}{name} {args[name]!r}", value)


def expect(holds: bool, expected: object, got: object) -> None:
    """Raise CheckFailed unless it holds."""
    if not holds:
        raise CheckFailed(expected, got)


def texts_of(args: dict[str, Any]) -> Sequence[str]:
    """Return the texts that a check names, one or several."""
    return args["texts"] if "texts" in args else [args["text"]]


def decimal(value: Any) -> Decimal:
    """Return a number or a decimal string exactly as it is written."""
    return Decimal(value) if isinstance(value, str) else Decimal(repr(value))
