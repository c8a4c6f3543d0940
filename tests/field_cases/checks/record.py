"""Checks of the record: what is stored, what is known of calls, events and warnings."""

from __future__ import annotations

from typing import Any

import msgspec

from foreword.core.block import Image, ToolResult
from foreword.core.event import Answered, Event, Said, ToolReturned
from tests.field_cases.cases import Unsupported
from tests.field_cases.checks.comparing import Check, compare, expect, texts_of
from tests.field_cases.labels import EVENTS, RAISED, call_status, error_numbers, run_state
from tests.field_cases.outcome import CheckFailed, Outcome
from tests.field_cases.request import strings


def record_has_text(outcome: Outcome, args: dict[str, Any]) -> None:
    if outcome.session is None:
        raise CheckFailed("a session", outcome.error)
    stored = "\n".join(_stored_strings(outcome.record))
    for text in texts_of(args):
        expect(text in stored, f"{text!r} in the record", "not there")


def _stored_strings(events: list[Event]) -> list[str]:
    return [text for event in events for text in strings(msgspec.to_builtins(event.body))]


def record_unchanged(outcome: Outcome, args: dict[str, Any]) -> None:
    stored = outcome.record[: len(outcome.before)]
    expect(bool(outcome.before) and stored == outcome.before, "the same events", "they differ")


def record_user_origin_count(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, sum(isinstance(e.body, Said) and e.body.person for e in outcome.record))


def record_image_count(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, sum(_images(event) for event in outcome.record))


def _images(event: Event) -> int:
    body = event.body
    if isinstance(body, ToolReturned):
        return sum(isinstance(block, Image) for block in body.result.content)
    if isinstance(body, Said | Answered):
        inside = [block.content for block in body.message.blocks if isinstance(block, ToolResult)]
        blocks = [*body.message.blocks, *(part for content in inside for part in content)]
        return sum(isinstance(block, Image) for block in blocks)
    return 0


def engine_messages_marked(outcome: Outcome, args: dict[str, Any]) -> None:
    engine = [e for e in outcome.record if e.kind in ("noticed", "repaired", "rewritten", "epoch_started")]
    wrong = [e.seq for e in engine if e.origin != "engine" and e.actor == "engine"]
    expect(not wrong, "origin engine", wrong)


def recorded_status(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, _status(outcome, args["id"]))


def _status(outcome: Outcome, id_: str) -> str | None:
    if id_ in outcome.statuses:
        return outcome.statuses[id_]
    if outcome.session is None:
        raise Unsupported("a status of calls after this operation")
    return call_status(outcome.session, id_)


def run_state_is(outcome: Outcome, args: dict[str, Any]) -> None:
    if outcome.session is None:
        raise Unsupported("a run state after this operation")
    compare(args, run_state(outcome.session, args["id"]))


def executed_calls(outcome: Outcome, args: dict[str, Any]) -> None:
    if "executed" not in outcome.values:
        raise Unsupported("a tool runner")
    compare(args, outcome.values["executed"])


def event(outcome: Outcome, args: dict[str, Any]) -> None:
    kind = args["type"]
    if kind not in EVENTS:
        raise Unsupported(f"event {kind}")
    unknown = args.keys() - {"check", "type", "count", "count_gte"}
    if unknown:
        raise Unsupported(f"members {', '.join(sorted(unknown))} of an event")
    found = EVENTS[kind](outcome.record)
    if "count" in args:
        expect(len(found) == args["count"], f"{args['count']} events {kind}", len(found))
    else:
        expect(len(found) >= args.get("count_gte", 1), f"an event {kind}", len(found))


def warning(outcome: Outcome, args: dict[str, Any]) -> None:
    found = [one for one in outcome.warnings if one.code == args["code"]]
    expect(bool(found), f"a warning {args['code']}", [one.code for one in outcome.warnings])
    for name in args.get("has_numbers", ()):
        expect(any(name in one.numbers for one in found), f"{name} in the warning", found[0].numbers)


def raises(outcome: Outcome, args: dict[str, Any]) -> None:
    wanted = RAISED.get(args["code"])
    if wanted is None:
        raise Unsupported(f"an error {args['code']}")
    expect(isinstance(outcome.error, wanted), wanted.__name__, repr(outcome.error))
    numbers = error_numbers(outcome.error)
    missing = [name for name in args.get("has_numbers", ()) if name not in numbers]
    expect(not missing, f"{args.get('has_numbers')} in the error", numbers)


def no_exception(outcome: Outcome, args: dict[str, Any]) -> None:
    expect(outcome.error is None, "no exception", repr(outcome.error))


def thinking_blocks_intact_or_absent(outcome: Outcome, args: dict[str, Any]) -> None:
    given = outcome.values.get("thinking_given")
    if given is None:
        raise Unsupported("thinking of this input")
    for request in outcome.chosen(args):
        for part in request.parts:
            if part.kind == "thinking":
                bare = {name: value for name, value in part.raw.items() if name != "cache_control"}
                expect(bare in given, "thinking as it was given, or none", bare)


RECORD: dict[str, Check] = {
    "record_has_text": record_has_text,
    "record_still_has": record_has_text,
    "record_unchanged": record_unchanged,
    "record_user_origin_count": record_user_origin_count,
    "record_image_count": record_image_count,
    "engine_messages_marked": engine_messages_marked,
    "recorded_status": recorded_status,
    "run_state": run_state_is,
    "executed_calls": executed_calls,
    "event": event,
    "warning": warning,
    "raises": raises,
    "no_exception": no_exception,
    "thinking_blocks_intact_or_absent": thinking_blocks_intact_or_absent,
}
