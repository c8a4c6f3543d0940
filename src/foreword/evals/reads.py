"""Reading that went wrong: results that were cut, files read again, paging by shell after a cut.

By phrases that tools put where they cut, looked for near the ends of a result and in a bracketed note within,
so that a source file that speaks of truncation does not count as cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from foreword.evals.facts import Row

CUTS = (
    "[truncated", "(truncated", "<truncated", "...truncated", "… truncated", "... truncated",
    "output truncated", "truncated output", "lines truncated", "characters truncated", "chars truncated",
    "tokens truncated",
    "lines omitted", "characters omitted", "bytes omitted", "response clipped", "output too large",
    "output too long", "content has been truncated", "file content truncated", "file is too large",
    "lines not shown", "more lines]", "more lines)", "exceeds maximum allowed",
)  # fmt: skip
EDGE = 400
"""Characters at each end of a result in which a note of the tool stands."""
PAGERS = ("sed -n", "head ", "tail ", "less ", "more ", "awk 'NR", 'awk "NR', "cut -c", "dd if=")
PATHS = ("file_path", "path", "filename", "file", "absolute_path", "target_file", "uri")
COMMANDS = ("command", "cmd", "script", "input")
NEAR = 3
"""Steps after a cut in which a paging command counts as its consequence."""


def reads(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the cut results, the reads of a path read before, and the paging commands soon after a cut."""
    cut = [row for row in rows if row.category == "result" and is_cut(row.text)]
    again = list(_again(rows))
    after = {step for row in cut for step in range(row.step, row.step + NEAR + 1)}
    paged = [row for row in rows if row.category == "call" and row.step in after and pages(row)]
    return {
        "truncated": len(cut),
        "reread": len(again),
        "paged_after_truncation": len(paged),
        "truncated_steps": [row.step for row in cut],
        "reread_paths": [{"step": step, "path": path, "first": first} for step, path, first in again],
        "paging_steps": [row.step for row in paged],
    }


def is_cut(text: str) -> bool:
    """Say whether a tool's own words in this result say that it was cut."""
    edges = text[:EDGE].lower() + "\n" + text[-EDGE:].lower()
    if any(phrase in edges for phrase in CUTS):
        return True
    return any(_is_note(line) for line in text.split("\n") if len(line) < 160 and "trunc" in line)


def _is_note(line: str) -> bool:
    bare = line.strip()
    return bare[:1] in "[(<" and bare[-1:] in "])>" and "truncated" in bare and any(c.isdigit() for c in bare)


def pages(row: Row) -> bool:
    """Say whether a call is a shell command that shows a part of a text."""
    arguments = _arguments(row)
    commands = [value for name in COMMANDS if isinstance(value := arguments.get(name), str)]
    return any(pager in command for command in commands for pager in PAGERS)


def _again(rows: Sequence[Row]) -> Iterator[tuple[int, str, int]]:
    """Yield (step, path, step of the first read) of each read of a path that was read before."""
    first: dict[tuple[str | None, str], int] = {}
    for row in rows:
        if row.category != "call" or (
            "read" not in (row.tool or "").lower() and row.tool not in ("cat", "view", "View")
        ):
            continue
        arguments = _arguments(row)
        path = next((value for name in PATHS if isinstance(value := arguments.get(name), str)), None)
        if path is None:
            continue
        key = (row.tool, path)
        if key in first:
            yield row.step, path, first[key]
        else:
            first[key] = row.step


def _arguments(row: Row) -> dict[str, Any]:
    try:
        return msgspec.json.decode(row.text.partition("\n")[2].encode(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}
