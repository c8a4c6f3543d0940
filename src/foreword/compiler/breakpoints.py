"""Where cache marks stand: where the prefix before them will be read again. Changes no bytes of a unit.

A provider with marks writes an entry at each, and from a mark looks a few blocks back for an earlier one. So a
request marks its end (the next one reads it), the end of the request before when that is too far back to be
seen, and at an epoch both boundaries: the old one, up to which the last request is still common, and the new
one, up to which the next epoch will leave things as they are. Where a policy only clears, one such spare mark saved
7 to 9 % of 42 recorded sessions (2026-11-30); with summaries the base is small, and little of it is read again: about
1 % (benchmarks/spare_marks.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from foreword.compiler.warned import Warned
from foreword.core.event import Marking

if TYPE_CHECKING:
    from foreword.compiler.compile import Compiled
    from foreword.core.request import Unit

SAFE_STEP = 15
"""Blocks that a turn may add before the end of the last request gets a mark of its own; providers look 20 back."""

REWRITTEN = frozenset({"cleared", "summarize_stages"})
"""Passes whose units end where the next epoch's changes can begin."""

_SECONDS = {"s": 1, "m": 60, "h": 3_600}


class Breakpoints(Struct, frozen=True, kw_only=True):
    """``marks``: unit index to TTL, in render order; a TTL of None is the wire's short default."""

    marks: dict[int, str | None]
    warnings: tuple[Warned, ...] = ()


def place_breakpoints(compiled: Compiled) -> Breakpoints:
    """Plan at most ``max_marks`` marks, the most needed first.

    None stands where the prefix is under the model's minimum, by the higher of its estimates: there it does
    nothing, and a warning says so. Marks that the caller had set come next after those without which nothing would
    be read, then the end of the base; one of these that had to be left out is warned of. A mark that the provider
    sets itself (at the end, or by a top-level member of the request) takes its room.
    """
    spec = compiled.target.spec
    minimum = spec.min_cacheable_tokens or 0
    least = _least(compiled, minimum)
    warnings: list[Warned] = []
    if least == compiled.size and minimum:
        warnings.append(_too_short(compiled, minimum))
    limit = spec.max_marks or 0
    room = limit - _own_marks(compiled)
    chosen: dict[int, str | None] = {}
    left_out = 0
    for index, ttl, asked in _wanted(compiled) if limit else ():
        if index < least:
            continue
        if index in chosen:
            chosen[index] = ttl if _longer(ttl, chosen[index]) else chosen[index]
        elif len(chosen) < room:
            chosen[index] = ttl
        elif asked:
            left_out += 1
    if left_out:
        warnings.append(_no_room(left_out, limit))
    return Breakpoints(marks=_in_order(chosen), warnings=tuple(warnings))


def _wanted(compiled: Compiled) -> Iterator[tuple[int, str | None, bool]]:
    """Yield (unit, TTL, whether leaving it out is to be told) in order of need."""
    if not compiled.policy.plan_marks:
        yield from _callers(compiled)
        return
    ours: list[int | None] = []
    if not _own_marks(compiled):
        ours.append(_markable(compiled, compiled.size - 1))
    added = compiled.size - compiled.frozen
    if compiled.frozen and added > SAFE_STEP:
        ours.append(_markable(compiled, compiled.frozen - 1))
    if not compiled.frozen:
        ours.append(_markable(compiled, _common(compiled) - 1))
    yield from ((index, None, False) for index in ours if index is not None)
    yield from _callers(compiled)
    head = _markable(compiled, compiled.head - 1)
    if head is not None:
        yield head, None, bool(compiled.view.fold.marks)
    rest = [_markable(compiled, _boundary(compiled))]
    if compiled.frozen and added > SAFE_STEP:
        rest.append(_markable(compiled, compiled.frozen + added // 2))
    rest.append(next((i for i in range(compiled.head) if compiled.unit(i).section == "system"), None))
    yield from ((i, None, False) for i in rest if i is not None and _takes(compiled.unit(i)))


def _callers(compiled: Compiled) -> Iterator[tuple[int, str | None, bool]]:
    for marking in compiled.view.fold.marks:
        index = _unit_of(compiled, marking)
        if index is not None:
            yield index, marking.ttl, True


def _own_marks(compiled: Compiled) -> int:
    """Marks that the provider sets by itself at the end of a request, or because a member of it says so."""
    codec, params = compiled.target.codec, compiled.target.params
    return int(codec.marks_end or params.keys.get("cache_control") is not None)


def _takes(unit: Unit) -> bool:
    return unit.markable and unit.section != "key"


def _markable(compiled: Compiled, index: int) -> int | None:
    """Return the last unit up to ``index`` that takes a mark."""
    return next((i for i in range(index, -1, -1) if _takes(compiled.unit(i))), None)


def _common(compiled: Compiled) -> int:
    """Return how many units an epoch's first request shares with the request before it; 0: there was none."""
    sent = [one for one in compiled.view.fold.sent if one.seq < compiled.epoch.seq]
    begun = max(
        (epoch.seq for epoch in compiled.view.fold.epochs if sent and epoch.seq < sent[-1].seq), default=0
    )
    before = (digest for one in sent if one.seq > begun for digest in one.body.added)
    common = 0
    for unit, digest in zip(compiled.tail, before, strict=False):
        if unit.digest != digest:
            break
        common += 1
    return common


def _boundary(compiled: Compiled) -> int:
    """Return the last unit that a rewrite left behind; -1: none did."""
    tail = (i for i in range(compiled.size - 1, compiled.frozen - 1, -1) if compiled.unit(i).by in REWRITTEN)
    return next(tail, -1) if not compiled.frozen else compiled.layout.boundary


def _unit_of(compiled: Compiled, marking: Marking) -> int | None:
    """Find the unit that a caller's mark stands on; None: it is not in this request, or takes none."""
    if marking.section == "message":
        index = _said_in(compiled, marking.event, marking.behind)
    else:
        places = [i for i in range(compiled.head) if compiled.unit(i).section == marking.section]
        names = [tool.name for tool in compiled.epoch.tools[1]]
        if marking.section == "tool":
            place = names.index(marking.name) if marking.name in names else -1
        else:
            place = marking.place
        index = places[place] if 0 <= place < len(places) else None
    return index if index is not None and _takes(compiled.unit(index)) else None


def _said_in(compiled: Compiled, event: int, behind: int) -> int | None:
    """Return the unit of an event that has ``behind`` others of it behind it, or its first; None: it has none."""
    tail = range(compiled.size - 1, compiled.frozen - 1, -1)
    end = next(
        (i for i in tail if event in compiled.unit(i).events), compiled.layout.ends.get(event, compiled.size)
    )
    if not compiled.head <= end < compiled.size:
        return None
    while behind and end > compiled.head and event in compiled.unit(end - 1).events:
        end, behind = end - 1, behind - 1
    return end


def _least(compiled: Compiled, minimum: int) -> int:
    """Return the first unit whose prefix reaches the model's minimum; one behind the last when none does."""
    tokens = 0
    for index in range(compiled.size):
        tokens += compiled.unit(index).tokens
        if compiled.budget.predict(tokens, grown=False) >= minimum:
            return index
    return compiled.size


def _in_order(chosen: dict[int, str | None]) -> dict[int, str | None]:
    """Sort by place, and give a mark before a longer-lived one that one's TTL: a shorter may not precede it."""
    longest: str | None = None
    made: dict[int, str | None] = {}
    for index in sorted(chosen, reverse=True):
        longest = chosen[index] if _longer(chosen[index], longest) else longest
        made[index] = longest if _longer(longest, chosen[index]) else chosen[index]
    return dict(sorted(made.items()))


def _longer(one: str | None, other: str | None) -> bool:
    return _seconds(one) > _seconds(other)


def _seconds(ttl: str | None) -> int:
    """Return how long a TTL lives; None is a wire's default, the shortest, and so is one that says nothing here."""
    if ttl is None or ttl[-1:] not in _SECONDS or not ttl[:-1].isdecimal():
        return 0
    return int(ttl[:-1][:9]) * _SECONDS[ttl[-1]]


def _too_short(compiled: Compiled, minimum: int) -> Warned:
    tokens = compiled.budget.predict(compiled.counted, grown=False)
    return Warned(
        code="cache_prefix_too_short",
        text=f"{tokens:,} tokens, and {compiled.target.spec.id} caches no prefix under {minimum:,}: nothing of this "
        f"request will be read from a cache",
        numbers={"prefix_tokens": tokens, "minimum": minimum},
    )


def _no_room(left_out: int, limit: int) -> Warned:
    return Warned(
        code="cache_marker_budget",
        text=f"{left_out} cache marks, the caller's or that of the base, were left out: a request takes {limit}",
        numbers={"left_out": left_out, "limit": limit},
    )
