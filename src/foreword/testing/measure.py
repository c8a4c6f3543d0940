"""A server's own ruler: tokens by a seeded factor, images by their size.

No client knows its provider's tokenizer, so a referee counts with a factor of its own and Foreword has to
learn it from usage, as in life.
"""

from __future__ import annotations

import base64
import binascii
import math
import random
from collections.abc import Iterable
from hashlib import blake2b

from foreword.errors import MissingExtra

FACTOR_RANGE = (0.9, 1.5)
UNKNOWN_MEDIA_TOKENS = 1500
OPENAI_PATCH = 32
OPENAI_PATCH_FACTOR = 1.2
OPENAI_MAX_PATCHES = 2450
CLAUDE_PATCH = 28

_PNG = b"\x89PNG\r\n\x1a\n"
_STARTS = {
    _PNG: "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class TokenMeter:
    """Counts tokens as `factor` times o200k; each different text is counted once.

    `factor` is drawn from 0.9 to 1.5 by `seed`. Needs the `tokens` extra.
    """

    def __init__(self, seed: int) -> None:
        self.factor = random.Random(seed).uniform(*FACTOR_RANGE)
        self._counts: dict[bytes, int] = {}

    def tokens(self, texts: Iterable[str]) -> int:
        """Return the tokens of some texts together, in this server's own measure."""
        keyed = [(blake2b(text.encode(), digest_size=16).digest(), text) for text in texts if text]
        new = {key: text for key, text in keyed if key not in self._counts}
        if new:
            try:
                import toktok
            except ImportError as missing:
                raise MissingExtra("counting like a server", "tokens") from missing
            self._counts.update(zip(new, toktok.batch_count(new.values(), "o200k_base"), strict=True))
        return math.ceil(sum(self._counts[key] for key, _ in keyed) * self.factor)


def decoded(data: str) -> bytes | None:
    """Decode base64, or return None."""
    try:
        return base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):
        return None


def image_size(data: bytes) -> tuple[int, int] | None:
    """Read width and height in pixels from the header of a PNG, GIF or JPEG; None if it is none of these."""
    if data.startswith(_PNG) and len(data) >= 24:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if data[:6] in {b"GIF87a", b"GIF89a"} and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    return _jpeg_size(data) if data.startswith(b"\xff\xd8") else None


def image_type(data: bytes) -> str | None:
    """Tell the media type of an image by its first bytes; None if it is none of the four that models read."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media for start, media in _STARTS.items() if data.startswith(start)), None)


def claude_image_tokens(size: tuple[int, int] | None, max_edge: int | None, max_tokens: int | None) -> int:
    """Tokens of an image for Claude: 28-pixel patches after scaling to the longest edge (rulebook 9.3)."""
    if size is None:
        return UNKNOWN_MEDIA_TOKENS
    scale = 1.0 if max_edge is None else min(1.0, max_edge / max(*size, 1))
    patches = math.prod(math.ceil(edge * scale / CLAUDE_PATCH) for edge in size)
    return patches if max_tokens is None else min(patches, max_tokens)


def openai_image_tokens(size: tuple[int, int] | None, detail: str | None) -> int:
    """Tokens of an image for GPT: 32-pixel patches times 1.2, capped for `detail: high` (rulebook 9.3)."""
    if size is None:
        return UNKNOWN_MEDIA_TOKENS
    patches = math.prod(math.ceil(edge / OPENAI_PATCH) for edge in size)
    return math.ceil(
        (min(patches, OPENAI_MAX_PATCHES) if detail == "high" else patches) * OPENAI_PATCH_FACTOR
    )


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        kind = data[at + 1]
        if kind in _JPEG_FRAMES:
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        # A fill byte has no length; every other segment before the frame has.
        at += 1 if kind == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
