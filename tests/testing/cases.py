"""The shape of a pair: a request that one rule refuses, and the nearest one that it lets pass."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from foreword.testing.referee import Referee

Body = dict[str, Any] | Callable[[Referee[Any]], dict[str, Any]]


class Pair(NamedTuple):
    """`options` build the referee; a body may be made from what the referee said before."""

    code: str
    illegal: Body
    legal: Body
    options: Mapping[str, Any] = {}
    headers: Mapping[str, str] | None = None
    legal_headers: Mapping[str, str] | None = None


def written(body: Body, referee: Referee[Any]) -> bytes:
    """Write a body as a client would."""
    return msgspec.json.encode(body(referee) if callable(body) else body)


def named(pairs: list[Pair]) -> list[str]:
    """Name each pair by its code, with a number from the second pair of a code on."""
    seen: dict[str, int] = {}
    names: list[str] = []
    for pair in pairs:
        seen[pair.code] = seen.get(pair.code, 0) + 1
        names.append(pair.code if seen[pair.code] == 1 else f"{pair.code}-{seen[pair.code]}")
    return names
