"""Reasoning is sent only to the model that gave it, and under the prefix it is bound to."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.core.event import OWN_ORIGINS, Answered, RequestSent


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    for index, unit in compiled.since(start):
        if unit.kind == "thinking" and unit.events:
            fault = strange(compiled, unit.events[0])
            if fault is not None:
                yield Broken(rule="reasoning_own", unit=index, events=unit.events, fault=fault)


def strange(compiled: Compiled, seq: int) -> str | None:
    """Say why the reasoning of a message can't be sent to this target in this epoch; None: it can."""
    events, target = compiled.view.fold.events, compiled.target
    event = events[seq]
    body = event.body
    request = body.request if isinstance(body, Answered) and body.request is not None else -1
    sent = events[request].body if request >= 0 else None
    if not isinstance(sent, RequestSent) or event.origin not in OWN_ORIGINS:
        return "reasoning that was not returned to us"
    if (sent.wire, sent.model) != (target.codec.wire, target.params.model):
        return f"reasoning of {sent.model} on {sent.wire}"
    if event.seq == compiled.epoch.body.block:
        return None  # what stands behind a compaction block is bound to that
    if target.binds_thinking and request < compiled.epoch.seq:
        return "reasoning bound to a prefix that no longer stands"
    return None


RULE = Invariant(
    name="reasoning_own",
    source="Anthropic Messages 1.4, preserved thinking; OpenAI input_transformations R2 (rulebook of 2026-11-30)",
    holds=_holds,
)
