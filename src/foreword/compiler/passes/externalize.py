"""Move a large tool result out before it is first sent; an excerpt and a reference stay in its place."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from foreword.compiler.budget import Budget
from foreword.compiler.excerpt import excerpt_tokens
from foreword.compiler.policy import Policy
from foreword.compiler.read_tool import read_tool_name
from foreword.compiler.terminal import settled
from foreword.core.block import Text, ToolResult, plain_text
from foreword.core.event import Draft, How, Replacement, Rewritten, Why, by_engine
from foreword.core.frame import frame
from foreword.core.item import Interaction
from foreword.core.reference import recall
from foreword.core.target import Target
from foreword.core.view import View

_LEAST_EXCERPT = 40
"""Tokens that an excerpt may always have."""


class Limits(Struct, frozen=True):
    """Tokens that one result may take, all of a batch together, and that an excerpt aims at."""

    result: int
    batch: int
    excerpt: int

    def over(self, sized: Mapping[int, int]) -> dict[int, int]:
        """Return the tokens that an excerpt of each result that is too large may take, by what it is sized by."""
        over = {key for key, tokens in sized.items() if tokens > self.result}
        total = sum(self.excerpt if key in over else tokens for key, tokens in sized.items())
        for key, tokens in sorted(sized.items(), key=lambda pair: (-pair[1], pair[0])):
            if total <= self.batch or tokens <= self.excerpt:
                break
            if key not in over:
                over.add(key)
                total -= tokens - self.excerpt
        share = max(_LEAST_EXCERPT, min(self.excerpt, self.batch // max(1, len(over))))
        return dict.fromkeys(sorted(over), share)


def limits_of(policy: Policy, budget: Budget) -> Limits:
    """A result may take ``result_share`` of the available budget and at most ``result_tokens``; all results of one

    interaction together ``batch_share``.
    """
    room = budget.counted(max(0, budget.available - budget.unseen))
    limit = int(room * policy.result_share)
    return Limits(
        min(limit, policy.result_tokens) if policy.result_tokens else limit,
        int(room * policy.batch_share) if policy.batch_share else room,
        max(_LEAST_EXCERPT, min(policy.excerpt_tokens, int(room * policy.excerpt_share))),
    )


def externalize(view: View, policy: Policy, target: Target, budget: Budget) -> list[Draft]:
    """Propose one rewrite for the results that no request has shown yet and that are over their limit.

    An agent without a reader keeps its results whole, and what the read tool gave back is never moved out again.
    """
    if target.reader == "none":
        return []
    fold = view.fold
    start = fold.sent[-1].items if fold.sent else 0
    limits = limits_of(policy, budget)
    replacements: list[Replacement] = []
    for item in fold.items[start:]:
        if isinstance(item, Interaction) and item.calls:
            sized = _sized(view, item, target)
            replacements += [
                excerpt_replacement(view, item, position, sized[position], aim, target)
                for position, aim in limits.over(sized).items()
            ]
    if not replacements:
        return []
    return [rewrite_draft("externalized", "arrival", replacements, epoch=False)]


def _sized(view: View, item: Interaction, target: Target) -> dict[int, int]:
    """Tokens of the text of each result that has some and is not replaced yet, by its position."""
    sized: dict[int, int] = {}
    own = read_tool_name(view)
    for position, result in enumerate(item.results):
        seq = item.result_seqs[position]
        if result is None or seq is None or view.replacement(seq, view.position) is not None:
            continue
        if item.calls[position].name != own:
            sized[position] = text_tokens(plain_text(result.content), target)
    return sized


def text_tokens(text: str, target: Target) -> int:
    """Count a text; of a short one a guess will do."""
    return target.counter.count(text) if len(text) > 200 else len(text) // 2


def excerpt_replacement(
    view: View, item: Interaction, position: int, tokens: int, aim: int, target: Target
) -> Replacement:
    """Return the excerpt that stands for the text of one result, framed as quotation."""
    result = item.results[position]
    seq = item.result_seqs[position]
    assert isinstance(result, ToolResult)
    assert seq is not None
    text, ref = excerpt_of(view, seq, result, tokens, aim, target)
    shown = frame("excerpt", text, tool=item.calls[position].name, ref=ref)
    removed = max(0, tokens - target.counter.count(shown))
    readable = target.reader != "none"
    return Replacement(events=(seq,), text=shown, ref=ref if readable else None, tokens_removed=removed)


def excerpt_of(
    view: View, seq: int, result: ToolResult, tokens: int, aim: int, target: Target
) -> tuple[str, str]:
    """Return an excerpt of the text of the result of event ``seq``, with the call that reads it whole, and its

    reference: that of the one text beside pictures, else of the event.
    """
    texts = [n for n, block in enumerate(result.content) if isinstance(block, Text)]
    ref = view.fold.ref(seq)
    if len(texts) == 1 < len(result.content):
        ref = f"{ref}.{texts[0]}"
    text = plain_text(result.content)
    call = recall(target.reader, read_tool_name(view), ref)
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    how = f"whole: {call}" if call is not None else "the rest is not readable by this agent"
    excerpt = excerpt_tokens(settled(text), aim, target.counter)
    return f"{excerpt}\n[{lines} lines, {tokens} tokens; {how}]", ref


def rewrite_draft(how: How, why: Why, replacements: list[Replacement], *, epoch: bool) -> Draft:
    """Return the draft of a rewrite; its causes are the events it replaces."""
    causes = tuple(sorted({seq for replacement in replacements for seq in replacement.events}))
    body = Rewritten(how=how, why=why, replacements=tuple(replacements), epoch=epoch)
    return by_engine(body, *causes)
