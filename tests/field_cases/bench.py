"""A workplace for one case: a folder, stores that close with it, sessions and their referees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zoneinfo import ZoneInfo

import msgspec

from foreword.core.block import ToolSpec
from foreword.engine.clock import Clock, system_clock
from foreword.engine.session import Session
from foreword.store import Store
from tests.field_cases import wire_forms
from tests.field_cases.cases import Case, Unsupported, known
from tests.field_cases.fake_model import describer_of
from tests.field_cases.model import caps_of, policy_of, referee_of, target_of
from tests.field_cases.outcome import Outcome, Warned
from tests.field_cases.recording import Recorder, called_but_not_given, made_up_tools, microseconds
from tests.field_cases.request import Request

SETTINGS = (
    "strategy",
    "window",
    "reserve_output",
    "compact_at",
    "thinking",
    "drop_old_reasoning",
    "orphan_policy",
    "strict_alternation",
    "externalise_over_bytes",
    "engine_read_tool",
    "model_vision",
    "max_string_chars",
    "pins",
    "project_rules",
    "include_time",
    "stamp_user_messages",
    "user_zone",
    "language_directive",
)
"""Settings that the product has a word for, or that leave it free."""
ONLY = {"strategy": "none", "orphan_policy": "either"}
"""Setting -> the one value of it that is known."""
MEMBERS = (
    "messages",
    "items",
    "contents",
    "history_before",
    "tools",
    "system",
    "model_caps",
    "model_min_cache_tokens",
    "then_user",
    "clock",
    "image_to_text",
    "fake_model",
)


class Room:
    """A folder of a case; what was opened in it is closed at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open = ExitStack()

    def store(self, name: str = "store") -> Store:
        """Open the store of this name once more."""
        store = Store.open(self.path / name)
        self._open.callback(store.close)
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()


class Bench:
    """One session of a case on one wire, and the requests compiled from it."""

    def __init__(
        self,
        case: Case,
        room: Room,
        *,
        wire: str | None = None,
        caps: Mapping[str, Any] | None = None,
        marks: bool = True,
        plan_marks: bool = True,
        name: str = "case",
        keys: Mapping[str, Any] | None = None,
    ) -> None:
        self.case = case
        self.room = room
        self.name = name
        self.wire = wire or case.wire
        self.caps = dict(caps or caps_of(case))
        for name, value in ONLY.items():
            if case.settings.get(name, value) != value:
                raise Unsupported(f"{name} {case.settings[name]!r:.60}")
        if case.settings.get("thinking") and case.wire != "deepseek":
            raise Unsupported(f"thinking on {case.wire}")
        if case.input.get("clock") == []:
            raise Unsupported("a clock without times")
        self.target = target_of(self.wire, self.caps, case.settings, marks=marks, keys=keys)
        self.policy = policy_of(case.settings, self.target, plan_marks=plan_marks)
        self.referee = referee_of(
            self.target, strict_alternation=bool(case.settings.get("strict_alternation"))
        )
        self.zone = ZoneInfo(case.settings.get("user_zone", "UTC"))
        self._times = [microseconds(instant, self.zone) for instant in case.input.get("clock", ())]
        self.clock: Clock = self._time if self._times else system_clock
        self.stamp = self.zone if case.settings.get("stamp_user_messages") else None
        self._untold = bool(case.settings.get("include_time"))
        self.describer = describer_of(case.input, room.path)
        if case.input.get("image_to_text") and self.describer is None:
            raise Unsupported("a fake model that makes no descriptions")
        self.outcome = Outcome()
        self.session = self._opened()
        self.outcome.session = self.session
        self.recorder = Recorder(self.session, self.referee, stamp=self.stamp)

    def _opened(self) -> Session:
        session = Session.open(
            self.room.store(), self.name, target=self.target, policy=self.policy, clock=lambda: self.clock()
        )
        session.describe = self.describer
        return session

    def _time(self) -> int:
        """Return what the clock of the case says before its next request."""
        return self._times[min(len(self.outcome.outputs), len(self._times) - 1)]

    def reopen(self) -> None:
        """Go on with the session as another process would find it."""
        self.session.flush()
        self.session = self._opened()
        self.recorder = Recorder(self.session, self.referee, stamp=self.stamp)
        self.outcome.session = self.session

    def begin(
        self, messages: Sequence[dict[str, Any]] = (), *, tools: Any = None, system: Any = None
    ) -> None:
        """Set tools and system text; tools that occur in the messages and were not given are made up."""
        given: list[ToolSpec] = made_up_tools(self.case.input.get("tools") if tools is None else tools)
        offered = [*given, *called_but_not_given(self.session, messages, given)]
        if offered:
            self.session.offer(offered)
        text = self.case.input.get("system") if system is None else system
        rules = self.case.settings.get("project_rules", [])
        texts = [*_texts(text), *_texts(rules)]
        if texts:
            self.session.instruct(*texts)
        standing = {
            getattr(event.body, "text", None) for event in self.session.events if event.kind == "pinned"
        }
        for pin in self.case.settings.get("pins", ()):
            known("pin", pin, ("id", "text", "constraints"))
            if pin["text"] not in standing:
                self.session.pin(pin["text"])

    def defer(self, tools: Any, *, schema_chars: int = 0) -> None:
        """Offer tools that can be found and are not loaded, behind those that stand."""
        if isinstance(tools, int):
            tools = [f"later_{number}" for number in range(tools)]
        found = made_up_tools(tools, schema_chars=schema_chars)
        deferred = [msgspec.structs.replace(tool, deferred=True) for tool in found]
        self.session.offer([*self.session.view.fold.tools[1], *deferred])

    def record(self, messages: Sequence[dict[str, Any]]) -> None:
        self.recorder.add(messages)
        if messages:
            self._untold = bool(self.case.settings.get("include_time"))

    def compile(self) -> Request:
        """Compile the next request, note it in the outcome with its judge, and return it.

        Where the time is told, it is told once for what was recorded since the request before.
        """
        if self._untold:
            self.session.tell_time(self.zone)
            self._untold = False
        self.outcome.before = list(self.session.events)
        compiled = self.session.compile()
        request = Request(self.wire, compiled.body, compiled.counted, events=len(self.session.events))
        self.outcome.outputs.append(request)
        self.outcome.model_calls = self.describer.made if self.describer else 0
        self.outcome.referees.append(self.referee)
        self.outcome.warnings += [Warned(one.code, dict(one.numbers)) for one in compiled.warnings]
        self.outcome.again = self._again
        return request

    def _again(self) -> Request:
        self.session.flush()
        compiled = self._opened().compile()
        return Request(self.wire, compiled.body, compiled.counted)


def messages_of(case: Case, wire: str | None = None) -> list[dict[str, Any]]:
    """Return the record of a case, what stands before it included, in the wire's form."""
    given = case.input
    name = wire or case.wire
    listed = next((given[key] for key in ("messages", "items", "contents") if key in given), [])
    before = given.get("history_before", [])
    return [*flat(name, before), *flat(name, listed)]


def flat(wire: str, listed: Any) -> list[dict[str, Any]]:
    """Return messages with `$turns` rules replaced by the messages that they stand for."""
    rules = [listed] if isinstance(listed, dict) else listed
    made: list[dict[str, Any]] = []
    for one in rules:
        made += wire_forms.turns(wire, one) if "$turns" in one else [one]
    return made


def _texts(given: Any) -> list[str]:
    if given is None:
        return []
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list):
        raise Unsupported(f"system {given!r:.60}")
    return [one if isinstance(one, str) else _system_text(one) for one in listed]


def _system_text(block: Any) -> str:
    known("system block", block, ("type", "text"))
    if block.get("type", "text") != "text":
        raise Unsupported(f"system block of type {block['type']!r:.60}")
    return block["text"]
