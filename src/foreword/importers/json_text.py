"""JSON of any quality to values: the fast parser first, then one that bends."""

import json
import math
from typing import Any

import msgspec

_decode = msgspec.json.Decoder().decode


class NotJson(ValueError):
    """The text is not JSON; the message says why and where."""


def parse(text: bytes) -> tuple[Any, tuple[str, ...]]:
    """Return the value and what had to be mended in it, in order of appearance, each once.

    Mended are what other tools write and no wire takes: bytes that are not UTF-8 and lone surrogates become
    U+FFFD, NaN and infinities become null. Raises NotJson.
    """
    try:
        return _decode(text), ()
    except (msgspec.DecodeError, RecursionError):
        return _parse_bending(text)


def _parse_bending(text: bytes) -> tuple[Any, tuple[str, ...]]:
    faults: dict[str, None] = {}
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        faults[f"bytes that are not UTF-8 (first at byte {error.start})"] = None
        decoded = text.decode("utf-8", "replace")
    try:
        value = json.loads(decoded)
        return _mended(value, "", faults), tuple(faults)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise NotJson(str(error).partition(":")[0]) from None


def _mended(value: Any, path: str, faults: dict[str, None]) -> Any:
    """Return the value with every string valid Unicode and every number a JSON number."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            faults[f"a lone surrogate in {path or 'the value'}"] = None
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, float) and not math.isfinite(value):
        faults[f"a number that JSON lacks in {path or 'the value'}"] = None
        return None
    if isinstance(value, list):
        return [_mended(item, f"{path}[{index}]", faults) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return {
            _mended(key, f"a key of {path or 'the object'}", faults): _mended(
                item, f"{path}.{key}".lstrip(".") if key.isascii() else path, faults
            )
            for key, item in value.items()
        }
    return value
