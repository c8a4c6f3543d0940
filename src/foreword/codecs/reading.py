"""Reading untrusted JSON values of a wire, with the path of each fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from foreword.core.canonical import finite, lossless, read
from foreword.errors import CodecError, MalformedRequest, MalformedResponse

_TELLING = {
    "anthropic": "content",
    "openai-chat": "choices",
    "deepseek": "choices",
    "openai-responses": "output",
    "gemini": "candidates",
}
"""Wire -> the member that holds what the model said, in a whole response."""

_MOST = 2**53
"""No count is larger: up to here a JSON number is the same for every program."""


class At(msgspec.Struct, frozen=True):
    """A place in a request (or a response) of a wire. `at / "content" / 0` is a place below it."""

    wire: str
    step: str | int = ""
    response: bool = False
    above: At | None = None

    def __truediv__(self, step: str | int) -> At:
        return At(self.wire, step, self.response, self)

    @property
    def path(self) -> str:
        """The steps from the top, joined by dots; worked out only where something is wrong."""
        before = self.above.path if self.above is not None else ""
        return f"{before}.{self.step}" if before else str(self.step)

    def fault(self, text: str) -> CodecError:
        """Return the error that says what is wrong here."""
        kind = MalformedResponse if self.response else MalformedRequest
        return kind(self.wire, self.path or "body", text)

    def body(self, value: Any) -> dict[str, Any]:
        """Return a whole body: from JSON bytes, a mapping or an SDK object.

        A number that is out of range is null in a response, which can't be asked for a second time.
        """
        if isinstance(value, bytes | bytearray | str):
            try:
                value = read(bytes(value) if isinstance(value, bytearray) else value)
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
                raise self.fault(f"no JSON that can be read: {error}") from error
        found = self.mapping(value)
        return finite(found) if self.response else found

    def own(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return the members of a whole response, unless it looks like one of another wire."""
        if _TELLING[self.wire] not in found:
            other = next((wire for wire, member in _TELLING.items() if member in found), None)
            if other is not None:
                raise self.fault(
                    f"this looks like a response of {other}; record it on the wire it was asked on"
                )
        return found

    def mapping(self, value: Any) -> dict[str, Any]:
        """Return the members of a JSON object or of an SDK object (those that it was given)."""
        if type(value) is dict:
            return {
                key if type(key) is str else str(key): value[key] for key in cast("dict[Any, Any]", value)
            }
        dump = getattr(value, "model_dump", None)
        if callable(dump):
            value = dump(mode="json", exclude_unset=True, warnings=False)
        if not isinstance(value, Mapping):
            raise self.fault(f"expected an object, got {_word(value)}")
        return {str(key): member for key, member in cast(Mapping[Any, Any], value).items()}

    def items(self, value: Any) -> Sequence[Any]:
        """Return the items of a list."""
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
            raise self.fault(f"expected a list, got {_word(value)}")
        return cast(Sequence[Any], value)

    def string(self, members: Mapping[str, Any], name: str) -> str:
        """Return a member that must be a string."""
        value = members.get(name)
        if not isinstance(value, str):
            raise (self / name).fault(f"expected a string, got {_word(value)}")
        return value

    def text(self, members: Mapping[str, Any], name: str) -> str | None:
        """Return a member that is a string, null or absent."""
        return None if members.get(name) is None else self.string(members, name)

    def words(self, members: Mapping[str, Any], name: str) -> str:
        """Return the text of a block, "" where it is null; a block without the member is none of its kind."""
        return "" if name in members and members[name] is None else self.string(members, name)

    def id(self, members: Mapping[str, Any], name: str) -> str:
        """Return the id of a call or of its result; "" where a record has none: these pair in order."""
        return self.text(members, name) or ""

    def arguments(self, members: Mapping[str, Any], name: str) -> str:
        """Return the arguments of a call as text, as `told` does.

        Wires say which of these they give. Gateways mix them up, and an answer can't be asked for a second time.
        """
        return (self / name).told(members.get(name))

    def told(self, value: Any) -> str:
        """Return a value as text: a string as it is, another value as its JSON, nothing as ""."""
        if value is None or isinstance(value, str):
            return value or ""
        plain = isinstance(value, bool | int | float | list | tuple)
        try:
            return lossless(cast(Any, value) if plain else self.mapping(value)).decode()
        except (TypeError, RecursionError) as error:
            raise self.fault(f"has no JSON: {str(error) or type(error).__name__}") from error

    def output(self, value: Any) -> str | Sequence[Any]:
        """Return what a tool gave: the blocks of a list of such, any other value as text.

        Tools hand over rows and numbers as they are, and what was recorded is not refused.
        """
        return cast(Sequence[Any], value) if are_blocks(value) else self.told(value)

    def count(self, members: Mapping[str, Any], name: str) -> int | None:
        """Return a member that is a count (see `whole`), null or absent."""
        value = members.get(name)
        number = whole(value)
        if number is None and value is not None:
            raise (self / name).fault(f"expected a count, got {_word(value)}")
        return number


def whole(value: Any) -> int | None:
    """Return the count that a value is, however its number is written (`7`, `7.0`); None: it is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= _MOST else None


def others(members: Mapping[str, Any], *known: str) -> dict[str, Any] | None:
    """Return the members beside the known ones that are not null; None when there are none."""
    return {name: value for name, value in members.items() if name not in known and value is not None} or None


def are_blocks(value: Any) -> bool:
    """Whether a value is a list of content blocks, and no rows of data."""
    return isinstance(value, list | tuple) and all(_is_block(item) for item in cast(Sequence[Any], value))


def _is_block(value: Any) -> bool:
    if isinstance(value, Mapping):
        return isinstance(cast(Mapping[Any, Any], value).get("type"), str)
    return isinstance(getattr(value, "type", None), str)


def _word(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
