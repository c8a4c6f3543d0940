"""Checks of the record: what is stored, what is known of calls, events and warnings."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from foreword.core.block import Image, ToolResult
from foreword.core.event import Answered, Event, Said, ToolReturned
from foreword.engine.session import Session
from tests.field_cases.cases import Unsupported
from tests.field_cases.checks.comparing import Check, compare, expect, texts_of
from tests.field_cases.labels import EVENTS, FIELDS, RAISED, WARNINGS, call_outcome, error_numbers
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
    known = call_outcome(_session(outcome), id_)
    return None if known is None else known.status


def _session(outcome: Outcome) -> Session:
    if outcome.session is None:
        raise Unsupported("a status of calls after this operation")
    return outcome.session


def run_state(outcome: Outcome, args: dict[str, Any]) -> None:
    known = call_outcome(_session(outcome), args["id"])
    compare(args, None if known is None else known.run)


def status_at(outcome: Outcome, args: dict[str, Any]) -> None:
    if "zero" not in outcome.values:
        raise Unsupported("times of this operation")
    at = outcome.values["zero"] + round(args["t"] * 1_000_000)
    known = call_outcome(_session(outcome), args["id"], at)
    if known is None:
        raise CheckFailed(f"call {args['id']} at {args['t']}", "no such call then")
    found = {"status": known.status, "exit_code": known.exit_code, "run_state": known.run}
    wanted = {name: args[name] for name in found if name in args}
    expect(bool(wanted) and wanted.items() <= found.items(), wanted, found)


def never_status(outcome: Outcome, args: dict[str, Any]) -> None:
    session = _session(outcome)
    known = [call_outcome(session, args["id"], at) for at in sorted({event.at for event in session.events})]
    statuses = [one.status for one in known if one is not None]
    expect(bool(statuses) and args["status"] not in statuses, f"never {args['status']}", statuses)


def retryable(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, [one.call_id for one in _session(outcome).outcomes() if one.retryable])


def executed_calls(outcome: Outcome, args: dict[str, Any]) -> None:
    if "executed" not in outcome.values:
        raise Unsupported("a tool runner")
    compare(args, outcome.values["executed"])


def tool_call_count(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, len(_assembled(outcome)))


def arguments_list(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, [json.loads(call["arguments"]) for call in _assembled(outcome)])


def _assembled(outcome: Outcome) -> list[dict[str, str]]:
    if "tool_calls" not in outcome.values:
        raise Unsupported("calls of a stream after this operation")
    return outcome.values["tool_calls"]


def recorded_state(outcome: Outcome, args: dict[str, Any]) -> None:
    if "state" not in outcome.values:
        raise Unsupported("the state of a stream after this operation")
    compare(args, outcome.values["state"])


def event(outcome: Outcome, args: dict[str, Any]) -> None:
    kind = args["type"]
    if kind not in EVENTS:
        raise Unsupported(f"event {kind}")
    fields: list[str] = args.get("fields", [])
    if unknown := set(fields) - FIELDS.get(kind, frozenset()):
        raise Unsupported(f"members {', '.join(sorted(unknown))} of an event")
    found = EVENTS[kind](outcome.record)
    if "count" in args:
        expect(len(found) == args["count"], f"{args['count']} events {kind}", len(found))
    else:
        expect(len(found) >= args.get("count_gte", 1), f"an event {kind}", len(found))
    for field in fields:
        values = [getattr(one.body, field) for one in found]
        expect(all(values), f"a {field} in each event {kind}", values)


def warning(outcome: Outcome, args: dict[str, Any]) -> None:
    if args["code"] not in WARNINGS:
        raise Unsupported(f"warning {args['code']}")
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
    "run_state": run_state,
    "status_at": status_at,
    "never_status": never_status,
    "retryable": retryable,
    "executed_calls": executed_calls,
    "tool_call_count": tool_call_count,
    "arguments_list": arguments_list,
    "recorded_state": recorded_state,
    "event": event,
    "warning": warning,
    "raises": raises,
    "no_exception": no_exception,
    "thinking_blocks_intact_or_absent": thinking_blocks_intact_or_absent,
}
