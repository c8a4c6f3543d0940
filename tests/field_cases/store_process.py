"""A process that writes to a session of a store, or that holds a read of the database open again and again."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from foreword.engine.session import Session
from foreword.errors import ForewordError
from foreword.store import Store
from foreword.store.connection import connect
from foreword.store.place import place_of


def main() -> None:
    job = json.loads(sys.argv[1])
    place = Path(job["store"])
    if "hold_ms" in job:
        hold(place, job["hold_ms"] / 1000)
    else:
        print(json.dumps(write(place, job)))


def hold(place: Path, seconds: float) -> None:
    """Keep a read transaction open for so long, then another, until the process is ended."""
    db = connect(place_of(place), read_only=True)
    while True:
        with db:
            db.execute("SELECT count(*) FROM event").fetchone()
            time.sleep(seconds)


def lock(place: Path, seconds: float) -> None:
    """Return when another connection holds the write lock; it lets go after so long."""
    held = threading.Event()

    def hold_lock() -> None:
        db = connect(place_of(place), read_only=False)
        db.execute("BEGIN IMMEDIATE")
        held.set()
        time.sleep(seconds)
        db.execute("ROLLBACK")
        db.close()

    threading.Thread(target=hold_lock).start()
    held.wait()


def write(place: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Append the events of a writer; return what failed, and the slowest append in seconds."""
    failed: list[str] = []
    slowest = 0.0
    with Store.open(place) as store:
        session = Session.open(store, job["session"])
        for number in range(job["writes"]):
            if "external_lock_ms" in job and (number + 1) % job.get("every_n", 1) == 0:
                lock(place, job["external_lock_ms"] / 1000)
            start = time.perf_counter()
            try:
                session.say(f"{job['bytes']} {job['writer']} {number}\n" + "x" * job["bytes"])
            except ForewordError as error:
                failed.append(f"{type(error).__name__}: {error}")
            slowest = max(slowest, time.perf_counter() - start)
    return {"failed": failed, "slowest": slowest}


if __name__ == "__main__":
    main()
