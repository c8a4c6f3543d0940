"""Generators in cases: long or binary values, written as a rule."""

from __future__ import annotations

import base64
import json
import random
import string
import struct
import zlib
from collections.abc import Callable
from typing import Any, cast

from foreword.core.frame import frame

LEFT = ("$externalised", "$echo_fraction", "$prompt")
"""Generators that stand for what the product or a fake model makes."""
PNG = b"\x89PNG\r\n\x1a\n"


def expanded(value: Any) -> Any:
    """Return a value with its generators replaced by what they stand for, at every depth.

    Generators of messages (`$turns`, `$grow`) depend on the wire and stay for the operation to read.
    """
    if isinstance(value, list):
        return [expanded(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    for name, make in MAKERS.items():
        if name in members and not left_in(members):
            return make({key: expanded(member) for key, member in members.items()})
    return {key: expanded(member) for key, member in members.items()}


def left_in(value: Any) -> str | None:
    """Return the first generator in a value that only an operation can read; None: there is none."""
    if isinstance(value, list):
        return next((found for item in cast("list[Any]", value) if (found := left_in(item))), None)
    if not isinstance(value, dict):
        return None
    members = cast("dict[str, Any]", value)
    return next((name for name in LEFT if name in members), None) or left_in(list(members.values()))


def _numbered_lines(given: dict[str, Any]) -> str:
    return "".join(given["template"].replace("{i}", str(i)) for i in range(given["$numbered_lines"]))


def _random_letters(given: dict[str, Any]) -> str:
    chance = random.Random(given["seed"])
    return "".join(chance.choice(string.ascii_lowercase) for _ in range(given["$random_letters"]))


def _random_words(given: dict[str, Any]) -> str:
    chance = random.Random(given["seed"])
    words: list[str] = []
    for _ in range(given["$random_words"]):
        length = chance.randint(3, 8)
        words.append("".join(chance.choice(string.ascii_lowercase) for _ in range(length)))
    return " ".join(words)


def _base64_noise(given: dict[str, Any]) -> str:
    size = given["$base64_noise"]
    return base64.b64encode(random.Random(given["seed"]).randbytes(size)).decode()[:size]


def _progress(given: dict[str, Any]) -> str:
    rule = given["$progress"]
    steps = (rule["template"].replace("{i}", str(i)) for i in range(rule["from"], rule["to"] + 1))
    return "".join(steps) + rule["end"]


def _json_string(given: dict[str, Any]) -> str:
    return json.dumps(given["$json_string"], ensure_ascii=False, separators=(",", ":"))


def _png(given: dict[str, Any]) -> str:
    rule = given["$png"]
    return png(*rule["pixels"], base64_length=rule.get("base64_len", 0))


def png(width: int, height: int, *, base64_length: int = 0) -> str:
    """Return a PNG of one colour as base64, padded to a length by a private ancillary chunk."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x40\x80\xc0" * width) * height
    body = PNG + _chunk(b"IHDR", header)
    rest = _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")
    missing = base64_length // 4 * 3 - len(body) - len(rest) - 12
    padding = _chunk(b"prVt", b"\0" * missing) if missing >= 0 else b""
    return base64.b64encode(body + padding + rest).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _frame_close(_: dict[str, Any]) -> str:
    """Return the product's closing delimiter, which is the same for every kind of frame."""
    return frame("notice", "").rpartition("\n")[2]


MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "$repeat": lambda given: given["$repeat"] * given["times"],
    "$concat": lambda given: "".join(given["$concat"]),
    "$numbered_lines": _numbered_lines,
    "$random_letters": _random_letters,
    "$random_words": _random_words,
    "$base64_noise": _base64_noise,
    "$progress": _progress,
    "$json_string": _json_string,
    "$png": _png,
    "$frame_close": _frame_close,
}
