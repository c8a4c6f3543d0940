"""Spend limits: what may be spent for a call, a session, a user, a day; checked before a request is handed out.

A soft limit leaves a notice in the session, once; a hard one refuses with `SpendLimitReached`. What is spent comes
from the ledger of the sessions in the store, so limits hold over processes and restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from foreword.compiler.compile import Compiled
from foreword.core.catalog import ModelSpec, Rates
from foreword.core.event import Draft, Event, Noticed, by_engine
from foreword.core.ledger import Ledger, Row, once
from foreword.core.price import PICODOLLARS, Cost, cost_at, day_of, picodollars, usd
from foreword.core.prices import Prices
from foreword.core.usage import Usage
from foreword.errors import SpendLimitReached, SpendUnknown

if TYPE_CHECKING:
    from foreword.engine.session import Session

Scope = Literal["call", "session", "user", "day"]
TOPIC = "spend"
SHORT_TTL = 300
"""Seconds for which a cache is taken to hold where the catalog doesn't say: the shortest that any provider sells."""


class Limit(Struct, frozen=True, kw_only=True):
    """What may be spent in one scope, as decimal strings of US dollars; None: no limit of that sort.

    `day`: of all sessions of the store since midnight UTC. `user`: of all sessions of the store, by the session's
    `user`; without one the limit holds for all calls that name no user.
    """

    scope: Scope
    soft: str | None = None
    hard: str | None = None


class Spend:
    """Watches limits. One object may serve many sessions of one store, one after the other."""

    def __init__(self, limits: Iterable[Limit], *, prices: Prices | None = None) -> None:
        """Raises: ValueError for a limit that is no sum of money."""
        self.limits = tuple(limits)
        self._prices = prices or Prices()
        self._soft = {limit: picodollars(limit.soft) for limit in self.limits if limit.soft is not None}
        self._hard = {limit: picodollars(limit.hard) for limit in self.limits if limit.hard is not None}
        self._ledgers: dict[str, Ledger] = {}

    def check(self, session: Session, compiled: Compiled, now: int) -> list[Draft]:
        """Return the notices of soft limits that this call passes and that the session does not hold yet.

        `now`: microseconds since 1970 UTC.
        Raises: SpendLimitReached; SpendUnknown where a hard limit stands and the model has no price.
        """
        model = compiled.target.params.model
        own = self._rows_of(session)
        next_call = self.predicted(compiled, own, now)
        drafts: list[Draft] = []
        for limit in self.limits:
            if next_call.picodollars is None:
                if limit in self._hard:
                    raise SpendUnknown(limit.scope, model, next_call.unknown)
                continue
            name, counted = self._scope(limit.scope, session, own, now)
            spent = sum(_spent(row, next_call.picodollars) for row in once(counted))
            after = spent + next_call.picodollars
            if limit in self._hard and after > self._hard[limit]:
                raise SpendLimitReached(
                    limit.scope,
                    name,
                    limit=usd(self._hard[limit]),
                    spent=usd(spent),
                    predicted=usd(next_call.picodollars),
                )
            topic = f"{TOPIC} {limit.scope} {name}"
            if limit in self._soft and after > self._soft[limit] and not _noticed(session.events, topic):
                text = (
                    f"Spending for this {limit.scope} passes its mark of {usd(self._soft[limit])} USD: "
                    f"{_cents(spent)} USD so far, about {_cents(next_call.picodollars)} USD for the next call."
                )
                drafts.append(_notice(topic, text))
        return drafts

    def predicted(self, compiled: Compiled, own: Sequence[Row], now: int) -> Cost:
        """Predict what a request will cost, from its size.

        What the last call was sent counts as read from the cache when that call used it and its time to live has
        not passed, all else at the dearer of input and cache write. The output is taken to be as long as the
        session's answers were on average; before the first one it is left out.
        """
        spec = self._prices.spec(compiled.target.params.model) or compiled.target.spec
        size = compiled.predicted
        last = next((row for row in reversed(own) if row.kind == "call" and row.input), None)
        if last is None or not self._same_model(last.model, compiled.target.params.model):
            kept = 0
        else:
            kept = min(_cached(compiled, last, spec, now), size)
        outputs = [row.usage.output for row in own if row.usage is not None and row.usage.output]
        output = sum(outputs) // len(outputs) if outputs else 0
        dear = _writes_cost_more(spec.priced_on(day_of(now // 1_000_000)).price)
        usage = Usage(
            uncached=0 if dear else size - kept,
            cache_read=kept,
            cache_write_short=size - kept if dear else 0,
            cache_write_long=0,
            output=output,
        )
        return cost_at(usage, spec, now // 1_000_000)

    def _same_model(self, model: str | None, other: str) -> bool:
        """Whether two names mean one row of the catalog, as a request's and the dated one of its answer do."""
        known, asked = self._prices.spec(model), self._prices.spec(other)
        return (
            model is None
            or model == other
            or (known is not None and asked is not None and known.id == asked.id)
        )

    def _scope(
        self, scope: Scope, session: Session, own: Sequence[Row], now: int
    ) -> tuple[str, Iterable[Row]]:
        """Return the scope's name and the calls that count in it."""
        today = day_of(now // 1_000_000)
        match scope:
            case "call":
                return session.id, ()
            case "session":
                return session.id, own
            case "user":
                return session.user or "(none)", [
                    row for row in self._all(session, own) if row.user == session.user
                ]
            case "day":
                every = self._all(session, own)
                return today, [
                    row for row in every if row.at is not None and day_of(row.at // 1_000_000) == today
                ]

    def _all(self, session: Session, own: Sequence[Row]) -> Iterator[Row]:
        """Yield the rows of every session of the store; only what a session has grown by is read."""
        yield from own
        store = session.store
        for listed in store.sessions() if store is not None else ():
            if listed.id == session.id:
                continue
            ledger = self._ledger(listed.id)
            if store is not None and ledger.position < listed.events:
                ledger.add(store.load(listed.id, since=ledger.position))
            yield from ledger.rows

    def _rows_of(self, session: Session) -> Sequence[Row]:
        ledger = self._ledger(session.id)
        ledger.add(session.events[ledger.position :])
        return ledger.rows

    def _ledger(self, session: str) -> Ledger:
        if session not in self._ledgers:
            self._ledgers[session] = Ledger(session, prices=self._prices)
        return self._ledgers[session]


def _spent(row: Row, likely: int) -> int:
    """Return what a call cost; one of ours whose bill is unknown counts as much as the next is likely to cost."""
    if row.cost.picodollars is not None:
        return row.cost.picodollars
    return likely if row.request is not None else 0


def _cached(compiled: Compiled, last: Row, spec: ModelSpec, now: int) -> int:
    """Return how many tokens of the request the provider should still hold from the call before."""
    if last.usage is None or last.at is None or not compiled.grown:
        return 0
    used = (
        (last.usage.cache_read or 0)
        + (last.usage.cache_write_short or 0)
        + (last.usage.cache_write_long or 0)
    )
    alive = now - last.at < (spec.cache_ttl_short or SHORT_TTL) * 1_000_000
    return (last.input or 0) if used and alive else 0


def _writes_cost_more(price: Rates | None) -> bool:
    if price is None or price.cache_write_short is None or price.input is None:
        return False
    return picodollars(price.cache_write_short) > picodollars(price.input)


def _noticed(events: Sequence[Event], topic: str) -> bool:
    return any(isinstance(event.body, Noticed) and event.body.topic == topic for event in events)


def _notice(topic: str, text: str) -> Draft:
    return by_engine(Noticed(topic=topic, text=text))


def _cents(amount: int) -> str:
    """Write picodollars as dollars with four decimals, as much as a notice needs."""
    return f"{amount / PICODOLLARS:.4f}"
