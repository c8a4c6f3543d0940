"""How a command ended, as Codex's own tools write it in front of what it printed.

Codex puts these lines there itself, so that no output can forge them; a text in any other form tells nothing.
"""

import re
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from foreword.core.block import Text, ToolResult
from foreword.core.event import ToolReturned

_HEADER = re.compile(
    r"(?:Exit code: (?P<shell>-?\d{1,10})\nWall time: "
    r"|(?:Chunk ID: \w+\n)?Wall time: [\d.]+ seconds\n"
    r"Process (?:exited with code (?P<exec>-?\d{1,10})|running with session ID \d+)\n)"
)


class _Metadata(Struct):
    exit_code: Annotated[int, Meta(ge=-(2**31), lt=2**32)]
    duration_seconds: float


class _Older(Struct):
    output: str
    metadata: _Metadata


_older = msgspec.json.Decoder(_Older)


def returned(result: ToolResult) -> ToolReturned:
    """Return the event of a tool's result, with the exit code where Codex recorded one, or that the command goes on."""
    first = result.content[0] if result.content else None
    text = first.text if isinstance(first, Text) else ""
    code = _from_json(text)
    if code is not None:
        return ToolReturned(result=result, exit_code=code)
    header = _HEADER.match(text)
    if header is None:
        return ToolReturned(result=result)
    told = header["shell"] or header["exec"]
    if told is None:
        return ToolReturned(result=result, run="running")
    return ToolReturned(result=result, exit_code=int(told))


def _from_json(text: str) -> int | None:
    """Read the form of older releases: an object of the output and its metadata."""
    if not text.startswith('{"output":'):
        return None
    try:
        return _older.decode(text).metadata.exit_code
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
