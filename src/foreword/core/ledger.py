"""Ledger: one row for every model call of a log, with its tokens, its money, and what is not known. A pure fold.

A call has one row however many records tell of it; attempts before it and summaries that the provider made within
it have rows of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from foreword.core.catalog import ModelSpec
from foreword.core.event import (
    Answered,
    Called,
    Draft,
    EpochStarted,
    Event,
    ForeignNoted,
    RequestSent,
    Rewritten,
    Said,
    SessionOpened,
)
from foreword.core.price import Cost, cost_at, is_peak, recorded, tier_of
from foreword.core.prices import Prices
from foreword.core.unreported import Estimate, Unreported
from foreword.core.usage import INPUT, NOTHING, Usage, known_sum

Kind = Literal["call", "compaction", "sub_context", "embedding"]
Status = Literal["ok", "cut", "failed", "cancelled", "retried", "raced"]
Phase = Literal["cold", "warm", "epoch"]
Fact = Draft | Event

NOTED: dict[str, Status] = {"api_error": "failed", "aborted": "cancelled"}
"""Code of an importer's note -> what became of the call that it tells of, for which its file counts no token."""
STOPPED: dict[str, Status] = {"error": "failed", "aborted": "cancelled"}
"""Stop reason of an answer that broke off -> why, where the record says so."""
TOLERANCE = 1_000
"""Picodollars (1e-9 USD) up to which a recorded cost agrees: programs add floats."""


class Row(Struct, frozen=True, kw_only=True, gc=False):
    """One model call.

    `step`: the answer's number in its session, from 1; a call that came to nothing has that of the answer it was
    for. `turn`: how many times a person had spoken, 0 before the first. `at`: microseconds since 1970 UTC, None:
    unknown. `model`: as recorded, so with its version. `status` `cut`: the answer broke off, by whom isn't told;
    `retried`: an attempt before another one. `usage` None: unknown. `recorded`: picodollars that the record states.
    `estimate`: what a call whose input or output is unknown probably used, in no sum of what is known; None: both are
    known, or nothing tells. `doubts`: what in its recorded usage does not add up, by name (`cache_split_mismatch`).
    `phase`: `epoch` for the first call after the base was rebuilt, else `cold` when nothing was read from the
    cache, or `warm`. `tier`: prompt size above which its prices hold, 0: the base price. `peak` None: no peak hours.
    `request`: seq of the `RequestSent` that it answers, None: it is none of ours; `asked` and `began`: the model that
    it names, which is the row's too where no answer names one, and when.
    `provider`: by the catalog. `why`: the stop reason, or the name of the error.
    `key`: the same for all copies of one call that are told at the same time, in whichever session; `call`: what its
    file calls it, the same in every copy, () when it doesn't say. `place`: where it is told first, by link. `copied`: a
    caller's list repeated it, so it is told first in another log.
    """

    session: str
    step: int
    turn: int
    at: int | None
    model: str | None
    kind: Kind
    status: Status
    usage: Usage | None
    cost: Cost
    estimate: Estimate | None = None
    doubts: tuple[str, ...] = ()
    recorded: int | None = None
    phase: Phase | None = None
    first_token_ms: int | None = None
    total_ms: int | None = None
    tier: int | None = None
    peak: bool | None = None
    terms: tuple[str, ...] = ()
    project: str | None = None
    user: str | None = None
    request: int | None = None
    asked: str | None = None
    began: int | None = None
    response_id: str | None = None
    provider: str | None = None
    why: str = ""
    key: tuple[object, ...] = ()
    call: tuple[object, ...] = ()
    place: tuple[object, ...] = ()
    copied: bool = False

    @property
    def input(self) -> int | None:
        """The whole prompt in tokens; None: unknown."""
        return self.usage.total_input if self.usage is not None else None

    @property
    def names(self) -> set[tuple[object, ...]]:
        """`key` and, where it is known, `call`: a row with one of the same is a copy."""
        return {self.key, self.call, self.place} - {()}

    @property
    def mismatch(self) -> bool:
        """Whether a cost is recorded, another one comes out, and they differ by more than 1e-9 USD."""
        known = self.cost.picodollars
        return known is not None and self.recorded is not None and abs(known - self.recorded) > TOLERANCE


def rows(
    facts: Iterable[Fact],
    *,
    session: str,
    prices: Prices,
    kind: Kind = "call",
    project: str | None = None,
) -> list[Row]:
    """Return the rows of one session; see `Ledger`."""
    ledger = Ledger(session, prices=prices, kind=kind, project=project)
    ledger.add(facts)
    return ledger.rows


def once(calls: Iterable[Row]) -> Iterator[Row]:
    """Leave out copies of calls: forks share the past of their parent, and some tools copy it to a new file."""
    seen: set[tuple[object, ...]] = set()
    for row in calls:
        if seen.isdisjoint(row.names):
            yield row
        seen |= row.names


def rewrites(facts: Iterable[Fact]) -> dict[str, int]:
    """Count the rewrites of a session by kind: `epochs`, each `How`, and `foreign`, those of the original tool.

    Notes that follow each other directly (a boundary and its summary) tell of one rewrite.
    """
    counts: Counter[str] = Counter()
    noted = False
    for fact in facts:
        before, noted = noted, False
        match fact.body:
            case Rewritten(how=how):
                counts[how] += 1
            case EpochStarted():
                counts["epochs"] += 1
            case ForeignNoted(code="compaction"):
                counts["foreign"] += not before
                noted = True
            case _:
                pass
    return dict(sorted(counts.items()))


class Totals(Struct, frozen=True, kw_only=True):
    """Figures of many calls.

    `usage` and `cost` (picodollars) add up what is known: the usage of `counted` calls, the cost of all but `unknown`
    ones. `lacking`: of the counted calls those that don't tell a bucket, by its name. `estimated_cost`: picodollars
    of `estimated` calls without a whole usage, by their estimates, and in no other sum.
    `doubts`: calls by what in their usage does not add up. `recorded`: picodollars stated for `recorded_calls` calls.
    `peak_input`: the largest prompt that is known, None: none is. A mismatch: see `Row`.
    """

    calls: int
    statuses: dict[str, int]
    kinds: dict[str, int]
    usage: Usage
    counted: int
    lacking: dict[str, int]
    cost: int
    unknown: int
    unknown_names: tuple[str, ...]
    estimated: int
    estimated_cost: int
    doubts: dict[str, int]
    recorded: int
    recorded_calls: int
    mismatches: int
    peak_input: int | None

    @property
    def hit_rate(self) -> float | None:
        """Cache reads as a share of all prompts, from the totals; None: no prompt, or an unknown part of one."""
        whole = None if INPUT & self.lacking.keys() else self.usage.total_input
        return None if self.usage.cache_read is None or not whole else self.usage.cache_read / whole


def total(calls: Iterable[Row]) -> Totals:
    """Add up calls. Exact: integers throughout."""
    listed = list(calls)
    known = [row.usage for row in listed if row.usage is not None]
    usage, lacking = known_sum(known)
    costs = [row.cost.picodollars for row in listed if row.cost.picodollars is not None]
    likely = [row.estimate.cost.picodollars for row in listed if row.estimate is not None]
    estimated = [amount for amount in likely if amount is not None]
    stated = [row.recorded for row in listed if row.recorded is not None]
    return Totals(
        calls=len(listed),
        statuses=dict(Counter(row.status for row in listed)),
        kinds=dict(Counter(row.kind for row in listed)),
        usage=usage,
        counted=len(known),
        lacking=lacking,
        cost=sum(costs),
        unknown=len(listed) - len(costs),
        unknown_names=tuple(dict.fromkeys(name for row in listed for name in row.cost.unknown)),
        estimated=len(estimated),
        estimated_cost=sum(estimated),
        doubts=dict(Counter(doubt for row in listed for doubt in row.doubts)),
        recorded=sum(stated),
        recorded_calls=len(stated),
        mismatches=sum(row.mismatch for row in listed),
        peak_input=max((row.input for row in listed if row.input is not None), default=None),
    )


def grouped(calls: Iterable[Row], by: Callable[[Row], str]) -> dict[str, Totals]:
    """Add up calls by a key of theirs, in the order in which the keys first occur."""
    groups: dict[str, list[Row]] = {}
    for row in calls:
        groups.setdefault(by(row), []).append(row)
    return {name: total(group) for name, group in groups.items()}


class Ledger:
    """The rows of one session, in log order, which grow with its log.

    `kind`: of its answers, `sub_context` for the session of a sub-agent, unless the log says so. `project`: unless the
    log names its own. The user is the `subject` of each fact.
    An erased answer has a row of unknown tokens.
    """

    def __init__(
        self, session: str, *, prices: Prices, kind: Kind = "call", project: str | None = None
    ) -> None:
        self.session = session
        self.rows: list[Row] = []
        self.position = 0
        """How many facts were taken."""
        self.prices = prices
        """Of the facts that come next."""
        self._kind: Kind = kind
        self._project = project
        self._step = 0
        self._turn = 0
        self._spoken = False
        self._rebuilt = False
        self._told: set[str] = set()
        self._sent: dict[int, _Sent] = {}
        self._unreported = Unreported()

    def add(self, facts: Iterable[Fact]) -> None:
        """Take the facts that come next."""
        for fact in facts:
            self.rows += self._rows_of(self.position, fact)
            self._unreported.take(fact.body)
            self.position += 1

    def _rows_of(self, number: int, fact: Fact) -> Iterator[Row]:
        match fact.body:
            case SessionOpened() as body:
                self._project = body.project or self._project
                self._kind = "sub_context" if body.by_agent else self._kind
            case Said(person=True):
                self._turn += not self._spoken
                self._spoken = True
            case EpochStarted() | ForeignNoted(code="compaction"):
                self._rebuilt = self._step > 0
            case RequestSent(model=model, tokens=tokens):
                self._sent[number] = _Sent(model=model, at=fact.at, tokens=tokens)
            case ForeignNoted(code=code) as body if code in NOTED:
                noted = Called(model=body.model, usage=NOTHING, recorded_cost_usd=body.recorded_cost_usd)
                yield self._row(number, fact, noted, self._kind, NOTED[code], self._step + 1)
            case Called() as body:
                kind = self._kind if body.kind == "call" else body.kind
                step = self._step + (body.kind == "call")
                yield from self._attempts(number, fact, body, kind, step)
                yield from self._summaries(number, fact, body, step)
                yield self._row(number, fact, body, kind, body.status, step)
            case Answered() as body:
                yield from self._answer(number, fact, body)
            case None if isinstance(fact, Event) and fact.kind == "answered":
                self._step += 1
                yield self._row(number, fact, Called(), self._kind, "ok", self._step)
            case _:
                pass

    def _answer(self, number: int, fact: Fact, body: Answered) -> Iterator[Row]:
        rest = body.usage is None and body.response_id in self._told
        if rest:  # the rest of an answer that was recorded while it was being written
            return
        self._step += 1
        self._spoken = False
        if body.response_id is not None:
            self._told.add(body.response_id)
        yield from self._attempts(number, fact, body, self._kind, self._step)
        yield from self._summaries(number, fact, body, self._step)
        status = STOPPED.get(body.stop_reason or "", "cut") if body.partial else "ok"
        yield self._row(number, fact, body, self._kind, status, self._step)
        self._rebuilt = False

    def _summaries(self, number: int, fact: Fact, body: Answered | Called, step: int) -> Iterator[Row]:
        for index, usage in enumerate(body.compactions):
            spent = Called(
                model=body.model, usage=usage, terms=body.terms, request=body.request, call=body.call
            )
            yield self._row(
                number, fact, spent, "compaction", "ok", step, ("compaction", index), body.response_id
            )

    def _attempts(
        self, number: int, fact: Fact, body: Answered | Called, kind: Kind, step: int
    ) -> Iterator[Row]:
        """A request is sent again while no byte of an answer has come: an attempt costs nothing unless it is lost."""
        for attempt in range(1, body.attempts):
            usage = None if attempt <= body.lost else NOTHING
            tried = Called(model=body.model, usage=usage, request=body.request, call=body.call)
            mark = ("attempt", attempt)
            yield self._row(number, fact, tried, kind, "retried", step, mark, body.response_id)

    def _row(
        self,
        number: int,
        fact: Fact,
        body: Answered | Called,
        kind: Kind,
        status: Status,
        step: int,
        mark: tuple[object, ...] = (),
        response: str | None = None,
    ) -> Row:
        usage = body.usage
        sent = self._sent.get(body.request) if body.request is not None else None
        model = body.model or (sent.model if sent is not None else None)
        seconds = None if fact.at is None else fact.at // 1_000_000
        spec = self.prices.spec(model) or (self.prices.spec(sent.model) if sent is not None else None)
        estimate = None
        whole = usage is not None and usage.total_input is not None and usage.output is not None
        told = not mark and (isinstance(body, Answered) or body.kind == "call")
        if not whole and told and fact.body is not None:
            factor = spec.token_factor_start if spec is not None else 1.0
            asked = sent.tokens if sent is not None else None
            likely = self._unreported.usage(fact.body, factor, asked=asked, known=usage)
            estimate = Estimate(usage=likely, cost=_cost(likely, model, body.terms, spec, seconds))
        response = response or body.response_id
        copied = fact.body.copy_of if isinstance(fact.body, Answered) else None
        place = copied or (fact.link.hex() if isinstance(fact, Event) else (self.session, number))
        identity = (response, model, fact.at) if response is not None else (place,)
        return Row(
            session=self.session,
            step=step,
            turn=self._turn,
            at=fact.at,
            model=model,
            kind=kind,
            status=status,
            usage=usage,
            cost=_cost(usage, model, body.terms, spec, seconds),
            estimate=estimate,
            doubts=() if mark else body.doubts,
            recorded=None if body.recorded_cost_usd is None else recorded(body.recorded_cost_usd),
            phase=None if mark or kind == "compaction" else self._phase(usage),
            first_token_ms=body.first_token_ms,
            total_ms=body.total_ms,
            tier=tier_of(usage, spec) if usage is not None and spec is not None else None,
            peak=is_peak(spec, seconds) if spec is not None and seconds is not None else None,
            terms=body.terms,
            project=self._project,
            user=fact.subject,
            request=body.request,
            asked=sent.model if sent is not None else None,
            began=sent.at if sent is not None and not mark else None,
            response_id=response,
            provider=spec.provider if spec is not None else None,
            why=body.why if isinstance(body, Called) else body.stop_reason or "",
            key=(*identity, *mark),
            place=(place, *mark),
            copied=copied is not None,
            call=(body.call, model, *mark) if body.call is not None else (),
        )

    def _phase(self, usage: Usage | None) -> Phase | None:
        if usage is None or not usage.total_input or usage.cache_read is None:
            return None
        if self._rebuilt:
            return "epoch"
        return "warm" if usage.cache_read else "cold"


class _Sent(Struct, frozen=True, kw_only=True):
    """What a `RequestSent` says of the calls that answer it."""

    model: str
    at: int | None
    tokens: int


def _cost(
    usage: Usage | None, model: str | None, terms: Sequence[str], spec: ModelSpec | None, seconds: int | None
) -> Cost:
    if usage is None:
        return Cost(picodollars=None, unknown=("usage",))
    if usage == NOTHING:
        return Cost(picodollars=0)
    if spec is None:
        return Cost(picodollars=None, unknown=(f"model.{model or ''}",))
    return cost_at(usage, spec, seconds, terms)
