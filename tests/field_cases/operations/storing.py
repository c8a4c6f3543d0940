"""concurrent_append, concurrent_update, sqlite_contention: one store, several writers and readers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

from foreword.core.block import Text
from foreword.core.event import Draft, Noticed, Said
from foreword.engine.session import Session
from foreword.errors import ForewordError
from tests.field_cases.bench import Room
from tests.field_cases.cases import Case, Unsupported, known
from tests.field_cases.outcome import Outcome, ProductFailed, failure_of

PATIENCE = 300
"""Seconds after which a process of the case is given up."""


def concurrent_append(case: Case, room: Room) -> Outcome:
    """Let processes write to one session, or each to one of several in turn."""
    case.only("processes", "events_each", "event_bytes", "same_session", "same_dir", "sessions")
    given = case.input
    if not given.get("same_dir", True):
        raise Unsupported("a store for each process")
    writers = given.get("processes", given.get("sessions", 1))
    own = "sessions" in given or not given.get("same_session", True)
    sessions = given.get("sessions", writers) if own else 1
    names = [f"session {n % sessions}" for n in range(writers)]
    jobs = [
        {"writer": n, "session": name, "writes": given["events_each"], "bytes": given["event_bytes"]}
        for n, name in enumerate(names)
    ]
    reports = _run(room, jobs)
    stored = {name: _keys(room, name) for name in dict.fromkeys(names)}
    keys = [key for found in stored.values() for key in found]
    failed = [fault for report in reports for fault in report["failed"]]
    values: dict[str, Any] = {
        "events_readable": len(keys),
        "keys": keys,
        "failed_writes": len(failed),
        "faults": failed,
        "foreign_events": sum(names[key[0]] != name for name, found in stored.items() for key in found),
    }
    sizes = {len(found) for found in stored.values()}
    values["events_per_session"] = sizes.pop() if len(sizes) == 1 else sorted(sizes)
    return Outcome(values=values)


def concurrent_update(case: Case, room: Room) -> Outcome:
    case.only("tasks", "mode", "update")
    if (case.input["mode"], case.input["update"]) != ("asyncio+threads", "set key_i = i"):
        raise Unsupported(f"update {case.input['update']!r} in mode {case.input['mode']!r}")
    store = room.store()
    Session.open(store, "shared").flush()

    def update(number: int) -> bool:
        try:
            Session.open(store, "shared").pin(f"key_{number} = {number}")
        except ForewordError:
            return False
        return True

    async def everything() -> list[bool]:
        return list(await asyncio.gather(*(asyncio.to_thread(update, n) for n in range(case.input["tasks"]))))

    done = asyncio.run(everything())
    pins = {getattr(event.body, "text", None) for event in Session.open(room.store(), "shared").events}
    present = sum(f"key_{n} = {n}" in pins for n in range(case.input["tasks"]))
    return Outcome(values={"present": present, "conflicts": done.count(False)})


def sqlite_contention(case: Case, room: Room) -> Outcome:
    case.only(
        "readers",
        "writers",
        "writes",
        "writes_each",
        "reader_hold_ms",
        "separate_processes",
        "table_rows_before",
        "inject",
    )
    given = case.input
    known("inject", given.get("inject", {}), ("external_lock_ms", "every_n"))
    before = given.get("table_rows_before", 0)
    Session.open(room.store(), "before").append(*[Draft(body=Noticed(topic="row", text="x"))] * before)
    writes = given.get("writes_each", given.get("writes"))
    jobs: list[dict[str, Any]] = [
        {"writer": n, "session": "shared", "writes": writes, "bytes": 100, **given.get("inject", {})}
        for n in range(given["writers"])
    ]
    holders = [{"hold_ms": given.get("reader_hold_ms", 0)}] * given.get("readers", 0)
    Session.open(room.store(), "shared").flush()
    reports = _run(room, jobs, holders)
    keys = _keys(room, "shared")
    return Outcome(
        values={
            "rows": before + len(keys),
            "rows_added": len(keys),
            "keys": keys,
            "failed_writes": sum(len(report["failed"]) for report in reports),
            "max_write_time_s": max(report["slowest"] for report in reports),
        }
    )


def _run(
    room: Room, jobs: list[dict[str, Any]], holders: list[dict[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """Run each job in a process of its own, readers beside them until all have written."""
    readers = [_started(room, job) for job in holders or []]
    writers = [_started(room, job) for job in jobs]
    try:
        return [_finished(process) for process in writers]
    finally:
        for process in [*readers, *writers]:
            process.kill()
            process.communicate()


def _started(room: Room, job: dict[str, Any]) -> subprocess.Popen[bytes]:
    asked = json.dumps({"store": str(room.path / "store"), **job})
    return subprocess.Popen(
        [sys.executable, "-m", "tests.field_cases.store_process", asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _finished(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise ProductFailed(f"a process that has not ended after {PATIENCE} s") from error
    if process.returncode:
        raise failure_of(err)
    return json.loads(out)


def _keys(room: Room, name: str) -> list[tuple[int, int]]:
    """Return (writer, number) of every event that can be read back whole."""
    keys: list[tuple[int, int]] = []
    for event in room.store().load(name):
        if isinstance(event.body, Said) and isinstance(event.body.message.blocks[0], Text):
            head, _, padding = event.body.message.blocks[0].text.partition("\n")
            size, writer, number = map(int, head.split())
            if len(padding) == size:
                keys.append((writer, number))
    return keys


STORING = {
    "concurrent_append": concurrent_append,
    "concurrent_update": concurrent_update,
    "sqlite_contention": sqlite_contention,
}
