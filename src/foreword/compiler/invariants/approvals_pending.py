"""A block that answers another one stands behind it; what is asked for is answered, or the request waits there for it.

Calls that the provider runs itself, calls of a client that only one wire knows, approvals that a person gives.
"""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.answers import opaque_of, said_by_model
from foreword.compiler.invariants.rule import Broken, Invariant
from foreword.core.block import Opaque
from foreword.core.canonical import compact
from foreword.core.item import Interaction, Turn
from foreword.core.request import Link, Unit
from foreword.core.target import Target
from foreword.core.view import View

_NAME = "approvals_pending"
_OVERTAKEN = "words behind what the provider has under way"


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    pending: dict[tuple[str, str], tuple[int, Link]] = {}
    for index, unit in compiled.since(_newest_answer(compiled, start)):
        link = _link(compiled, index) if unit.kind == "opaque" else None
        if link is not None and not link.answers:
            pending[link.pair] = index, link
        elif link is not None:
            if pending.pop(link.pair, None) is None and not _asked_before(compiled, index, link):
                yield _broken(compiled, index, "an answer to what was not asked")
        elif pending and _is_users(unit):
            for asked, link in list(pending.values()):
                if link.by == "provider":
                    yield _broken(compiled, asked, _OVERTAKEN)
                    del pending[link.pair]
    for asked, link in pending.values():
        if link.by == "client":
            yield _broken(compiled, asked, "a client's call without a result")


def waits(compiled: Compiled) -> bool:
    """Whether the request ends in a message of the model's that asks for what only others can give.

    The provider goes on with what it has under way only where nothing else is said behind it.
    """
    last = compiled.size - 1
    view = compiled.view
    item = said_by_model(view, compiled.unit(last))
    links: list[Link] = []
    while item is not None and last >= 0 and said_by_model(view, compiled.unit(last)) is item:
        link = _link(compiled, last)
        links += [link] if link is not None else []
        last -= 1
    answered = {link.pair for link in links if link.answers}
    left = {link.by for link in links if not link.answers and link.pair not in answered}
    return "person" in left or ("provider" in left and _link(compiled, compiled.size - 1) is not None)


def overtaken(compiled: Compiled, start: int) -> list[tuple[int, tuple[str, str]]]:
    """Return what the provider has under way and words stand behind: the event, and what names the pair in it."""
    found: list[tuple[int, tuple[str, str]]] = []
    for fault in _holds(compiled, start) if compiled.view.fold.opaque else ():
        link = _link(compiled, fault.unit) if fault.unit is not None and fault.fault == _OVERTAKEN else None
        if link is not None:
            found.append((fault.events[0], link.pair))
    return found


def _newest_answer(compiled: Compiled, start: int) -> int:
    """Return where the model's newest message before ``start`` begins: what it asks for may be answered only now."""
    found = None
    for index in range(start - 1, compiled.head - 1, -1):
        unit = compiled.unit(index)
        item = said_by_model(compiled.view, unit)
        if found is not None and item is not found:
            return index + 1
        found = item
        if _is_users(unit) and _link(compiled, index) is None:
            return start
    return start if found is None else compiled.head


def _is_users(unit: Unit) -> bool:
    return unit.role == "user" and unit.kind != "tool_result"


def _link(compiled: Compiled, index: int) -> Link | None:
    opaque = opaque_of(compiled, index)
    return compiled.target.codec.link(opaque) if opaque is not None else None


def _asked_before(compiled: Compiled, stop: int, answer: Link) -> bool:
    """Look through all that was sent: only an answer that was given late gets here."""
    named = compact(answer.id)
    for index in range(stop):
        unit = compiled.unit(index)
        link = _link(compiled, index) if unit.kind == "opaque" and named in unit.data else None
        if link is not None and link.pair == answer.pair and not link.answers:
            return True
    return False


def _broken(compiled: Compiled, unit: int, fault: str) -> Broken:
    return Broken(rule=_NAME, unit=unit, events=compiled.unit(unit).events, fault=fault)


def _ties(view: View, target: Target) -> Iterator[tuple[int, int]]:
    """A block and the one that answers it from another item: where one is left out, so is the other."""
    asked: dict[tuple[str, str], int] = {}
    for position, item in enumerate(view.fold.items):
        blocks = item.message.blocks if isinstance(item, Interaction | Turn) else ()
        for block in blocks:
            link = target.codec.link(block) if isinstance(block, Opaque) else None
            if link is not None and not link.answers:
                asked[link.pair] = position
            elif link is not None and asked.get(link.pair, position) != position:
                yield asked[link.pair], position


RULE = Invariant(
    name=_NAME,
    source="Anthropic Messages 1.3, server tools pair inside the assistant's turn; OpenAI Responses 5.2, calls and "
    "their outputs by id (rulebook of 2026-11-30); that an approval may wait is an assumption",
    holds=_holds,
    ties=_ties,
)
