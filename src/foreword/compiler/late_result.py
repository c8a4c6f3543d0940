"""A result that came when its call was answered already: what the notice of it says, and the pictures behind that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foreword.compiler.blocks import referred_result
from foreword.compiler.budget import Budget
from foreword.compiler.passes.externalize import excerpt_of, limits_of, text_tokens
from foreword.compiler.policy import Policy
from foreword.compiler.read_tool import read_tool_name
from foreword.compiler.shown import shown_message
from foreword.core.block import Block, Image, Message, Opaque, ToolResult, plain_text
from foreword.core.event import Noticed, ToolReturned
from foreword.core.item import Notice
from foreword.core.reference import recall
from foreword.core.target import Target
from foreword.core.view import View


def late_texts(
    view: View, seqs: Iterable[int], policy: Policy, target: Target, budget: Budget
) -> dict[int, str]:
    """Return the text of a notice for each of these results: an excerpt where they are over their limits.

    They are one batch. What is not text is named; without a reader all text stays whole.
    """
    bodies = {seq: view.fold.events[seq].body for seq in seqs}
    results = {seq: body.result for seq, body in bodies.items() if isinstance(body, ToolReturned)}
    sized = {seq: text_tokens(plain_text(result.content), target) for seq, result in results.items()}
    over = limits_of(policy, budget).over(sized) if target.reader != "none" else {}
    texts: dict[int, str] = {}
    for seq, result in results.items():
        if seq in over:
            text, _ = excerpt_of(view, seq, result, sized[seq], over[seq], target)
        else:
            text = plain_text(result.content)
        texts[seq] = "\n".join([*([text] if text.strip() else []), *_named(view, seq, result, target)])
    return texts


def late_pictures(view: View, item: Notice, target: Target, before: int) -> tuple[Block, ...]:
    """Return the pictures of the late results that a notice is about, as the target can be shown them.

    ``before``: only descriptions appended before this event count.
    """
    body = view.fold.events[item.seq].body
    pictures: list[Image] = []
    for seq, result in _told(view, body) if isinstance(body, Noticed) else ():
        referred = referred_result(result, seq, view, target)
        pictures += [block for block in referred.content if isinstance(block, Image)]
    return shown_message(Message(role="user", blocks=tuple(pictures)), view, target, before).blocks


def excerpts(view: View) -> Iterator[tuple[int, str, str]]:
    """Yield (event, its text, what the notice says) of each late result that no notice shows whole."""
    fold = view.fold
    for item in fold.items:
        body = fold.events[item.seq].body
        if isinstance(body, Noticed):
            for seq, result in _told(view, body):
                text = plain_text(result.content)
                if text.strip() and text not in body.text:
                    yield seq, text, body.text


def _told(view: View, body: Noticed) -> Iterator[tuple[int, ToolResult]]:
    for seq in body.about:
        late = view.fold.events[seq].body
        if seq in view.fold.late and isinstance(late, ToolReturned):
            yield seq, late.result


def _named(view: View, seq: int, result: ToolResult, target: Target) -> Iterator[str]:
    pictures = sum(isinstance(block, Image) for block in result.content)
    if pictures:
        yield f"[{pictures} picture{'s' if pictures > 1 else ''} of it below]"
    for n, block in enumerate(result.content):
        if isinstance(block, Opaque):
            call = recall(target.reader, read_tool_name(view), f"{view.fold.ref(seq)}.{n}")
            yield f"[{block.form}, not shown; {call or 'not readable by this agent'}]"
