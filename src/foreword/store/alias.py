"""Session aliases: short enough to say, without letters that look alike."""

from __future__ import annotations

import hmac

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
LENGTH = 6


def alias_of(key: bytes, session: str, attempt: int) -> str:
    """Return the alias that a session gets at this attempt (0, 1, ... until one is free)."""
    number = int.from_bytes(hmac.digest(key, f"alias\0{session}\0{attempt}".encode(), "sha256"))
    letters: list[str] = []
    for _ in range(LENGTH):
        number, rest = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[rest])
    return "".join(letters)
