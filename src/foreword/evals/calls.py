"""The recorded calls of a session, each with what the file says happened since the call before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from msgspec import Struct

from foreword.core.block import Thinking
from foreword.core.event import (
    Answered,
    Draft,
    EpochStarted,
    Event,
    ForeignNoted,
    RequestSent,
    Said,
    ToolReturned,
    UnseenPrefix,
)
from foreword.core.usage import Usage
from foreword.evals.cache_signs import NO_SIGNS, SETTINGS, Sign, Signs

Fact = Draft | Event
SECOND = 1_000_000


class Call(Struct, frozen=True, kw_only=True):
    """One call of which the usage is recorded.

    ``step``: number of its answer in the session, from 1. ``where``: its place in the source. ``prompt``, ``read``:
    tokens; ``read`` None: the cache is not reported. Times in microseconds since 1970 UTC, None: not recorded:
    ``sent``, the newest fact that it could read; ``ended``, the last record of its answer. Since the call before:
    ``turn``, a person spoke; ``notes``, records of the original tool; ``epochs``, rebuilds of our own; ``changes``,
    settings with their old and new value and line; ``events``; ``blocks``, content blocks that came, with those of the
    answer before; ``asked``, whether anything was said or returned. ``reasoned``: its answer holds reasoning.
    ``repeated``: with how many units of the request before this one begins, and how many that had; None: not both are
    ours.
    """

    step: int
    where: str
    model: str | None
    usage: Usage
    terms: tuple[str, ...]
    prompt: int
    read: int | None
    sent: int | None
    ended: int | None
    turn: bool
    notes: tuple[ForeignNoted, ...]
    epochs: tuple[EpochStarted, ...]
    changes: dict[str, tuple[str, str, int]]
    events: tuple[Sign, ...]
    blocks: int
    asked: bool
    reasoned: bool
    repeated: tuple[int, int] | None


def calls_of(facts: Iterable[Fact], signs: Signs = NO_SIGNS, *, side: bool = False) -> list[Call]:
    """Return the calls in order. An answer without usage is none: it is an error of the API, or unknown.

    ``side``: it is a sub-agent's conversation, to which the signs of its file don't belong.
    """
    return list(_calls(facts, signs, side=side))


def unseen_of(facts: Iterable[Fact]) -> int:
    """Return the size of what stood before the first message, fitted on the first call; 0: not known."""
    return next((fact.body.tokens for fact in facts if isinstance(fact.body, UnseenPrefix)), 0)


def _calls(facts: Iterable[Fact], signs: Signs, *, side: bool) -> Iterator[Call]:
    waiting = iter(() if side else signs.signs)
    upcoming = next(waiting, None)
    settings: dict[str, str] = {}
    before: dict[str, str] = {}
    lines: dict[str, int] = {}
    events: list[Sign] = []
    notes: list[ForeignNoted] = []
    epochs: list[EpochStarted] = []
    turn = False
    newest: int | None = None
    blocks, asked = 0, False
    step = 0
    sent = _Sent()
    for draft in facts:
        body = draft.body
        match body:
            case Answered():
                step += 1
            case Said():
                turn = turn or body.person
                asked, blocks = True, blocks + len(body.message.blocks)
            case ToolReturned():
                asked, blocks = True, blocks + 1
            case None:  # erased: said or returned all the same
                asked, blocks = True, blocks + 1
            case ForeignNoted():
                notes.append(body)
            case EpochStarted():
                epochs.append(body)
                sent.begin()
            case RequestSent():
                sent.units += body.added
            case _:
                pass
        if not isinstance(body, Answered):
            newest = draft.at if draft.at is not None else newest
            continue
        line = line_of(draft)
        while upcoming is not None and (line is None or upcoming.line <= line):
            if upcoming.name in SETTINGS:
                settings[upcoming.name] = upcoming.text
                lines[upcoming.name] = upcoming.line
            else:
                events.append(upcoming)
            upcoming = next(waiting, None)
        usage = body.usage
        if usage is None or not usage.total_input or body.copy_of is not None:
            continue
        yield Call(
            step=step,
            where=_where(draft, line),
            model=body.model,
            usage=usage,
            terms=body.terms,
            prompt=usage.total_input,
            read=usage.cache_read,
            sent=newest if newest is not None else draft.at,
            ended=signs.ended.get(body.response_id or "", draft.at),
            turn=turn,
            notes=tuple(notes),
            epochs=tuple(epochs),
            changes={
                name: (before[name], value, lines[name])
                for name, value in settings.items()
                if before.get(name, value) != value
            },
            events=tuple(events),
            blocks=blocks,
            asked=asked,
            reasoned=bool(usage.reasoning)
            or any(isinstance(block, Thinking) for block in body.message.blocks),
            repeated=sent.answer(ours=body.request is not None),
        )
        before = dict(settings)
        turn, newest = False, None
        blocks, asked = len(body.message.blocks), False
        events, notes, epochs = [], [], []


class _Sent:
    """The digests of what our requests held; within an epoch each begins with all of the one before."""

    def __init__(self) -> None:
        self.units: list[bytes] = []
        self.answered = 0
        self.earlier: list[bytes] = []

    def begin(self) -> None:
        """Start an epoch; what was answered in the one before is kept to compare with."""
        self.earlier = self.units[: self.answered] or self.earlier
        self.units, self.answered = [], 0

    def answer(self, *, ours: bool) -> tuple[int, int] | None:
        """Take an answer; return how many units of the request answered before begin this one, and how many it had."""
        before, same = self.answered, self.answered
        if self.earlier:
            pairs = zip(self.earlier, self.units, strict=False)
            before = len(self.earlier)
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self.earlier, self.answered = [], len(self.units) if ours else 0
        return (same, before) if ours and before else None


def line_of(draft: Fact) -> int | None:
    """Return the line of a fact in its file; None: it has none."""
    number = draft.origin.rsplit(":", 1)[-1]
    return int(number) if number.isascii() and number.isdigit() else None


def _where(fact: Fact, line: int | None) -> str:
    if line is not None:
        return f"line {line}"
    return f"event {fact.seq}" if isinstance(fact, Event) else fact.origin


def idle(before: Call, after: Call) -> float | None:
    """Return the seconds from the end of one answer to the next request; None: not recorded."""
    if before.ended is None or after.sent is None:
        return None
    return max(0, after.sent - before.ended) / SECOND
