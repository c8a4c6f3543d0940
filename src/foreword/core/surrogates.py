"""Lone surrogates: halves of a character, which UTF-8 and so every wire and tokenizer refuses.

Programs that cut text by UTF-16 units leave them behind. The log keeps them as they came, as JSON escapes (RFC 8259,
8.2); what is sent, counted and shown has U+FFFD there instead. Halves that belong together are joined.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

LONE = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
"""Half a character in a text, without its other half beside it."""
_SIGN = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    r"(?P<sound>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[^u]|\\u[^dD])"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_JSON_TEXTS = {"tool_call": "arguments", "opaque": "raw"}
"""Block -> its member that is itself JSON text, in which an escape means what it says."""


def mended(value: T, payload: bytes) -> T:
    """Return a value without lone surrogates, in its strings, keys and JSON texts; the same object when it has none.

    ``payload``: the JSON that keeps the value.
    """
    if not _SIGN.search(payload):
        return value
    found = msgspec.convert(_mended(msgspec.to_builtins(value)), type(value))
    return value if found == value else found


def mended_text(text: str) -> str:
    """Return a text with halves joined, and U+FFFD for those without their other half."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def mended_json(text: str) -> str:
    """Return JSON text without escapes of lone surrogates; all else in it stays as it is."""
    return _ESCAPES.sub(lambda found: found[0] if found["sound"] else r"\ufffd", mended_text(text))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return mended_text(value)
    if isinstance(value, list | tuple):
        return [_mended(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        json_text = _JSON_TEXTS.get(str(members.get("type")))
        return {
            mended_text(name): mended_json(member)
            if name == json_text and isinstance(member, str)
            else _mended(member)
            for name, member in members.items()
        }
    return value
