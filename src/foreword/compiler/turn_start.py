"""Where a turn that is not over must begin with the model's reasoning, and doesn't: it is ended in words."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from foreword.compiler.placing import Placed, engine_text
from foreword.core.frame import frame
from foreword.core.request import Piece, Unit
from foreword.core.target import Target

_BEFORE = (b'{"type":"compaction"', b'{"type":"fallback"')
"""How blocks begin that the server puts before an answer; they are no part of it."""
OTHERS = frame("note", "The steps above were taken without the reasoning that is asked for now. Go on.")


def end_turn_of_others(placed: list[Placed], sent: Sequence[Unit], target: Target) -> None:
    """End in words a turn whose first answer shows no reasoning, where the parameters want it to.

    It came from another model, at a hand-off between a call and its result, or its reasoning was lost. What the user
    says besides results begins a new turn, in which the model reasons afresh. What the provider itself has under way
    is left out then: see ``repair_overtaken``. ``sent``: the units before.
    Source: error text `a final assistant message must start with a thinking block`; that a user's content other than
    results begins a new turn: the provider's page on prompt caching (2026); ``thinking_first`` of the referee.
    """
    if not placed or not target.thinks_first:
        return
    pieces = (each.piece for each in reversed(placed))
    if not begun_bare(itertools.chain(pieces, reversed(sent))):
        return
    placed += engine_text(
        target, OTHERS, "notice", (), "turn_start", "thinking must begin a turn that is not over"
    )


def begun_bare(backwards: Iterable[Piece | Unit]) -> bool:
    """Whether a request ends in a turn that goes on and whose first answer shows no reasoning.

    It goes on behind a result, and where the provider has a call of its own under way. ``backwards``: the pieces of the
    request, the last one first.
    """
    first: Piece | Unit | None = None
    for n, piece in enumerate(backwards):
        result = (piece.role, piece.kind) == ("user", "tool_result")
        if n == 0 and not result and (piece.role, piece.kind) != ("assistant", "opaque"):
            return False
        if piece.role == "assistant" and not (piece.kind == "opaque" and piece.data.startswith(_BEFORE)):
            first = piece
        elif piece.role == "user" and not result:
            break
    return first is not None and first.kind != "thinking"
