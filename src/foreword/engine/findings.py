"""Findings of the doctor: what was looked at, what was found, and what to do about it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Level = Literal["ok", "note", "warning", "problem"]


class Finding(Struct, frozen=True, kw_only=True):
    """One thing looked at. ``code`` is stable, for scripts; ``move`` "": nothing is to be done.

    ``note``: worth knowing. ``warning``: works, but not as well as it could. ``problem``: doesn't work, or will fail.
    """

    code: str
    level: Level
    text: str
    move: str = ""


def healthy(findings: list[Finding]) -> bool:
    """Whether no finding is a problem."""
    return all(finding.level != "problem" for finding in findings)
