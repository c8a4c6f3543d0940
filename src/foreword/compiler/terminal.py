"""What a terminal showed in the end: text without control sequences and without lines that were drawn over.

Sequences by ECMA-48 (5th edition, 1991); one that a newline or the end of the text cuts off ends there. Lines stay
lines, so their numbers are those of the original.
"""

from __future__ import annotations

import re

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b\n]*+(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b\n]*+(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*+[0-~]?"
)


def settled(text: str) -> str:
    """Return the text as it stood on the screen at last; text without control characters is returned as it is.

    >>> settled("\\x1b[32mok\\x1b[0m\\r\\n 1 %\\r 99 %\\rdone")
    'ok\\ndone'
    """
    if "\x1b" not in text and "\r" not in text and "\x9b" not in text:
        return text
    return "\n".join(_last_drawn(line) for line in _SEQUENCE.sub("", text).split("\n"))


def _last_drawn(line: str) -> str:
    """Return what was drawn after the last carriage return; one at the very end draws over nothing."""
    return line.rstrip("\r").rpartition("\r")[2]
