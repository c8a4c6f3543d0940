"""Usage: the tokens of model calls by the six buckets that every provider's figures are mapped to."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Hold the token counts of one call, or of several added up.

    The buckets of the input are disjoint: `uncached + cache_read + cache_write_short + cache_write_long` is
    the whole prompt. `output` includes `reasoning`. Short and long are the two lifetimes a provider sells
    (5 minutes and 1 hour; 30 minutes and 12 hours). None means that the count is unknown; 0 means that the
    provider said so, or that its wire has no such bucket.
    """

    uncached: int | None = None
    cache_read: int | None = None
    cache_write_short: int | None = None
    cache_write_long: int | None = None
    output: int | None = None
    reasoning: int | None = None

    @property
    def total_input(self) -> int | None:
        """Return the size of the whole prompt in tokens, None when any part of it is unknown."""
        return _sum(_sum(self.uncached, self.cache_read), self.written)

    @property
    def written(self) -> int | None:
        """Return the tokens written to the cache, for either time; None when one of the two is unknown."""
        return _sum(self.cache_write_short, self.cache_write_long)

    def __add__(self, other: Usage) -> Usage:
        """Add bucket by bucket; an unknown count makes its bucket of the sum unknown, the others stay known.

        A sum that left unknown counts out would read as complete; `known_sum` leaves them out and says how many
        they are. Start `sum` with `NOTHING`.
        """
        return Usage(
            uncached=_sum(self.uncached, other.uncached),
            cache_read=_sum(self.cache_read, other.cache_read),
            cache_write_short=_sum(self.cache_write_short, other.cache_write_short),
            cache_write_long=_sum(self.cache_write_long, other.cache_write_long),
            output=_sum(self.output, other.output),
            reasoning=_sum(self.reasoning, other.reasoning),
        )


INPUT = frozenset({"uncached", "cache_read", "cache_write_short", "cache_write_long"})
"""The buckets of the prompt."""

NOTHING = Usage(uncached=0, cache_read=0, cache_write_short=0, cache_write_long=0, output=0, reasoning=0)
"""The usage of no call at all: the neutral element of `+`."""


def known_sum(usages: Sequence[Usage]) -> tuple[Usage, dict[str, int]]:
    """Add up the counts that are known, and count the calls that lack one, by the name of its bucket.

    A bucket that no call tells is None; those that used nothing don't count as telling. Without others all are 0.
    """
    used = [usage for usage in usages if usage != NOTHING]
    sums: dict[str, int | None] = {}
    lacking: dict[str, int] = {}
    for name in Usage.__struct_fields__:
        counts: list[int] = [count for usage in used if (count := getattr(usage, name)) is not None]
        sums[name] = sum(counts) if counts or not used else None
        if len(counts) < len(used):
            lacking[name] = len(used) - len(counts)
    return Usage(**sums), lacking


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right
