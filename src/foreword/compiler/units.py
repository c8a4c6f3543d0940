"""From placed pieces to units: where each stands, what it costs, and the digest by which it is known."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.compiler.placing import Placed, settle
from foreword.core.canonical import digest
from foreword.core.request import Piece, Unit, unit_digest_input
from foreword.core.target import Target


def to_units(placed: Sequence[Placed], target: Target, previous: Unit | None) -> list[Unit]:
    """Place, count and digest pieces, in one batch. ``previous`` is the unit before them (None: there is none)."""
    placed = settle(placed, target, previous)
    counts = target.counter.count_many([p.piece.text for p in placed])
    units: list[Unit] = []
    before: Unit | Piece | None = previous
    exact = target.counter.exact
    overhead = target.codec.message_tokens
    first_tool = previous is None
    for item, count in zip(placed, counts, strict=True):
        piece = item.piece
        tokens = count + piece.media_tokens
        if target.codec.opens(before, piece):
            tokens += overhead
        before = piece
        if piece.section == "tool" and first_tool:
            tokens += target.codec.tools_tokens
            first_tool = False
        units.append(
            Unit(
                section=piece.section,
                layer=piece.layer,
                role=piece.role,
                kind=piece.kind,
                data=piece.data,
                digest=digest(unit_digest_input(piece)),
                tokens=tokens,
                exact=exact and piece.media_tokens == 0,
                markable=piece.markable,
                category=item.category,
                events=item.events,
                by=item.by,
                why=item.why,
                lost=piece.lost,
                betas=piece.betas,
            )
        )
    return units
