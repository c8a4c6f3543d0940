"""cache_plan: where the engine puts cache marks, in one request or over a session.

The engine has one planner for the whole request, so wishes of its contributors (`marked`, `auto_tools_marker`,
`prefer_marker_at`) need no word of their own. A caller's own marks come with the list that it holds.
"""

from __future__ import annotations

from typing import Any

from tests.field_cases import wire_forms
from tests.field_cases.bench import MEMBERS, SETTINGS, Bench, Room, flat, messages_of
from tests.field_cases.cases import Case, Unsupported
from tests.field_cases.outcome import Outcome
from tests.field_cases.request import MARK


def cache_plan(case: Case, room: Room) -> Outcome:
    wishes = ("marked", "auto_tools_marker", "prefer_marker_at")
    case.only(*MEMBERS, *wishes, "mark_message", "caller_markers", settings=SETTINGS)
    bench = Bench(case, room)
    messages = messages_of(case)
    bench.begin(messages)
    bench.record(messages)
    if places := _callers(case):
        bench.session.sync(with_marks(messages, places))
    bench.compile()
    bench.outcome.values = {"caller_marks": places}
    return bench.outcome


def _callers(case: Case) -> list[int]:
    """Return the messages on which the caller of a case had set marks."""
    given = case.input.get("caller_markers", [])
    places = [*given, case.input["mark_message"]] if "mark_message" in case.input else given
    if not isinstance(places, list) or not all(isinstance(place, int) for place in places):
        raise Unsupported("marks of a caller beside messages")
    return places


def with_marks(messages: list[dict[str, Any]], places: list[int]) -> list[dict[str, Any]]:
    """Return messages with a mark on the last block of some."""
    marked = [dict(message) for message in messages]
    for place in places:
        content = marked[place]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        blocks[-1] = {**blocks[-1], MARK: {"type": "ephemeral"}}
        marked[place]["content"] = blocks
    return marked


def cache_plan_many(case: Case, room: Room) -> Outcome:
    case.only(*MEMBERS, "shared_system", "user_blocks", settings=SETTINGS)
    whole = Outcome()
    messages = messages_of(case)
    for number, block in enumerate(case.input["user_blocks"]):
        bench = Bench(case, room, name=f"user {number}")
        bench.begin(messages, system=[case.input["shared_system"], block])
        bench.record(messages)
        bench.compile()
        whole.outputs += bench.outcome.outputs
        whole.referees += bench.outcome.referees
        whole.session = bench.session
    return whole


def cache_plan_sequence(case: Case, room: Room) -> Outcome:
    case.only(*MEMBERS, "requests", "simulate_cache", settings=SETTINGS)
    bench = Bench(case, room)
    bench.outcome.values = {"caps": bench.caps, **_look_back(case.input.get("simulate_cache"))}
    steps = _steps(case)
    everything = [message for step in steps for message in step]
    for step in steps:
        bench.begin(everything)
        bench.record(step)
        bench.compile()
    return bench.outcome


def _look_back(given: Any) -> dict[str, int]:
    """Return the look-back of the simulated cache where a case names one."""
    if isinstance(given, dict):
        given = next(
            (given[name] for name in ("lookback_blocks", "look_back", "lookback") if name in given), None
        )
    return {"look_back": given} if isinstance(given, int) and not isinstance(given, bool) else {}


def _steps(case: Case) -> list[list[dict[str, Any]]]:
    """Return what each request adds; one that gives the whole record again adds what is new in it."""
    wire, requests = case.wire, case.input["requests"]
    if isinstance(requests, dict):
        return wire_forms.grown(wire, requests["$grow"], requests)
    steps: list[list[dict[str, Any]]] = []
    for number, request in enumerate(requests):
        known = [message for step in steps for message in step]
        made = _step(wire, number, request)
        steps.append(made[len(known) :] if known and made[: len(known)] == known else made)
    return steps


def _step(wire: str, number: int, request: dict[str, Any]) -> list[dict[str, Any]]:
    match request:
        case {"messages": listed}:
            return flat(wire, listed)
        case {"append_parallel_calls": count}:
            made = [(f"wide_{number}_{i}", "work", f'{{"part":{i}}}') for i in range(count)]
            given = [(id_, name, f"result {id_}") for id_, name, _ in made]
            return [
                *wire_forms.calls(wire, made),
                *wire_forms.results(wire, given),
                wire_forms.user(wire, "Go on."),
            ]
        case _:
            raise Unsupported(f"request with {', '.join(request)}")


MARKING = {
    "cache_plan": cache_plan,
    "cache_plan_many": cache_plan_many,
    "cache_plan_sequence": cache_plan_sequence,
}
