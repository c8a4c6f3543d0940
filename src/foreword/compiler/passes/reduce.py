"""Bring a request back under its budget: clear old results, then summarise the oldest stages, in one epoch.

Levels go from the cheapest to the last resort; the first that reaches its goal is proposed whole, so the cache
breaks once. Nothing that a person wrote, no pin and not the newest interaction is ever touched, except that the
newest interaction's results may be excerpted, and all but the newest notice behind it summarised, when nothing else
fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from foreword.compiler.blocks import block_of
from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.check import CutPoints
from foreword.compiler.newest import newest_interaction, notices_since
from foreword.compiler.passes.externalize import excerpt_replacement, rewrite_draft
from foreword.compiler.read_tool import read_tool_name
from foreword.compiler.summary import summarize
from foreword.core.block import Text
from foreword.core.event import Draft, Replacement, Why
from foreword.core.frame import frame
from foreword.core.item import Change, Interaction, Item
from foreword.core.reference import recall
from foreword.core.view import View

_LEAST_SUMMARY = 60
"""Tokens a summary may always have: its head line and a word of what was last said."""

_AROUND = 8
"""Tokens that a placeholder may cost beyond its text: what the wire writes around it."""

_FADE = 0.85
"""Weight of a stage against the next newer one when summaries share their room."""

_REFILL = 0.7
"""Part of the summaries' share that a new sharing out fills."""

_MERGED = 0.5
"""Part of the summaries' share that one summary for everything old may take."""

_SUMMARY_FRAME = 12
"""Tokens of a summary that its frame takes."""

_LEAST_SHRUNK = 120
"""Tokens over which a result of the newest interaction is worth an excerpt."""

_LEAST_EXCERPT = 30
"""Tokens that such an excerpt may always have."""

_EXCERPT_FRAME = 100
"""Tokens that its frame and the line on how to read the rest may take."""

_AIM = 0.75
"""Part of the room that a last resort aims at, so that what it finds surely comes under it."""


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """How far a rewrite may go.

    ``keep``: newest interactions left alone. ``ratio``: a summary's share of its stage; 0: no summaries.
    ``merge``: one summary for everything old, existing ones included. ``last``: a last resort, which has done enough
    once the request fits; the others bring it down to the low-water mark.
    """

    keep: int
    ratio: float
    merge: bool = False
    last: bool = False


class Sizes(msgspec.Struct, kw_only=True):
    """Counted tokens in the current request: of single events, and of placed summaries by their first event."""

    events: dict[int, int]
    summaries: dict[tuple[int, ...], int]

    def of(self, item: Item) -> int:
        return sum(self.events.get(seq, 0) for seq in item.events)


class Plan(msgspec.Struct, kw_only=True):
    """What a level would do, and the counted size it would leave."""

    cleared: list[Replacement]
    summarized: list[Replacement]
    left: int


def levels(keep: int, ratio: float) -> tuple[Level, ...]:
    """Return the levels, cheapest first."""
    return (
        Level(keep=keep, ratio=0.0),
        Level(keep=keep, ratio=ratio),
        Level(keep=min(2, keep), ratio=ratio / 2, last=True),
        Level(keep=1, ratio=ratio / 4, merge=True, last=True),
        Level(keep=1, ratio=0.0, merge=True, last=True),
    )


class Reduction(msgspec.Struct, kw_only=True):
    """``drafts`` to append (empty: not worth an epoch), and the counted size they leave."""

    drafts: list[Draft]
    left: int


def reduce(compiled: Compiled, attempt: int, why: Why) -> Reduction:
    """Propose the rewrites that bring ``compiled`` down, or nothing when it isn't worth an epoch.

    ``attempt``: how many rewrites were already tried for this request; each starts one level further.
    """
    budget, policy = compiled.budget, compiled.policy
    room = max(0, budget.available - budget.unseen)
    low = budget.counted(int(room * policy.low_water))
    high = budget.counted(room)
    hard = budget.counted(max(0, budget.limit - budget.unseen))
    over = compiled.least > budget.limit
    sizes = sizes_of(compiled)
    cuts = CutPoints(compiled.view, compiled.target)
    best: Plan | None = None
    for number, level in enumerate(levels(policy.keep_interactions, policy.summary_ratio)):
        if number < attempt:
            continue
        plan = plan_of(compiled, level, sizes, cuts, int(high * _AIM) if level.last else low)
        if best is None or plan.left < best.left:
            best = plan
        if plan.left <= (high if level.last else low):
            break
    if best is None or (best.left > hard and over):
        best = best or Plan(cleared=[], summarized=[], left=compiled.counted)
        shrunk = _shrink_newest(compiled, sizes, hard - best.left)
        best.cleared = [*best.cleared, *shrunk]
        best.left -= sum(replacement.tokens_removed for replacement in shrunk)
        noted = _shorten_notices(compiled, sizes, best.left - hard)
        best.summarized = [*best.summarized, *noted]
        best.left -= sum(replacement.tokens_removed for replacement in noted)
    gain = compiled.counted - best.left
    if not (best.cleared or best.summarized) or (not over and gain < policy.min_gain * high):
        return Reduction(drafts=[], left=compiled.counted)
    drafts: list[Draft] = []
    if best.cleared:
        drafts.append(rewrite_draft("cleared", why, best.cleared, epoch=True))
    if best.summarized:
        drafts.append(rewrite_draft("summarized", why, best.summarized, epoch=True))
    return Reduction(drafts=drafts, left=best.left)


def sizes_of(compiled: Compiled) -> Sizes:
    events: dict[int, int] = {}
    summaries: dict[tuple[int, ...], int] = {}
    for unit in compiled.units:
        if unit.section != "message":
            continue
        if unit.category == "summary" and unit.by == "summarize_stages":
            summaries[unit.events] = unit.tokens
        elif unit.events:
            events[unit.events[0]] = events.get(unit.events[0], 0) + unit.tokens
    return Sizes(events=events, summaries=summaries)


def oldest_kept(items: Sequence[Item], keep: int) -> int:
    """Return where the ``keep`` newest interactions begin; the newest, or the newest item, always stays."""
    oldest = max(0, len(items) - 1)
    seen = 0
    for index in range(len(items) - 1, -1, -1):
        if isinstance(items[index], Interaction):
            oldest = index
            seen += 1
            if seen >= max(1, keep):
                break
    return oldest


def plan_of(compiled: Compiled, level: Level, sizes: Sizes, cuts: CutPoints, goal: int) -> Plan:
    """Work out what ``level`` would do to come down to ``goal`` counted tokens."""
    view, items = compiled.view, compiled.view.fold.items
    block = block_of(view, compiled.epoch)
    told = set(items[: block.covers]) | {block} if block is not None else set[Item]()
    old = [
        item
        for item in items[: cuts.at_or_before(oldest_kept(items, level.keep))]
        if not item.kept
        and item.seq not in cuts.tied
        and item.seq not in view.fold.revoked
        and item not in told
        and not isinstance(item, Change)
    ]
    free = [item for item in old if view.summary(item.seq) is None]
    cleared = [] if compiled.target.reader == "none" else _clearable(compiled, free, sizes)
    left = compiled.counted
    if not level.merge and level.ratio == 0.0:
        taken: list[Replacement] = []
        for replacement in cleared:
            if left <= goal:
                break
            taken.append(replacement)
            left -= replacement.tokens_removed
        return Plan(cleared=taken, summarized=[], left=left)
    if level.merge:
        return _merged(compiled, old, sizes, level)
    return _staged(compiled, old, cleared, sizes, level, goal)


def _clearable(compiled: Compiled, items: Sequence[Item], sizes: Sizes) -> list[Replacement]:
    """Results worth clearing, in the order in which to take them."""
    found = [
        one
        for item in items
        if isinstance(item, Interaction)
        for one in clearable(compiled, item, sizes.events)
    ]
    return [replacement for _, replacement in sorted(found, key=lambda one: one[0])]


def clearable(
    compiled: Compiled, item: Interaction, sizes: Mapping[int, int]
) -> Iterator[tuple[tuple[bool, int], Replacement]]:
    """Yield a placeholder for each large result of an interaction that has none, with what to sort them by.

    Plain successes go first, oldest first; errors last, since they may still matter. ``sizes``: counted tokens of
    events in this request.
    """
    view, policy, target = compiled.view, compiled.policy, compiled.target
    for position, result in enumerate(item.results):
        seq = item.result_seqs[position]
        tokens = sizes.get(seq, 0) if seq is not None else 0
        if seq is None or result is None or tokens <= policy.clear_over:
            continue
        before = view.replacement(seq, view.position)
        if before is not None and before[0].how == "cleared":
            continue
        ref = view.fold.ref(seq)
        call = recall(target.reader, read_tool_name(view), ref)
        whole = tokens + _taken(view, seq)
        said = f"[{whole} tokens of {item.calls[position].name} cleared; {call} returns them]"
        text = frame("cleared", said)
        removed = max(0, tokens - target.counter.count(text) - _AROUND)
        yield (
            (result.is_error, seq),
            Replacement(events=(seq,), text=text, ref=ref, tokens_removed=removed),
        )


def _staged(
    compiled: Compiled, old: Sequence[Item], cleared: list[Replacement], sizes: Sizes, level: Level, goal: int
) -> Plan:
    """Summarise oldest stages until clearing what remains is enough.

    Summaries that stand are kept while all together stay under their share; then every stage is summarised anew
    from its events, the newest with the most room.
    """
    told, stages = _split(compiled.view, old, sizes, compiled.policy.stage_tokens)
    clears = {replacement.events[0]: replacement for replacement in cleared}
    left = compiled.counted - sum(replacement.tokens_removed for replacement in clears.values())
    cap = int(compiled.budget.counted(compiled.budget.available) * compiled.policy.summary_share)
    chosen: list[tuple[list[Item], int, int]] = []
    for stage in stages:
        if left <= goal:
            break
        size = sum(sizes.of(item) for item in stage)
        limit = max(_LEAST_SUMMARY, int(size * level.ratio))
        freed = (
            size
            - limit
            - sum(clears.pop(seq).tokens_removed for item in stage for seq in item.events if seq in clears)
        )
        left -= freed
        chosen.append((stage, size, limit))
    standing = sum(sizes.summaries.values())
    if standing + sum(limit for _, _, limit in chosen) > cap and chosen:
        chosen = _shared_out([(stage, sizes.summaries.get(_events(stage), 0)) for stage in told], chosen, cap)
    summarized: list[Replacement] = []
    for stage, size, limit in chosen:
        if limit == _LEAST_SUMMARY and stage in told and size <= limit + compiled.target.codec.message_tokens:
            continue  # as short as it gets: made again it would be the same
        replacement = _summary(compiled, stage, size, limit)
        if replacement.tokens_removed > 0 or stage in told:
            summarized.append(replacement)
    freed = sum(replacement.tokens_removed for replacement in (*summarized, *clears.values()))
    return Plan(cleared=list(clears.values()), summarized=summarized, left=compiled.counted - freed)


def _shared_out(
    told: list[tuple[list[Item], int]], chosen: list[tuple[list[Item], int, int]], cap: int
) -> list[tuple[list[Item], int, int]]:
    """Share the room among all stages, each older one getting less; some is left for the next rewrite."""
    everything = [*told, *((stage, size) for stage, size, _ in chosen)]
    weights = [_FADE ** (len(everything) - 1 - index) for index in range(len(everything))]
    room = cap * _REFILL / sum(weights)
    return [
        (stage, size, max(_LEAST_SUMMARY, int(room * weight)))
        for (stage, size), weight in zip(everything, weights, strict=True)
    ]


def _events(stage: Sequence[Item]) -> tuple[int, ...]:
    return tuple(seq for item in stage for seq in item.events)


def _split(
    view: View, old: Sequence[Item], sizes: Sizes, longest: int
) -> tuple[list[list[Item]], list[list[Item]]]:
    """Return the stages that a summary stands for already, and those still told in full, oldest first."""
    told: dict[tuple[int, ...], list[Item]] = {}
    free: list[Item] = []
    for item in old:
        replacement = view.summary(item.seq)
        if replacement is None:
            free.append(item)
        else:
            told.setdefault(replacement.events, []).append(item)
    return list(told.values()), _stages(view, free, sizes, longest)


def _merged(compiled: Compiled, old: Sequence[Item], sizes: Sizes, level: Level) -> Plan:
    """One summary for everything old; it is made from the events again, never from earlier summaries."""
    if not old:
        return Plan(cleared=[], summarized=[], left=compiled.counted)
    covered = {
        replacement.events for item in old if (replacement := compiled.view.summary(item.seq)) is not None
    }
    size = sum(sizes.of(item) for item in old) + sum(sizes.summaries.get(events, 0) for events in covered)
    room = compiled.budget.counted(compiled.budget.available)
    limit = max(_LEAST_SUMMARY, int(room * compiled.policy.summary_share * _MERGED)) if level.ratio else 0
    replacement = _summary(compiled, old, size, limit)
    if replacement.tokens_removed <= 0:
        return Plan(cleared=[], summarized=[], left=compiled.counted)
    return Plan(cleared=[], summarized=[replacement], left=compiled.counted - replacement.tokens_removed)


def _stages(view: View, items: Sequence[Item], sizes: Sizes, longest: int) -> list[list[Item]]:
    """Split at a person's turn, and into runs of about ``longest`` tokens of whole interactions."""
    stages: list[list[Item]] = []
    order = {id(item): index for index, item in enumerate(view.fold.items)}
    last, tokens = -2, 0
    for item in items:
        index = order[id(item)]
        gap = any(between.kept for between in view.fold.items[last + 1 : index]) if last >= 0 else True
        if gap or not stages or (longest and tokens >= longest):
            stages.append([])
            tokens = 0
        stages[-1].append(item)
        tokens += sizes.of(item)
        last = index
    return stages


def _summary(compiled: Compiled, items: Sequence[Item], size: int, limit: int) -> Replacement:
    view, target = compiled.view, compiled.target
    events = tuple(seq for item in items for seq in item.events)
    text = frame("summary", summarize(view, items, limit - _SUMMARY_FRAME, target))
    removed = size - target.counter.count(text) - target.codec.message_tokens
    return Replacement(
        events=events,
        text=text,
        ref=view.fold.ref(events[0]) if target.reader != "none" and view.fold.openings else None,
        tokens_removed=removed,
    )


def _shrink_newest(compiled: Compiled, sizes: Sizes, room: int) -> list[Replacement]:
    """Excerpt the newest interaction's results to what still fits; nothing when the agent has no reader."""
    view, target = compiled.view, compiled.target
    found = newest_interaction(view.fold.items)
    newest = view.fold.items[found] if found >= 0 else None
    if not isinstance(newest, Interaction) or target.reader == "none":
        return []
    texts = [
        (position, tokens)
        for position, result in enumerate(newest.results)
        if result is not None
        and all(isinstance(block, Text) for block in result.content)
        and (tokens := sizes.events.get(newest.result_seqs[position] or -1, 0)) > _LEAST_SHRUNK
    ]
    total = sum(tokens for _, tokens in texts)
    if not texts:
        return []
    aim = max(_LEAST_EXCERPT, (total + room) // len(texts) - _EXCERPT_FRAME)
    shrunk: list[Replacement] = []
    for position, tokens in texts:
        earlier = _taken(view, newest.result_seqs[position])
        one = excerpt_replacement(view, newest, position, tokens + earlier, aim, target)
        removed = one.tokens_removed - earlier - _AROUND
        if removed > 0:
            shrunk.append(msgspec.structs.replace(one, tokens_removed=removed))
    return shrunk


def _taken(view: View, seq: int | None) -> int:
    """Return the tokens that were taken out of a result before: what reads it back gives them, too."""
    before = view.fold.replacements.get(seq, ()) if seq is not None else ()
    return sum(one.tokens_removed for _, body, one in before if body.how != "summarized")


def _shorten_notices(compiled: Compiled, sizes: Sizes, excess: int) -> list[Replacement]:
    """Tell the oldest notices behind the newest interaction in one summary, as many as free ``excess`` tokens.

    The newest stays; nothing is done when the agent has no reader, or no model spoke: then they are old items.
    """
    items, target = compiled.view.fold.items, compiled.target
    newest = newest_interaction(items)
    if newest < 0 or target.reader == "none":
        return []
    oldest: list[Item] = []
    size = limit = 0
    for item in notices_since(items, newest)[:-1]:
        if size - limit >= excess:
            break
        if sizes.of(item):
            oldest.append(item)
            size += sizes.of(item)
            limit = max(_LEAST_SUMMARY, int(size * compiled.policy.summary_ratio))
    replacement = _summary(compiled, oldest, size, limit) if oldest else None
    return [replacement] if replacement is not None and replacement.tokens_removed > 0 else []
