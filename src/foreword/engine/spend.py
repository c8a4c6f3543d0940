"""Spend limits: what may be spent for a call, a session, a user, a day; checked before a request is handed out.

A soft limit leaves a notice in the session, once; a hard one refuses with `SpendLimitReached`. What is spent comes
from the ledger of the sessions in the store, and what was handed out from their requests without an answer, so limits
hold over processes and restarts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct

from foreword.compiler.compile import Compiled
from foreword.core.catalog import ModelSpec
from foreword.core.event import Called, Draft, Event, Noticed, RequestSent, SessionOpened, by_engine
from foreword.core.ledger import Ledger, Row
from foreword.core.price import PICODOLLARS, Cost, day_of, picodollars, usd
from foreword.core.prices import Prices
from foreword.core.usage import NOTHING
from foreword.engine.next_call import NextCall, likely_cost
from foreword.engine.outstanding import Outstanding
from foreword.engine.sync_forks import ORIGIN
from foreword.errors import InvalidArgument, SpendLimitReached, SpendUnknown

if TYPE_CHECKING:
    from foreword.engine.session import Session
    from foreword.store import SessionRow, Store

Scope = Literal["call", "session", "user", "day"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_DOLLARS = 'US dollars as a string, such as "0.50"'
TOPIC = "spend"
DAY = 86_400_000_000
"""Microseconds; days begin at midnight UTC."""
_SHARED = frozenset({"session", "user", "day"})
"""Scopes in which calls of other logs count: of the same session before the caller edited his list, or of all."""


class Limit(Struct, frozen=True, kw_only=True):
    """What may be spent in one scope, as decimal strings of US dollars; None: no limit of that sort.

    `session`: with the forks that `sync` made of it. `day`: of all sessions of the store since midnight UTC. `user`: of
    all sessions of the store, by the session's `user`; without one the limit holds for all calls that name no user.
    Raises: InvalidArgument for another scope, what is no such sum, a limit without one, a `soft` over its `hard`.
    """

    scope: Scope
    soft: str | None = None
    hard: str | None = None

    def __post_init__(self) -> None:
        """Check what would else be no limit, without a word, or fail at the first request."""
        if self.scope not in SCOPES:
            raise InvalidArgument("Limit", "scope", self.scope, f"one of {', '.join(SCOPES)}")
        soft, hard = _sum("soft", self.soft), _sum("hard", self.hard)
        if soft is None and hard is None:
            raise InvalidArgument("Limit", "hard", None, f"soft or hard, {_DOLLARS}; or leave the limit out")
        if soft is not None and hard is not None and soft > hard:
            raise InvalidArgument("Limit", "soft", self.soft, f"at most the hard limit of {self.hard}")


class Spend:
    """Watches limits. One object may serve many sessions of one store, one after the other."""

    def __init__(self, limits: Iterable[Limit], *, prices: Prices | None = None) -> None:
        """Raises: InvalidArgument for what is no `Limit`."""
        if not isinstance(limits, Iterable) or isinstance(limits, str):
            raise InvalidArgument("Spend", "limits", limits, "a list of Limit")
        self.limits = tuple(limits)
        if not all(isinstance(one, Limit) for one in self.limits):
            raise InvalidArgument("Spend", "limits", limits, "a list of Limit")
        self._prices = prices or Prices()
        self._soft = {limit: picodollars(limit.soft) for limit in self.limits if limit.soft is not None}
        self._hard = {limit: picodollars(limit.hard) for limit in self.limits if limit.hard is not None}
        self._ledgers: dict[str, Ledger] = {}
        self._outstanding: defaultdict[str, Outstanding] = defaultdict(Outstanding)
        self._purses: defaultdict[tuple[Scope, str | None], _Purse] = defaultdict(_Purse)
        self._first: dict[str, str] = {}
        """Session -> the one whose caller's edits led to it; itself for any other."""
        self._quiet: tuple[int, dict[str, int]] | None = None
        """From which midnight on which sessions were quiet, and how many events they had then."""
        self._calling: set[str] = set()
        """Sessions of which a request of ours is known."""
        self._told: set[tuple[str, str]] = set()
        """Session and topic of the notices that stand already."""

    def check(self, session: Session, compiled: Compiled, now: int) -> list[Draft]:
        """Return the notices of soft limits that this call passes and that the session does not hold yet.

        `now`: microseconds since 1970 UTC. A call whose tokens nobody told counts by its estimate, one of ours at least
        as much as the next is likely to cost.
        Raises: SpendLimitReached; SpendUnknown where a hard limit stands and the model, or that of a call which
        counts, has no price.
        """
        model = compiled.target.params.model
        self._learn(session, model, compiled.target.spec)
        own = self._rows_of(session)
        if any(limit.scope in _SHARED for limit in self.limits):
            self._read_others(session, now)
        next_call = self.predicted(compiled, own, now)
        drafts: list[Draft] = []
        for limit in self.limits:
            if next_call.picodollars is None:
                if limit in self._hard:
                    raise SpendUnknown(limit.scope, model, next_call.unknown)
                continue
            name, purse = self._scope(limit.scope, session, now)
            waiting, unpriced = self._waiting(limit.scope, session, now)
            spent = purse.spent(next_call.picodollars) + waiting
            after = spent + next_call.picodollars
            if limit in self._hard and after > self._hard[limit]:
                raise SpendLimitReached(
                    limit.scope,
                    name,
                    limit=usd(self._hard[limit]),
                    spent=usd(spent),
                    predicted=usd(next_call.picodollars),
                )
            unpriced = purse.unpriced or unpriced
            if limit in self._hard and unpriced is not None:
                raise SpendUnknown(limit.scope, *unpriced)
            topic = f"{TOPIC} {limit.scope} {name}"
            if limit in self._soft and after > self._soft[limit] and (session.id, topic) not in self._told:
                text = (
                    f"Spending for this {limit.scope} passes its mark of {usd(self._soft[limit])} USD: "
                    f"{_cents(spent)} USD so far, about {_cents(next_call.picodollars)} USD for the next call."
                )
                drafts.append(_notice(topic, text))
        return drafts

    def reserve(self, session: Session, compiled: Compiled, now: int) -> bool:
        """Write that the session's newest request is handed out, before it is, so that every process counts it.

        Of two processes that each found room for one, who is second to write finds the other's, and takes his back.
        False: another writer of the session was first, so the request is to be compiled anew.
        Raises: as `check`.
        """
        sent = session.events[-1]
        session.flush()
        if session.events[-1].link != sent.link:
            return False
        self._count(session.id, session.events[self._ledger(session.id).position :])
        if not any(limit.scope in _SHARED for limit in self._hard):
            return True
        try:
            self.check(session, compiled, now)
        except (SpendLimitReached, SpendUnknown) as error:
            model, why = compiled.target.params.model, type(error).__name__
            never = Called(status="cancelled", model=model, usage=NOTHING, request=sent.seq, why=why)
            session.append(by_engine(never, subject=session.user))
            raise
        return True

    def leave(self, session: Session) -> None:
        """Count what a session holds that is followed no further: one in memory can't be read later."""
        self._rows_of(session)

    def predicted(self, compiled: Compiled, own: Sequence[Row], now: int) -> Cost:
        """Predict what a request will cost: see `likely_cost`. ``own``: the session's calls so far."""
        spec = self._prices.spec(compiled.target.params.model) or compiled.target.spec
        return likely_cost(NextCall.of(compiled), own, spec, self._prices, now)

    def _learn(self, session: Session, model: str, spec: ModelSpec) -> None:
        """Take in a model that the prices lack, and count again: calls of it may stand as unpriced.

        What lives in memory only can't be read again; such sessions that share this object stay as they were counted.
        """
        prices = self._prices.also(model, spec)
        if prices is self._prices:
            return
        self._prices = prices
        if session.store is not None or self._ledgers.keys() <= {session.id}:
            self._ledgers.clear()
            self._outstanding.clear()
            self._purses.clear()
            self._calling.clear()

    def _scope(self, scope: Scope, session: Session, now: int) -> tuple[str, _Purse]:
        """Return the scope's name and what the calls that count in it come to."""
        match scope:
            case "call":
                return session.id, _Purse()
            case "session":
                first = self._first_of(session.id)
                return first, self._purses[scope, first]
            case "user":
                return session.user or "(none)", self._purses[scope, session.user]
            case "day":
                today = day_of(now // 1_000_000)
                return today, self._purses[scope, today]

    def _waiting(
        self, scope: Scope, session: Session, now: int
    ) -> tuple[int, tuple[str, tuple[str, ...]] | None]:
        """Return the picodollars that other sessions' requests without an answer are predicted to cost.

        Each counts on the day on which it was sent, as a process that died will never say what became of its own; for
        a session as long as it lives.
        The session's own gives way to the one that is checked. Second: model of one that has no price, and why.
        """
        total, unpriced = 0, None
        for name, waiting in self._outstanding.items() if scope in _SHARED else ():
            event = waiting.event
            if event is None or name == session.id or (scope == "user" and event.subject != session.user):
                continue
            if scope == "session" and self._first_of(name) != self._first_of(session.id):
                continue
            if scope != "session" and day_of(event.at // 1_000_000) != day_of(now // 1_000_000):
                continue
            cost = waiting.cost(self._ledger(name).rows, self._prices)
            total += cost.picodollars or 0
            if cost.picodollars is None and isinstance(event.body, RequestSent):
                unpriced = event.body.model, cost.unknown
        return total, unpriced

    def _rows_of(self, session: Session) -> Sequence[Row]:
        events = session.events
        end = len(events)
        while end and isinstance(events[end - 1].body, RequestSent):
            end -= 1  # it may not be written yet, and is dropped when another writer is first
        return self._count(session.id, events[self._ledger(session.id).position : end])

    def _read_others(self, session: Session, now: int) -> None:
        """Count what the store's other sessions hold, as far as they matter; only what one has grown by is read."""
        store, scopes = session.store, {limit.scope for limit in self.limits}
        if store is None:
            return
        first = self._first_of(session.id)
        family = {first, *(fork.id for fork in store.forks(first))} if "session" in scopes else set[str]()
        if scopes.isdisjoint({"user", "day"}) and family <= {session.id}:
            return
        rows = store.sessions()
        quiet = (
            {row.id: row.events for row in rows}
            if "day" not in scopes
            else self._quiet_since(store, rows, now)
        )
        for row in rows:
            since = self._ledger(row.id).position
            matters = "user" in scopes or row.id in family or quiet.get(row.id) != row.events
            if matters and row.id != session.id and since < row.events:
                self._count(row.id, store.load(row.id, since=since))

    def _quiet_since(self, store: Store, rows: Iterable[SessionRow], now: int) -> dict[str, int]:
        """Return the sessions of which nothing counts in a limit of today, with the number of their events.

        Looked for once, as it takes a look at each event: what grows from then on is read.
        """
        midnight = now - now % DAY
        if self._quiet is None or midnight < self._quiet[0]:
            busy = store.busy_since(midnight)
            self._quiet = midnight, {row.id: row.events for row in rows if row.id not in busy}
        return self._quiet[1]

    def _count(self, session: str, events: Sequence[Event]) -> Sequence[Row]:
        """Count what a session has grown by, once in each scope; return all its rows."""
        ledger = self._ledger(session)
        before = len(ledger.rows)
        ledger.prices = self._prices
        ledger.add(events)
        self._outstanding[session].add(events)
        for event in events:
            if isinstance(event.body, SessionOpened) and (
                event.body.parent is None or event.origin != ORIGIN
            ):
                self._first[session] = event.body.session
        for row in ledger.rows[before:]:
            if row.copied:
                continue  # its call stands in the log that it comes from, which counts wherever this one does
            if row.request is not None:
                self._calling.add(session)
            elif row.model is None and row.estimate is not None and session not in self._calling:
                continue  # it stands in a list or a file from before: nobody called a model for it here
            self._purses["session", self._first_of(session)].take(row)
            self._purses["user", row.user].take(row)
            if row.at is not None:
                self._purses["day", day_of(row.at // 1_000_000)].take(row)
        notices = (event.body for event in events if isinstance(event.body, Noticed))
        self._told.update((session, notice.topic) for notice in notices)
        return ledger.rows

    def _first_of(self, session: str) -> str:
        return self._first.get(session, session)

    def _ledger(self, session: str) -> Ledger:
        if session not in self._ledgers:
            self._ledgers[session] = Ledger(session, prices=self._prices)
        return self._ledgers[session]


def _sum(name: str, given: object) -> int | None:
    """Read a limit's sum as picodollars; None: not given. A float is none: 0.1 holds another sum than it shows."""
    if given is None:
        return None
    try:
        amount = picodollars(given) if isinstance(given, str) else -1
    except ValueError:
        amount = -1
    if amount < 0:
        raise InvalidArgument(
            "Limit", name, given, f"{_DOLLARS}, 0 or more, in whole picodollars (12 decimals)"
        )
    return amount


class _Purse:
    """What the calls of one scope come to. ``unpriced``: model of one that not even an estimate prices, and why."""

    def __init__(self) -> None:
        self.unpriced: tuple[str, tuple[str, ...]] | None = None
        self._sum = 0
        self._guesses: list[int] = []
        self._seen: set[tuple[object, ...]] = set()

    def take(self, row: Row) -> None:
        """Count a call, but no copy of one."""
        copied = not self._seen.isdisjoint(row.names)
        self._seen |= row.names
        if copied:
            return
        erased = row.usage is None and row.estimate is None  # or an attempt that may have been billed
        nameless = row.kind == "call" and row.model is None  # listed, and nobody says which model it was
        cost = row.cost if row.estimate is None else row.estimate.cost
        if row.cost.picodollars is not None:
            self._sum += row.cost.picodollars
        elif erased or nameless:
            self._guesses.append(0)
        elif cost.picodollars is None:
            self.unpriced = row.model or "", cost.unknown
        elif row.request is None:
            self._sum += cost.picodollars
        else:
            self._guesses.append(cost.picodollars)

    def spent(self, next_call: int) -> int:
        """Return picodollars; a call that is only guessed at counts at least as much as the next one."""
        return self._sum + sum(max(guess, next_call) for guess in self._guesses)


def _notice(topic: str, text: str) -> Draft:
    return by_engine(Noticed(topic=topic, text=text))


def _cents(amount: int) -> str:
    """Write picodollars as dollars with four decimals, as much as a notice needs."""
    return f"{amount / PICODOLLARS:.4f}"
