"""Reasoning is sent only to the model that gave it, and under the prefix it is bound to."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.core.event import OWN_ORIGINS, Answered, RequestSent


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    events = compiled.view.fold.events
    target = compiled.target
    for index in range(start, compiled.size):
        unit = compiled.unit(index)
        if unit.kind != "thinking" or not unit.events:
            continue
        event = events[unit.events[0]]
        body = event.body
        request = body.request if isinstance(body, Answered) and body.request is not None else -1
        sent = events[request].body if request >= 0 else None
        if not isinstance(sent, RequestSent) or event.origin not in OWN_ORIGINS:
            fault = "reasoning that was not returned to us"
        elif (sent.wire, sent.model) != (target.codec.wire, target.params.model):
            fault = f"reasoning of {sent.model} on {sent.wire}"
        elif event.seq == compiled.epoch.body.block:
            continue  # what stands behind a compaction block is bound to that
        elif target.spec.binds_thinking and request < compiled.epoch.seq:
            fault = "reasoning bound to a prefix that no longer stands"
        else:
            continue
        yield Broken(rule="reasoning_own", unit=index, events=unit.events, fault=fault)


RULE = Invariant(
    name="reasoning_own",
    source="Anthropic Messages 1.4, preserved thinking; OpenAI input_transformations R2 (rulebook of 2026-11-30)",
    holds=_holds,
)
