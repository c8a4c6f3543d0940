"""Text for a terminal: recorded text is untrusted and may hold control sequences."""

from __future__ import annotations

LONGEST = 2_000


def one_line(text: str, longest: int = LONGEST) -> str:
    """Return text on one line, control characters made visible, cut at ``longest`` characters."""
    flat = " ".join(text[: longest * 4].split())
    shown = "".join(char if char.isprintable() else _escaped(char) for char in flat)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def visible(text: str) -> str:
    """Return text with its line ends and tabs, every other control character made visible."""
    return "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
