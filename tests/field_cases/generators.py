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

MOST = 100_000_000
"""Characters of one made value; a rule of one line can ask for any number."""
LEFT = ("$externalised", "$echo_fraction", "$prompt")
"""Generators that stand for what the product or a fake model makes."""
PNG = b"\x89PNG\r\n\x1a\n"


class CantBeMade(Exception):
    """A generator that lacks a member, has one of another form, or asks for too much; the text says which."""


def expanded(value: Any) -> Any:
    """Return a value with its generators replaced by what they stand for, at every depth. Raises CantBeMade.

    Generators of messages (`$turns`, `$grow`) depend on the wire and stay for the operation to read.
    """
    if isinstance(value, list):
        return [expanded(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    for name, make in MAKERS.items():
        if name in members and not left_in(members):
            return _made(name, make, {key: expanded(member) for key, member in members.items()})
    return {key: expanded(member) for key, member in members.items()}


def _made(name: str, make: Callable[[dict[str, Any]], str], given: dict[str, Any]) -> str:
    if unknown := given.keys() - {name, *BESIDE.get(name, ())}:
        raise CantBeMade(f"generator {name} with {', '.join(sorted(unknown))}")
    try:
        return make(given)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
        struct.error,
    ) as e:
        raise CantBeMade(f"generator {name}: {type(e).__name__}: {str(e)[:100]}") from e


def _at_most(count: int, each: int = 1) -> int:
    """Return a number of pieces of so many characters. Raises ValueError when it is none, or too large."""
    if isinstance(count, bool) or not 0 <= count * max(each, 1) <= MOST:
        raise ValueError(f"{count!r:.20} times {each} characters, at most {MOST:,}")
    return count


def left_in(value: Any) -> str | None:
    """Return the first generator in a value that only an operation can read; None: there is none."""
    if isinstance(value, list):
        return next((found for item in cast("list[Any]", value) if (found := left_in(item))), None)
    if not isinstance(value, dict):
        return None
    members = cast("dict[str, Any]", value)
    return next((name for name in LEFT if name in members), None) or left_in(list(members.values()))


def _numbered_lines(given: dict[str, Any]) -> str:
    template, count = given["template"], given["$numbered_lines"]
    return "".join(template.replace("{i}", str(i)) for i in range(_at_most(count, len(template))))


def _repeat(given: dict[str, Any]) -> str:
    text: str = given["$repeat"]
    if not isinstance(text, str):
        raise TypeError(f"{text!r:.20} is no text")
    return text * _at_most(given["times"], len(text))


def _random_letters(given: dict[str, Any]) -> str:
    chance = random.Random(given["seed"])
    return "".join(chance.choice(string.ascii_lowercase) for _ in range(_at_most(given["$random_letters"])))


def _random_words(given: dict[str, Any]) -> str:
    chance = random.Random(given["seed"])
    words: list[str] = []
    for _ in range(_at_most(given["$random_words"], 8)):
        length = chance.randint(3, 8)
        words.append("".join(chance.choice(string.ascii_lowercase) for _ in range(length)))
    return " ".join(words)


def _base64_noise(given: dict[str, Any]) -> str:
    size = _at_most(given["$base64_noise"])
    return base64.b64encode(random.Random(given["seed"]).randbytes(size)).decode()[:size]


def _progress(given: dict[str, Any]) -> str:
    rule = given["$progress"]
    template, numbers = rule["template"], range(rule["from"], rule["to"] + 1)
    _at_most(len(numbers), len(template))
    return "".join(template.replace("{i}", str(i)) for i in numbers) + rule["end"]


def _json_string(given: dict[str, Any]) -> str:
    return json.dumps(given["$json_string"], ensure_ascii=False, separators=(",", ":"))


def _png(given: dict[str, Any]) -> str:
    rule = given["$png"]
    width, height = rule["pixels"]
    _at_most(width * height)
    length = _at_most(rule.get("base64_len", 0))
    made = png(width, height, base64_length=length)
    if len(made) < length:
        raise ValueError(f"a picture of {len(made)} characters has no padding that makes it {length}")
    return made


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


MAKERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "$repeat": _repeat,
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
BESIDE = {
    "$repeat": ("times",),
    "$numbered_lines": ("template",),
    **dict.fromkeys(("$random_letters", "$random_words", "$base64_noise"), ("seed",)),
}
"""Generator -> what stands beside it."""
