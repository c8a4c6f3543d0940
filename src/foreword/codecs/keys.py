"""Keys: parameters whose change makes the provider forget a layer of its cache, as units of that layer."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from foreword.core.canonical import check_numbers, compact
from foreword.core.request import LAYERS, Layer, Params, Piece
from foreword.errors import MalformedRequest

JSON_OBJECT = "json_object"
"""The kind of answer that a server gives only where a message holds the word JSON (error text `'messages' must contain
the word 'json' in some form`, public reports up to 2026)."""
_WRITTEN_FROM = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens"), "max_output"),
    **dict.fromkeys(("system", "instructions", "systemInstruction"), "Session.instruct"),
    **dict.fromkeys(("messages", "input", "contents"), "Session.say or Session.sync"),
    "tools": "Session.offer",
    "model": "model",
}
"""Member of any wire that Foreword writes itself -> what says its value."""


def key_pieces(
    wire: str,
    params: Params,
    layers: Mapping[str, Layer],
    *,
    reserved: Set[str],
    counted: Set[str] = frozenset(),
) -> list[Piece]:
    """Return the keys among parameters, by layer, each layer in the given order.

    ``layers``: member to the first layer that a change of it invalidates; others are no keys. ``counted``: members
    whose value (a schema) a tokenizer sees.
    Raises: MalformedRequest when one is ``reserved``: Foreword writes it itself; InvalidNumber.
    """
    check_numbers(params.keys)
    for name in params.keys:
        if name in reserved:
            raise MalformedRequest(
                wire, f"params.keys.{name}", f"written from other values; use {_WRITTEN_FROM[name]}"
            )
    found = [
        key_piece(layers[name], name, value, counted=name in counted)
        for name, value in params.keys.items()
        if name in layers
    ]
    return sorted(found, key=lambda piece: LAYERS.index(piece.layer))


def key_piece(layer: Layer, name: str, value: Any, *, counted: bool = False) -> Piece:
    """Return a member as the unit of a layer; ``counted``: a tokenizer sees it."""
    data = compact({name: value})[1:-1]
    text = data.decode() if counted else ""
    return Piece(section="key", layer=layer, role="", kind=name, data=data, text=text, markable=False)
