"""A cache with a clock and a bill: the cache model of the catalog, in the place of a referee's own cache.

The referees' own caches (`prefix_cache`) know no time; they were written apart from the model, and tests hold both
against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from foreword.core.cache_model import Cache, CacheUnit, Life, Moment, Outcome, rules_of
from foreword.core.catalog import ModelSpec
from foreword.core.price import FREE, Cost
from foreword.testing.prefix_cache import CacheUse, Unit

LIVES: Mapping[str, Life] = {"5m": "short", "1h": "long"}


class TimedCache:
    """A `CachePolicy` of one model. `bill` is what all requests cost, `outcomes` what became of each.

    `clock` returns microseconds since 1970 UTC. A response begins `begins` and ends `ends` microseconds after its
    request: what is sent before it began can't read what it writes, and lives count from its end. Raises ValueError
    for a model whose cache the catalog doesn't describe.
    """

    def __init__(self, spec: ModelSpec, clock: Callable[[], int], *, begins: int = 0, ends: int = 0) -> None:
        rules = rules_of(spec)
        if rules is None:
            raise ValueError(f"the catalog does not say how the cache of {spec.id} works")
        self.spec = spec
        self.bill: Cost = FREE
        self.outcomes: list[Outcome] = []
        self._clock = clock
        self._begins, self._ends = begins, max(begins, ends)
        self._cache = Cache(rules)

    def use(self, units: Sequence[Unit]) -> CacheUse:
        """Read and write for a request that was accepted now, and add it to the bill."""
        moment = self._moment()
        outcome = self._cache.send(_taken(units), moment)
        self.outcomes.append(outcome)
        self.bill += outcome.cost(self.spec, moment.sent)
        return CacheUse(
            read=outcome.read,
            write_5m=outcome.written_short,
            write_1h=outcome.written_long,
            uncached=outcome.uncached,
        )

    def answered(self, units: Sequence[Unit]) -> None:
        """Note a request together with its answer, given as the units it will be sent back as."""
        self._cache.answered(_taken(units), self._moment())

    def _moment(self) -> Moment:
        now = self._clock()
        return Moment(sent=now, began=now + self._begins, ended=now + self._ends)


def _taken(units: Sequence[Unit]) -> list[CacheUnit]:
    return [
        CacheUnit(
            digest=unit.digest,
            tokens=unit.tokens,
            key=unit.key,
            mark=None if unit.mark is None else LIVES[unit.mark],
        )
        for unit in units
    ]
