"""Excerpt: the head and the tail of a long text, with what lies between named. Deterministic."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from foreword.core.block import Text, ToolResult
from foreword.core.tokens import Counter

_LINE_CAP = 400
"""Characters shown of one line: a giant line is not one unit (cut in its middle, and said so)."""


class Excerpt(Struct, frozen=True, kw_only=True):
    """Shown head and tail lines and what is hidden. ``hidden_lines`` counts whole lines left out."""

    head: tuple[str, ...]
    tail: tuple[str, ...]
    hidden_lines: int
    total_lines: int
    first_hidden: int

    @property
    def text(self) -> str:
        """The lines with a note between head and tail; the note gives the hidden range, 1-based."""
        if not self.hidden_lines:
            return "\n".join((*self.head, *self.tail))
        last = self.first_hidden + self.hidden_lines - 1
        note = (
            f"[... {self.hidden_lines} of {self.total_lines} lines hidden: {self.first_hidden} to {last} ...]"
        )
        return "\n".join((*self.head, note, *self.tail))


def with_excerpt(result: ToolResult, text: str, *, alone: bool) -> ToolResult:
    """Return a result with a text for its own. ``alone``: for all that it holds, such as pictures, too."""
    others = () if alone else tuple(block for block in result.content if not isinstance(block, Text))
    return replace(result, content=(Text(text=text), *others), extra=None)


def excerpt_lines(text: str, *, head: int, tail: int) -> Excerpt:
    """Keep the first ``head`` and the last ``tail`` lines.

    >>> excerpt_lines("\\n".join(map(str, range(1, 302))), head=5, tail=15).hidden_lines
    281
    """
    lines = _lines(text)
    if len(lines) <= head + tail:
        return Excerpt(head=tuple(lines), tail=(), hidden_lines=0, total_lines=len(lines), first_hidden=0)
    return Excerpt(
        head=tuple(lines[:head]),
        tail=tuple(lines[len(lines) - tail :]) if tail else (),
        hidden_lines=len(lines) - head - tail,
        total_lines=len(lines),
        first_hidden=head + 1,
    )


def excerpt_tokens(text: str, limit: int, counter: Counter) -> str:
    """Keep about ``limit`` tokens: a quarter from the head, the rest from the tail, where errors stand.

    Lines are kept whole unless one is longer than a cap; then its middle is cut, and the cut says so.
    """
    lines = [_cap(line) for line in _lines(text)]
    counts = counter.count_many(lines)
    head, used = 0, 0
    while head < len(lines) and used + counts[head] + 1 <= limit // 4:
        used += counts[head] + 1
        head += 1
    tail = 0
    while tail < len(lines) - head and used + counts[len(lines) - 1 - tail] + 1 <= limit:
        used += counts[len(lines) - 1 - tail] + 1
        tail += 1
    hidden = len(lines) - head - tail
    shown = Excerpt(
        head=tuple(lines[:head]),
        tail=tuple(lines[len(lines) - tail :]) if tail else (),
        hidden_lines=hidden,
        total_lines=len(lines),
        first_hidden=head + 1 if hidden else 0,
    )
    return shown.text


def _lines(text: str) -> list[str]:
    """Split at newlines only, as the reader numbers them; a last line without newline is a line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _cap(line: str) -> str:
    if len(line) <= _LINE_CAP:
        return line
    half = _LINE_CAP // 2
    return f"{line[:half]}[... {len(line) - 2 * half} characters hidden ...]{line[-half:]}"
