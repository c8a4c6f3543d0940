"""Gemini's values in one spelling: plain JSON with the wire's own member names.

The provider takes ``function_call`` for ``functionCall``, and its SDK's objects print the former and base64 in
the URL alphabet; here each becomes what the provider itself writes.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, cast

from foreword.codecs.reading import At

FREE = frozenset(
    {
        "args",
        "headers",
        "labels",
        "parameters",
        "parametersJsonSchema",
        "partMetadata",
        "response",
        "responseJsonSchema",
        "responseSchema",
    }
)
"""Members whose names inside are the caller's."""
TYPE = "type"
"""The member by which a part of another wire names what it is."""
_BYTES = frozenset({"data", "thoughtSignature"})
_STANDARD = str.maketrans("-_", "+/")


def plain(value: Any, at: At) -> dict[str, Any]:
    """Return a body, or an object in it, in the wire's spelling. Raises: CodecError of `at`."""
    if isinstance(value, bytes | bytearray | str):
        value = at.body(value)
    try:
        return at.mapping(_plain(value, sdk=False))
    except RecursionError as error:
        raise at.fault("nested too deeply") from error


def foreign(part: Any) -> bool:
    """Whether a part is one of another wire, whose spelling stays; parts of this wire name no type."""
    return isinstance(part, Mapping) and isinstance(cast(Mapping[str, Any], part).get(TYPE), str)


def _plain(value: Any, *, sdk: bool) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        value, sdk = dump(mode="json", exclude_none=True, warnings=False), True
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        found: dict[str, Any] = {}
        for key, inner in cast(Mapping[Any, Any], value).items():
            name = _camel(str(key))
            if name == "parts" and isinstance(inner, list | tuple):
                parts = cast(Sequence[Any], inner)
                inner = [part if foreign(part) else _plain(part, sdk=sdk) for part in parts]
            elif name not in FREE:
                inner = _plain(inner, sdk=sdk)
            found[name] = (
                inner.translate(_STANDARD) if sdk and name in _BYTES and isinstance(inner, str) else inner
            )
        return found
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item, sdk=sdk) for item in cast(Sequence[Any], value)]
    return value


def _camel(name: str) -> str:
    first, *words = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in words) if first else name
