"""Image sizes from real headers, and what images cost."""

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.core.image import ImageFamily, image_size, image_tokens, picture_type


def _png(width: int, height: int) -> bytes:
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))


def _jpeg(width: int, height: int, metadata: int = 0) -> bytes:
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, height, width, 3)
    table = b"\xff\xc4" + struct.pack(">H", 6) + b"\0" * 4
    return (
        b"\xff\xd8\xff\xe1"
        + struct.pack(">H", metadata + 2)
        + b"\0" * metadata
        + table
        + b"\xff"
        + frame
        + b"\0" * 9
    )


def _gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def _webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", len(body) + 12) + b"WEBP" + kind + struct.pack("<I", len(body)) + body


def _webp_extended(width: int, height: int) -> bytes:
    body = b"\0\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return _webp(b"VP8X", body)


def _webp_lossless(width: int, height: int) -> bytes:
    return _webp(b"VP8L", b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14) + b"\0" * 8)


def _webp_lossy(width: int, height: int) -> bytes:
    return _webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height))


@pytest.mark.parametrize("make", [_png, _jpeg, _gif, _webp_extended, _webp_lossless, _webp_lossy])
@pytest.mark.parametrize("size", [(1, 1), (640, 480), (1200, 16000)])
def test_size_is_read_from_the_header(make: object, size: tuple[int, int]) -> None:
    """Every format gives its width and height, in this order."""
    assert callable(make)
    assert image_size(make(*size)) == size


WHOLE = {
    "image/png": _png(1, 1) + b"\0\0\0\0IEND\xae\x42\x60\x82",
    "image/jpeg": b"\xff\xd8\xff\xe1\0\x0b\xff\xd8\xff\xda\xff\xd9\xff\xda\0\x02some more of it\xff\xd9",
    "image/gif": _gif(1, 1) + b"\x2c frame \0;",
    "image/webp": _webp_lossless(1, 1),
}
"""Files with their end; the JPEG has a preview, which ends by itself."""


@pytest.mark.parametrize("kind", WHOLE)
def test_a_picture_is_one_only_with_its_end(kind: str) -> None:
    """A provider refuses one that was cut, in every later request; what stands behind the end is passed over."""
    whole = WHOLE[kind]
    assert picture_type(base64.b64encode(whole).decode()) == kind
    assert picture_type(base64.b64encode(whole + b"\0\0").decode()) == kind
    for missing in (9, 12):
        assert picture_type(base64.b64encode(whole[:-missing]).decode()) is None


def test_jpeg_with_metadata() -> None:
    """The frame header is found behind other segments; without it the size is unknown."""
    data = _jpeg(300, 200, metadata=60_000)
    assert image_size(data) == (300, 200)
    assert image_size(data[:1_000]) is None


@given(
    st.binary(max_size=60),
    st.sampled_from([b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBP", b"GIF89a"]),
)
def test_any_bytes_are_answered(data: bytes, head: bytes) -> None:
    """Damaged headers give None or a positive size, never an error."""
    size = image_size(head + data)
    assert size is None or min(size) > 0


@pytest.mark.parametrize(
    "width,height,family,tokens",
    [
        (28, 28, "claude-5", 1),
        (29, 28, "claude-5", 2),
        (1000, 1000, "claude-5", 1296),
        (32, 32, "openai", 2),
        (1024, 1024, "openai", 1229),
        (4000, 3000, "openai", 14100),
        (1, 1, "gemini", 1100),
    ],
)
def test_tokens_follow_the_formula(width: int, height: int, family: ImageFamily, tokens: int) -> None:
    """Patches rounded up on each side; OpenAI's times 1.2."""
    assert image_tokens(width, height, family) == tokens


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_claude_images_are_bounded(width: int, height: int) -> None:
    """Scaling down keeps any image under a limit, and every image costs something."""
    assert 1 <= image_tokens(width, height, "claude-5") <= 72 * 72


def test_image_without_area_is_refused() -> None:
    """A side of 0 is an error of the caller."""
    with pytest.raises(ValueError, match="0 x 5"):
        image_tokens(0, 5, "openai")
