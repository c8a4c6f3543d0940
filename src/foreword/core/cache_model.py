"""The cache model: what of a request a provider's prompt cache reads, what it writes, what is missed, and why.

Pure: the caller says when each request was sent, began to be answered and was answered. The rules are catalog
fields (docs/decisions/0009-cache-model.md). A cache knows a request as a list of units in render order; an entry is
a prefix of whole units, and a changed unit makes all behind it new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Literal

from msgspec import Struct

from foreword.core.catalog import ModelSpec
from foreword.core.price import Cost, cost_at
from foreword.core.request import Layer
from foreword.core.usage import Usage

Kind = Literal["marks", "breakpoints", "prefix", "units"]
Life = Literal["short", "long"]
Why = Literal[
    "",
    "first",
    "unmarked",
    "too_short",
    "changed",
    "expired",
    "not_ready",
    "look_back",
    "not_written",
    "step",
]
"""Why tokens were missed: the request has no mark; the prefix is under the minimum; a unit changed; the entry's life
was over; the response that writes it had not begun; no mark is near it; it never ended at an entry; it is no whole
number of steps. ``first``: nothing was sent before. Empty: nothing was missed."""

SECOND = 1_000_000
_ALWAYS = 1 << 62


class CacheRules(Struct, frozen=True, kw_only=True):
    """How one model's cache works; the fields are those of the catalog, with 0 and 1 for what is unknown there.

    ``minimum``: tokens from which a prefix is kept. ``look_back``: content blocks before a mark in which an entry is
    found, None: no limit. ``short``, ``long``: seconds that an entry lives after its last use, None: no end is known;
    ``idle``: seconds without use from which one may be gone all the same.
    """

    kind: Kind
    minimum: int = 0
    step: int = 1
    look_back: int | None = None
    read_marks: int | None = None
    written_marks: int | None = None
    short: int | None = None
    long: int | None = None
    idle: int | None = None
    refresh: bool = True

    def life(self, life: Life) -> int | None:
        """Return the seconds that an entry lives; None: no end is known."""
        return self.short if life == "short" else self.long


class CacheUnit(Struct, frozen=True, kw_only=True, gc=False):
    """A piece of a request. ``key``: no content block, but a parameter that invalidates what follows it.

    ``mark``: a cache mark stands behind it, for a short or a long life. ``name``: for a reader of the outcome.
    """

    digest: bytes
    tokens: int
    layer: Layer = "messages"
    key: bool = False
    mark: Life | None = None
    name: str = ""


class Moment(Struct, frozen=True, kw_only=True):
    """When a request was sent, when its response began and when it ended: microseconds since 1970 UTC."""

    sent: int
    began: int
    ended: int

    @staticmethod
    def at(time: int) -> Moment:
        """Return the moment of a request that is answered at once."""
        return Moment(sent=time, began=time, ended=time)


class Outcome(Struct, frozen=True, kw_only=True):
    """What the cache did for one request. ``read``, the two writes and ``uncached`` sum to the request.

    ``missed``: tokens that could have been read had all of the request before been kept and repeated. ``why``: what
    cost the most of them. ``changed``: the first unit that differs from the request before; None: it only grew.
    """

    read: int = 0
    written_short: int = 0
    written_long: int = 0
    uncached: int = 0
    missed: int = 0
    why: Why = ""
    changed: int | None = None

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return self.read + self.written_short + self.written_long + self.uncached

    def usage(self, output: int = 0) -> Usage:
        """Return it as a provider's bill counts it."""
        return Usage(
            uncached=self.uncached,
            cache_read=self.read,
            cache_write_short=self.written_short,
            cache_write_long=self.written_long,
            output=output,
            reasoning=0,
        )

    def cost(self, spec: ModelSpec, at: int | None, *, output: int = 0) -> Cost:
        """Price it. ``at``: microseconds since 1970 UTC, None: unknown."""
        return cost_at(self.usage(output), spec, None if at is None else at // SECOND)


class _Entry(Struct):
    ready: int
    until: int
    life: Life


def rules_of(spec: ModelSpec) -> CacheRules | None:
    """Return the rules of a model's cache; None: the catalog doesn't say how it works."""
    if spec.cache is None:
        return None
    return CacheRules(
        kind=spec.cache,
        minimum=spec.min_cacheable_tokens or 0,
        step=spec.cache_step or 1,
        look_back=spec.lookback_blocks,
        read_marks=spec.cache_read_marks,
        written_marks=spec.max_marks or None,
        short=spec.cache_ttl_short,
        long=spec.cache_ttl_long,
        idle=spec.cache_idle,
        refresh=spec.cache_refresh is not False,
    )


def simulate(
    requests: Iterable[Sequence[CacheUnit]], times: Iterable[Moment], rules: CacheRules
) -> list[Outcome]:
    """Return what the cache does for each request, in the order in which they are sent.

    Raises: ValueError when there are not as many times as requests.
    """
    cache = Cache(rules)
    return [cache.send(units, moment) for units, moment in zip(requests, times, strict=True)]


class Cache:
    """The entries of one cache, as requests of one account fill it."""

    def __init__(self, rules: CacheRules) -> None:
        self.rules = rules
        self._entries: dict[bytes, _Entry] = {}
        self._seen: set[bytes] = set()
        self._last: tuple[list[bytes], list[int]] = ([], [])

    def send(self, units: Sequence[CacheUnit], moment: Moment) -> Outcome:
        """Read for a request, then write what it leaves."""
        states, sums = chained(units)
        common = self._common(states)
        hit, why = self._hit(units, states, sums, moment.sent)
        read = sums[hit] // self.rules.step * self.rules.step if hit >= 0 else 0
        marks = self._written_marks(units, sums)
        outcome = self._outcome(units, sums, read, why, marks, common)
        self._write(units, states, sums, moment, hit, marks)
        self._last = (states, sums)
        return outcome

    def answered(self, units: Sequence[CacheUnit], moment: Moment) -> None:
        """Keep a request together with its answer, where the end of an answer ends an entry."""
        if self.rules.kind == "units" and units:
            states = chained(units)[0]
            self._keep(states[-1], moment, "short")
            self._seen.update(states)

    def _hit(
        self, units: Sequence[CacheUnit], states: list[bytes], sums: list[int], now: int
    ) -> tuple[int, Why]:
        """Return the unit at whose end the longest readable entry ends, -1: none; and what hides a longer one."""
        seen = self._visible(units, sums)
        why: Why = ""
        for at in range(len(units) - 1, -1, -1):
            entry = self._entries.get(states[at])
            if entry is None:
                continue
            if sums[at] < self.rules.minimum:
                return -1, why or "too_short"
            fault: Why = "expired" if now > entry.until else "not_ready" if now < entry.ready else ""
            if not fault and at not in seen:
                fault = "look_back" if any(unit.mark for unit in units) else "unmarked"
            if not fault:
                return at, why
            why = why or fault
        return -1, why

    def _visible(self, units: Sequence[CacheUnit], sums: list[int]) -> range | set[int]:
        """Return the units at whose end an entry would be found."""
        rules = self.rules
        if rules.kind in ("prefix", "units"):
            return range(len(units))
        marks = [at for at, unit in enumerate(units) if unit.mark]
        if rules.kind == "breakpoints":
            old = marks[: -rules.read_marks] if rules.read_marks else []
            return set(range(len(units))) - set(old) if marks else set()
        found: set[int] = set()
        for mark in (mark for mark in marks if sums[mark] >= rules.minimum):
            looked, at = 0, mark
            while at >= 0 and (rules.look_back is None or looked <= rules.look_back):
                found.add(at)
                looked += not units[at].key
                at -= 1
        return found

    def _written_marks(self, units: Sequence[CacheUnit], sums: list[int]) -> list[int]:
        if self.rules.kind in ("prefix", "units"):
            return []
        marks = [at for at, unit in enumerate(units) if unit.mark and sums[at] >= self.rules.minimum]
        return marks[-self.rules.written_marks :] if self.rules.written_marks else marks

    def _common(self, states: list[bytes]) -> int:
        """Return how many units the request has in common with the one before."""
        last = self._last[0]
        low, high = 0, min(len(states), len(last))
        while low < high:  # states chain, so equal ones stand before unequal ones
            middle = (low + high) // 2
            if states[middle] == last[middle]:
                low = middle + 1
            else:
                high = middle
        return low

    def _outcome(
        self,
        units: Sequence[CacheUnit],
        sums: list[int],
        read: int,
        hidden: Why,
        marks: list[int],
        common: int,
    ) -> Outcome:
        total = sums[-1] if sums else 0
        written: dict[Life, int] = {"short": 0, "long": 0}
        done = read
        for mark in marks:
            if sums[mark] > done:
                written[units[mark].mark or "short"] += sums[mark] - done
                done = sums[mark]
        last, last_sums = self._last
        expected = last_sums[-1] if last_sums else 0
        missed = max(0, min(expected, total) - read)
        shared = sums[common - 1] if common else 0
        changed = common if common < len(last) else None
        why: Why = ""
        if not last:
            why = "first"
        elif missed:
            lost_to_change, lost_to_cache = min(expected, total) - shared, shared - read
            if changed is not None and (not hidden or lost_to_change >= lost_to_cache):
                why = "changed"
            elif hidden:
                why = hidden
            elif lost_to_cache < self.rules.step:
                why = "step"
            else:
                why = "too_short" if shared < self.rules.minimum else "not_written"
        return Outcome(
            read=read,
            written_short=written["short"],
            written_long=written["long"],
            uncached=total - read - written["short"] - written["long"],
            missed=missed,
            why=why,
            changed=changed,
        )

    def _write(
        self,
        units: Sequence[CacheUnit],
        states: list[bytes],
        sums: list[int],
        moment: Moment,
        hit: int,
        marks: list[int],
    ) -> None:
        if not units:
            return
        if hit >= 0:
            self._keep(states[hit], moment, self._entries[states[hit]].life)
        match self.rules.kind:
            case "marks" | "breakpoints":
                for mark in marks:
                    life = units[mark].mark or "short"
                    entry = self._entries.get(states[mark])
                    # What was read was not written again: it lives on by the life that was paid for.
                    self._keep(
                        states[mark], moment, entry.life if entry is not None and mark <= hit else life
                    )
            case "prefix":
                for state in states:
                    self._keep(state, moment, "short")
            case "units":
                parted = next((state for state in reversed(states) if state in self._seen), states[-1])
                for state in {states[-1], parted}:
                    self._keep(state, moment, "short")
                self._seen.update(states)

    def _keep(self, state: bytes, moment: Moment, life: Life) -> None:
        """Make an entry, or start the life of one again: its clock runs from the end of the response."""
        seconds = self.rules.life(life)
        until = _ALWAYS if seconds is None else moment.ended + seconds * SECOND
        entry = self._entries.get(state)
        if entry is None or moment.sent > entry.until:
            self._entries[state] = _Entry(ready=moment.began, until=until, life=life)
        else:
            entry.until = max(entry.until, until) if self.rules.refresh else entry.until
            entry.ready = min(entry.ready, moment.began)
            entry.life = life if life == "long" else entry.life


def chained(units: Sequence[CacheUnit]) -> tuple[list[bytes], list[int]]:
    """Return, after each unit, the digest of all units so far and their tokens."""
    states: list[bytes] = []
    sums: list[int] = []
    state, total = b"", 0
    for unit in units:
        state = blake2b(state + unit.digest, digest_size=16).digest()
        total += unit.tokens
        states.append(state)
        sums.append(total)
    return states, sums
