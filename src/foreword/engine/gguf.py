"""The head of a GGUF model file: what decides the size of its key-value cache (ggml's `gguf.md`, version 2 and 3)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from foreword.core.kv_cache import Shape

MAGIC = b"GGUF"
LONGEST = 1 << 16
MOST = 100_000
STRING, ARRAY = 8, 9
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Type of a value -> its form for `struct`, little-endian."""
WANTED = (
    "block_count", "context_length", "embedding_length", "attention.head_count", "attention.head_count_kv",
    "attention.key_length", "attention.value_length",
)  # fmt: skip


class ModelFile(Struct, frozen=True, kw_only=True):
    """What the file says; None: it does not, or can't be read."""

    shape: Shape | None = None
    trained: int | None = None


class _Odd(Exception):
    """Not the form that we know."""


def read_shape(path: Path) -> ModelFile:
    """Read the head of a file. One that is no GGUF, or is damaged, gives an empty answer."""
    try:
        with path.open("rb") as file:
            return _described(_read(file))
    except (OSError, OverflowError, struct.error, _Odd):
        return ModelFile()


def _described(found: dict[str, Any]) -> ModelFile:
    heads, width = found.get("attention.head_count"), found.get("embedding_length")
    layers, kv_heads = found.get("block_count"), found.get("attention.head_count_kv") or heads
    head_dim = found.get("attention.key_length") or (width // heads if width and heads else None)
    shape = None
    if layers and kv_heads and head_dim:
        value_dim = found.get("attention.value_length") or 0
        shape = Shape(layers=layers, kv_heads=kv_heads, head_dim=head_dim, value_dim=value_dim)
    return ModelFile(shape=shape, trained=found.get("context_length"))


def _read(file: BinaryIO) -> dict[str, int]:
    """Return the wanted figures by their name without the architecture's; stop when all are there."""
    if file.read(4) != MAGIC or _number(file, "I") not in (2, 3):
        raise _Odd
    _number(file, "Q")
    found: dict[str, int] = {}
    for _ in range(min(_number(file, "Q"), MOST)):
        name = _string(file).partition(".")[2]
        value = _value(file, _number(file, "I"))
        if name in WANTED and isinstance(value, int) and value > 0:
            found[name] = value
            if len(found) == len(WANTED):
                break
    return found


def _value(file: BinaryIO, kind: int) -> Any:
    """Read a value; of an array of numbers the largest (it goes by layer), of one of texts nothing."""
    if kind == STRING:
        return _string(file)
    if kind != ARRAY:
        return _number(file, NUMBERS.get(kind) or _odd())
    inner, size = _number(file, "I"), _number(file, "Q")
    if inner == STRING:
        for _ in range(size):
            file.seek(_number(file, "Q"), 1)
        return None
    form = NUMBERS.get(inner) or _odd()
    if size > MOST:
        file.seek(size * struct.calcsize(form), 1)
        return None
    values = struct.unpack(f"<{size}{form}", file.read(size * struct.calcsize(form)))
    return max(values, default=None)


def _odd() -> str:
    raise _Odd


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack(f"<{form}", file.read(struct.calcsize(form)))[0]


def _string(file: BinaryIO) -> str:
    size = _number(file, "Q")
    if size > LONGEST:
        file.seek(size, 1)
        return ""
    return file.read(size).decode("utf-8", "replace")
