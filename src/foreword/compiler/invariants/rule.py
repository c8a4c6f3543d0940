"""What an invariant is: a named rule that every request keeps, and the cuts of history that it forbids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

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
    leaves items 0 to n - 1 out).
    """

    name: str
    source: str
    holds: Callable[[Compiled, int], Iterator[Broken]]
    forbids: Callable[[View], Iterator[int]] = lambda view: iter(())
