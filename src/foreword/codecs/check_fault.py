"""What a message list may have wrong, and the rule that all wires share: a call and its result are a pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

Rule = Literal[
    "form", "role", "first", "placement", "orphan-result", "unanswered-call", "duplicate-call",
    "duplicate-result", "orphan-reasoning", "empty", "text",
]  # fmt: skip


class Fault(Struct, frozen=True, kw_only=True):
    """What is wrong with message `index`, counted in the given list from 0."""

    index: int
    rule: Rule
    text: str


def answer(id_: str, index: int, calls: dict[str, int], answered: set[str]) -> Iterator[Fault]:
    """Judge a result of call `id_` against the open calls (id -> index), and note it as `answered`."""
    if id_ in answered:
        yield Fault(index=index, rule="duplicate-result", text=f"a second result of call {id_}")
    elif id_ not in calls:
        yield Fault(index=index, rule="orphan-result", text=f"no call {id_} in the assistant turn before")
    answered.add(id_)


def unanswered(calls: dict[str, int], answered: set[str]) -> Iterator[Fault]:
    """Judge the calls that have no result where they need one."""
    for id_, index in calls.items():
        if id_ not in answered:
            text = f"call {id_} has no result in the messages right after"
            yield Fault(index=index, rule="unanswered-call", text=text)
