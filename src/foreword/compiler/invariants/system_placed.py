"""A message of the operator's in mid-conversation: only where the model has one, behind a turn, before an answer."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.compiler.placing import OPERATOR, hears

_NAME = "system_placed"


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    target = compiled.target
    if target.codec.system_anywhere:
        return
    changes = target.spec.late_tools or target.spec.late_removal or target.spec.late_effort
    taken = target.notice_channel in OPERATOR or changes
    head = compiled.head
    # What was sent last may have ended in such a message, so the first new unit is looked at from there.
    for index, unit in compiled.since(max(start - 1, head)):
        if unit.role not in OPERATOR:
            continue
        before = compiled.unit(index - 1) if index > head else None
        after = compiled.unit(index + 1).role if index + 1 < compiled.size else "assistant"
        if not taken:
            fault = "a system message for a model that takes none there"
        elif not hears(before, target):
            fault = "a system message that follows neither the user's turn nor a call of the provider's"
        elif after not in (*OPERATOR, "assistant"):
            fault = "a system message that the assistant doesn't answer"
        else:
            continue
        yield Broken(rule=_NAME, unit=index, events=unit.events, fault=fault)


RULE = Invariant(
    name=_NAME,
    source="Anthropic Messages 1.1, mid-conversation system message; Gemini 7, roles only user and model "
    "(rulebook of 2026-11-30)",
    holds=_holds,
)
