"""The request of a session that was handed out and has no answer yet: it may be billed, and no row says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foreword.compiler.policy import DEFAULT
from foreword.core.event import Answered, Called, Event, MarksSet, RequestSent, SessionOpened
from foreword.core.ledger import Row
from foreword.core.price import Cost
from foreword.core.prices import Prices
from foreword.engine.next_call import LONG, NextCall, likely_cost


class Outstanding:
    """Follows one log. What a fork shares is its parent's."""

    def __init__(self) -> None:
        self.event: Event | None = None
        """The newest request, until it is answered or the end of its call is told; None: there is none."""
        self._sent: RequestSent | None = None
        self._factors: dict[str, float] = {}
        """Model -> its tokens for one of the counter's, by the newest answer that tells."""
        self._long = False
        self._known: tuple[Prices, Cost] | None = None
        """What was worked out last; a store may hold many that wait, and each check asks for all."""

    def add(self, events: Iterable[Event]) -> None:
        """Take the events that come next."""
        self._known = None
        for event in events:
            match event.body:
                case RequestSent() as sent:
                    self.event, self._sent = event, sent
                case Answered(usage=usage):
                    size = usage.total_input if usage is not None else None
                    if self._sent is not None and self._sent.tokens and size:
                        self._factors[self._sent.model] = size / self._sent.tokens
                    self.event = self._sent = None
                case Called(kind="call", request=int()) | SessionOpened():
                    self.event = self._sent = None
                case MarksSet(marks=marks):
                    self._long = any(mark.ttl == LONG for mark in marks)
                case _:
                    pass

    def cost(self, own: Sequence[Row], prices: Prices) -> Cost:
        """Predict what it costs, from what the log says of it. ``own``: the session's calls."""
        if self._known is None or self._known[0] is not prices:
            self._known = prices, self._predict(own, prices)
        return self._known[1]

    def _predict(self, own: Sequence[Row], prices: Prices) -> Cost:
        event, sent = self.event, self._sent
        if event is None or sent is None:
            return Cost(picodollars=0)
        spec = prices.spec(sent.model)
        if spec is None:
            return Cost(picodollars=None, unknown=(f"model.{sent.model}",))
        tokens = round(sent.tokens * self._factors.get(sent.model, DEFAULT.uncalibrated_factor))
        grown = sent.units > len(sent.added)
        call = NextCall(model=sent.model, tokens=tokens, long=tokens if self._long else 0, grown=grown)
        return likely_cost(call, own, spec, prices, event.at)
