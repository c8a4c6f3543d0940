"""Images: their size from the first bytes, and what they cost in tokens."""

import base64
from math import ceil
from typing import Literal

ImageFamily = Literal["claude-5", "openai", "gemini"]
"""How images are counted: Claude (since 4.7; an older one takes at most as many), OpenAI since GPT-5.5, Gemini 3."""

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)
_GEMINI_IMAGE = 1_100
_CLAUDE_EDGE = 2_000
_CLAUDE_PATCH = 28
_OPENAI_PATCH = 32


def image_tokens(width: int, height: int, family: ImageFamily) -> int:
    """Estimate the tokens of an image of `width` by `height` pixels.

    The formulas fit third-party measurements; none is published. Claude: patches of 28 pixels, after scaling
    down to 2,000 pixels an edge. OpenAI: patches of 32 pixels times 1.2, not scaled down. Gemini: the upper end
    of what one image takes at the default resolution, whatever its size. As of 2026-11-30.
    Raises ValueError when a side is not positive.
    """
    if width < 1 or height < 1:
        raise ValueError(f"an image of {width} x {height} pixels has no area")
    if family == "gemini":
        return _GEMINI_IMAGE
    if family == "openai":
        patches = ceil(width / _OPENAI_PATCH) * ceil(height / _OPENAI_PATCH)
        return (patches * 6 + 4) // 5
    return _claude_tokens(width, height)


def picture_type(data: str) -> str | None:
    """Return the media type of a picture in base64, by its first bytes and its end; None: no base64, or no picture."""
    try:
        found = base64.b64decode(data, validate=True)
    except ValueError:
        return None
    kind = next((kind for signature, kind in _SIGNATURES if found.startswith(signature)), None)
    return kind if kind is not None and _ends(found, kind) else None


def _ends(data: bytes, kind: str) -> bool:
    """Whether a file holds its end; what stands behind it is passed over, as decoders do.

    PNG: the last chunk. JPEG: an end marker behind the last scan, since a preview has one of its own before that. GIF:
    the trailer, which only fill may follow. WebP: as many bytes as the file says.
    """
    match kind:
        case "image/png":
            return b"IEND" in data
        case "image/jpeg":
            return data.rfind(b"\xff\xd9") > data.rfind(b"\xff\xda")
        case "image/gif":
            return data.rstrip(b"\0\r\n").endswith(b";")
        case _:
            return data[8:12] == b"WEBP" and len(data) >= 8 + _little(data[4:8])


def image_size(data: bytes) -> tuple[int, int] | None:
    """Read (width, height) in pixels from the head of a PNG, JPEG, GIF or WebP file; None for anything else.

    A few kilobytes are enough, except for a JPEG with large metadata. Never raises.
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR" and len(data) >= 24:
        size = _big(data[16:20]), _big(data[20:24])
    elif data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        size = _little(data[6:8]), _little(data[8:10])
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP" and len(data) >= 30:
        size = _webp(data)
    elif data.startswith(b"\xff\xd8"):
        size = _jpeg(data)
    else:
        return None
    return size if size is not None and min(size) > 0 else None


def _claude_tokens(width: int, height: int) -> int:
    scale = min(1.0, _CLAUDE_EDGE / max(width, height))
    wide, high = max(1, int(width * scale)), max(1, int(height * scale))
    return ceil(wide / _CLAUDE_PATCH) * ceil(high / _CLAUDE_PATCH)


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Walk the segments up to the frame header; each step moves forward, so the walk ends."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # stands alone, without a length
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        else:
            at += 2 + max(2, _big(data[at + 2 : at + 4]))
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return _little(data[24:27]) + 1, _little(data[27:30]) + 1
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = _little(data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
    return None


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
