"""Estimate: o200k token counts from character classes, with the standard library alone.

A linear model over counts that C code makes: runs of letters, digits, punctuation and blanks, and the lead
bytes of UTF-8, which tell the scripts apart. Weights are thousandths of a token. They were fitted
(2026-11-30) to exact counts of 4 KB pieces of manual pages in 12 languages, licences, source code, web pages,
JSON, logs, command output, random identifiers, emoji and tables; never to agent sessions. On 2,239 pieces of
recorded agent sessions the error is 4.2 % in the median, 14 % at p95, 43 % at most, and -1.0 % in total.
A million times one character may be off by a factor: letters 2, line ends 11 (too high), digits 1.3.
"""

from typing import Final


def _class_of(byte: int) -> int:
    if byte < 0x80:
        return 0
    if byte < 0xC0:
        return 1  # continuation
    bounds = (0xC8, 0xE0, 0xE2, 0xE3, 0xE4, 0xEA, 0xEE, 0xF0)
    return 2 + sum(byte >= bound for bound in bounds)


def _mask(bytes_in: bytes) -> bytes:
    return bytes(byte in bytes_in for byte in range(256))


_DIGITS: Final = b"0123456789"
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BLANKS: Final = b" \t\v\f"
_IS_DIGIT: Final = _mask(_DIGITS)
_IS_LETTER: Final = _mask(_LETTERS)
_IS_BLANK: Final = _mask(_BLANKS)
_IS_PUNCTUATION: Final = _mask(bytes(set(range(128)) - set(_DIGITS + _LETTERS + _BLANKS + b"\r\n")))
_IS_HIGH: Final = _mask(bytes(range(128, 256)))
_CLASS: Final = bytes(_class_of(byte) for byte in range(256))
_SPACED: Final = bytes(11 if byte == 0x20 else _class_of(byte) for byte in range(256))

_START: Final = b"\0\1"
_LONG_RUN: Final = b"\1" * 16
_SYMBOL: Final = 5
_LEADS: Final = (
    (2, 191),  # Latin beyond ASCII
    (3, 121),  # Greek, Cyrillic, Hebrew, Arabic
    (4, 884),  # Indic, Thai and others
    (_SYMBOL, 647),  # arrows, box drawing, dashes
    (6, 617),  # kana, CJK punctuation
    (7, 700),  # CJK
    (8, 600),  # Hangul; fitted 542: older vocabularies take more, and a low count overflows a window
    (9, 600),  # full-width forms
    (10, 2353),  # emoji and other planes
)
_SYMBOL_IN_RUN: Final = 103


def estimate(data: bytes) -> int:
    """Estimate the o200k tokens of UTF-8 text; 0 for no bytes, else at least 1. Linear in the text."""
    if not data:
        return 0
    letters = data.translate(_IS_LETTER)
    digits = data.translate(_IS_DIGIT)
    blanks = data.translate(_IS_BLANK)
    punctuation = data.translate(_IS_PUNCTUATION)
    weight = (
        1029 * letters.count(_START)
        + 4136 * letters.count(_LONG_RUN)
        + 809 * digits.count(_START)
        + 430 * digits.count(1)
        + 659 * punctuation.count(_START)
        + 822 * blanks.count(b"\0\1\1")
        + 687 * (data.count(b"\n") + data.count(b"\r"))
    )
    # A run at the very start has no byte before it.
    weight += 1029 * letters[0] + 809 * digits[0] + 659 * punctuation[0]
    plain = len(data)
    if not data.isascii():
        classes = data.translate(_CLASS)
        plain = classes.count(0)
        weight += _scripts(data, classes) + (669 if data[0] >= 0x80 else 0)
    return max(1, (weight + 12 * plain + 500) // 1000)


def _scripts(data: bytes, classes: bytes) -> int:
    weight = 669 * data.translate(_IS_HIGH).count(_START)
    weight += 752 * data.translate(_SPACED).count(b"\x0b\x03")
    for lead, thousandths in _LEADS:
        weight += thousandths * classes.count(lead)
    return weight - (647 - _SYMBOL_IN_RUN) * classes.count(b"\1\5")
