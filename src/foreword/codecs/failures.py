"""Recognising what went wrong from what a provider answered, above all that the context was too long.

Linear in the text: phrases are looked up, numbers read next to them, and no more than the first 64 Ki characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

import msgspec
from msgspec import Struct

from foreword.codecs.failure_signs import (
    KINDS,
    NO_OVERFLOW,
    OVERFLOW,
    OVERFLOW_CODES,
    SENT,
    STATUSES,
    STOP_AT,
    STOPPED,
    Kind,
    Sign,
)
from foreword.core.usage import Usage

_READ = 1 << 16
_NEAR = 200
"""Characters on each side of a phrase in which its numbers stand."""
_DEPTH = 6
_NUMBER = re.compile(r"[0-9][0-9,]*")
_DELAY = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h)")
_SECONDS_ONLY = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_WORDS = ("type", "code", "status", "error_code", "__type")
_TEXTS = ("message", "detail", "error", "raw", "msg")
_INSIDE = ("error", "errors", "details", "metadata", "raw", "response", "incomplete_details")


class Failure(Struct, frozen=True, kw_only=True):
    """What went wrong.

    ``soft``: the answer has status 200 and was cut, so what came of it stands. ``tokens`` and ``limit``: of an
    overflow, as the provider says them; None: it didn't. ``retry_after``: seconds to wait; None: not said.
    """

    kind: Kind
    soft: bool = False
    tokens: int | None = None
    limit: int | None = None
    retry_after: float | None = None


def classify(
    wire: str, status: int | None, body: Any, headers: Mapping[str, str] | None = None
) -> Failure | None:
    """Say what a response means; None: no failure.

    ``status``: of HTTP, None for an error that came within a stream. ``body``: bytes, text, or parsed JSON: an
    error of any provider or gateway, an error event of a stream, or the response of ``wire``. ``headers``: looked
    up for the time to wait, names in lower case; a `retry-after` that is a date is told from `date`, by which a
    wrong clock on either side does no harm. A status of 429 is never an overflow: that is a limit by time.
    """
    value = _parsed(body)
    text = "" if isinstance(value, str) else "\n".join(_texts(value, _DEPTH))
    text = (text or _text(body))[:_READ]
    words = [word.lower() for word in _words(value, _DEPTH)]
    failed = status is None or status >= 400 or _failed(value)
    if not failed:
        stop = _at(value, STOP_AT.get(wire, ()))
        cut = STOPPED.get(stop) if isinstance(stop, str) else None
        return Failure(kind=cut, soft=True) if cut else None
    low = text.lower()
    excluded = any(word in low or word in words for word in NO_OVERFLOW)
    if status != 429 and not excluded:
        sign = next((sign for sign in OVERFLOW if sign.phrase in low), None)
        if sign or any(word in OVERFLOW_CODES for word in words):
            numbers = _numbers(low, sign) if sign else {}
            return Failure(kind="overflow", tokens=numbers.get("tokens"), limit=numbers.get("limit"))
    named: Kind | None = next((KINDS[word] for word in reversed(words) if word in KINDS), None)
    kind: Kind = named or STATUSES.get(status or 0, "unknown")
    return Failure(kind=kind, retry_after=_retry_after(value, low, headers or {}))


def silent_overflow(usage: Usage, window: int) -> bool:
    """Say whether a provider took more than the window without a word, and so left some of it out."""
    return usage.total_input is not None and usage.total_input > window


def _parsed(body: Any) -> Any:
    if isinstance(body, bytes | bytearray | str):
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return _event(_text(body))
    return body


def _event(text: str) -> Any:
    """Return the first event of a stream's text that is JSON; the text itself when there is none."""
    for line in text[:_READ].splitlines():
        if line.startswith("data:") and "{" in line:
            try:
                return msgspec.json.decode(line.removeprefix("data:"))
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
                continue
    return text


def _text(body: Any) -> str:
    if isinstance(body, bytes | bytearray):
        return bytes(body[: 4 * _READ]).decode("utf-8", "replace")
    return body if isinstance(body, str) else ""


def _failed(value: Any) -> bool:
    """Whether a body of status 200 tells an error."""
    if isinstance(value, list):
        return any(_failed(item) for item in cast(list[Any], value)[:1])
    if not isinstance(value, Mapping):
        return False
    found = cast(Mapping[str, Any], value)
    return bool(found.get("error")) or found.get("type") in ("error", "response.failed")


def _nested(value: Any) -> Iterator[Any]:
    """Yield the parts of an error that may hold more of it; a gateway wraps the provider's own as JSON text."""
    if isinstance(value, Mapping):
        found = cast(Mapping[str, Any], value)
        yield from (found[name] for name in _INSIDE if name in found)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        yield from cast(Sequence[Any], value)[:8]
    elif isinstance(value, str) and value[:1] in ("{", "["):
        inner = _parsed(value[:_READ])
        if not isinstance(inner, str):
            yield inner


def _words(value: Any, depth: int) -> Iterator[str]:
    """Yield types, codes and statuses, from the outside in."""
    if isinstance(value, Mapping):
        found = cast(Mapping[str, Any], value)
        yield from (str(found[name]) for name in _WORDS if isinstance(found.get(name), str))
    if depth:
        for inner in _nested(value):
            yield from _words(inner, depth - 1)


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping):
        found = cast(Mapping[str, Any], value)
        yield from (str(found[name]) for name in _TEXTS if isinstance(found.get(name), str))
    if depth:
        for inner in _nested(value):
            yield from _texts(inner, depth - 1)


def _numbers(text: str, sign: Sign) -> dict[str, int]:
    at = text.index(sign.phrase)
    end = at + len(sign.phrase)
    before = list(_NUMBER.finditer(text, max(0, at - _NEAR), at))
    after = list(_NUMBER.finditer(text, end, end + _NEAR))
    named = [*zip(sign.before[::-1], before[::-1], strict=False), *zip(sign.after, after, strict=False)]
    found = {name: _number(match.group()) for name, match in named if name}
    for match in after:
        if text.startswith(SENT, match.end()):
            found["tokens"] = _number(match.group())
            break
    return found


def _number(text: str) -> int:
    return int(text.replace(",", "")[:18])


def _retry_after(value: Any, text: str, headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if _SECONDS_ONLY.fullmatch(headers.get(name, "").strip()):
            return round(float(headers[name]) * unit, 3)
    said, now = (_date(headers.get(name, "")) for name in ("retry-after", "date"))
    if said is not None and now is not None:
        return max(0.0, (said - now).total_seconds())
    delays = [_delay(str(info["retryDelay"])) for info in _infos(value, _DEPTH)]
    at = text.find("try again in ")
    if at >= 0:
        delays.append(_delay(text[at + len("try again in ") :][:40]))
    return next((delay for delay in delays if delay is not None), None)


def _date(text: str) -> datetime | None:
    """Read a date in any form of HTTP (RFC 9110, 5.6.7); None: it is none."""
    try:
        found = parsedate_to_datetime(text[:64])
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _infos(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping) and "retryDelay" in value:
        yield cast(Mapping[str, Any], value)
    if depth:
        for inner in _nested(value):
            yield from _infos(inner, depth - 1)


def _delay(text: str) -> float | None:
    """Read a time such as `1.5s`, `20ms` or `6m0s`."""
    total, at = 0.0, 0
    while match := _DELAY.match(text, at):
        total += float(match.group(1)) * _SECONDS[match.group(2)]
        at = match.end()
    return round(total, 3) if at else None


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(step, int):
            value = (
                cast(list[Any], value)[step]
                if isinstance(value, list) and len(cast(Any, value)) > step
                else None
            )
        else:
            value = cast(Mapping[str, Any], value).get(step) if isinstance(value, Mapping) else None
    return value
