"""What all wires share: ids that every provider takes, pictures, and reading of unknown blocks."""

import base64
import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.codecs import CODECS, codec
from foreword.codecs.parts import IMAGE_TOKENS, call_id, image_cost, inline_image, members, opaque_reading
from foreword.core.block import Image, Message, Opaque


@given(st.text(max_size=60), st.text(max_size=60))
def test_ids_are_fit_and_stay_distinct(one: str, other: str) -> None:
    """Two ids give two ids, of the characters and length that providers take."""
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", call_id(one, 40))
    assert (call_id(one, 40) == call_id(other, 40)) == (one == other)


def test_a_fit_id_is_left_alone() -> None:
    """Bytes that were sent once stay as they were."""
    assert call_id("toolu_01-A", 64) == "toolu_01-A"


@pytest.mark.parametrize(
    "image, expected",
    [
        (Image(url="data:image/webp;base64,AAAA"), ("image/webp", "AAAA", None)),
        (Image(url="data:;charset=x;base64,iVBORw"), ("image/png", "iVBORw", None)),
        (Image(url="data:text/plain,hi"), (None, None, "data:text/plain,hi")),
        (Image(url="https://example.com/a"), (None, None, "https://example.com/a")),
        (Image(data="/9j/4AAQ"), ("image/jpeg", "/9j/4AAQ", None)),
        (Image(data="AAAA"), (None, "AAAA", None)),
        (Image(media_type="image/gif", data="iVBORw"), ("image/gif", "iVBORw", None)),
    ],
)
def test_a_picture_is_taken_apart(image: Image, expected: tuple[str | None, ...]) -> None:
    """A data URL and raw data mean the same; a type that is given is believed."""
    found = inline_image(image)
    assert (found.media_type, found.data, found.url) == expected


def test_foreign_members_need_their_wire() -> None:
    """Inside a message the message names it, outside they stand under its name."""
    assert members({"a": 1}, "w", own=True) == {"a": 1}
    assert members({"a": 1}, "w", own=False) == {}
    assert members({"w": {"a": 1}, "v": {"b": 2}}, "w", own=False) == {"a": 1}
    assert members(None, "w", own=True) == {}


def test_an_unknown_block_is_read_for_its_text() -> None:
    """Text and titles count, bytes count as a document, ids and ciphers don't."""
    raw = (
        '{"type":"document","title":"T","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"},'
        '"content":[{"type":"text","text":"x"},{"encrypted_content":"zzz"}],"id":"i"}'
    )
    text, tokens = opaque_reading(Opaque(wire="anthropic", form="document", raw=raw))
    assert text.split("\n") == ["T", "application/pdf", "x"]
    assert tokens == 1500


def test_a_picture_costs_by_its_size() -> None:
    """The head of the file says the size; without one, or of a picture elsewhere, a fixed figure stands."""
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 280, 56)
    for data in (base64.b64encode(png).decode(), base64.b64encode(png + b"\0").decode().rstrip("=")):
        assert image_cost(Image(data=data), "claude-5") == 20
    for image in (
        Image(data="AAAA"),
        Image(data="é"),
        Image(data="A"),
        Image(url="https://example.com/a.png"),
    ):
        assert image_cost(image, "openai") == IMAGE_TOKENS


@pytest.mark.parametrize(
    "url, wires",
    [
        ("https://example.com/a.png", set(CODECS)),
        ("HTTP://example.com/a.png", set(CODECS) - {"anthropic"}),
        ("gs://bucket/a.png", {"gemini"}),
        ("file:///tmp/a.png", {"openai-chat"}),
        ("a.png", set[str]()),
        ("https://", set[str]()),
    ],
)
@pytest.mark.parametrize("wire", CODECS)
def test_an_address_that_no_server_fetches_is_told(wire: str, url: str, wires: set[str]) -> None:
    """With it every request would be refused; the model is told where the picture is."""
    message = Message(role="user", blocks=(Image(url=url),))
    (piece,) = codec(wire).message(message, thinking=True)
    assert (piece.lost == ()) == (wire in wires)
    assert url in piece.data.decode()
    assert piece.text.startswith(f"[image {url}") == (wire not in wires)
