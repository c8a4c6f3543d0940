"""For every rule on images and documents: a request that it refuses, and the nearest that it lets pass."""

from __future__ import annotations

import base64
from typing import Any

from foreword.testing.facts import ModelFacts
from tests.testing.anthropic_parts import PDF, PNG, body, called, result, text, user
from tests.testing.cases import Pair

JPEG = {**PNG, "media_type": "image/jpeg"}
AT = {"type": "url", "url": "https://example.com/a.png"}
SMALL_WINDOW = {"facts": ModelFacts(window=200_000)}
LARGE_WINDOW = {"facts": ModelFacts(window=10_000_000)}


def image(source: dict[str, Any]) -> dict[str, Any]:
    """An image."""
    return {"type": "image", "source": source}


def document(source: dict[str, Any]) -> dict[str, Any]:
    """A document."""
    return {"type": "document", "source": source}


def sized(width: int, height: int) -> dict[str, Any]:
    """The head of a PNG of a size in pixels."""
    head = b"\x89PNG\r\n\x1a\n" + bytes(8) + width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return image({**PNG, "data": base64.b64encode(head).decode()})


def returned(source: dict[str, Any]) -> dict[str, Any]:
    """A request in which a tool returned an image."""
    return called(result("t1", content=[image(source)]))


MEDIA_PAIRS = [
    Pair(
        "image_type",
        body(user(image({**PNG, "media_type": "image/bmp"}))),
        body(user(image({**PNG, "media_type": "image/gif", "data": "R0lGODlh"}))),
    ),
    Pair("image_type", returned({**PNG, "media_type": "image/jpg"}), returned(PNG)),
    Pair("image_mismatch", body(user(image(JPEG))), body(user(image({**JPEG, "data": "/9j/"})))),
    # What the data are cannot be told.
    Pair("image_mismatch", returned(JPEG), returned({**JPEG, "data": "AAAA"})),
    Pair("image_data", body(user(image({**PNG, "data": ""}))), body(user(image({**PNG, "data": "AAAA"})))),
    Pair("image_data", returned({**PNG, "data": "A"}), returned(PNG)),
    Pair(
        "image_large",
        body(user(image({**PNG, "data": "A" * (10 * 1024 * 1024 + 4)}))),
        body(user(image({**PNG, "data": "A" * (10 * 1024 * 1024)}))),
    ),
    Pair("image_side", body(user(sized(8001, 10))), body(user(sized(8000, 10)))),
    Pair(
        "image_side",
        body(user(*[sized(10, 2001)] * 21)),
        body(user(*[sized(10, 2001)] * 20)),
    ),
    Pair(
        "media_many",
        body(user(*[image(AT)] * 100, document(PDF))),
        body(user(*[image(AT)] * 99, document(PDF))),
        SMALL_WINDOW,
    ),
    Pair("media_many", body(user(*[image(AT)] * 601)), body(user(*[image(AT)] * 600)), LARGE_WINDOW),
    Pair("document_type", body(user(document(PNG), text("a"))), body(user(document(PDF), text("a")))),
]
