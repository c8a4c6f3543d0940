"""convert: a record of one wire, compiled for another.

The marks that the caller had set are carried over; none are planned beside them.
"""

from __future__ import annotations

from typing import Any

from tests.field_cases.bench import MEMBERS, SETTINGS, Bench, Room, messages_of
from tests.field_cases.cases import Case, wire_of
from tests.field_cases.model import caps_of, referee_of, target_of
from tests.field_cases.outcome import Outcome
from tests.field_cases.request import marks_in


def convert(case: Case, room: Room) -> Outcome:
    case.only(*MEMBERS, "from", "route_supports_cache_control", settings=SETTINGS)
    return _converted(case, room, [case.input.get("wire", "anthropic.messages")])


def convert_matrix(case: Case, room: Room) -> Outcome:
    case.only(*MEMBERS, "from", "to", settings=SETTINGS)
    return _converted(case, room, case.input["to"])


def _converted(case: Case, room: Room, targets: list[Any]) -> Outcome:
    source = wire_of(case.input["from"])
    messages = messages_of(case, source)
    marks = marks_in(messages) > 0 and case.input.get("route_supports_cache_control", True)
    whole = Outcome()
    for number, given in enumerate(targets):
        name, more = (given, {}) if isinstance(given, str) else (given["wire"], dict(given))
        more.pop("wire", None)
        caps_of(case, **more)
        bench = Bench(case, room, wire=source, marks=marks, plan_marks=False, name=f"to {number}")
        bench.begin(messages)
        bench.record(messages)
        if marks:
            bench.session.sync(messages)
        wire = wire_of(name)
        if wire != source or more:
            bench.target = target_of(wire, caps_of(case, **more), case.settings, marks=marks)
            bench.wire = wire
            strict = bool(case.settings.get("strict_alternation"))
            bench.referee = referee_of(bench.target, strict_alternation=strict)
            bench.reopen()
        bench.compile()
        whole.outputs += bench.outcome.outputs
        whole.referees += bench.outcome.referees
        whole.session, whole.before = bench.session, bench.outcome.before
        whole.again = bench.outcome.again
    return whole


CONVERTING = {"convert": convert, "convert_matrix": convert_matrix}
