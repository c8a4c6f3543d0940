"""The deterministic summary of a stage: what was changed, run, failed and said, each line with its events.

No model writes it, so it can't claim more than the record: outcomes are copied, errors are verbatim, a result
that never came is *unknown*. What a person said is not summarised at all; it stands verbatim beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from foreword.compiler.read_tool import read_tool_name
from foreword.core.block import Text, ToolCall, ToolResult, plain_text
from foreword.core.item import Change, Interaction, Item, Notice, Turn
from foreword.core.outcome import CallOutcome, Standing, outcome_of
from foreword.core.reference import recall
from foreword.core.target import Target
from foreword.core.tokens import Counter
from foreword.core.view import View

_PATH_KEYS = ("file_path", "path", "notebook_path", "filename", "file")
_COMMAND_KEYS = ("command", "cmd", "script")
_CHANGING = ("write", "edit", "patch", "create", "insert", "replace", "delete", "rename", "move", "apply")
_ERROR_WORDS = (
    "error",
    "fail",
    "fatal",
    "exception",
    "traceback",
    "panic",
    "cannot",
    "undefined",
    "not found",
)
_LINE_CHARS = 220

_ORDER = ("last", "error", "changed", "command", "call", "said", "read", "note")
"""Classes of lines, dearest first: when room is short, later ones are left out first."""

_TOLD: dict[Standing, str] = {
    "waiting": "never started",
    "begun": "still running",
    "background": "still running",
    "stopped": "cancelled",
    "no_code": "ended, exit code unknown",
}


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    text: str
    events: tuple[int, ...]

    @property
    def shown(self) -> str:
        return f"- {self.text} [{', '.join(f'#{seq}' for seq in self.events)}]"


def summarize(view: View, items: Sequence[Item], limit: int, target: Target) -> str:
    """Return a summary of ``items`` of about ``limit`` tokens by the counter.

    The head line is always there and names the range and the call that reads an event back; lines follow, by
    class and then by place, as far as the limit allows; the last line says how many were left out.
    """
    events = [seq for item in items for seq in item.events]
    calls = sum(len(item.calls) for item in items if isinstance(item, Interaction))
    call = _call(view, events, target)
    span = f"#{min(events)}" if len(events) == 1 else f"#{min(events)} to #{max(events)}"
    tools = f", {calls} tool calls" if calls else ""
    head = f"{span} left out{tools}; {call if call is not None else 'not readable by this agent'}"
    lines = _lines(view, items)
    chosen = _choose(lines, limit - target.counter.count(head) - 2, target.counter)
    shown = [chosen[index].shown for index in range(len(lines)) if index in chosen]
    missing = len(lines) - len(shown)
    if missing:
        shown.append(f"- ({missing} more)")
    return "\n".join([head, *shown])


def _call(view: View, events: Sequence[int], target: Target) -> str | None:
    """Return how an event N of these is read back; in a fork, also those that its parent recorded."""
    first = {view.fold.ref(seq).partition("#")[0]: seq for seq in sorted(events, reverse=True)}
    name = read_tool_name(view)
    calls = [(seq, recall(target.reader, name, f"{alias}#N")) for alias, seq in first.items()]
    told = [
        call if at == min(events) else f"{call} from #{at}"
        for at, call in reversed(calls)
        if call is not None
    ]
    return "; ".join(told) or None


def _choose(lines: Sequence[_Line], room: int, counter: Counter) -> dict[int, _Line]:
    """Pick lines by class, newest first within one; the model's last words are cut to half the room."""
    costs = counter.count_many([line.shown for line in lines])
    chosen: dict[int, _Line] = {}
    for kind in _ORDER:
        for index in range(len(lines) - 1, -1, -1):
            line, cost = lines[index], costs[index] + 1
            if line.kind != kind:
                continue
            if kind == "last" and cost > room // 2:
                line = msgspec.structs.replace(line, text=_clip(line.text, max(60, room)))
                cost = counter.count(line.shown) + 1
            if cost <= room:
                chosen[index] = line
                room -= cost
    return chosen


def _lines(view: View, items: Sequence[Item]) -> list[_Line]:
    lines: list[_Line] = []
    merged: dict[tuple[str, str], list[int]] = {}

    def add(kind: str, text: str, seq: int) -> None:
        merged.setdefault((kind, text), []).append(seq)

    last_said = max((i for i, item in enumerate(items) if _said(item)), default=-1)
    for index, item in enumerate(items):
        match item:
            case Turn():
                text = plain_text(item.message.blocks)
                if text.strip():
                    add("note", f"{item.message.role} (not a person): {_clip(text)}", item.seq)
            case Notice():
                add("note", f"{item.topic}: {_clip(item.text)}", item.seq)
            case Interaction():
                said = _said(item)
                if said and index == last_said:
                    add("last", f"the model's last words: {_clip(said, 3 * _LINE_CHARS)}", item.seq)
                elif said:
                    add("said", f"the model: {_clip(said)}", item.seq)
                _add_calls(view, item, add)
            case Change():
                pass  # what a base says anyway
    for (kind, text), seqs in merged.items():
        times = f" ({len(seqs)} times)" if len(seqs) > 1 else ""
        shown = tuple(seqs) if len(seqs) <= 4 else (*seqs[:2], *seqs[-2:])
        lines.append(_Line(kind=kind, text=text + times, events=shown))
    lines.sort(key=lambda line: (_ORDER.index(line.kind), line.events[0]))
    return lines


def _said(item: Item) -> str:
    return plain_text(item.message.blocks).strip() if isinstance(item, Interaction) else ""


def _add_calls(view: View, item: Interaction, add: Any) -> None:
    for position, (call, result, seq) in enumerate(
        zip(item.calls, item.results, item.result_seqs, strict=True)
    ):
        if position in item.unknown:
            result = None
        at = seq if seq is not None else item.seq
        arguments = _arguments(call)
        text = "\n".join(block.text for block in result.content if isinstance(block, Text)) if result else ""
        known = outcome_of(view.fold.events, item, position)
        outcome = _outcome(result, text, known)
        path = _first(arguments, _PATH_KEYS)
        command = _first(arguments, _COMMAND_KEYS)
        if command is not None:
            add("command", f"ran `{_clip(command)}`: {outcome}", at)
        elif path is not None:
            changing = any(word in call.name.lower() for word in _CHANGING)
            add("changed" if changing else "read", f"{call.name} {_clip(path)}: {outcome}", at)
        else:
            result_line = f"; {_clip(text, 160)}" if text.strip() else ""
            add("call", f"{call.name}({_clip(call.arguments, 160)}): {outcome}{result_line}", at)
        if result is not None and (
            result.is_error or (outcome.startswith("exit code") and outcome != "exit code 0")
        ):
            add("error", f"error, verbatim: {_error_line(text)}", at)


def _outcome(result: ToolResult | None, text: str, known: CallOutcome) -> str:
    """Say what the record says: an exit code, an error flag, a plain return, or nothing known."""
    if told := _TOLD.get(known.standing):
        return told
    code = _exit_code(text) if known.exit_code is None else known.exit_code
    if result is None and code is None:
        return "unknown"
    failed = result is not None and result.is_error
    if code is None or (failed and code == 0):
        return "error" if failed else "returned"
    return f"exit code {code}"


def _exit_code(text: str) -> int | None:
    """Read ``exit code N`` from the last three lines or the first one; None: it isn't told there."""
    lines = [line for line in text[-600:].split("\n") if line.strip()][-3:]
    lines.append(text[:200].split("\n", 1)[0])
    for line in lines:
        before, found, after = line.lower().partition("exit code")
        if found and len(before) < 40:
            digits = ""
            for character in after.lstrip(" :="):
                if character not in "0123456789" or len(digits) > 6:
                    break
                digits += character
            if digits:
                return int(digits)
    return None


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(call.arguments.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _first(arguments: dict[str, Any], keys: Sequence[str]) -> str | None:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _error_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        lowered = line.lower()
        if any(word in lowered for word in _ERROR_WORDS) and not lowered.startswith("exit code"):
            return _clip(line)
    return _clip(lines[-1]) if lines else "(no text)"


def _clip(text: str, limit: int = _LINE_CHARS) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"
