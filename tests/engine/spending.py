"""Sessions with spend limits, and a price list of round figures."""

from __future__ import annotations

from typing import Any

from foreword.core.block import Message, Text
from foreword.core.event import Called, Draft, Noticed
from foreword.core.prices import Prices
from foreword.core.target import Target
from foreword.core.usage import NOTHING, Usage
from foreword.engine.session import Session
from foreword.engine.spend import Limit, Spend
from foreword.store import Store
from tests.histories import target_of

DOLLAR = Usage(uncached=1_000_000, cache_read=0, cache_write_short=0, cache_write_long=0, output=0)
"""What costs one dollar by the list below."""
LIST = Prices(own={"input": 1, "output": 10, "cache_read": "0.1", "cache_write": 1})
DAY = 86_400_000_000


class Now:
    """A clock that the test sets."""

    def __init__(self, at: int = 0) -> None:
        self.at = at

    def __call__(self) -> int:
        return self.at


def opened(
    *limits: Limit, store: Store | None = None, name: str = "s", clock: Now | None = None, user: str | None = None,
    target: Target | None = None,
) -> Session:  # fmt: skip
    """Open a session with limits in which a person said something."""
    made = Session.open(store, name, target=target or target_of("anthropic"), clock=clock or Now())
    made.spend, made.user = Spend(limits, prices=LIST), user
    made.say("Mend the pipe.")
    return made


def answer(session: Session, usage: Usage = NOTHING, **more: Any) -> None:
    """Record an answer, an embedding that cost a dollar, and what the person says next."""
    text = Message(role="assistant", blocks=(Text(text="Mended."),))
    session.answered(text, usage=usage, model="claude-opus-4-8", **more)
    paid = Called(kind="embedding", status="ok", model="m", usage=DOLLAR)
    session.append(Draft(body=paid, subject=session.user))
    session.say("And the next one.")


def notices(session: Session) -> list[Noticed]:
    return [event.body for event in session.events if isinstance(event.body, Noticed)]
