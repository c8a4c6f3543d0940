"""Is a text another one that its holder cut, rather than edited."""

from __future__ import annotations

_NOTE = 200
"""Characters that a caller's own note about a cut may have."""

_CUT_WORDS = (
    "cleared",
    "removed",
    "truncated",
    "omitted",
    "elided",
    "hidden",
    "pruned",
    "trimmed",
    "shortened",
)
"""What a placeholder says when its holder cut the content."""


def is_shortened(whole: str, short: str) -> bool:
    """Whether ``short`` is ``whole`` cut by its holder rather than edited.

    It must be shorter, and but for one note of at most 200 characters it must be the head and the tail of the
    whole text. A bare bracketed placeholder counts too; one that says what was done, at any length.

    >>> is_shortened("line 1\\nline 2\\nline 3", "line 1\\n[cut]\\nline 3"), is_shortened("exit 1", "exit 0")
    (True, False)
    """
    bare = short.strip()
    placeholder = 0 < len(bare) <= _NOTE and bare[0] in "[<(" and bare[-1] in "])>"
    if placeholder and any(word in bare.lower() for word in _CUT_WORDS):
        return True
    if len(short) >= len(whole):
        return False
    if placeholder or not bare:
        return True
    head = _shared(whole, short)
    tail = _shared(whole[head:][::-1], short[head:][::-1])
    note = short[head : len(short) - tail]
    says_so = any(word in note.lower() for word in _CUT_WORDS)
    return len(note) <= _NOTE and (says_so or head + tail >= len(note)) and head + tail > 0


def _shared(one: str, other: str) -> int:
    """Length of the common beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
