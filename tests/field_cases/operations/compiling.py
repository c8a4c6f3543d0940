"""compile and its kin: requests from a record, once, several times, in several processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from msgspec.structs import replace

from foreword.core.event import Draft, Noticed
from tests.field_cases import wire_forms
from tests.field_cases.bench import MEMBERS, SETTINGS, Bench, Room, flat, messages_of
from tests.field_cases.cases import Case, Unsupported, known
from tests.field_cases.model import caps_of, policy_of, referee_of, target_of
from tests.field_cases.outcome import Outcome, failure_of
from tests.field_cases.recording import made_up_tools
from tests.field_cases.request import Request


def compile_once(case: Case, room: Room) -> Outcome:
    case.only(*MEMBERS, settings=SETTINGS)
    bench = Bench(case, room)
    messages = messages_of(case)
    bench.begin(messages)
    bench.record(messages)
    _then(bench)
    bench.compile()
    bench.outcome.values = {"thinking_given": _thinking(messages)}
    return bench.outcome


def _then(bench: Bench) -> None:
    if "then_user" in bench.case.input:
        bench.record([wire_forms.user(bench.wire, bench.case.input["then_user"])])


def _thinking(messages: list[dict[str, Any]]) -> list[Any]:
    kinds = ("thinking", "redacted_thinking")
    listed = [message["content"] for message in messages if isinstance(message.get("content"), list)]
    blocks = [block for content in listed for block in content if isinstance(block, dict)]
    return [block for block in blocks if block.get("type") in kinds]


def compile_many(case: Case, room: Room) -> Outcome:
    case.only("histories", *MEMBERS, settings=SETTINGS)
    whole = Outcome()
    for number, history in enumerate(case.input["histories"]):
        bench = Bench(case, room, name=f"history {number}")
        if not isinstance(history, list):
            known("history", history, ("messages",))
        messages = flat(bench.wire, history["messages"] if isinstance(history, dict) else history)
        bench.begin(messages)
        bench.record(messages)
        bench.compile()
        whole.outputs += bench.outcome.outputs
        whole.referees += bench.outcome.referees
        whole.session = bench.session
    return whole


def compile_twice(case: Case, room: Room) -> Outcome:
    case.only(*MEMBERS, settings=SETTINGS)
    bench = Bench(case, room)
    messages = messages_of(case)
    given = case.input.get("tools")
    each = given if isinstance(given, list) and given and isinstance(given[0], list) else [given, given]
    bench.begin(messages, tools=each[0] or [])
    bench.record(messages)
    bench.compile()
    bench.reopen()
    bench.begin(messages, tools=each[1] or [])
    bench.compile()
    bench.outcome.values = {"thinking_given": _thinking(messages)}
    return bench.outcome


def compile_sequence(case: Case, room: Room) -> Outcome:
    varied = (
        "messages_per_request",
        "tools_per_request",
        "deferred_per_request",
        "recall_per_request",
        "per_turn_note",
        "grow",
    )
    case.only(*MEMBERS, *varied, settings=SETTINGS)
    given = case.input
    bench = Bench(case, room)
    steps = _added(case)
    count = max([len(steps), *(len(given[name]) for name in varied[1:5] if name in given)])
    everything = [message for step in steps for message in step]
    for k in range(count):
        tools = given["tools_per_request"][k] if "tools_per_request" in given else None
        bench.begin([] if tools is not None else everything, tools=tools)
        if "deferred_per_request" in given:
            bench.defer(given["deferred_per_request"][k])
        bench.record(steps[k] if k < len(steps) else [])
        for text in given.get("recall_per_request", [[]] * count)[k]:
            _note(bench, "recalled memory", text)
        if "per_turn_note" in given and given["per_turn_note"][k]:
            _note(bench, "note", given["per_turn_note"][k])
        bench.compile()
    bench.outcome.values = {"thinking_given": _thinking(everything)}
    return bench.outcome


def _note(bench: Bench, topic: str, text: str) -> None:
    bench.session.append(Draft(body=Noticed(topic=topic, text=text)))


def _added(case: Case) -> list[list[dict[str, Any]]]:
    """Return what each request of a sequence adds to the record of the one before."""
    given = case.input
    if "grow" in given:
        return wire_forms.grown(case.wire, given["grow"]["steps"], given["grow"])
    if "messages_per_request" not in given:
        return [messages_of(case)]
    if "$grow" in given["messages_per_request"]:
        rule = given["messages_per_request"]
        return wire_forms.grown(case.wire, rule["$grow"], rule)
    added: list[list[dict[str, Any]]] = []
    known: list[dict[str, Any]] = []
    for listed in given["messages_per_request"]:
        record = flat(case.wire, listed)
        if record[: len(known)] != known:
            raise Unsupported("a record that does not grow")
        added.append(record[len(known) :])
        known = record
    return added


def compile_in_two_processes(case: Case, room: Room) -> Outcome:
    case.only(*MEMBERS, "env", "reorder_keys_in_second", settings=SETTINGS)
    bench = Bench(case, room)
    messages = messages_of(case)
    bench.begin(messages)
    bench.record(messages)
    bench.compile()
    bench.session.flush()
    tools = made_up_tools(case.input.get("tools"))
    asked = {
        "store": str(room.path / "store"),
        "session": bench.name,
        "wire": bench.wire,
        "caps": bench.caps,
        "settings": case.settings,
        "tools": _reordered(case.input["tools"]) if case.input.get("reorder_keys_in_second") else None,
        "names": [tool.name for tool in tools],
        "described": {
            name: case.input[name] for name in ("image_to_text", "fake_model") if name in case.input
        },
    }
    run = subprocess.run(
        [sys.executable, "-m", "tests.field_cases.second_process"],
        input=json.dumps(asked).encode(),
        capture_output=True,
        check=False,
        env={**os.environ, **case.input.get("env", {})},
    )
    if run.returncode:
        raise failure_of(run.stderr)
    bench.outcome.outputs.append(Request(bench.wire, run.stdout))
    bench.outcome.referees.append(bench.referee)
    bench.outcome.model_calls = bench.describer.made if bench.describer else 0
    return bench.outcome


def _reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _reordered(value[name]) for name in reversed(list(value))}
    return [_reordered(item) for item in value] if isinstance(value, list) else value


def store_roundtrip(case: Case, room: Room) -> Outcome:
    case.only(*MEMBERS, settings=SETTINGS)
    bench = Bench(case, room, marks=False)
    messages = messages_of(case)
    bench.begin(messages)
    bench.record(messages)
    bench.reopen()
    bench.compile()
    return bench.outcome


def switch_model(case: Case, room: Room) -> Outcome:
    """Record a session under the old model's window, then compile it for the new one.

    The engine's own summariser makes no model call, so a fake model has nothing to answer here.
    """
    case.only(*MEMBERS, "fake_model", settings=(*SETTINGS, "from_window", "to_window"))
    caps = caps_of(case)
    bench = Bench(case, room, caps={**caps, "window": case.settings["from_window"]})
    messages = messages_of(case)
    bench.begin(messages)
    bench.record(messages)
    smaller = target_of(bench.wire, {**caps, "window": case.settings["to_window"]}, case.settings)
    bench.target = replace(
        smaller,  # another model: what the first one sealed is nothing to it
        spec=replace(smaller.spec, id=f"{smaller.spec.id}-small"),
        params=replace(smaller.params, model=f"{smaller.params.model}-small"),
    )
    bench.policy = policy_of(case.settings, bench.target)
    bench.referee = referee_of(bench.target)
    bench.reopen()
    bench.compile()
    bench.outcome.values = {"model_call_tokens": []}
    return bench.outcome


COMPILING = {
    "switch_model": switch_model,
    "compile": compile_once,
    "compile_many": compile_many,
    "compile_twice": compile_twice,
    "compile_sequence": compile_sequence,
    "compile_in_two_processes": compile_in_two_processes,
    "store_roundtrip_compile": store_roundtrip,
    "roundtrip": store_roundtrip,
}
