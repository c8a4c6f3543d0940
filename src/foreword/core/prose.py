"""Prose: what a person wrote himself in a message, without code, quotes, addresses and what programs put in."""

from __future__ import annotations

import re

EDGE = 2_000
"""Characters that are read at the beginning and at the end of a long text; more tell no more of its language."""

_FENCES = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*\n.*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?>.*?</\1\s*>", re.DOTALL)
_LEFT_OUT = re.compile(
    r"""
      `+[^`\n]*`+                                # code in a line
    | ^[ \t]*(?:>|[|]).*$                        # a quoted line, a table
    | ^(?:[ ]{4,}|\t).*$                         # an indented block
    | "[^"\n]*" | “[^”]*” | „[^“”]*[“”] | «[^»]*» | »[^«]*« | 「[^」]*」 | 『[^』]*』
    | (?<![\w+.-])[a-z][a-z0-9+.-]*+://\S+ | (?<!\S)[^\s@]++@\S+
    | <[^<>\n]*>
    | (?<!\w)\w*(?:Error|Exception)\b[^\n]*       # what a program said
    | (?<![\w.-])[\w-]++\.[A-Za-z]\w{0,5}\b       # a file
    | (?<![!-~])[!-~]*[_/\\{}()\[\]=;$\#@|&*~^+<>][!-~]*   # a path, a name, an expression
    | \d+
    """,
    re.VERBOSE | re.MULTILINE,
)


def prose(text: str) -> str:
    """Return what is left of a text for telling its language; "" when nothing is."""
    if len(text) > 2 * EDGE:
        end = text[-EDGE:]
        text = f"{text[:EDGE]}\n{end.partition(chr(10))[2] or end}"
    for pattern in (_FENCES, _TAGGED, _LEFT_OUT):
        text = pattern.sub(" ", text)
    return " ".join(text.split())
