"""Checks of cache marks in the final request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.field_cases.cases import Unsupported
from tests.field_cases.checks.comparing import Check, compare, expect
from tests.field_cases.outcome import CheckFailed, Outcome
from tests.field_cases.request import MARK, Request, marks_in


def marker_count(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        compare(args, marks_in(request.body))


def markers_in_message(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        at = args["message"]
        if not -len(request.messages) <= at < len(request.messages):
            raise CheckFailed(f"message {at}", f"{len(request.messages)} messages")
        compare(args, marks_in(request.messages[at]))


def caller_markers_kept(outcome: Outcome, args: dict[str, Any]) -> None:
    places = outcome.values.get("caller_marks")
    if places is None:
        raise Unsupported("marks of a caller after this operation")
    for request in outcome.chosen(args):
        compare(args, sum(marks_in(request.messages[place]) > 0 for place in places))


def marker_present(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        found = _unit_at(request, args["at"])
        expect(found is not None and marks_in(found) > 0, f"a mark at {args['at']}", _where(request))


def _unit_at(request: Request, place: str) -> Any:
    if place == "last_system":
        return request.system[-1] if request.system else None
    if place == "last_message":
        blocks = [part for part in request.parts if part.kind not in ("thinking",)]
        last = [part for part in blocks if part.message == len(request.messages) - 1]
        return last[-1].raw if last else None
    if place.startswith("tool_result:"):
        result = request.result(place.removeprefix("tool_result:"))
        return None if result is None else result.raw
    if indexed := re.fullmatch(r"system\[(\d+)\]", place):
        at = int(indexed[1])
        return request.system[at] if at < len(request.system) else None
    raise Unsupported(f"mark at {place}")


def _where(request: Request) -> str:
    places = [index for index, (_, marked) in enumerate(request.units) if marked]
    return f"marks on units {places} of {len(request.units)}"


def marker_not_on(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        for block in _marked(request.body):
            kind = str(block.get("type"))
            kinds = {kind, "empty_text"} if kind == "text" and not block["text"].strip() else {kind}
            expect(not kinds & set(args["types"]), f"no mark on {args['types']}", kind)


def _marked(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if MARK in value:
            yield value
        for member in value.values():
            yield from _marked(member)
    elif isinstance(value, list):
        for item in value:
            yield from _marked(item)


def _places(request: Request) -> list[int]:
    return [index for index, (_, marked) in enumerate(request.units) if marked]


def last_marker_distance_blocks(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        places = _places(request)
        if not places:
            raise CheckFailed("a mark", "none")
        compare(args, len(request.units) - 1 - places[-1])


def marker_reuse_within_blocks(outcome: Outcome, args: dict[str, Any]) -> None:
    requests = outcome.all(args)
    for number, (one, other) in enumerate(pairwise(requests)):
        gaps = [new - old for old in _places(one) for new in _places(other) if new >= old]
        if not gaps:
            raise CheckFailed("a mark after one of the request before", f"none in request {number + 1}")
        compare(args, min(gaps), what=f"request {number + 1}")


def prefix_unchanged(outcome: Outcome, args: dict[str, Any]) -> None:
    requests = outcome.all(args)
    for number, (one, other) in enumerate(pairwise(requests)):
        end = (_places(one) or [-1])[-1] + 1
        same = [unit for unit, _ in one.units[:end]] == [unit for unit, _ in other.units[:end]]
        expect(same, f"what stands before the newest mark of request {number} unchanged", "it changed")


def simulated_cache_read_share(outcome: Outcome, args: dict[str, Any]) -> None:
    """Each request's reads from a cache that holds a prefix at each mark of the requests before it."""
    caps = outcome.values.get("caps")
    if caps is None:
        raise Unsupported("a simulated cache after this operation")
    look_back = outcome.values.get("look_back", caps["lookback_blocks"])
    entries: set[tuple[str, ...]] = set()
    before = 0
    for number, request in enumerate(outcome.all(args)):
        texts = [text for text, _ in request.units]
        sizes = [-(-len(text) // 4) for text in texts]
        marks = [at for at in _places(request) if sum(sizes[: at + 1]) >= caps["min_cache_tokens"]]
        reads = [_read(texts, at, look_back, entries) for at in marks]
        read = sum(sizes[: max(reads, default=0)])
        if number >= args.get("from_request", 1) and before:
            compare(args, read / before, what=f"request {number}")
        entries |= {tuple(texts[: at + 1]) for at in marks}
        before = sum(sizes)


def _read(texts: list[str], mark: int, look_back: int, entries: set[tuple[str, ...]]) -> int:
    """Return how many units a mark lets the server read: up to the newest entry within its look-back."""
    for end in range(mark, max(-1, mark - look_back - 1), -1):
        if tuple(texts[: end + 1]) in entries:
            return end + 1
    return 0


MARKS: dict[str, Check] = {
    "marker_count": marker_count,
    "markers_in_message": markers_in_message,
    "caller_markers_kept": caller_markers_kept,
    "marker_present": marker_present,
    "marker_not_on": marker_not_on,
    "last_marker_distance_blocks": last_marker_distance_blocks,
    "marker_reuse_within_blocks": marker_reuse_within_blocks,
    "prefix_unchanged": prefix_unchanged,
    "simulated_cache_read_share": simulated_cache_read_share,
}
