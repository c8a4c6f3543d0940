"""Checks of a text that was cut: what stayed, and whether its notes say truly what did not."""

from __future__ import annotations

import re
from typing import Any

from tests.field_cases.cases import Unsupported
from tests.field_cases.checks.comparing import Check, compare, expect
from tests.field_cases.outcome import Outcome

LINES_NOTE = re.compile(r"^\[\.\.\. (\d+) of (\d+) lines hidden: (\d+) to (\d+) \.\.\.\]$", re.MULTILINE)
LINE_NOTE = re.compile(r"\[\.\.\. (\d+) characters hidden \.\.\.\]")
EXCERPT = re.compile(r'<foreword kind="excerpt"[^>]*>\n(.*)\n\[[^\n]*\]\n</foreword>', re.DOTALL)


def _preview(outcome: Outcome) -> str:
    if "preview" not in outcome.values:
        raise Unsupported("a preview after this operation")
    return outcome.values["preview"]


def preview_chars(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, len(_preview(outcome)))


def preview_bytes(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, len(_preview(outcome).encode("utf-8", "surrogatepass")))


def _notes(outcome: Outcome) -> int:
    """Count the notes about missing content: a cut line's is part of its line."""
    return len(LINES_NOTE.findall(_preview(outcome))) or bool(LINE_NOTE.search(_preview(outcome)))


def has_marker(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, bool(_notes(outcome)))


def single_marker(outcome: Outcome, args: dict[str, Any]) -> None:
    expect(_notes(outcome) <= 1, "one note about missing content", _notes(outcome))


def marker_numbers_exact(outcome: Outcome, args: dict[str, Any]) -> None:
    found = EXCERPT.fullmatch(_preview(outcome))
    if found is None:
        expect(not _notes(outcome), "notes in an excerpt", _preview(outcome))
        return
    lines = found[1].split("\n")
    original = str(outcome.values["raw"]).removesuffix("\n").split("\n")
    notes = list(LINES_NOTE.finditer(found[1]))
    shown = len(lines) - len(notes)
    hidden = sum(int(note[1]) for note in notes)
    expect(shown + hidden == len(original), f"{len(original)} lines shown and hidden", (shown, hidden))
    for note in notes:
        number, total, first, last = map(int, note.groups())
        expect(total == len(original) and last - first + 1 == number, "the lines that are hidden", note[0])
    for line in lines:
        if cut := LINE_NOTE.search(line):
            size = len(line) - len(cut[0]) + int(cut[1])
            whole = any(len(one) == size and one.startswith(line[: cut.start()]) for one in original)
            expect(whole, "the characters that are hidden of a line", cut[0])


EXCERPTS: dict[str, Check] = {
    "preview_chars": preview_chars,
    "preview_bytes": preview_bytes,
    "has_marker": has_marker,
    "single_marker": single_marker,
    "marker_numbers_exact": marker_numbers_exact,
}
