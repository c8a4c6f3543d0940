"""Checks of what a request says: its texts, its images, its growth from one request to the next."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from tests.field_cases.cases import Unsupported
from tests.field_cases.checks.comparing import Check, compare, expect, same, texts_of
from tests.field_cases.checks.members import CHOOSING
from tests.field_cases.labels import EVENTS
from tests.field_cases.outcome import CheckFailed, Outcome
from tests.field_cases.request import MARK, MISSING, Request, at_path, strings, text_of, without_marks

HALF = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"
SIGNATURES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""Media type of a picture -> how its file begins."""


def _texts(outcome: Outcome, request: Request, name: str) -> list[str]:
    if name in outcome.values:
        return list(strings(outcome.values[name]))
    piece = request.part(name)
    return [] if piece is MISSING else list(strings(piece))


def _searched(outcome: Outcome, args: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Return the texts to look in, by what they are of; a result that is no request counts as a whole."""
    name = args.get("part", args.get("in"))
    if name in outcome.values:
        return [(name, list(strings(outcome.values[name])))]
    return [(str(name or "request"), _texts(outcome, r, name or "request")) for r in outcome.chosen(args)]


def contains(outcome: Outcome, args: dict[str, Any]) -> None:
    for name, found in _searched(outcome, args):
        for text in texts_of(args):
            expect(any(text in one for one in found), f"{text!r} in {name}", "not there")


def not_contains(outcome: Outcome, args: dict[str, Any]) -> None:
    for name, found in _searched(outcome, args):
        for text in texts_of(args):
            expect(not any(text in one for one in found), f"no {text!r} in {name}", "it is there")


def contains_any(outcome: Outcome, args: dict[str, Any]) -> None:
    for name, found in _searched(outcome, args):
        expect(any(_has_word(one, text) for one in found for text in args["texts"]), args["texts"], name)


def _has_word(text: str, word: str) -> bool:
    if word.isascii() and word.isalpha():
        return re.search(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])", text) is not None
    return word in text


def occurs(outcome: Outcome, args: dict[str, Any]) -> None:
    for name, found in _searched(outcome, args):
        times = sum(one.count(args["text"]) for one in found)
        expect(times == args["times"], f"{args['text']!r} {args['times']} times in {name}", times)


def last_user_text(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        words = [part for part in request.recorded if part.role == "user" and part.kind == "text"]
        newest = [part.text for part in words if part.message == words[-1].message]
        wanted = args.get("equals")
        # Neighbouring messages of a person share one message on some wires: the newest stands last.
        got = newest[-1] if newest else None
        expect(got == wanted or "\n\n".join(newest) == wanted, wanted, got)


def text_order(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        wholes = [whole for part in request.said for whole in _wholes(part.text)]
        _in_order(args["equals"], wholes, lambda text, whole: text == whole)


def _wholes(text: str) -> list[str]:
    """A whole value, its paragraphs and lines, the content of an engine frame."""
    framed = re.fullmatch(r"<foreword [^>]*>\n(.*)\n</foreword>", text, re.DOTALL)
    inside = [framed[1]] if framed else []
    pieces = [text, *inside] if "\n" not in text else [text, *inside, *text.split("\n\n"), *text.split("\n")]
    return list(dict.fromkeys(pieces))


def _in_order(wanted: Sequence[str], wholes: Sequence[str], same: Any) -> None:
    place = 0
    for text in wanted:
        found = next((at for at in range(place, len(wholes)) if same(text, wholes[at])), None)
        if found is None:
            raise CheckFailed(f"in this order: {list(wanted)}", f"{text!r} is not where it should be")
        place = found + 1


def order_of_texts(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        joined = "\0".join([*strings(request.system), *(part.text for part in request.said)])
        place = 0
        for text in args["equals"]:
            found = joined.find(text, place)
            expect(found >= 0, f"in this order: {args['equals']}", f"{text!r} is not where it should be")
            place = found + len(text)


def system_text_order(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        joined = "\0".join(strings(request.system))
        places = [joined.find(text) for text in args["equals"]]
        expect(-1 not in places and places == sorted(places), args["equals"], places)


def regex(outcome: Outcome, args: dict[str, Any]) -> None:
    for name, found in _searched(outcome, args):
        expect(_matches(args["pattern"], found), f"{args['pattern']} in {name}", " | ".join(found)[:300])


def not_regex(outcome: Outcome, args: dict[str, Any]) -> None:
    for name, found in _searched(outcome, args):
        expect(
            not _matches(args["pattern"], found), f"no {args['pattern']} in {name}", " | ".join(found)[:300]
        )


def _matches(pattern: str, texts: Sequence[str]) -> bool:
    return re.search(pattern, "\n".join(texts)) is not None


def well_formed_unicode(outcome: Outcome, args: dict[str, Any]) -> None:
    for name, found in _searched(outcome, args):
        expect(not any(map(HALF.search, found)), f"no lone surrogate in {name}", "there is one")
    no_replacement_char(outcome, args)


def no_replacement_char(outcome: Outcome, args: dict[str, Any]) -> None:
    """A request may repeat the replacement characters that its record holds; a result that is no request has none."""
    told = "" if outcome.session is None else "\n".join(strings(msgspec.to_builtins(outcome.record)))
    for name, found in _searched(outcome, args):
        added = any(REPLACEMENT in one for one in found) and REPLACEMENT not in told
        expect(not added, f"no U+FFFD added in {name}", "there is one")


def no_empty_text(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        empty = [part.message for part in request.parts if part.kind == "text" and not part.text.strip()]
        expect(not empty, "no empty text", f"in messages {empty}")


def image_count(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        compare(args, request.images)


def all_images_decode(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        for kind, data in _image_data(request.body):
            try:
                found = base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                found = b""
            whole = kind in SIGNATURES and found.startswith(SIGNATURES[kind])
            whole = whole and (kind != "image/png" or b"IEND" in found)
            expect(whole, f"{kind} that decodes", f"{len(data)} characters of base64")


def _image_data(value: Any) -> list[tuple[str, str]]:
    """Return the media type and the data of each picture in a request."""
    if isinstance(value, list):
        return [data for item in value for data in _image_data(item)]
    if not isinstance(value, dict):
        return []
    kind = value.get("media_type", value.get("mimeType"))
    if isinstance(value.get("data"), str) and isinstance(kind, str):
        return [(kind, value["data"])] if kind.startswith("image/") else []
    found = [data for member in value.values() for data in _image_data(member)]
    url = value.get("url", value.get("image_url"))
    if isinstance(url, str) and url.startswith("data:"):
        head, _, data = url.removeprefix("data:").partition(";base64,")
        found.append((head, data))
    return found


def max_string_chars(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        compare(args, max(len(text) for text in strings(request.body)))


def request_utf8_encodable(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        try:
            for text in strings(request.body):
                text.encode()
        except UnicodeEncodeError as error:
            raise CheckFailed("text that UTF-8 holds", str(error)) from error


def equals_path(outcome: Outcome, args: dict[str, Any]) -> None:
    got = _at(outcome, args)
    if got is MISSING and outcome.outputs and not _of_result(outcome, args):
        raise CheckFailed(f"a value at {args['path']}", "nothing")  # null is a value: the member is there
    compare(args, None if got is MISSING else got, what=args["path"])


def equals_input(outcome: Outcome, args: dict[str, Any]) -> None:
    wanted, got = at_path(outcome.given, args["path"]), _at(outcome, args)
    expect(wanted is not MISSING, f"an input at {args['path']}", "nothing")
    expect(got is not MISSING and same(got, wanted), wanted, got)


def path_present(outcome: Outcome, args: dict[str, Any]) -> None:
    got = _at(outcome, args)
    expect(got is not MISSING and got is not None, f"a value at {args['path']}", "nothing")


def path_absent(outcome: Outcome, args: dict[str, Any]) -> None:
    got = _at(outcome, args)
    expect(got is MISSING, f"nothing at {args['path']}", got)


def _at(outcome: Outcome, args: dict[str, Any]) -> Any:
    path = args["path"]
    if outcome.values and not CHOOSING & args.keys():
        found = at_path(outcome.values, path)
        if found is not MISSING or not outcome.outputs:
            return found
    body = outcome.chosen(args)[0].body
    return at_path(body if MARK in path else without_marks(body), path)


def _of_result(outcome: Outcome, args: dict[str, Any]) -> bool:
    """Whether a path begins in a result that is no request."""
    return re.split(r"[.\[]", args["path"])[0] in outcome.values and not CHOOSING & args.keys()


def byte_equal(outcome: Outcome, args: dict[str, Any]) -> None:
    requests = outcome.all(args)
    for name in args["parts"]:
        found = [text_of(piece) if (piece := r.part(name)) is not MISSING else "" for r in requests]
        differing = next((i for i, text in enumerate(found) if text != found[0]), None)
        expect(differing is None, f"{name} byte-equal in all requests", f"it differs in request {differing}")


def message_bytes_stable(outcome: Outcome, args: dict[str, Any]) -> None:
    at = args["index"]
    held = [r.part(f"messages[{at}]") for r in outcome.all(args) if len(r.messages) > at]
    found = {text_of(message) for message in held}
    expect(len(found) <= 1, f"message {at} with the same bytes", f"{len(found)} forms")


def prefix_breaks(outcome: Outcome, args: dict[str, Any]) -> None:
    requests = outcome.all(args)
    compare(args, sum(_first_difference(one, other) is not None for one, other in pairwise(requests)))


def each_break_has_event(outcome: Outcome, args: dict[str, Any]) -> None:
    """Each break lies where an event of this type stands between the two requests."""
    requests, kind = outcome.all(args), args["type"]
    if kind not in EVENTS or "min_tokens" in args:
        raise Unsupported(f"event {kind} with {', '.join(args)}")
    found = [event.seq for event in EVENTS[kind](outcome.record)]
    for number, (one, other) in enumerate(pairwise(requests)):
        told = any(one.events <= seq < other.events for seq in found)
        expect(told or _first_difference(one, other) is None, f"{kind} before request {number + 1}", "none")


def _first_difference(one: Request, other: Request) -> int | None:
    """Return the first unit of a request that the next one does not begin with; None: it begins with all."""
    before, after = [unit for unit, _ in one.units], [unit for unit, _ in other.units]
    return next((i for i, unit in enumerate(before) if i >= len(after) or unit != after[i]), None)


def append_only(outcome: Outcome, args: dict[str, Any]) -> None:
    requests = outcome.all(args)
    for number, (one, other) in enumerate(pairwise(requests)):
        at = _first_difference(one, other)
        if at is not None:
            found = f"unit {at} differs: {one.units[at][0][:120]}"
            raise CheckFailed(f"request {number} is a prefix of the next", found)


def each_request_prefix_of_next(outcome: Outcome, args: dict[str, Any]) -> None:
    requests = outcome.all(args)
    for number, (one, other) in enumerate(pairwise(requests)):
        before, after = one.part(args["part"]), other.part(args["part"])
        whole = list(map(text_of, before)) == list(map(text_of, after[: len(before)]))
        expect(whole, f"{args['part']} of request {number} a prefix of the next", "it is not")


CONTENT: dict[str, Check] = {
    "contains": contains,
    "contains_in": contains,
    "not_contains": not_contains,
    "not_contains_in": not_contains,
    "contains_any": contains_any,
    "occurs": occurs,
    "last_user_text": last_user_text,
    "text_order": text_order,
    "order_of_texts": order_of_texts,
    "system_text_order": system_text_order,
    "regex": regex,
    "not_regex": not_regex,
    "well_formed_unicode": well_formed_unicode,
    "no_replacement_char": no_replacement_char,
    "no_empty_text": no_empty_text,
    "image_count": image_count,
    "all_images_decode": all_images_decode,
    "max_string_chars": max_string_chars,
    "request_utf8_encodable": request_utf8_encodable,
    "equals_path": equals_path,
    "equals_input": equals_input,
    "path_present": path_present,
    "path_absent": path_absent,
    "byte_equal": byte_equal,
    "message_bytes_stable": message_bytes_stable,
    "append_only": append_only,
    "prefix_breaks": prefix_breaks,
    "each_break_has_event": each_break_has_event,
    "each_request_prefix_of_next": each_request_prefix_of_next,
}
