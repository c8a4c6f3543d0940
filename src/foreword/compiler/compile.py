"""compile(view, policy, target, previous) -> Compiled: the next request, from the record alone. Pure.

What was sent in this epoch is taken as it was encoded then; only items that no request has shown yet are
rendered. So compiling from scratch and compiling step by step are the same left fold, and give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from foreword.compiler.breakpoints import Breakpoints, place_breakpoints
from foreword.compiler.budget import Budget, budget_of
from foreword.compiler.deferred import listed
from foreword.compiler.head import render_head
from foreword.compiler.json_word import ask_in_words
from foreword.compiler.layout import Layout
from foreword.compiler.policy import Policy
from foreword.compiler.render import end_in_words, open_with_user, render_items
from foreword.compiler.turn_start import end_turn_of_others
from foreword.compiler.unit_value import value_of
from foreword.compiler.units import to_units
from foreword.compiler.warned import Warned
from foreword.core.canonical import digest
from foreword.core.event import RequestSent
from foreword.core.fold import Epoch, Sent
from foreword.core.request import Unit, unit_digest_input
from foreword.core.target import Target
from foreword.core.view import View
from foreword.errors import CompileError, EmptyRequest

SentUnits = Mapping[int, Sequence[Unit]]


class Compiled:
    """A request and where each of its bytes comes from.

    ``units`` are in render order. ``counted``: their tokens by the counter; ``predicted``: by the model, the
    unseen prefix included; ``least``: the same without a margin. ``grown``: it only adds to the request sent
    before. ``deferred``: the deferred tools behind the last other one: no prefix holds them, so they are no units.
    ``body``: the exact bytes.
    """

    def __init__(self, view: View, policy: Policy, target: Target, layout: Layout, tail: list[Unit]) -> None:
        self.view = view
        self.policy = policy
        self.target = target
        self.layout = layout
        self.frozen = len(layout.units)
        self.frozen_tokens = layout.tokens
        self.frozen_items = layout.items
        self.sent_seq = layout.sent
        self.stale = layout.stale
        self.tail = tail
        self.budget: Budget = budget_of(view, policy, target)
        self.counted = layout.tokens + sum(unit.tokens for unit in tail)
        self.grown = self.frozen > 0
        self.predicted = self.budget.predict(self.counted, grown=self.grown)
        self.least = self.budget.least(self.counted, grown=self.grown)
        # Read now: once the log has gone on, by this request's own event, the view would be folded anew.
        tools = listed(view, target, layout.epoch)
        self.deferred = b"".join(b"," + target.codec.tool(tool).data for tool in tools)
        self._values: dict[int, Any] = {}
        self._betas = layout.betas.union(*(unit.betas for unit in tail))

    @property
    def epoch(self) -> Epoch:
        return self.layout.epoch

    @property
    def size(self) -> int:
        """Number of units."""
        return self.frozen + len(self.tail)

    @property
    def head(self) -> int:
        """Number of units before the messages: keys, tools and system blocks."""
        return self.layout.head if self.frozen else sum(unit.section != "message" for unit in self.tail)

    def unit(self, index: int) -> Unit:
        return self.layout.units[index] if index < self.frozen else self.tail[index - self.frozen]

    @property
    def units(self) -> list[Unit]:
        return [*self.layout.units[: self.frozen], *self.tail]

    def since(self, start: int) -> Iterator[tuple[int, Unit]]:
        """Yield units ``start`` and later, each with its index."""
        sent = self.layout.units[start : self.frozen]
        return enumerate([*sent, *self.tail[max(0, start - self.frozen) :]], start)

    def value(self, index: int) -> Any:
        """Return what the bytes of a unit say, read once: see ``value_of``."""
        if index not in self._values:
            self._values[index] = value_of(self.unit(index))
        return self._values[index]

    @cached_property
    def betas(self) -> tuple[str, ...]:
        """Names of the beta headers that this request needs, sorted."""
        asked = self.target.with_budget(self.epoch.budget, self.epoch.body.remaining)
        return tuple(sorted(self._betas.union(self.target.codec.betas(asked.params))))

    @property
    def headers(self) -> dict[str, str]:
        """The HTTP headers that name the betas, beside those that the client sends anyway; {}: it needs none."""
        return {"anthropic-beta": ",".join(self.betas)} if self.betas else {}

    @cached_property
    def _planned(self) -> Breakpoints:
        return place_breakpoints(self)

    @cached_property
    def breakpoints(self) -> dict[int, str | None]:
        """Cache marks: unit index to TTL (None: the wire's short default)."""
        return self._planned.marks

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """What is legal in this request, and costs money all the same."""
        return self._planned.warnings

    @cached_property
    def parts(self) -> list[bytes]:
        """Body fragments, one a unit with what joins it to the one before, marks included; the closer last."""
        codec = self.target.codec
        parts = self.layout.parts[: self.frozen]
        before = self.layout.units[self.frozen - 1] if self.frozen else None
        for unit in self.tail:
            parts.append(codec.between(before, unit) + unit.data)
            before = unit
        for index, ttl in self.breakpoints.items():
            parts[index] = codec.mark(parts[index], ttl)
        if self.deferred:
            parts[self.last_tool] += self.deferred
        parts.append(codec.close(before, self.target.params))
        return parts

    @cached_property
    def last_tool(self) -> int:
        """Index of the last unit that is a tool; -1: none is."""
        return max((index for index in range(self.head) if self.unit(index).section == "tool"), default=-1)

    @cached_property
    def body(self) -> bytes:
        return b"".join(self.parts)

    def sent(self) -> RequestSent:
        """Return the body of the event that says this request was handed out."""
        return RequestSent(
            wire=self.target.codec.wire,
            model=self.target.params.model,
            units=self.size,
            items=len(self.view.fold.items),
            added=tuple(unit.digest for unit in self.tail),
            tokens=self.counted,
            codec=self.target.codec.version,
        )


def compile(
    view: View,
    policy: Policy,
    target: Target,
    previous: Compiled | None = None,
    sent_units: SentUnits | None = None,
) -> Compiled:
    """Compile the next request.

    ``previous``: an earlier result for the same session; it only saves work, never changes a byte.
    ``sent_units``: units as they were encoded when sent, by seq of their ``RequestSent`` (a store keeps them);
    without them they are encoded again and checked against the digests in the log.
    Raises: EmptyRequest when nothing was said; CompileError when no epoch has started or a call is open
    (``propose`` says what to append).
    """
    fold = view.fold
    if not fold.epochs:
        raise CompileError("no epoch has started: append what propose() returns first")
    epoch = fold.epochs[-1]
    layout = _continue(view, target, previous, epoch) or Layout(epoch)
    for sent in _since(fold.sent, max(epoch.seq, layout.sent)):
        _freeze(view, target, layout, sent, previous, sent_units)
    tail = _render(view, target, layout, len(fold.items), before=view.position)
    if len(layout.units) + len(tail) == 0 or (tail or layout.units)[-1].section != "message":
        raise EmptyRequest(fold.opened.session if fold.opened is not None else "")
    return Compiled(view, policy, target, layout, tail)


def _continue(view: View, target: Target, previous: Compiled | None, epoch: Epoch) -> Layout | None:
    """Return the previous layout when it may be extended for this view: the same epoch, bytes and history."""
    if previous is None or previous.epoch.seq != epoch.seq or not previous.target.same_bytes(target):
        return None
    if not previous.view.is_prefix_of(view):
        return None
    layout = previous.layout
    if len(layout.units) != previous.frozen:
        layout = layout.copy(
            previous.frozen, previous.frozen_tokens, previous.frozen_items, previous.sent_seq, previous.stale
        )
    return layout


def _since(sent: Sequence[Sent], seq: int) -> list[Sent]:
    found: list[Sent] = []
    for one in reversed(sent):
        if one.seq <= seq:
            break
        found.append(one)
    return found[::-1]


def _freeze(
    view: View,
    target: Target,
    layout: Layout,
    sent: Sent,
    previous: Compiled | None,
    sent_units: SentUnits | None,
) -> None:
    """Take a request that was handed out into the layout, as it was encoded then."""
    kept = sent_units.get(sent.seq) if sent_units is not None else None
    if kept is not None and _same(kept, sent.body.added) and _sound(kept):
        units = list(kept)
    elif previous is not None and previous.layout is layout and _same(previous.tail, sent.body.added):
        units = previous.tail
    else:
        units = _render(view, target, layout, sent.items, before=sent.seq)
        if layout.stale < 0 and not _same(units, sent.body.added):
            layout.stale = sent.seq
    layout.add(units, target.codec)
    layout.items = sent.items
    layout.sent = sent.seq


def _sound(units: Sequence[Unit]) -> bool:
    """Whether kept units still are the bytes that their digests name: what lies on disk may be damaged."""
    return all(digest(unit_digest_input(unit)) == unit.digest for unit in units)


def _same(units: Sequence[Unit], digests: Sequence[bytes]) -> bool:
    return len(units) == len(digests) and all(u.digest == d for u, d in zip(units, digests, strict=True))


def _render(view: View, target: Target, layout: Layout, stop: int, *, before: int) -> list[Unit]:
    first = not layout.units
    placed = render_head(target, layout.epoch) if first else []
    placed.extend(render_items(view, target, layout.items, stop, before=before, epoch=layout.epoch))
    if first and layout.epoch.body.block is None:
        open_with_user(placed, target)
    if first:
        ask_in_words(placed, target, layout.epoch.body.block)
    end_in_words(placed, view, target, before=before, epoch=layout.epoch)
    end_turn_of_others(placed, layout.units, target)
    return to_units(placed, target, layout.last) if placed else []
