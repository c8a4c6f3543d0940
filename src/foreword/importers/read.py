"""Read a session file of any supported format."""

from importlib import import_module
from itertools import chain, islice
from typing import Final

from foreword.errors import ImportFailed
from foreword.importers.detect import SAMPLE, format_of
from foreword.importers.imported import Imported
from foreword.importers.source import Source

FORMATS: Final = {
    "claude-code": "foreword.importers.claude_code:sessions",
    "codex": "foreword.importers.codex:sessions",
    "pi": "foreword.importers.pi:sessions",
    "openai-chat": "foreword.importers.openai_chat:sessions",
    "anthropic": "foreword.importers.anthropic:sessions",
}
"""Format -> its reader, loaded when first asked for."""


def read(path: str, *, format: str | None = None, data: bytes | None = None) -> list[Imported]:
    """Read the sessions of a file, in the order in which they begin there.

    `path`: a file, gzip and Zstandard accepted; with `data` (its bytes, as from stdin) only a name, "-" for
    none. `format`: a key of `FORMATS`; None: detected by content. The same bytes give equal sessions.
    Raises ImportFailed when nothing can be read; what is wrong with parts of a file stands in `flaws`.
    """
    if format is not None and format not in FORMATS:
        raise ImportFailed(path, f"unknown format {format!r}", f"formats are {', '.join(FORMATS)}")
    if path == "-" and data is None:
        raise ImportFailed(path, "no bytes of stdin given", "pass them as `data`")
    with Source(path, data) as source:
        rows = source.rows()
        sample = list(islice(rows, SAMPLE))
        module, _, name = FORMATS[format or format_of(path, sample)].partition(":")
        try:
            return getattr(import_module(module), name)(chain(sample, rows), source)
        except RecursionError:
            fault = "a value is nested nearly too deeply to be read, and too deeply to be handled"
            raise ImportFailed(path, fault, "take out the record that holds it") from None
