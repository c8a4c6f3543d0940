"""A file as a stream of JSON values, each with its place.

Lines are read one by one; a document that spans lines is read whole. `.gz` and `.zst` are known by their
first bytes, not by their name.
"""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from foreword.errors import ImportFailed
from foreword.importers.imported import Flaw
from foreword.importers.json_text import NotJson, parse

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_LINE = 256 << 20
"""Bytes of one line, after decompression."""
MAX_TOTAL = 2 << 30
"""Bytes of a file, after decompression: a small file can unpack to any size."""
MAX_LINES = 2_000_000
"""Lines of a file: a short line takes far more memory read than written, and packs to nothing."""
NAMED_LINES = 20
"""How many bad lines are named one by one; the rest are counted."""

GZIP, ZSTD, BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
DETECT = "check that this is the session file itself"
CUT = "if the file was cut off, export it again"


class Row(Struct, frozen=True):
    """A value of the file. `unit` and `number` (from 1) name its place."""

    unit: str
    number: int
    value: Any

    @property
    def where(self) -> str:
        return f"{self.unit} {self.number}"


class Source:
    """An open file, to be used in a `with`.

    `name` is its base name, `stem` the same without known endings. `flaws` is complete once `rows` is
    exhausted.
    """

    def __init__(self, path: str, data: bytes | None = None) -> None:
        """Open a path, or take `data` under the name `path`; raise ImportFailed when it can't be read."""
        self.path = path
        self.name = "stdin" if path == "-" else Path(path).name
        self.stem = _stem(self.name)
        self.flaws: list[Flaw] = []
        self._bad = 0
        self._open = ExitStack()
        try:
            raw = io.BufferedReader(io.FileIO(path) if data is None else io.BytesIO(data))
            self._open.callback(raw.close)
            self._stream = self._open.enter_context(_unpacked(raw))
        except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
            self._open.close()
            fault = getattr(error, "strerror", None) or "can't be opened"
            raise ImportFailed(path, fault, "name a readable file") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def rows(self) -> Iterator[Row]:
        """Yield every value: the lines of JSONL, the items of an array, or the one document.

        Lines that are not JSON are skipped and named in `flaws`. Raises ImportFailed for a file that is
        empty, binary or not JSON at all, and for one that can't be unpacked.
        """
        lines = self._lines()
        number, first = next(lines, (0, b""))
        if not first:
            raise ImportFailed(self.path, "the file is empty", "nothing to import")
        if first.startswith(UTF16):
            raise ImportFailed(self.path, "UTF-16 text, not UTF-8", "save it as UTF-8")
        if b"\0" in first[:4096]:
            raise ImportFailed(self.path, "binary data, not JSON", DETECT)
        try:
            value, mended = parse(first)
        except NotJson:
            yield from self._document_or_lines(number, first, lines)
            return
        if isinstance(value, dict):
            yield self._row(number, value, mended)
            yield from self._jsonl(lines)
        elif isinstance(value, list):
            if (extra := next(lines, None)) is not None:
                fault = f"line {extra[0]}: more data after the array that ends in line {number}"
                raise ImportFailed(self.path, fault, "split the file")
            yield from self._items(value, mended)
        else:
            raise ImportFailed(self.path, f"line {number}: JSON, but no object or list", DETECT)

    def _document_or_lines(
        self, number: int, first: bytes, lines: Iterator[tuple[int, bytes]]
    ) -> Iterator[Row]:
        """Read a document that spans lines; when it is none, lines of which the first is damaged."""
        rest = list(lines)
        parts: list[bytes] = []
        done = 0
        for at, line in [(number, first), *rest]:
            parts += [b"\n" * (at - 1 - done), line]  # blank lines too, so that a fault names the right line
            done = at
        try:
            value, mended = parse(b"".join(parts))
        except NotJson as error:
            rows = list(self._jsonl(iter([(number, first), *rest])))
            if not rows:
                raise ImportFailed(self.path, f"not JSON: {error}", CUT) from None
            yield from rows
            return
        if isinstance(value, list):
            yield from self._items(value, mended)
        else:
            yield self._row(1, value, mended, unit="document")

    def _items(self, items: list[Any], mended: tuple[str, ...]) -> Iterator[Row]:
        if mended:
            self._row(1, None, mended, unit="document")
        for number, item in enumerate(items, 1):
            yield Row("item", number, item)

    def _jsonl(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[Row]:
        following = next(lines, None)
        while following is not None:
            (number, line), following = following, next(lines, None)
            try:
                value, mended = parse(line)
            except NotJson as error:
                self._skip(number, line, str(error).partition(" at line ")[0], last=following is None)
                continue
            if isinstance(value, dict):
                yield self._row(number, value, mended)
            else:
                self._skip(number, line, "JSON, but no object", last=False)
        if self._bad > NAMED_LINES:
            text = f"{self._bad - NAMED_LINES} more lines are no JSON objects and were skipped"
            self.flaws.append(Flaw(code="malformed_line", where=self.name, text=text))

    def _row(self, number: int, value: Any, mended: tuple[str, ...], unit: str = "line") -> Row:
        row = Row(unit, number, value)
        self.flaws += [
            Flaw(code="mended_text", where=row.where, text=f"{fault}, replaced") for fault in mended
        ]
        return row

    def _skip(self, number: int, line: bytes, fault: str, *, last: bool) -> None:
        """Note a line that is left out. ``last``: none follows, so that its writer may not have come to its end."""
        self._bad += 1
        if last:
            text = f"the last line is no whole record and was skipped ({len(line)} bytes)"
            self.flaws.append(Flaw(code="torn_line", where=f"line {number}", text=text))
        elif self._bad <= NAMED_LINES:
            text = f"skipped: {fault}"
            self.flaws.append(Flaw(code="malformed_line", where=f"line {number}", text=text))

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number, line with its end) of every line that is not blank."""
        number = total = 0
        try:
            while line := self._stream.readline(MAX_LINE):
                number += 1
                total += len(line)
                if number == 1:
                    line = line.removeprefix(BOM)
                if len(line) == MAX_LINE or total > MAX_TOTAL or number > MAX_LINES:
                    limit = (
                        f"{MAX_LINE >> 20} MiB a line, {MAX_TOTAL >> 20} MiB and {MAX_LINES:,} lines in all"
                    )
                    raise ImportFailed(
                        self.path, f"line {number}: over the limit of {limit}", "split the file"
                    )
                if line.strip():
                    yield number, line
        except (OSError, EOFError, zlib.error, zstd.ZstdError) as error:
            raise ImportFailed(self.path, f"can't be read after line {number}: {error}", CUT) from error


def _unpacked(stream: "io.BufferedReader[Any]") -> io.BufferedIOBase:
    head = stream.peek(len(ZSTD))  # a pipe can't seek
    if head.startswith(GZIP):
        return gzip.GzipFile(fileobj=stream)
    if head.startswith(ZSTD):
        return zstd.ZstdFile(stream)
    return stream


def _stem(name: str) -> str:
    for ending in (".gz", ".zst", ".jsonl", ".json", ".ndjson"):
        name = name.removesuffix(ending)
    return name or "session"
