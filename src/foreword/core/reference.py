"""References: how a request names what it left out, and how that is read back.

A reference is ``ALIAS#SEQ`` (the content of one event) or ``ALIAS#SEQ.N`` (its N-th block, from 0). The alias
of a session is unique in its store, so a reference is short, resolves in one store without an index, survives
a fork (the parent's events are read through) and says *gone* once the event is erased
(docs/decisions/0006-references.md).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

import msgspec
from msgspec import Struct

from foreword.core.block import Block, Image, Text, ToolResult
from foreword.core.canonical import compact
from foreword.core.event import Answered, Body, Noticed, Pinned, Repaired, Said, ToolPrinted, ToolReturned
from foreword.core.sealing import encode_body
from foreword.errors import UnknownReference

SHELL = "shell"
PATH = "path:"

_REFERENCE = re.compile(r"^(?P<session>.{1,200})#(?P<seq>\d{1,12})(?:\.(?P<block>\d{1,6}))?$", re.DOTALL)


ALIAS_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
ALIAS_LENGTH = 6


def alias_of(session: str, attempt: int = 0) -> str:
    """Return the alias that a session gets at this attempt (0, 1, ... until one is free in its store).

    It depends on nothing else, so that the same session gives the same requests in another store. Letters that
    look alike are left out.
    """
    number = int.from_bytes(hashlib.sha256(f"{session}\0{attempt}".encode()).digest())
    letters: list[str] = []
    for _ in range(ALIAS_LENGTH):
        number, rest = divmod(number, len(ALIAS_LETTERS))
        letters.append(ALIAS_LETTERS[rest])
    return "".join(letters)


class Reference(Struct, frozen=True):
    """A parsed reference; ``session`` is an alias, an id or a unique prefix of one."""

    session: str
    seq: int
    block: int | None = None


def parse_reference(text: str) -> Reference:
    """Parse ``SESSION#SEQ`` or ``SESSION#SEQ.N``.

    Raises: UnknownReference when it has another form.
    """
    match = _REFERENCE.match(text.strip())
    if match is None:
        raise UnknownReference(
            text,
            "not of the form SESSION#EVENT or SESSION#EVENT.BLOCK",
            "give it as a request names it, ALIAS#N",
        )
    block = match["block"]
    return Reference(match["session"], int(match["seq"]), None if block is None else int(block))


def is_reader(reader: object) -> bool:
    """Whether this names a way to read back: ``tool``, ``shell`` (options may follow), ``path:ROOT`` or ``none``."""
    if not isinstance(reader, str):
        return False
    return reader in ("tool", SHELL, "none") or (
        reader.startswith((f"{SHELL} ", PATH)) and bool(reader.removeprefix(PATH).strip())
    )


def recall(reader: str, read_tool: str | None, ref: str) -> str | None:
    """Return the exact call that reads ``ref`` with the reader this agent has; None: it has none.

    ``shell`` may be followed by options that the command needs, such as the store.
    """
    if reader == "tool":
        return f'{read_tool or "read"}(ref="{ref}")'
    if reader == SHELL or reader.startswith(f"{SHELL} "):
        return f"foreword read {ref}{reader.removeprefix(SHELL)}"
    if reader.startswith(PATH):
        return f"{reader.removeprefix(PATH).rstrip('/')}/{ref.replace('#', '-')}.txt"
    return None


def blocks_of(body: Body) -> tuple[Block, ...]:
    """Return the content blocks of an event's body; empty for a body without content."""
    match body:
        case ToolReturned():
            return body.result.content
        case Said() | Answered():
            return body.message.blocks
        case Repaired() | Noticed() | Pinned() | ToolPrinted():
            return (Text(text=body.text),)
        case _:
            return ()


def block_bytes(block: Block) -> tuple[str, bytes]:
    """Return (kind, exact bytes) of one block: text as UTF-8, an image decoded, anything else as JSON."""
    match block:
        case Text():
            return "text", block.text.encode()
        case Image() if block.data is not None:
            try:
                return block.media_type or "image", base64.b64decode(block.data, validate=True)
            except binascii.Error:
                return "base64", block.data.encode()
        case ToolResult() if len(block.content) == 1:
            return block_bytes(block.content[0])
        case _:
            return "json", compact(msgspec.to_builtins(block))


def content_bytes(body: Body, block: int | None) -> tuple[str, bytes] | None:
    """Return (kind, exact bytes) of an event's content or of one of its blocks; None: there is no such block.

    One block: that block. None or several: their JSON, or the whole body's JSON where a body has no blocks.
    """
    blocks = blocks_of(body)
    if block is not None:
        return block_bytes(blocks[block]) if block < len(blocks) else None
    if len(blocks) == 1:
        return block_bytes(blocks[0])
    if blocks:
        return "json", compact(msgspec.to_builtins(blocks))
    if isinstance(body, ToolReturned | Said | Answered):
        return "text", b""
    return "json", encode_body(body)
