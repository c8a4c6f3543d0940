"""load_session, fork, torn_tail, import_session: a record as it is found again, own or foreign."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import UNSET

from foreword.core.block import Message, Text, ToolCall
from foreword.core.event import Answered, Event, Said, ToolReturned
from foreword.core.ledger import once, rows
from foreword.core.prices import Prices
from foreword.engine.import_file import Recorded, import_file
from foreword.engine.session import Session
from foreword.errors import ImportFailed
from foreword.importers.source import Source
from tests.field_cases import wire_forms
from tests.field_cases.bench import SETTINGS, Bench, Room
from tests.field_cases.cases import Case, Unsupported, known
from tests.field_cases.labels import FLAWS
from tests.field_cases.model import referee_of
from tests.field_cases.outcome import Outcome, Warned
from tests.field_cases.recording import called_but_not_given
from tests.field_cases.request import compact

MARKED = (*SETTINGS, "start_marks")
HALF = re.compile("[\ud800-\udfff]")
START = datetime(2026, 11, 29, tzinfo=UTC)


def load_session(case: Case, room: Room) -> Outcome:
    case.only("events", "reloads", "then_user", "late_result", "model_caps", "tools", settings=MARKED)
    bench = Bench(case, room)
    bench.session.start_marks = case.settings.get("start_marks", False)
    names = [call["name"] for event in case.input["events"] for call in event.get("tool_calls", ())]
    bench.begin(tools=list(dict.fromkeys(names)) if "tools" not in case.input else None)
    for event in case.input["events"]:
        _append(bench, event)
    for _ in range(case.input.get("reloads", 1)):
        bench.reopen()
        bench.session.compile()
    if "then_user" in case.input:
        bench.record([wire_forms.user(bench.wire, case.input["then_user"])])
    bench.compile()
    if "late_result" in case.input:
        late = case.input["late_result"]
        known("late_result with", late, ("id", "content"))
        bench.session.returned(late["id"], late["content"])
        bench.record([wire_forms.user(bench.wire, "And now?")])
        bench.compile()
    return bench.outcome


EVENTS = {
    "user": ("text",),
    "assistant": ("text", "tool_calls"),
    "tool_result": ("id", "content", "exit_code", "is_error"),
    "tool_started": ("id",),
}
"""Type of an event in a record -> its members."""


def _append(bench: Bench, event: dict[str, Any]) -> None:
    known(f"event {event['type']!r:.40} with", event, ("type", *EVENTS.get(event["type"], event)))
    match event["type"]:
        case "user":
            bench.session.say(event["text"])
        case "assistant":
            bench.session.compile()
            words = [Text(text=event["text"])] if event.get("text") else []
            asked = [_call(call) for call in event.get("tool_calls", ())]
            bench.session.answered(Message(role="assistant", blocks=(*words, *asked)))
        case "tool_result":
            code = event.get("exit_code", UNSET)
            failed = event.get("is_error", False)
            bench.session.returned(event["id"], event["content"], is_error=failed, exit_code=code)
        case "tool_started":
            bench.session.started(event["id"])
        case other:
            raise Unsupported(f"event {other} in the record")


def _call(given: dict[str, Any]) -> ToolCall:
    known("call with", given, ("id", "name", "arguments"))
    arguments = given.get("arguments", {})
    return ToolCall(
        id=given["id"],
        name=given["name"],
        arguments=arguments if isinstance(arguments, str) else compact(arguments),
    )


def fork(case: Case, room: Room) -> Outcome:
    case.only("steps")
    store = room.store()
    sessions: dict[str, Session] = {}
    said: dict[tuple[str, str], int] = {}
    for step in case.input["steps"]:
        if step == ["restart"]:
            for session in sessions.values():
                session.flush()
            store = room.store()
            sessions = {name: Session.open(store, session.id) for name, session in sessions.items()}
            continue
        name, verb, value = step
        session = sessions.setdefault(name, Session.open(store, name))
        match verb:
            case "add":
                said[name, value] = session.say(value)
            case "rewind_to":
                session.become(session.fork(said[name, value]))
            case "fork":
                sessions[value] = session.fork(len(session.events) - 1, value)
                said |= {(value, text): seq for (owner, text), seq in said.items() if owner == name}
            case _:
                raise Unsupported(f"step {verb}")
    histories = {name: _words(session) for name, session in sessions.items()}
    return Outcome(values={"histories": histories})


def _words(session: Session) -> list[str]:
    bodies = [event.body for event in session.events if isinstance(event.body, Said)]
    return [block.text for body in bodies for block in body.message.blocks if isinstance(block, Text)]


def torn_tail(case: Case, room: Room) -> Outcome:
    """Read the damaged file, make a session of its records, and append the next one to that."""
    case.only("file_lines", "file_bytes_hex", "then_append")
    if "file_bytes_hex" in case.input:
        data = bytes.fromhex(case.input["file_bytes_hex"])
    else:
        data = "".join(case.input["file_lines"]).encode("utf-8", "surrogatepass")
    path = room.path / "record.jsonl"
    path.write_bytes(data)
    session = Session.open(room.store(), "record")
    with Source(str(path)) as source:
        for value in _values(source):
            session.say(json.dumps(value, ensure_ascii=False))
    session.say(json.dumps(case.input["then_append"], ensure_ascii=False))
    stored = [json.loads(text)["id"] for text in _words(Session.open(room.store(), "record"))]
    warnings = [Warned(FLAWS.get(flaw.code, flaw.code), {}, flaw.where) for flaw in source.flaws]
    return Outcome(values={"readable_ids": stored}, warnings=warnings)


def load_lines(case: Case, room: Room) -> Outcome:
    """Read files of lines; each case is a file."""
    case.only("cases")
    readable: list[list[Any]] = []
    codes: list[list[str]] = []
    for number, given in enumerate(case.input["cases"]):
        lines = given if isinstance(given, list) else given.get("lines", given.get("file_lines"))
        if not isinstance(given, list):
            known("a file of", given, ("lines", "file_lines"))
        path = room.path / f"file {number}.jsonl"
        path.write_bytes("".join(lines).encode("utf-8", "surrogatepass"))
        with Source(str(path)) as source:
            readable.append([value.get("id") for value in _values(source)])
        codes.append([FLAWS.get(flaw.code, flaw.code) for flaw in source.flaws])
    return Outcome(values={"case_readable_ids": readable, "case_warning_codes": codes})


def _values(source: Source) -> list[dict[str, Any]]:
    """Return the records of a file of lines: none where the product refuses it, since no whole one is in it."""
    try:
        return [row.value for row in source.rows()]
    except ImportFailed:
        return []


def import_session(case: Case, room: Room) -> Outcome:
    case.only("files", "raw_lines", "format", "then_user", "model_caps", settings=SETTINGS)
    bench = Bench(case, room)
    lines, ids = _file(case)
    path = room.path / "session.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    store = room.store()
    recorded = import_file(store, path)
    session = Session.open(store, recorded[0].session, target=bench.target, policy=bench.policy)
    bench.name, bench.session, bench.outcome.session = session.id, session, session
    bench.referee = referee_of(bench.target)
    bench.outcome.values = _imported(recorded, session, ids, lines)
    bench.outcome.warnings = _warnings(recorded)
    if not session.view.fold.tools[1]:
        session.offer(called_but_not_given(session, [], []))
    if "then_user" in case.input:
        session.say(case.input["then_user"])
    if session.view.fold.items:
        bench.compile()
    return bench.outcome


def _file(case: Case) -> tuple[list[bytes], dict[int, str]]:
    """Return the lines of the file that the product reads, and the id of the record on each."""
    if "raw_lines" in case.input:
        lines = [line.encode("utf-8", "surrogatepass") for line in case.input["raw_lines"]]
        return [_completed_raw(line, number, lines) for number, line in enumerate(lines)], {}
    if len(case.input["files"]) != 1:
        raise Unsupported("several files")
    records = case.input["files"][0]
    match case.input["format"]:
        case "claude-code-jsonl":
            return _claude(records)
        case "tree-jsonl":
            return _tree(records)
        case other:
            raise Unsupported(f"format {other}")


def _completed_raw(line: bytes, number: int, lines: list[bytes]) -> bytes:
    """Put the members that real files have in front of those of a raw line, which stays as it is."""
    if not line.lstrip().startswith(b"{"):
        return line
    before = hashlib.sha256(lines[number - 1]).hexdigest() if number else None
    wanted = {
        "uuid": hashlib.sha256(line).hexdigest(),
        "parentUuid": before,
        "timestamp": _time(number),
        "sessionId": "session",
    }
    missing = {name: value for name, value in wanted.items() if f'"{name}"'.encode() not in line}
    return json.dumps(missing).encode()[:-1] + b"," + line.lstrip()[1:] if missing else line


def _time(number: int) -> str:
    return (START + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _written(row: dict[str, Any]) -> bytes:
    """Return a line as a writer of such files makes it: half a character as an escape, all others as they are."""
    text = json.dumps(row, ensure_ascii=False)
    return HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode()


def _claude(records: list[dict[str, Any]]) -> tuple[list[bytes], dict[int, str]]:
    lines: list[bytes] = []
    ids: dict[int, str] = {}
    before: str | None = None
    for number, record in enumerate(records):
        own = hashlib.sha256(json.dumps(record).encode()).hexdigest()
        whole = {
            "uuid": own,
            "parentUuid": before,
            "timestamp": _time(number),
            "sessionId": "session",
            **record,
        }
        lines.append(_written(whole))
        before = ids[number + 1] = whole["uuid"]
    return lines, ids


def _tree(records: list[dict[str, Any]]) -> tuple[list[bytes], dict[int, str]]:
    """Write a neutral tree as a file of pi, whose entries are such a tree."""
    header = {"type": "session", "version": 3, "id": "session", "timestamp": _time(0), "cwd": "/"}
    lines = [json.dumps(header).encode()]
    ids: dict[int, str] = {}
    for number, record in enumerate(records):
        known("record with", record, ("id", "parentId", "role", "text"))
        message: dict[str, Any] = {
            "role": record["role"],
            "content": [{"type": "text", "text": record["text"]}],
            "timestamp": 1_796_000_000_000 + number,
        }
        if record["role"] == "assistant":
            message |= {"api": "messages", "provider": "made-up", "model": "made-up", "stopReason": "stop"}
        entry = {
            "type": "message",
            "id": record["id"],
            "parentId": record["parentId"],
            "timestamp": _time(number),
            "message": message,
        }
        lines.append(_written(entry))
        ids[number + 2] = record["id"]
    return lines, ids


def _line(event: Event) -> int:
    """Return the line of the file that an event was read from; 0: none."""
    number = event.origin.rpartition(":")[2]
    return int(number) if number.isdigit() else 0


def _imported(
    recorded: list[Recorded], session: Session, ids: dict[int, str], lines: list[bytes]
) -> dict[str, Any]:
    facts = [event for event in session.events if isinstance(event.body, Said | Answered | ToolReturned)]
    noted = [event for event in session.events if _line(event) and event.kind == "foreign_noted"]
    history = list(dict.fromkeys(ids[_line(event)] for event in facts if _line(event) in ids))
    told = once(rows(session.events, session=session.id, prices=Prices()))
    calls = [call for call in told if call.status == "ok"]  # a row of an API error is no call
    usage = [call.usage for call in calls if call.usage is not None]
    flaws = [flaw for one in recorded for flaw in one.imported.flaws]
    branches = [_leaf(event, ids) for event in noted if getattr(event.body, "code", "") == "abandoned_branch"]
    gaps = [ids.get(_number(flaw.where), flaw.where) for flaw in flaws if FLAWS.get(flaw.code) == "gap"]
    imported = sorted({_line(event) for event in [*facts, *noted] if _line(event) in ids})
    paths = {history[-1]: _since_gap(history, gaps)} if history else {}
    return {
        "totals": {
            "calls": len(calls),
            "input_tokens": sum(one.total_input or 0 for one in usage),
            "cache_read_tokens": sum(one.cache_read or 0 for one in usage),
            "output_tokens": sum(one.output or 0 for one in usage),
        },
        "messages": [_message(event) for event in facts],
        "imported_ids": [ids[line] for line in imported],
        "paths": paths,
        "gaps": gaps,
        "branches_kept": [leaf for leaf in branches if leaf],
        "lines": len(lines),
    }


def _number(where: str) -> int:
    digits = where.rpartition(" ")[2]
    return int(digits) if digits.isdigit() else 0


def _leaf(event: Event, ids: dict[int, str]) -> str | None:
    """Return the last record of a branch, as the note about it names its line."""
    text = str(getattr(event.body, "text", ""))
    found = text.partition("up to line ")[2].partition(",")[0]
    return ids.get(int(found)) if found.isdigit() else None


def _since_gap(history: list[str], gaps: list[str]) -> list[str]:
    newest = max((history.index(gap) for gap in gaps if gap in history), default=0)
    return history[newest:]


def _message(event: Event) -> dict[str, Any]:
    time = datetime.fromtimestamp(event.at / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = event.body
    if isinstance(body, ToolReturned):
        return {"block_types": ["tool_result"], "time": time}
    assert isinstance(body, Said | Answered)
    kinds = {"tool_call": "tool_use", "opaque": "other"}
    tags = [str(block.__struct_config__.tag) for block in body.message.blocks]
    return {"block_types": [kinds.get(tag, tag) for tag in tags], "time": time}


def _warnings(recorded: list[Recorded]) -> list[Warned]:
    return [
        Warned(FLAWS.get(flaw.code, flaw.code), {}, flaw.where)
        for one in recorded
        for flaw in one.imported.flaws
    ]


LOADING = {
    "load_session": load_session,
    "fork": fork,
    "torn_tail": torn_tail,
    "load_lines": load_lines,
    "import_session": import_session,
}
