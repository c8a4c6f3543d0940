"""Placing: which of two channels a notice goes by, where the wire takes the operator's only between certain turns.

On such a wire (Anthropic) a system message stands behind the user's turn, or behind a call that the provider has under
way, and is last, or the assistant follows.
Decided for what no request has shown yet, behind what was sent; so it is the same step by step and from scratch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from foreword.compiler.shown import shown_text
from foreword.compiler.unit_value import opaque_in, value_of
from foreword.core.block import Block, Message, Role, Text
from foreword.core.frame import frame
from foreword.core.request import Category, Piece, Unit
from foreword.core.target import Target

OPERATOR = ("system", "developer")
UNANSWERED = frame("note", "No answer to this was recorded.")
GO_ON = frame("note", "Go on.")

_OTHER: Mapping[str, tuple[str, Role]] = {"user": (UNANSWERED, "assistant"), "assistant": (GO_ON, "user")}
"""Role -> what the other says between two messages of it, where a server wants turns."""


class Placed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A piece with its provenance, before it is counted.

    ``instead``: the same in the user's channel, for a piece in the operator's; None: it has no such form.
    ``alone``: it opens a message of its own.
    """

    piece: Piece
    category: Category
    events: tuple[int, ...]
    by: str
    why: str
    instead: Piece | None = None
    alone: bool = False


def engine_text(
    target: Target,
    text: str,
    category: Category,
    events: tuple[int, ...],
    by: str,
    why: str,
    *,
    role: Role = "user",
    pictures: Sequence[Block] = (),
) -> Iterator[Placed]:
    """Yield a text of the engine as a message of its own; all but a pin loses its middle where it is too long.

    ``pictures`` follow it there.
    """
    shown = text if category == "pins" else shown_text(text, target)
    message = Message(role=role, blocks=(Text(text=shown), *pictures))
    for piece in target.codec.message(message, thinking=False, params=target.params):
        named = piece if piece.kind == "image" else msgspec.structs.replace(piece, kind=category)
        yield Placed(piece=named, category=category, events=events, by=by, why=why)


def settle(placed: Sequence[Placed], target: Target, previous: Unit | None) -> list[Placed]:
    """Return the pieces as the wire takes them behind ``previous`` (None: nothing was sent yet).

    A notice goes by the operator's channel where that is legal, else by the user's. What has no form there (a
    change of tools) makes its place legal, at the cost of a note.
    """
    if target.codec.turns:
        return list(_alternating(placed, target, previous))
    before: Unit | Piece | None = previous
    if target.codec.system_anywhere or (_role(before) not in OPERATOR and not any(map(_operator, placed))):
        return list(placed)
    found: list[Placed] = []
    for item, after in zip(placed, _followers(placed), strict=True):
        if item.piece.section != "message":
            found.append(item)
            continue
        for each in _legal(item, before, after, target):
            found.append(each)
            before = each.piece
    return found


def hears(before: Unit | Piece | None, target: Target) -> bool:
    """Whether the operator may speak behind a piece: no turn of the model's, but one that waits for the provider."""
    if before is None or _role(before) != "assistant":
        return _role(before) in (*OPERATOR, "user")
    block = opaque_in(before, value_of(before), target.codec.wire) if before.kind == "opaque" else None
    link = target.codec.link(block) if block is not None else None
    return link is not None and link.by == "provider" and not link.answers


def _alternating(placed: Sequence[Placed], target: Target, previous: Unit | None) -> Iterator[Placed]:
    """Yield the pieces with a note between two messages of one role that can't be made one."""
    before: Unit | Piece | None = previous
    for item in placed:
        piece = item.piece
        same = (
            before is not None and before.section == piece.section == "message" and before.role == piece.role
        )
        if same and piece.role in _OTHER and target.codec.opens(before, piece):
            text, role = _OTHER[piece.role]
            yield from engine_text(
                target, text, "envelope", (), "placing", "the server wants turns", role=role
            )
        yield item
        before = piece


def _followers(placed: Sequence[Placed]) -> list[str]:
    """Return for each piece the role of the next one that is not the operator's; at the end an answer follows."""
    after, found = "assistant", list[str]()
    for item in reversed(placed):
        found.append(after)
        after = after if _operator(item) else item.piece.role
    return found[::-1]


def _legal(item: Placed, before: Unit | Piece | None, after: str, target: Target) -> Iterator[Placed]:
    role = _role(before)
    if not _operator(item):
        if role in OPERATOR and item.piece.role == "user":
            yield from _unanswered(target)
        yield item
    elif item.instead is not None:
        if hears(before, target) and after == "assistant":
            yield item
        else:
            if role in OPERATOR:
                yield from _unanswered(target)
            yield msgspec.structs.replace(item, piece=item.instead)
    else:
        if role in OPERATOR and item.alone:
            yield from _unanswered(target)
        if not hears(before, target) or (role in OPERATOR and item.alone):
            yield from engine_text(target, GO_ON, "envelope", (), "placing", "a change stands behind a turn")
        yield item


def _role(piece: Unit | Piece | None) -> str:
    return piece.role if piece is not None and piece.section == "message" else ""


def _operator(item: Placed) -> bool:
    return item.piece.section == "message" and item.piece.role in OPERATOR


def _unanswered(target: Target) -> Iterator[Placed]:
    why = "the user goes on after a notice that got no answer"
    yield from engine_text(target, UNANSWERED, "envelope", (), "placing", why, role="assistant")
