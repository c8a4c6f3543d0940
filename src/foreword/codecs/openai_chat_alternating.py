"""The Chat wire of a server that refuses two neighbours of one role, as many chat templates do.

Texts of one role that follow each other are one message there, so a unit may be a piece of a message: the text of a
string, or the members that end the message. A later text then lengthens the string, and what was sent stays a prefix.
A message of parts stands whole. One system message opens the request, and none follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from foreword.codecs.openai_chat import OpenAIChatCodec
from foreword.core.block import Text
from foreword.core.canonical import compact
from foreword.core.request import Params, Piece, Unit

SEPARATOR = rb"\n\n"
"""An empty line, as it stands inside a JSON string."""


class AlternatingChatCodec(OpenAIChatCodec):
    """Encode to the Chat wire of a server on which user and assistant take turns. Stateless."""

    turns: Literal["", "alternate"] = "alternate"
    system_anywhere = False

    def system(self, block: Text) -> Piece:
        """Encode a system block as a piece of the one system message; its foreign members have no place there."""
        piece = super().system(block)
        lost = ("members of a system message",) if block.extra else ()
        return msgspec.structs.replace(piece, role="system", data=_inside(block.text), lost=lost)

    def said(self, whole: Piece, value: Mapping[str, Any], text: str, beside: str) -> list[Piece]:
        """Return the text and the other members of a message as pieces of their own; a message of parts as it is."""
        content = value["content"]
        if isinstance(content, list):
            return [whole]
        rest = {name: member for name, member in value.items() if name not in ("role", "content")}
        plain = msgspec.structs.replace(whole, markable=False)
        pieces: list[Piece] = []
        if content:
            kind = "text" if rest else whole.kind
            pieces.append(msgspec.structs.replace(plain, kind=kind, data=_inside(content), text=text))
        if rest:
            lost = () if pieces else whole.lost
            pieces.append(msgspec.structs.replace(plain, data=compact(rest)[1:-1], text=beside, lost=lost))
        return pieces

    def opens(self, before: Unit | Piece | None, piece: Unit | Piece) -> bool:
        """Whether a piece begins a message: one of the same role goes on where the one before left its text open."""
        if piece.section not in ("system", "message"):
            return False
        goes_on = before is not None and (before.section, before.role) == (piece.section, piece.role)
        return not (goes_on and before is not None and _is_text(before) and not _is_whole(piece))

    def between(self, before: Unit | None, unit: Unit) -> bytes:
        """Return the bytes between two neighbouring units, or before the first."""
        if before is not None and unit.section in ("system", "message") and not self.opens(before, unit):
            return SEPARATOR if _is_text(unit) else b'",'
        return _end(before) + super().between(before, unit) + _begin(unit)

    def close(self, last: Unit | None, params: Params) -> bytes:
        """Return the bytes after the last unit, like the wire's custom form."""
        return _end(last) + super().close(last, params)


def _inside(text: str) -> bytes:
    return compact(text)[1:-1]


def _is_whole(unit: Unit | Piece) -> bool:
    return unit.data.startswith(b'{"')


def _is_text(unit: Unit | Piece) -> bool:
    """Whether a unit of a message is text inside a string, in which no bare quotation mark stands."""
    return not _is_whole(unit) and not unit.data.startswith(b'"')


def _begin(unit: Unit) -> bytes:
    if unit.section not in ("system", "message") or _is_whole(unit):
        return b""
    return b'{"role":"' + unit.role.encode() + (b'","content":"' if _is_text(unit) else b'","content":null,')


def _end(last: Unit | None) -> bytes:
    if last is None or last.section not in ("system", "message") or _is_whole(last):
        return b""
    return b'"}' if _is_text(last) else b"}"
