"""Joining a whole request through a codec, as its users do, without a compiler."""

from foreword.codecs.decoded import Request, WireCodec
from foreword.core.request import Piece, Unit


def pieces_of(codec: WireCodec, request: Request, *, thinking: bool = True) -> list[Piece]:
    """Encode the values of a request to pieces in render order."""
    keys = codec.keys(request.params)
    by_layer = {
        layer: [key for key in keys if key.layer == layer] for layer in ("tools", "system", "messages")
    }
    return [
        *by_layer["tools"],
        *(codec.tool(tool) for tool in request.tools),
        *by_layer["system"],
        *(codec.system(block) for block in request.system),
        *by_layer["messages"],
        *(piece for message in request.messages for piece in codec.message(message, thinking=thinking)),
    ]


def body_of(codec: WireCodec, request: Request, *, thinking: bool = True) -> bytes:
    """Encode a request to one body."""
    body, last = b"", None
    for piece in pieces_of(codec, request, thinking=thinking):
        unit = as_unit(piece)
        body += codec.between(last, unit) + unit.data
        last = unit
    return body + codec.close(last, request.params)


def as_unit(piece: Piece) -> Unit:
    """Place a piece; what a codec doesn't look at is filled in."""
    return Unit(
        section=piece.section,
        layer=piece.layer,
        role=piece.role,
        kind=piece.kind,
        data=piece.data,
        digest=b"",
        tokens=0,
        exact=True,
        markable=piece.markable,
        category="history",
        events=(),
        by="test",
        why="",
    )
