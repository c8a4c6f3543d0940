"""Close what no wire accepts open: calls without a result, results without a call, a request that ends with the
assistant."""

from __future__ import annotations

from foreword.compiler.budget import Budget
from foreword.compiler.late_result import late_texts
from foreword.compiler.policy import Policy
from foreword.compiler.run_note import run_words
from foreword.core.event import Answered, Draft, Noticed, Repaired, ToolPrinted, ToolReturned, by_engine
from foreword.core.item import Interaction
from foreword.core.target import Target
from foreword.core.view import View

UNKNOWN = "[outcome unknown: no result was recorded for this call; it may or may not have taken effect]"
NOT_RUN = "[never started: nothing of this call ran, so it had no effect]"
CONTINUE = "Continue."


def repair_pairs(view: View, policy: Policy, target: Target, budget: Budget) -> list[Draft]:
    """Propose a repair for each fault of the history. The log keeps the original.

    An open call is answered *unknown*, with what it had printed, or *never started* where the log can tell. A result
    that came after its call was answered becomes a notice, with an excerpt if it is over its limit; one that never had
    a call is left out and named.
    """
    fold = view.fold
    drafts: list[Draft] = []
    for interaction in fold.open:
        for position, result in enumerate(interaction.results):
            if result is None:
                text = _open_text(view, interaction, position)
                body = Repaired(fault="open_call", event=interaction.seq, call=position, text=text)
                drafts.append(by_engine(body, interaction.seq, *interaction.printed.get(position, ())))
    waiting = [seq for seq in fold.orphans if seq not in fold.mended]
    late = late_texts(view, (seq for seq in waiting if seq in fold.late), policy, target, budget)
    for seq in waiting:
        body = fold.events[seq].body
        if isinstance(body, ToolReturned) and seq in late:
            topic = ", ".join((f"late result of call {body.result.call_id}", *run_words(body)))
            drafts.append(by_engine(Noticed(topic=topic, text=late[seq], about=(seq,)), seq))
        else:
            drafts.append(by_engine(Repaired(fault="orphan_result", event=seq), seq))
    return drafts


def end_with_user(view: View) -> Draft:
    """Propose the words that stand where a request would end with the assistant's, which newer models refuse."""
    last = view.position - 1
    return by_engine(Repaired(fault="no_user_turn", event=last, text=CONTINUE), last)


def _open_text(view: View, interaction: Interaction, position: int) -> str:
    events = view.fold.events
    answer = events[interaction.seq].body
    if position not in interaction.started and isinstance(answer, Answered) and answer.start_marks:
        return NOT_RUN
    bodies = [events[seq].body for seq in interaction.printed.get(position, ())]
    output = "".join(body.text for body in bodies if isinstance(body, ToolPrinted))
    return f"{output}\n{UNKNOWN}" if output.strip() else UNKNOWN
