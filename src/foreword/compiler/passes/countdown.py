"""Tell the model what is left of its task budget, where the provider doesn't."""

from __future__ import annotations

from foreword.compiler.policy import Policy
from foreword.core.event import Draft, Noticed, by_engine
from foreword.core.fold import TASK_BUDGET
from foreword.core.target import Target
from foreword.core.view import View


def countdown(view: View, policy: Policy, target: Target) -> list[Draft]:
    """Propose a notice when a budget was set, and each time another ``policy.countdown`` of it was spent.

    An answer whose output nobody reported counts by its text, and the notice then says "about".
    """
    fold = view.fold
    total = fold.budget[1]
    if not total or not policy.countdown or target.counts_down:
        return []
    if fold.told >= 0 and fold.spent - fold.told < max(1, total * policy.countdown):
        return []
    about = "About " if fold.guessed else ""
    text = f"{about}{max(0, total - fold.spent)} of {total} output tokens are left for this task."
    return [by_engine(Noticed(topic=TASK_BUDGET, text=text))]
