"""Values that arrive in fragments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

_ONCE = {"id", "type", "index", "name", "role", "format", "object"}
"""Members that a fragment repeats instead of going on with them."""
_DEEPEST = 32


class Grown:
    """Text in fragments, joined once.

    A sender that counts in UTF-16 may cut a character into two escaped halves: the first waits for the second.
    A half that stays alone becomes U+FFFD, since UTF-8 can't hold it.
    """

    __slots__ = ("_half", "_parts")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._half = ""

    def add(self, text: str) -> str:
        """Take a fragment; return what can be shown of it by now."""
        if self._half or (text and not text.isascii() and not _encodable(text)):
            text = self._half + text
            self._half = ""
            if "\ud800" <= text[-1:] <= "\udbff":
                text, self._half = text[:-1], text[-1]
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if text:
            self._parts.append(text)
        return text

    @property
    def text(self) -> str:
        """All text so far."""
        return "".join(self._parts) + ("\ufffd" if self._half else "")


def merged(values: Sequence[Any], name: str = "", depth: int = 0) -> Any:
    """Put together the fragments of a member that this package has no word for.

    Texts are joined, lists appended (items of the same `index` put together), objects merged; of anything else,
    and of members that are repeated (`_ONCE`), the last stands.
    """
    given = [value for value in values if value is not None]
    if not given:
        return None
    if name in _ONCE or depth > _DEEPEST or len(given) == 1:
        return given[-1]
    if all(isinstance(value, str) for value in given):
        grown = Grown()
        for value in given:
            grown.add(value)
        return grown.text
    if all(isinstance(value, dict) for value in given):
        members: dict[str, list[Any]] = {}
        for value in given:
            for key, inner in cast(dict[str, Any], value).items():
                members.setdefault(key, []).append(inner)
        return {key: merged(inner, key, depth + 1) for key, inner in members.items()}
    if all(isinstance(value, list) for value in given):
        groups: dict[Any, list[Any]] = {}
        for item in (item for value in given for item in cast(list[Any], value)):
            index = cast(dict[str, Any], item).get("index") if isinstance(item, dict) else None
            groups.setdefault(index if isinstance(index, int) else ("alone", len(groups)), []).append(item)
        return [merged(items, depth=depth + 1) for items in groups.values()]
    return given[-1]


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
