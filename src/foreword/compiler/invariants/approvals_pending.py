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
from foreword.core.request import Link
from foreword.core.target import Target
from foreword.core.view import Interaction, Turn, View

_NAME = "approvals_pending"


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    pending: dict[str, tuple[int, Link]] = {}
    for index in range(_newest_answer(compiled, start), compiled.size):
        link = _link(compiled, index)
        if link is not None and not link.answers:
            pending[link.id] = index, link
        elif link is not None:
            if pending.pop(link.id, None) is None and not _asked_before(compiled, index, link.id):
                yield _broken(compiled, index, "an answer to what was not asked")
        elif _is_users(compiled, index):
            for asked, link in list(pending.values()):
                if link.by == "provider":
                    yield _broken(compiled, asked, "words behind what the provider has under way")
                    del pending[link.id]
    for asked, link in pending.values():
        if link.by == "client":
            yield _broken(compiled, asked, "a client's call without a result")


def waits(compiled: Compiled) -> bool:
    """Whether the request ends in a message of the model's that asks for what only others can give."""
    last = compiled.size - 1
    item = said_by_model(compiled, last)
    links: list[Link] = []
    while item is not None and last >= 0 and said_by_model(compiled, last) is item:
        link = _link(compiled, last)
        links += [link] if link is not None else []
        last -= 1
    answered = {link.id for link in links if link.answers}
    return any(link.by != "client" and link.id not in answered for link in links if not link.answers)


def _newest_answer(compiled: Compiled, start: int) -> int:
    """Return where the model's newest message before ``start`` begins: what it asks for may be answered only now."""
    found = None
    for index in range(start - 1, compiled.head - 1, -1):
        item = said_by_model(compiled, index)
        if found is not None and item is not found:
            return index + 1
        found = item
        if _is_users(compiled, index) and _link(compiled, index) is None:
            return start
    return start if found is None else compiled.head


def _is_users(compiled: Compiled, index: int) -> bool:
    unit = compiled.unit(index)
    return unit.role == "user" and unit.kind != "tool_result"


def _link(compiled: Compiled, index: int) -> Link | None:
    opaque = opaque_of(compiled, index)
    return compiled.target.codec.link(opaque) if opaque is not None else None


def _asked_before(compiled: Compiled, stop: int, id_: str) -> bool:
    """Look through all that was sent: only an answer that was given late gets here."""
    named = compact(id_)
    for index in range(stop):
        unit = compiled.unit(index)
        link = _link(compiled, index) if unit.kind == "opaque" and named in unit.data else None
        if link is not None and link.id == id_ and not link.answers:
            return True
    return False


def _broken(compiled: Compiled, unit: int, fault: str) -> Broken:
    return Broken(rule=_NAME, unit=unit, events=compiled.unit(unit).events, fault=fault)


def _ties(view: View, target: Target) -> Iterator[tuple[int, int]]:
    """A block and the one that answers it from another item: where one is left out, so is the other."""
    asked: dict[str, int] = {}
    for position, item in enumerate(view.fold.items):
        blocks = item.message.blocks if isinstance(item, Interaction | Turn) else ()
        for block in blocks:
            link = target.codec.link(block) if isinstance(block, Opaque) else None
            if link is not None and not link.answers:
                asked[link.id] = position
            elif link is not None and asked.get(link.id, position) != position:
                yield asked[link.id], position


RULE = Invariant(
    name=_NAME,
    source="Anthropic Messages 1.3, server tools pair inside the assistant's turn; OpenAI Responses 5.2, calls and "
    "their outputs by id (rulebook of 2026-11-30); that an approval may wait is an assumption",
    holds=_holds,
    ties=_ties,
)
