"""Reasoning is sent byte for byte as it came, with the signature or the sealed content that vouches for it."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.answers import said_by_model
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.core.block import Thinking
from foreword.core.canonical import compact
from foreword.core.item_ids import ANSWERED
from foreword.core.request import Unit

_NAME = "reasoning_exact"


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    own = compiled.target.codec.wire
    for index, unit in compiled.since(start):
        item = said_by_model(compiled.view, unit) if unit.kind == "thinking" else None
        if item is None:
            continue
        thoughts = [block for block in item.message.blocks if isinstance(block, Thinking)]
        if not any(carries(unit, thought, members=item.message.wire == own) for thought in thoughts):
            fault = "reasoning that isn't what was recorded"
            yield Broken(rule=_NAME, unit=index, events=unit.events, fault=fault)


def carries(unit: Unit, thought: Thinking, *, members: bool = False) -> bool:
    """Whether a unit holds a block's seal and its words; ``members``: its other members, too, save an answer's own.

    A wire may give the words in several strings, a string a paragraph, so they are looked for line by line.
    """
    seals = [seal for seal in (thought.signature, thought.data) if seal]
    lines = thought.text.split("\n") if thought.data is None else []
    others = [
        (name, value) for name, value in (thought.extra or {}).items() if members and name not in ANSWERED
    ]
    return (
        bool(seals)
        and all(compact(seal) in unit.data for seal in seals)
        and all(compact(line)[1:-1] in unit.data for line in lines)
        and all(compact({name: value})[1:-1] in unit.data for name, value in others)
    )


RULE = Invariant(
    name=_NAME,
    source="Anthropic Messages 1.4, a modified block is refused; OpenAI Responses 5.2, encrypted_content; "
    "Gemini 7, thought signatures (rulebook of 2026-11-30)",
    holds=_holds,
)
