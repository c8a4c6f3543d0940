"""What an invariant is: a named rule that every request keeps, and the cuts of history that it forbids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from foreword.core.target import Target
from foreword.core.view import View

if TYPE_CHECKING:
    from foreword.compiler.compile import Compiled


class Broken(Struct, frozen=True, kw_only=True):
    """A place where a rule doesn't hold. ``unit``: index in the request, None: it concerns the whole."""

    rule: str
    unit: int | None
    events: tuple[int, ...]
    fault: str


class Invariant(Struct, frozen=True, kw_only=True):
    """A rule by its name.

    ``holds(compiled, start)`` yields what is broken among units ``start`` and later: those before were checked
    when they were sent. ``forbids(view)`` yields item positions at which history may not be cut (a cut at ``n``
    leaves items 0 to n - 1 out). ``ties(view, target)`` yields positions of two items that no request may tell apart:
    where one stands, so must the other.
    """

    name: str
    source: str
    holds: Callable[[Compiled, int], Iterator[Broken]]
    forbids: Callable[[View], Iterator[int]] = lambda view: iter(())
    ties: Callable[[View, Target], Iterator[tuple[int, int]]] = lambda view, target: iter(())
