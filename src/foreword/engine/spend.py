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
from foreword.core.event import Draft, Event, Noticed, RequestSent
from foreword.core.ledger import Row, once, rows
from foreword.core.price import Cost, cost_at, day_of, picodollars, usd
from foreword.core.prices import Prices
from foreword.core.usage import Usage
from foreword.errors import SpendLimitReached, SpendUnknown

if TYPE_CHECKING:
    from foreword.engine.session import Session

Scope = Literal["call", "session", "user", "day"]
TOPIC = "spend"


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
        self._known: dict[str, tuple[int, list[Row]]] = {}

    def check(self, session: Session, compiled: Compiled, now: int) -> list[Draft]:
        """Return the notices of soft limits that this call passes and that the session does not hold yet.

        `now`: microseconds since 1970 UTC.
        Raises: SpendLimitReached; SpendUnknown where a hard limit stands and the model has no price.
        """
        model = compiled.target.params.model
        own = self._rows_of(session.id, session.events)
        next_call = self.predicted(compiled, own, now)
        drafts: list[Draft] = []
        for limit in self.limits:
            if next_call.picodollars is None:
                if limit in self._hard:
                    raise SpendUnknown(limit.scope, model, next_call.unknown)
                continue
            name, counted = self._scope(limit.scope, session, own, now)
            spent = sum(self._spent(row, session) for row in once(counted))
            after = spent + next_call.picodollars
            if limit in self._hard and after > self._hard[limit]:
                raise SpendLimitReached(
                    limit.scope,
                    name,
                    limit=usd(self._hard[limit]),
                    spent=usd(spent),
                    predicted=usd(next_call.picodollars),
                )
            topic = f"{TYPED[limit.scope]} {name}" if limit.scope != "call" else TYPED["call"]
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
        kept = min(_cached(compiled, own, spec, now), size)
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

    def _scope(self, scope: Scope, session: Session, own: Sequence[Row], now: int) -> tuple[str, Iterable[Row]]:
        """Return the scope's name and the calls that count in it."""
        today = day_of(now // 1_000_000)
        match scope:
            case "call":
                return session.id, ()
            case "session":
                return session.id, own
            case "user":
                return session.user or "(none)", [row for row in self._all(session, own) if row.user == session.user]
            case "day":
                every = self._all(session, own)
                return today, [row for row in every if row.at is not None and day_of(row.at // 1_000_000) == today]

    def _all(self, session: Session, own: Sequence[Row]) -> Iterator[Row]:
        """Yield the rows of every session of the store; one that has not grown is not read again."""
        yield from own
        for listed in session.store.sessions() if session.store is not None else ():
            if listed.id == session.id:
                continue
            known = self._known.get(listed.id)
            if known is None or known[0] != listed.events:
                assert session.store is not None
                known = (listed.events, self._rows_of(listed.id, session.store.load(listed.id)))
                self._known[listed.id] = known
            yield from known[1]

    def _rows_of(self, session: str, events: Sequence[Event]) -> list[Row]:
        return list(rows(events, session=session, prices=self._prices))
