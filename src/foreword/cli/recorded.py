"""The sessions of a file with the signs that importers leave out, or a session of the store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from foreword.cli.source import STDIN, is_file, sessions_of

if TYPE_CHECKING:
    from foreword.evals.cache_signs import Signs
    from foreword.importers.imported import Imported


def read_recorded(name: str, *, format_: str | None, place: str | None) -> tuple[list[Imported], Signs]:
    """Return sessions and signs; a session of the store has no signs, since its file is not kept.

    Raises: ImportFailed; UnknownSession; StoreUnavailable; click.UsageError.
    """
    from foreword.evals.cache_signs import Signs, signs_of
    from foreword.importers.read import read

    if not is_file(name):
        return sessions_of(name, format_=format_, place=place), Signs()
    data = sys.stdin.buffer.read() if name == STDIN else None
    sessions = read(name, format=format_, data=data)
    return sessions, signs_of(name, sessions[0].format, data)
