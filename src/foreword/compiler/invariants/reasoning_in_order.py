"""The reasoning of a message stands in it in recorded order, before the calls it led to, none missing between."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.answers import answers
from foreword.compiler.invariants.reasoning_exact import carries
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.core.block import Thinking, ToolCall
from foreword.core.item import Interaction

_NAME = "reasoning_in_order"


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    if not any(unit.kind == "thinking" for _, unit in compiled.since(start)):
        return
    wanted = compiled.target.spec.reasoning_return
    for item, units in answers(compiled, start):
        yield from _ordered(compiled, item, units)
        thoughts = [compiled.unit(index).kind == "thinking" for index in units]
        if (wanted == "paired" and thoughts[-1]) or (wanted == "turn" and all(thoughts)):
            yield _broken(units[-1], item, "reasoning without what it led to")


def _ordered(compiled: Compiled, item: Interaction, units: list[int]) -> Iterator[Broken]:
    blocks = item.message.blocks
    after, last = 0, -1
    for index in units:
        unit = compiled.unit(index)
        if unit.kind == "thinking":
            places = [
                n for n, block in enumerate(blocks) if isinstance(block, Thinking) and carries(unit, block)
            ]
            if not places:
                continue  # not what was recorded: another rule's fault
        elif unit.kind == "tool_call":
            places = [n for n, block in enumerate(blocks) if isinstance(block, ToolCall)]
        else:
            continue
        place = next((n for n in places if n >= after), None)
        if place is None:
            yield _broken(index, item, f"a {unit.kind} out of its order")
            return
        if unit.kind == "thinking":
            between = blocks[last + 1 : place] if last >= 0 else ()
            if any(isinstance(block, Thinking) and block.sealed for block in between):
                yield _broken(index, item, "reasoning is missing before it")
            last = place
        after = place + 1


def _broken(unit: int, item: Interaction, fault: str) -> Broken:
    return Broken(rule=_NAME, unit=unit, events=(item.seq,), fault=fault)


RULE = Invariant(
    name=_NAME,
    source="Anthropic Messages 1.4, the chain; OpenAI Responses 5.2, pairs of reasoning and item "
    "(rulebook of 2026-11-30)",
    holds=_holds,
)
