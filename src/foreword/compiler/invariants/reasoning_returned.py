"""What reasoning a provider wants back is there, by the catalog's ``reasoning_return`` and the wire's member for it.

Where it may not stand any more, all of it left legally: with the ids that ask for it, or behind the end of its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.answers import answers
from foreword.compiler.invariants.reasoning_own import strange
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.core.block import Text, Thinking, ToolCall
from foreword.core.canonical import compact
from foreword.core.event import OWN_ORIGINS
from foreword.core.item import Interaction

_NAME = "reasoning_returned"


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    codec = compiled.target.codec
    member = codec.reasoning_member(compiled.target.params)
    wanted = compiled.target.spec.reasoning_return if codec.reasoning_blocks else None
    if not member and wanted not in ("paired", "turn"):
        return
    for item, units in answers(compiled, _turn_begins(compiled, start) if wanted == "turn" else start):
        if member:
            yield from _on_calls(compiled, item, units, member)
        if wanted == "paired":
            yield from _by_id(compiled, item, units)
        if wanted == "turn" and item.seq != compiled.epoch.body.block:
            yield from _in_turn(compiled, item, units)


def _on_calls(compiled: Compiled, item: Interaction, units: list[int], member: str) -> Iterator[Broken]:
    """Report a first call without its member, and a member that isn't what the model gave."""
    codec = compiled.target.codec
    given = item.message.wire in (None, codec.wire) and strange(compiled, item.seq) is None
    calls = [index for index in units if compiled.unit(index).kind == "tool_call"]
    recorded = _members(item, member) if given and codec.reasoning_blocks else []
    if calls and not (given and codec.reasoning_blocks and not recorded):
        value: Any = compiled.value(calls[0]) or {}
        if not isinstance(value.get(member), str):
            yield _broken(calls[0], item, f"calls without {member}")
        elif given and not codec.reasoning_blocks:
            thoughts = [block.text for block in item.message.blocks if isinstance(block, Thinking)]
            if thoughts and value[member] != "".join(thoughts):
                yield _broken(calls[0], item, f"another {member} than the model gave")
    for text in recorded:
        if not any(text in compiled.unit(index).data for index in units):
            yield _broken(units[0], item, f"a {member} of the message is missing")


def _members(item: Interaction, member: str) -> list[bytes]:
    """List the member as it stands on the blocks of a message that show in every request."""
    return [
        compact({member: block.extra[member]})[1:-1]
        for block in item.message.blocks
        if isinstance(block, Text | ToolCall) and block.extra is not None and block.extra.get(member)
    ]


def _by_id(compiled: Compiled, item: Interaction, units: list[int]) -> Iterator[Broken]:
    """Report calls that stand without their reasoning but with the id by which the provider looks for it."""
    sent = sum(compiled.unit(index).kind == "thinking" for index in units)
    thoughts = 0
    ids: list[bytes] = []
    for block in item.message.blocks:
        thoughts += isinstance(block, Thinking)
        id_ = block.extra.get("id") if isinstance(block, ToolCall) and block.extra else None
        if thoughts > sent and id_:
            ids.append(compact({"id": id_})[1:-1])
    for index in units:
        if any(id_ in compiled.unit(index).data for id_ in ids):
            yield _broken(index, item, "a call without the reasoning that led to it")


def _turn_begins(compiled: Compiled, start: int) -> int:
    """Return the first unit behind the last words of the user's, or ``start``: earlier turns have ended."""
    for index in range(compiled.size - 1, start - 1, -1):
        unit = compiled.unit(index)
        if unit.role == "user" and unit.kind != "tool_result":
            return index
    return start


def _in_turn(compiled: Compiled, item: Interaction, units: list[int]) -> Iterator[Broken]:
    """Report calls of ours in the turn under way that stand without the reasoning that led to them."""
    wire = compiled.target.codec.wire
    ours = compiled.view.fold.events[item.seq].origin in OWN_ORIGINS
    if not (item.calls and ours and item.message.wire in (None, wire)):
        return
    blocks = item.message.blocks
    called = max(n for n, block in enumerate(blocks) if isinstance(block, ToolCall))
    sealed = any(isinstance(block, Thinking) and block.sealed for block in blocks[:called])
    if sealed and not any(compiled.unit(index).kind == "thinking" for index in units):
        yield _broken(units[0], item, "calls without the reasoning that led to them, in a turn that goes on")


def _broken(unit: int, item: Interaction, fault: str) -> Broken:
    return Broken(rule=_NAME, unit=unit, events=(item.seq,), fault=fault)


RULE = Invariant(
    name=_NAME,
    source="Anthropic Messages 1.4 (turn), OpenAI Responses 5.2 (paired), DeepSeek 6 (calls), Gemini 7, first call of "
    "each step signed (rulebook of 2026-11-30)",
    holds=_holds,
)
