"""Time and size of the store on a disk: ``python benchmarks/store.py [FOLDER ON THAT DISK]``."""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from foreword.core.block import Message, Text
from foreword.core.event import Body, Draft, Event, Said, SessionOpened
from foreword.core.sealing import GENESIS, encode_body, seal
from foreword.store import Store
from foreword.store.place import DATABASE

EVENTS = 10_000
SINGLE = 1_000
THREADS = 16
EACH = 100
SENTENCE = "the file was read and one test failed with an error in the module that parses what was returned"
LENGTHS = (8, 30, 120, 300)  # words of a message
TEXTS = random.Random(1)


def text_body() -> Said:
    """Return a message of the length that agents' messages have."""
    text = " ".join(TEXTS.choices(SENTENCE.split(), k=TEXTS.choice(LENGTHS)))
    return Said(message=Message(role="user", blocks=(Text(text=text),)))


def follow(end: Event | None, body: Body) -> Event:
    """Seal the event that follows another."""
    seq, previous = (0, GENESIS) if end is None else (end.seq + 1, end.link)
    return seal(Draft(body=body), seq=seq, at=seq, tenant="local", previous=previous, nonce=os.urandom(16))


def log(store: Store, session: str, count: int) -> list[Event]:
    """Open a session and seal events for it."""
    events = [follow(None, SessionOpened(session=session, alias=store.alias_for(session)))]
    store.append(session, events)
    for _ in range(count):
        events.append(follow(events[-1], text_body()))
    return events[1:]


def seconds(work: Callable[[], object]) -> float:
    """Time one run."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def median_ms(work: Callable[[], object], runs: int) -> float:
    """Time several runs and return the median in milliseconds."""
    return statistics.median(seconds(work) for _ in range(runs)) * 1000


def main(folder: Path) -> None:
    """Print one figure a line."""
    with Store.open(folder / "short") as store:
        single = log(store, "single", SINGLE)
        took = sorted(seconds(lambda event=event: store.append("single", [event])) * 1e3 for event in single)
        middle, slow = took[SINGLE // 2], took[SINGLE * 99 // 100]
        show("append, one event, synced", f"p50 {middle:.2f} ms, p99 {slow:.2f} ms")

        logs = {f"thread{number}": log(store, f"thread{number}", EACH) for number in range(THREADS)}
        before = store.commits

        def fill(session: str) -> None:
            for event in logs[session]:
                store.append(session, [event])

        with ThreadPoolExecutor(THREADS) as threads:
            rate = THREADS * EACH / seconds(lambda: list(threads.map(fill, logs)))
        shared = f"{THREADS * EACH:,} appends in {store.commits - before:,} commits"
        show(f"append, {THREADS} threads", f"{rate:,.0f} events/s, {shared}")

    place = folder / "long"
    with Store.open(place) as store:
        events = log(store, "long", EVENTS)
        rate = EVENTS / seconds(lambda: store.append("long", events))
        show(f"append, {EVENTS:,} at once", f"{rate:,.0f} events/s")
        payload = sum(len(encode_body(event.body)) for event in events if event.body) / EVENTS
    size = (place / DATABASE).stat().st_size / EVENTS
    show("bytes of an event", f"{size:,.0f} in the database, {payload:,.0f} as payload")
    show(f"open and load {EVENTS:,}", f"{median_ms(lambda: cold(place), 5):.0f} ms")
    with Store.open(place, read_only=True) as store:
        show(f"load {EVENTS:,}", f"{median_ms(lambda: store.load('long'), 5):.0f} ms")
        show("load the last 9", f"{median_ms(lambda: store.load('long', since=EVENTS - 8), 50):.2f} ms")
        show(f"verify {EVENTS:,}", f"{median_ms(lambda: store.verify('long'), 3):.0f} ms")


def show(name: str, figure: str) -> None:
    """Print one figure."""
    print(f"{name:28}{figure}")


def cold(place: Path) -> None:
    """Open a store, load its long session, close it."""
    with Store.open(place, read_only=True) as store:
        store.load("long")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
