"""The pipeline: what must be appended before the next request can be sent, pass by pass. Pure.

``propose`` returns the next batch of events, or nothing when the compiled request stands. The engine appends
them and asks again; rounds are bounded by ``MAX_ROUNDS``, and each rewrite lowers tokens.
"""

from __future__ import annotations

from foreword.compiler.blocks import compaction_in, opening_block
from foreword.compiler.budget import Budget, budget_of
from foreword.compiler.compile import Compiled, SentUnits, compile
from foreword.compiler.deferred import to_tell
from foreword.compiler.invariants.approvals_pending import waits
from foreword.compiler.late import can_say, causes_of, language_asked, late_change, said_by_betas
from foreword.compiler.newest import newest_interaction, notices_since
from foreword.compiler.passes.cheapen import cheapen, why_of
from foreword.compiler.passes.countdown import countdown
from foreword.compiler.passes.externalize import externalize
from foreword.compiler.passes.reduce import levels, reduce
from foreword.compiler.passes.repair_links import repair_links, repair_overtaken, under_way
from foreword.compiler.passes.repair_pairs import end_with_user, repair_pairs
from foreword.compiler.passes.repair_text import repair_text
from foreword.compiler.policy import Policy
from foreword.compiler.pricing import priced
from foreword.compiler.read_tool import read_tool_name
from foreword.core.event import Draft, EpochStarted, Noticed, Why, by_engine
from foreword.core.target import Target
from foreword.core.view import View
from foreword.errors import OverBudget

MAX_ROUNDS = 12


class Step:
    """One round: ``drafts`` to append before asking again, or the ``compiled`` request that stands."""

    def __init__(self, drafts: list[Draft], compiled: Compiled | None) -> None:
        self.drafts = drafts
        self.compiled = compiled


def propose(
    view: View,
    policy: Policy,
    target: Target,
    previous: Compiled | None = None,
    sent_units: SentUnits | None = None,
) -> Step:
    """Return what to append next, or the request.

    Raises: OverBudget when what must be sent can't fit; then nothing is proposed and nothing is to be appended.
    """
    fold = view.fold
    budget = budget_of(view, policy, target)
    busy = under_way(view, target)
    drafts = [
        *repair_text(view),
        *repair_pairs(view, policy, target, budget),
        *repair_links(view, target),
        *externalize(view, policy, target, budget),
        *countdown(view, policy, target),
    ]
    if busy:  # what the engine has to say would end it
        drafts = [draft for draft in drafts if not isinstance(draft.body, Noticed)]
    if drafts:
        return Step(drafts, None)
    why = _epoch_reason(view, policy, target)
    if why is not None:
        return Step([epoch_draft(view, target, policy, why, 0)], None)
    compiled = compile(view, policy, target, previous, sent_units)
    if compiled.stale >= 0:
        return Step([epoch_draft(view, target, policy, "upgrade", compiled.counted)], None)
    drafts = repair_overtaken(compiled)
    if drafts:
        return Step(drafts, None)
    speaks_last = compiled.unit(compiled.size - 1).role == "assistant"
    waiting = speaks_last and waits(compiled)
    if speaks_last and not target.prefills and not waiting:
        return Step([end_with_user(view)], None)
    change = late_change(view, target, fold.epochs[-1], policy)
    if change is not None and not waiting and not busy:
        return Step([by_engine(change, *causes_of(view, change))], None)
    if max(compiled.predicted, compiled.counted + budget.unseen) <= budget.available:
        cheaper = cheapen(compiled)
        if cheaper:
            return Step(
                [*cheaper, epoch_draft(view, target, policy, why_of(cheaper), compiled.counted)], None
            )
        return Step([], compiled)
    over = compiled.least > budget.limit
    last_sent = fold.sent[-1].seq if fold.sent else -1
    attempt = sum(1 for seq, rewritten in fold.rewrites if seq > last_sent and rewritten.why == "hard")
    reduction = reduce(compiled, attempt, "hard")
    if over:
        check_required(compiled, reduction.left)
    if attempt <= len(levels(0, 0)) and reduction.drafts:
        rewrites = priced(compiled, reduction.drafts)
        return Step([*rewrites, epoch_draft(view, target, policy, "hard", compiled.counted)], None)
    if over:
        raise over_budget(compiled, required(compiled), compiled.counted)
    return Step([], compiled)


def _epoch_reason(view: View, policy: Policy, target: Target) -> Why | None:
    """Say why the base must be rebuilt now; None: it stands."""
    fold = view.fold
    if not fold.epochs:
        return "start"
    epoch = fold.epochs[-1]
    if fold.rebuild > epoch.seq:
        return "permission"
    if (epoch.body.wire, epoch.body.model) != (target.codec.wire, target.params.model):
        return "switch"
    stated = target.with_effort(epoch.body.effort).with_budget(epoch.budget, None)
    if fold.instructions[0] > epoch.seq:
        return "instructions"
    if stated.head_digest != epoch.body.head:
        return "manual"
    if not target.betas and said_by_betas(view, target, epoch):
        return "manual"
    change = late_change(view, target, epoch, policy)
    if change is not None and not can_say(view, target, epoch, change):
        return "tools" if change.added or change.removed else "manual"
    if target.effort is None and fold.effort is not None:
        return "manual"  # no form says that nothing is asked for
    if fold.budget[0] > epoch.seq and target.counts_down:
        return "manual"
    block = opening_block(view, policy, target)
    return "manual" if block is not None and block.seq > epoch.seq else None


def epoch_draft(view: View, target: Target, policy: Policy, why: Why, tokens: int) -> Draft:
    """Return the event that starts an epoch for ``target``.

    A compaction block that repeats changes of tools opens it only while these tools are the ones wanted.
    """
    fold = view.fold
    block = opening_block(view, policy, target)
    found = compaction_in(block, target) if block is not None else None
    kept = found is not None and found.tools
    change = late_change(view, target, fold.epochs[-1], policy) if kept and fold.epochs else None
    if change is not None and (change.added or change.removed):
        block, kept = None, False
    total, spent = fold.budget[1], fold.spent
    counted = total and spent and target.counts_down
    body = EpochStarted(
        why=why,
        wire=target.codec.wire,
        model=target.params.model,
        reader=target.reader,
        read_tool=read_tool_name(view) if target.reader == "tool" else None,
        head=target.with_budget(total, None).head_digest,
        policy=policy.name,
        tokens_before=tokens,
        effort=target.effort,
        block=None if block is None else block.seq,
        tools_kept=kept,
        remaining=max(0, total - spent) if counted else None,
        findable=to_tell(view, target, fold.tools[1]),
        language=language_asked(view, policy),
    )
    return by_engine(body)


def required(compiled: Compiled) -> list[tuple[str, tuple[int, ...], int]]:
    """Return (name, events, counted tokens) of all that no rewrite may take away.

    Of the newest interaction only the model's own words and calls count, for an agent with a reader: its results can
    be excerpted, and of the notices after it all but the newest be summarised.
    """
    items: list[tuple[str, tuple[int, ...], int]] = []
    fold = compiled.view.fold
    last = newest_interaction(fold.items)
    newest: tuple[int, ...] = fold.items[last].events if last >= 0 else ()
    whole, notices = newest, notices_since(fold.items, last)
    if compiled.target.reader != "none":
        whole, notices = newest[:1], notices[-1:]
    since = {item.seq: item for item in notices}
    totals: dict[str, int] = {}
    for unit in compiled.units:
        if unit.section != "message":
            totals[unit.category] = totals.get(unit.category, 0) + unit.tokens
            continue
        item = fold.item(unit.events[0]) if unit.events else None
        if item is not None and item.kept and unit.category != "summary":
            items.append((f"words of a person, event {unit.events[0]}", unit.events, unit.tokens))
        elif unit.events and unit.events[0] in whole:
            items.append((f"newest interaction, event {fold.items[last].seq}", unit.events, unit.tokens))
        elif unit.events and (later := since.get(unit.events[0])) is not None:
            items.append((f"notice, {later.topic}, event {later.seq}", unit.events, unit.tokens))
    names = {"tools": "tools", "instructions": "instructions", "envelope": "request keys"}
    return [(names.get(key, key), (), tokens) for key, tokens in totals.items()] + items


def check_required(compiled: Compiled, left: int) -> None:
    """Raise OverBudget before anything is rewritten in vain. ``left``: the counted size that rewrites would leave."""
    parts = required(compiled)
    least = max(left, sum(tokens for _, _, tokens in parts))
    if compiled.budget.least(least, grown=False) > compiled.budget.limit:
        raise over_budget(compiled, parts, least)


def over_budget(
    compiled: Compiled, parts: list[tuple[str, tuple[int, ...], int]], counted: int
) -> OverBudget:
    """Make the error that lists each required item and the smallest window that would do.

    ``counted``: the smallest size that was reached.
    """
    budget: Budget = compiled.budget
    needed = budget.least(counted, grown=False)
    return OverBudget(
        tuple(parts),
        needed=needed,
        window=budget.window,
        reserve_output=budget.reserve_output,
        unseen=budget.unseen,
        smallest_window=needed + budget.reserve_output,
    )
