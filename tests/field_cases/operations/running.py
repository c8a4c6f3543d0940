"""record_tool_result: what is known of a command while it runs, after it, and when nobody saw its end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from foreword.core.block import Message, ToolCall
from tests.field_cases.bench import SETTINGS, Bench, Room
from tests.field_cases.cases import Case, Unsupported
from tests.field_cases.outcome import Outcome

ZERO = 1_790_000_000_000_000
"""Microseconds since 1970 at which the seconds of a case begin."""
LATER = 1_000_000
"""Seconds after which the request is compiled: later than any time that a check asks for."""
TOOL = "bash"
ENDS = ("exit", "end_marker")
MEMBERS = {"t", "event", "id", "command", "stdout", "stderr", "exit_code", "is_error"}


def record_tool_result(case: Case, room: Room) -> Outcome:
    """Record the runs as their runner would, which also knows at the end of those that go on."""
    case.only("sequence", "model_caps", settings=(*SETTINGS, "start_marks"))
    sequence = sorted(case.input["sequence"], key=lambda event: event["t"])
    if not sequence:
        raise Unsupported("a run without events")
    bench = Bench(case, room)
    bench.clock = lambda: ZERO + round((sequence[0]["t"] - 1) * 1_000_000)
    begun = any(event["event"] == "start" for event in sequence)
    bench.session.start_marks = case.settings.get("start_marks", begun)
    bench.begin(tools=[TOOL])
    bench.session.say("Run it.")
    bench.session.compile()
    bench.session.answered(Message(role="assistant", blocks=_calls(sequence)))
    runner = _Runner(bench)
    for event in sequence:
        bench.clock = lambda at=event["t"]: ZERO + round(at * 1_000_000)
        runner.take(event)
    bench.clock = lambda: ZERO + LATER * 1_000_000
    runner.still_running()
    bench.outcome.values = {"zero": ZERO}
    bench.compile()
    return bench.outcome


def _calls(sequence: Sequence[dict[str, Any]]) -> tuple[ToolCall, ...]:
    commands: dict[str, str] = {}
    for event in sequence:
        commands[event["id"]] = event.get("command") or commands.get(event["id"], "")
    return tuple(
        ToolCall(id=id_, name=TOOL, arguments=json.dumps({"command": command}))
        for id_, command in commands.items()
    )


class _Runner:
    """Runs no command, but tells of it. ``codes``: of the calls that ended, as far as it is known."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.started: dict[str, None] = {}
        self.answered: set[str] = set()
        self.codes: dict[str, int | None] = {}
        self.untold: dict[str, str] = {}

    def take(self, event: dict[str, Any]) -> None:
        if event.keys() - MEMBERS:
            raise Unsupported(f"a run with {', '.join(sorted(event.keys() - MEMBERS))}")
        id_, kind = event["id"], event["event"]
        printed = "".join(event.get(stream) or "" for stream in ("stdout", "stderr"))
        if kind not in ("start", "output", "moved_to_background", *ENDS):
            raise Unsupported(f"event {kind} of a run")
        self.untold[id_] = self.untold.get(id_, "") + printed
        if kind == "start":
            self.started[id_] = None
            self.bench.session.started(id_)
        elif kind == "output":
            self.bench.session.printed(id_, printed)
        elif kind == "moved_to_background":
            self._background(id_)
        elif self.codes.get(id_) is None and (id_ not in self.codes or event.get("exit_code") is not None):
            self._end(event)

    def still_running(self) -> None:
        """Answer the calls whose run nobody saw the end of, and nobody lost."""
        for id_ in self.started:
            if id_ not in self.answered:
                self._background(id_)

    def _background(self, id_: str) -> None:
        self.answered.add(id_)
        self.bench.session.returned(id_, self.untold.pop(id_, ""), run="running")

    def _end(self, event: dict[str, Any]) -> None:
        id_ = event["id"]
        self.answered.add(id_)
        self.codes[id_] = event.get("exit_code")
        self.bench.session.returned(
            id_,
            self.untold.pop(id_, ""),
            exit_code=event.get("exit_code"),
            is_error=event.get("is_error", False),
        )


RUNNING = {"record_tool_result": record_tool_result}
