"""The word JSON, which some servers want to read in a message before they give an answer of that form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foreword.compiler.placing import Placed, engine_text
from foreword.compiler.unit_value import texts_at, value_of
from foreword.core.frame import frame
from foreword.core.request import Piece
from foreword.core.target import Target

_WORD = "json"
_MEMBERS = frozenset({"tool_call", "tool_result", "opaque", "thinking"})
"""Kinds of units that are no plain messages; a server may not look for the word in them."""


def ask_in_words(placed: list[Placed], target: Target, block: int | None) -> None:
    """Put a note before the messages of a new epoch, where none of them says what the parameters ask: JSON.

    ``placed``: all that the first request of the epoch holds. What later ones add can't take the word away, and
    what a rewrite takes away is looked at again, since it starts an epoch. ``block``: the event of the compaction
    block that opens it, which stays first; None: there is none.
    """
    if not target.codec.wants_json(target.params) or any(_says_it(each.piece) for each in placed):
        return
    if placed[-1].piece.section != "message":
        return  # nothing was said: no request at all
    at = next((n for n, each in enumerate(placed) if _is_said(each, block)), len(placed))
    text = frame("note", "The answer is wanted as one JSON object.")
    placed[at:at] = engine_text(
        target, text, "envelope", (), "ask_in_words", "the server wants the word JSON"
    )


def _is_said(each: Placed, block: int | None) -> bool:
    return each.piece.section == "message" and (block is None or block not in each.events)


def _says_it(piece: Piece) -> bool:
    """Whether a piece is a message with the word; the system's where it is one (its unit has a role)."""
    if not piece.role or piece.kind in _MEMBERS or _WORD.encode() not in piece.data.lower():
        return False
    value: Any = value_of(piece)
    if value is None:  # a piece of the string that is a message's content
        return True
    texts: Sequence[str] = [*texts_at(value, ("content",)), *texts_at(value, ("content", "text"))]
    return any(_WORD in text.lower() for text in texts)
