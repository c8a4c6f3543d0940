"""Close what no wire accepts open: calls without a result, results without a call, a missing user turn."""

from __future__ import annotations

from foreword.core.block import plain_text
from foreword.core.event import Draft, Noticed, Repaired, ToolReturned
from foreword.core.view import Interaction, View

UNKNOWN = "[outcome unknown: no result was recorded for this call; it may or may not have taken effect]"
CONTINUE = "Continue."


def repair_pairs(view: View) -> list[Draft]:
    """Propose a repair for each fault of the history. The log keeps the original.

    An open call is answered *unknown*. A result that came after its call was answered so becomes a notice; one
    that never had a call is left out and named. A request may not end with the assistant's words.
    """
    fold = view.fold
    drafts: list[Draft] = []
    for interaction in fold.open:
        for position, result in enumerate(interaction.results):
            if result is None:
                body = Repaired(fault="open_call", event=interaction.seq, call=position, text=UNKNOWN)
                drafts.append(_engine(body, interaction.seq))
    answered = _answered_unknown(view)
    for seq in fold.orphans:
        if seq in fold.mended:
            continue
        body = fold.events[seq].body
        if isinstance(body, ToolReturned) and body.result.call_id in answered:
            text = plain_text(body.result.content)
            notice = Noticed(topic=f"late result of call {body.result.call_id}", text=text, about=(seq,))
            drafts.append(_engine(notice, seq))
        else:
            drafts.append(_engine(Repaired(fault="orphan_result", event=seq), seq))
    last = fold.items[-1] if fold.items else None
    if isinstance(last, Interaction) and not last.calls and not drafts:
        drafts.append(_engine(Repaired(fault="no_user_turn", event=last.seq, text=CONTINUE), last.seq))
    return drafts


def _answered_unknown(view: View) -> set[str]:
    found: set[str] = set()
    for _, repair in view.fold.repairs:
        item = view.fold.item(repair.event)
        if repair.fault == "open_call" and isinstance(item, Interaction):
            found.add(item.calls[repair.call].id)
    return found


def _engine(body: Repaired | Noticed, cause: int) -> Draft:
    return Draft(body=body, actor="engine", origin="engine", trust="engine", causes=(cause,))
