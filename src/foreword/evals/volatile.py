"""What changes by itself in a text: times and identifiers, recognised around the place where two texts differ.

Only a short window is looked at, so that the time does not depend on the length of the texts.
"""

from __future__ import annotations

import re

WINDOW = 64
"""Characters on each side of the difference."""

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}"
_TIMES = re.compile(
    "|".join(
        (
            r"\d{4}-\d{2}-\d{2}(?:[T _]\d{1,2}[:.-]\d{2}(?:[:.-]\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
            r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?[ap]\.?m\.?)?",
            r"\d{1,4}/\d{1,2}/\d{1,4}",
            r"\d{1,2}\.\d{1,2}\.\d{4}",
            rf"(?:{_DAY},? )?{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?",
            rf"(?:{_DAY},? )?\d{{1,2}}\.? {_MONTH}(?:,? \d{{4}})?",
            _DAY,
            r"(?<!\d)1[5-9]\d{8}(?:\d{3}){0,3}(?!\d)",
            r"\d{8}T\d{6}Z?",
            r"\d{1,9} (?:milli)?(?:second|minute|hour|day)s? ago",
        )
    ),
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[A-Za-z0-9_-]+")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_LEAST_NUMBER = 5
_LEAST_MIXED = 6


def first_difference(a: str, b: str) -> int:
    """Return the length of the common beginning of two texts, in linear time."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def is_time(a: str, b: str) -> bool:
    """Whether both texts tell a time, each another one, where they first differ."""
    at = first_difference(a, b)
    one, other = _covering(_TIMES, a, at), _covering(_TIMES, b, at)
    return bool(one and other and one != other)


def is_identifier(a: str, b: str) -> bool:
    """Whether both texts have an identifier, each another one, where they first differ."""
    at = first_difference(a, b)
    one, other = _covering(_TOKEN, a, at), _covering(_TOKEN, b, at)
    return bool(one and other and one != other and _made_up(one) and _made_up(other))


def _covering(pattern: re.Pattern[str], text: str, at: int) -> str | None:
    """Return the match that holds the difference or ends right at it (one text may be cut short there)."""
    start = max(0, at - WINDOW)
    for match in pattern.finditer(text[start : at + WINDOW]):
        if start + match.start() <= at <= start + match.end():
            return match.group()
    return None


def _made_up(token: str) -> bool:
    """Whether no person wrote this word: a UUID, a long number, or letters and digits mixed."""
    if _UUID.fullmatch(token):
        return True
    if token.isdecimal():
        return len(token) >= _LEAST_NUMBER
    has_digit = any(letter.isdigit() for letter in token)
    mixed = has_digit and any(letter.isalpha() for letter in token)
    hexadecimal = len(token) >= 16 and all(letter in "0123456789abcdef-" for letter in token.lower())
    return hexadecimal or (mixed and len(token) >= _LEAST_MIXED)
