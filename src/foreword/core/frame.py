"""The one grammar for engine text in a request.

Everything that Foreword itself writes stands between ``<foreword kind="...">`` and ``</foreword>``. Content
inside is escaped so that recorded text can neither close a frame nor open one.
"""

from __future__ import annotations

import re

_FORGED = re.compile(r"<(?=\s*+(?:/\s*+)?foreword)", re.IGNORECASE)
_UNSAFE = re.compile(r'["<>\n\r]')


def escape(text: str) -> str:
    """Return ``text`` with every would-be frame delimiter made plain text; other text is unchanged."""
    return _FORGED.sub("&lt;", text)


def frame(kind: str, text: str, **attributes: str | int) -> str:
    """Frame engine text. Attribute values lose quotes, angle brackets and line ends."""
    inside = "".join(f' {name}="{_UNSAFE.sub(" ", str(value))}"' for name, value in attributes.items())
    return f'<foreword kind="{kind}"{inside}>\n{escape(text)}\n</foreword>'
