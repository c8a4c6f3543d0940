"""What of a request a server has read before. Time plays no part here: nothing expires, nothing is billed.

A request is a tuple of units in render order. `CachePolicy` is the seam: a cache that knows hours, prices
and parallel requests (`timed_cache`) takes the same units and gives the same `CacheUse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from foreword.testing.thinking_book import State, grown

LOOK_BACK = 20
AUTOMATIC_STEP = 128
MOST_WRITTEN = 4


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a request whose bytes count for the cache. `mark`: "5m" or "1h" after a cache mark.

    A `key` is no content block: it stands for a parameter that invalidates what follows it.
    """

    digest: bytes
    tokens: int
    key: bool = False
    mark: str | None = None


class CacheUse(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one request by what the cache did for them; they sum to the request."""

    read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    uncached: int = 0


class CachePolicy(Protocol):
    """Decides what is read, then remembers the request."""

    def use(self, units: Sequence[Unit]) -> CacheUse:
        """Return the cache's part in a request that was accepted."""
        ...


class MarkedCache:
    """Anthropic: entries exist only where a request had a mark; a mark looks back at most 20 blocks.

    Prefixes under `minimum` tokens are neither written nor read (rulebook 2.1).
    """

    def __init__(self, minimum: int) -> None:
        self._minimum = minimum
        self._entries: set[State] = set()

    def use(self, units: Sequence[Unit]) -> CacheUse:
        """Read up to the longest entry that a mark can see; write from there to the last mark."""
        states, sums = chained(units)
        marks = [at for at, unit in enumerate(units) if unit.mark and sums[at] >= self._minimum]
        read_end = max(
            (hit for mark in marks if (hit := self._seen(units, states, mark)) is not None), default=-1
        )
        read = sums[read_end] if read_end >= 0 else 0
        written = _written(units, sums, marks, read)
        self._entries.update(states[mark] for mark in marks)
        return CacheUse(
            read=read,
            write_5m=written["5m"],
            write_1h=written["1h"],
            uncached=(sums[-1] if sums else 0) - read - sum(written.values()),
        )

    def _seen(self, units: Sequence[Unit], states: Sequence[State], mark: int) -> int | None:
        looked = 0
        for at in range(mark, -1, -1):
            if states[at] in self._entries:
                return at
            looked += not units[at].key
            if looked > LOOK_BACK:
                return None
        return None


class AutomaticCache:
    """The longest known prefix of whole units, in steps of `step` tokens, from `minimum` on; writing is free.

    OpenAI before GPT-5.6 with steps of 128 (rulebook 2.2), Gemini's implicit cache with steps of 1 (2.4).
    """

    def __init__(self, minimum: int, *, step: int = AUTOMATIC_STEP) -> None:
        self._minimum = minimum
        self._step = step
        self._known: set[State] = set()

    def use(self, units: Sequence[Unit]) -> CacheUse:
        """Read the longest prefix of an earlier request; remember all of this one."""
        states, sums = chained(units)
        known = next((sums[at] for at in range(len(units) - 1, -1, -1) if states[at] in self._known), 0)
        self._known.update(states)
        read = known // self._step * self._step if known >= self._minimum else 0
        return CacheUse(read=read, uncached=(sums[-1] if sums else 0) - read)


class BreakpointCache:
    """OpenAI from GPT-5.6 on: entries end exactly at breakpoints, and writing them is billed (rulebook 2.2).

    The implicit breakpoint is a mark on the last unit; the newest 4 marks of a request are written. Marks are
    "5m" for the short life (30 minutes) and "1h" for the long one (12 hours).
    """

    def __init__(self, minimum: int) -> None:
        self._minimum = minimum
        self._entries: set[State] = set()

    def use(self, units: Sequence[Unit]) -> CacheUse:
        """Read the longest entry that is a prefix; write from there to the last mark."""
        states, sums = chained(units)
        marks = [at for at, unit in enumerate(units) if unit.mark and sums[at] >= self._minimum]
        marks = marks[-MOST_WRITTEN:]
        # Without any breakpoint there is no caching at all.
        ends = range(len(units) - 1, -1, -1) if any(unit.mark for unit in units) else ()
        read = next((sums[at] for at in ends if states[at] in self._entries), 0)
        written = _written(units, sums, marks, read)
        self._entries.update(states[mark] for mark in marks)
        return CacheUse(
            read=read,
            write_5m=written["5m"],
            write_1h=written["1h"],
            uncached=(sums[-1] if sums else 0) - read - sum(written.values()),
        )


class CompleteUnitCache:
    """DeepSeek: only complete prefix units are read, always written, never billed (rulebook 2.3).

    Units end at the end of each request, at the end of its answer, and where two requests parted: that
    common prefix is readable from the third request on. Fixed intervals in long texts are left out, since
    their length is not published.
    """

    def __init__(self) -> None:
        self._complete: set[State] = set()
        self._seen: set[State] = set()

    def use(self, units: Sequence[Unit]) -> CacheUse:
        """Read the longest complete unit; complete this request, and what it has in common with others."""
        states, sums = chained(units)
        ends = range(len(units) - 1, -1, -1)
        read = next((sums[at] for at in ends if states[at] in self._complete), 0)
        common = next((states[at] for at in ends if states[at] in self._seen), None)
        self._complete.update(state for state in (common, states[-1] if states else None) if state)
        self._seen.update(states)
        return CacheUse(read=read, uncached=(sums[-1] if sums else 0) - read)

    def answered(self, units: Sequence[Unit]) -> None:
        """Complete a request together with its answer, given as the units it will be sent back as."""
        states, _ = chained(units)
        self._complete.add(states[-1])
        self._seen.update(states)


def _written(units: Sequence[Unit], sums: Sequence[int], marks: Sequence[int], read: int) -> dict[str, int]:
    written = {"5m": 0, "1h": 0}
    done = read
    for mark in marks:
        if sums[mark] > done:
            written[units[mark].mark or "5m"] += sums[mark] - done
            done = sums[mark]
    return written


def chained(units: Sequence[Unit]) -> tuple[list[State], list[int]]:
    """Return, after each unit, the digest of all units so far and their tokens."""
    states: list[State] = []
    sums: list[int] = []
    state, total = b"", 0
    for unit in units:
        state = grown(state, unit.digest)
        total += unit.tokens
        states.append(state)
        sums.append(total)
    return states, sums
