"""A server's ruler."""

import base64
import struct
import sys
import zlib

import pytest

from foreword.errors import MissingExtra
from foreword.testing.measure import (
    TokenMeter,
    claude_image_tokens,
    decoded,
    image_size,
    image_type,
    openai_image_tokens,
)


def test_the_factor_is_drawn_by_the_seed() -> None:
    """The same seed measures alike, others differ, all within 0.9 to 1.5 of the tokenizer."""
    factors = [TokenMeter(seed).factor for seed in range(50)]
    assert TokenMeter(7).factor == factors[7]
    assert len(set(factors)) == 50
    assert min(factors) >= 0.9
    assert max(factors) <= 1.5


def test_tokens_scale_by_the_factor() -> None:
    """One thousand words of one token each cost a thousand times the factor, rounded up."""
    meter = TokenMeter(3)
    assert meter.tokens(["hello" + " hello" * 999]) == -int(-1000 * meter.factor // 1)
    assert meter.tokens([]) == meter.tokens([""]) == 0


def test_a_missing_tokenizer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the error says what to install."""
    monkeypatch.setitem(sys.modules, "toktok", None)
    with pytest.raises(MissingExtra, match=r"foreword\[tokens\]"):
        TokenMeter(0).tokens(["hello"])


def test_image_sizes_come_from_the_header() -> None:
    """PNG, GIF and JPEG tell their size; anything else, or a cut header, does not."""
    ihdr = struct.pack(">II5B", 640, 480, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + ihdr + struct.pack(">I", zlib.crc32(ihdr))
    gif = b"GIF89a" + struct.pack("<HH", 640, 480)
    segment = b"\xff\xe1" + struct.pack(">H", 2 + 600) + b"\x00" * 600
    jpeg = b"\xff\xd8" + segment + b"\xff\xff\xc2" + struct.pack(">HBHH", 11, 8, 480, 640) + b"\x00" * 4
    assert {image_size(data) for data in (png, gif, jpeg)} == {(640, 480)}
    assert [image_size(data) for data in (b"", png[:20], gif[:8], jpeg[:90], b"\xff\xd8\x00", b"RIFF")] == [
        None
    ] * 6
    assert decoded(base64.b64encode(png).decode()) == png
    assert decoded("A") is None


@pytest.mark.parametrize(
    "size, edge, most, tokens",
    [
        ((280, 280), 2000, None, 100),
        ((281, 280), 2000, None, 110),
        ((4000, 2000), 2000, None, 72 * 36),
        ((1568, 1568), 1568, 1568, 1568),
        (None, 2000, None, 1500),
    ],
)
def test_claude_images_count_in_patches_of_28_pixels(
    size: tuple[int, int] | None, edge: int | None, most: int | None, tokens: int
) -> None:
    """Scaled to the longest edge first, capped last."""
    assert claude_image_tokens(size, edge, most) == tokens


def test_openai_images_count_in_patches_of_32_pixels() -> None:
    """The rulebook's figure for 12 megapixels, and the cap of high detail."""
    assert openai_image_tokens((4032, 3024), None) == pytest.approx(14_364, abs=2)
    assert openai_image_tokens((4032, 3024), "high") == 2_940
    assert openai_image_tokens(None, None) == 1500


@pytest.mark.parametrize(
    "data, media",
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", None),
        (b"", None),
    ],
)
def test_an_image_is_known_by_its_first_bytes(data: bytes, media: str | None) -> None:
    """Whatever its source says; what no model reads is unknown."""
    assert image_type(data) == media
