"""Close what no wire accepts open: calls without a result, results without a call, a request that ends with the
assistant."""

from __future__ import annotations

from foreword.core.block import ToolCall, plain_text
from foreword.core.event import Answered, Draft, Noticed, Repaired, ToolReturned
from foreword.core.view import View

UNKNOWN = "[outcome unknown: no result was recorded for this call; it may or may not have taken effect]"
CONTINUE = "Continue."


def repair_pairs(view: View) -> list[Draft]:
    """Propose a repair for each fault of the history. The log keeps the original.

    An open call is answered *unknown*. A result that came after its call was answered so becomes a notice; one
    that never had a call is left out and named.
    """
    fold = view.fold
    drafts: list[Draft] = []
    for interaction in fold.open:
        for position, result in enumerate(interaction.results):
            if result is None:
                body = Repaired(fault="open_call", event=interaction.seq, call=position, text=UNKNOWN)
                drafts.append(_engine(body, interaction.seq))
    waiting = [seq for seq in fold.orphans if seq not in fold.mended]
    answered = _answered_unknown(view) if waiting else set[str]()
    for seq in waiting:
        body = fold.events[seq].body
        if isinstance(body, ToolReturned) and body.result.call_id in answered:
            text = plain_text(body.result.content)
            notice = Noticed(topic=f"late result of call {body.result.call_id}", text=text, about=(seq,))
            drafts.append(_engine(notice, seq))
        else:
            drafts.append(_engine(Repaired(fault="orphan_result", event=seq), seq))
    return drafts


def end_with_user(view: View) -> Draft:
    """Propose the words that stand where a request would end with the assistant's, which newer models refuse."""
    last = view.position - 1
    return _engine(Repaired(fault="no_user_turn", event=last, text=CONTINUE), last)


def _answered_unknown(view: View) -> set[str]:
    """The ids, as recorded, of calls that a repair answered."""
    found: set[str] = set()
    for _, repair in view.fold.repairs:
        body = view.fold.events[repair.event].body
        if repair.fault == "open_call" and isinstance(body, Answered):
            calls = [block.id for block in body.message.blocks if isinstance(block, ToolCall)]
            found.add(calls[repair.call])
    return found


def _engine(body: Repaired | Noticed, cause: int) -> Draft:
    return Draft(body=body, actor="engine", origin="engine", trust="engine", causes=(cause,))
