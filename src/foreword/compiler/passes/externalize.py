"""Move a large tool result out before it is first sent; an excerpt and a reference stay in its place."""

from __future__ import annotations

from foreword.compiler.budget import Budget
from foreword.compiler.excerpt import excerpt_tokens
from foreword.compiler.policy import Policy
from foreword.compiler.render import read_tool_name
from foreword.compiler.terminal import settled
from foreword.core.block import Text, ToolResult, plain_text
from foreword.core.event import Draft, How, Replacement, Rewritten, Why
from foreword.core.frame import frame
from foreword.core.reference import recall
from foreword.core.target import Target
from foreword.core.view import Interaction, View


def externalize(view: View, policy: Policy, target: Target, budget: Budget) -> list[Draft]:
    """Propose one rewrite for the results that no request has shown yet and that are over their limit.

    A result may take ``result_share`` of the available budget and at most ``result_tokens``; all results of one
    interaction together ``batch_share``. An agent without a reader keeps its results whole, and what the read tool
    gave back is never moved out again.
    """
    if target.reader == "none":
        return []
    fold = view.fold
    start = fold.sent[-1].items if fold.sent else 0
    room = budget.counted(max(0, budget.available - budget.unseen))
    limit = int(room * policy.result_share)
    limit = min(limit, policy.result_tokens) if policy.result_tokens else limit
    aim = max(40, min(policy.excerpt_tokens, int(room * policy.excerpt_share)))
    replacements: list[Replacement] = []
    for item in fold.items[start:]:
        if isinstance(item, Interaction) and item.calls:
            batch = int(room * policy.batch_share) if policy.batch_share else room
            replacements += _batch(view, item, target, limit, batch, aim)
    if not replacements:
        return []
    return [rewrite_draft("externalized", "arrival", replacements, epoch=False)]


def _batch(
    view: View, item: Interaction, target: Target, limit: int, batch: int, aim: int
) -> list[Replacement]:
    sized = _sized(view, item, target)
    over = {position for position, tokens in sized.items() if tokens > limit}
    total = sum(aim if position in over else tokens for position, tokens in sized.items())
    for position, tokens in sorted(sized.items(), key=lambda pair: (-pair[1], pair[0])):
        if total <= batch or tokens <= aim:
            break
        if position not in over:
            over.add(position)
            total -= tokens - aim
    share = max(40, min(aim, batch // max(1, len(over))))
    return [
        excerpt_replacement(view, item, position, sized[position], share, target) for position in sorted(over)
    ]


def _sized(view: View, item: Interaction, target: Target) -> dict[int, int]:
    """Tokens of each result that is text and not replaced yet, by its position."""
    sized: dict[int, int] = {}
    own = read_tool_name(view)
    for position, result in enumerate(item.results):
        seq = item.result_seqs[position]
        if result is None or seq is None or view.replacement(seq, view.position) is not None:
            continue
        if item.calls[position].name == own:
            continue
        if all(isinstance(block, Text) for block in result.content):
            text = plain_text(result.content)
            sized[position] = target.counter.count(text) if len(text) > 200 else len(text) // 2
    return sized


def excerpt_replacement(
    view: View, item: Interaction, position: int, tokens: int, aim: int, target: Target
) -> Replacement:
    """Return the excerpt that stands for one result: framed as quotation, with the call that reads it whole."""
    result = item.results[position]
    seq = item.result_seqs[position]
    assert isinstance(result, ToolResult)
    assert seq is not None
    opened = view.fold.opened
    ref = f"{opened.alias if opened is not None else 'session'}#{seq}"
    text = plain_text(result.content)
    call = recall(target.reader, read_tool_name(view), ref)
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    how = f"whole: {call}" if call is not None else "the rest is not readable by this agent"
    shown = frame(
        "excerpt",
        f"{excerpt_tokens(settled(text), aim, target.counter)}\n[{lines} lines, {tokens} tokens; {how}]",
        tool=item.calls[position].name,
        ref=ref,
    )
    removed = max(0, tokens - target.counter.count(shown))
    return Replacement(
        events=(seq,), text=shown, ref=ref if call is not None else None, tokens_removed=removed
    )


def rewrite_draft(how: How, why: Why, replacements: list[Replacement], *, epoch: bool) -> Draft:
    """Return the draft of a rewrite; its causes are the events it replaces."""
    causes = tuple(sorted({seq for replacement in replacements for seq in replacement.events}))
    body = Rewritten(how=how, why=why, replacements=tuple(replacements), epoch=epoch)
    return Draft(body=body, actor="engine", origin="engine", trust="engine", causes=causes)
