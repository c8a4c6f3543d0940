"""Appends that wait together share a sync; one that fails takes no other with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from foreword.core.event import Event
from foreword.errors import AppendConflict, StoreUnavailable
from foreword.store import Store, connection
from tests.store.logs import chain, said, start


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a new store."""
    with Store.open(tmp_path / "store") as opened:
        yield opened


def hold(store: Store) -> apsw.Connection:
    """Take the database's write lock, as another process would."""
    other = apsw.Connection(str(Path(store.name, "log.db")))
    other.execute("BEGIN IMMEDIATE")
    return other


def test_appends_of_many_threads_share_commits(store: Store) -> None:
    """Sixteen threads with 25 appends each need fewer commits than appends, and each log is whole."""
    names = [f"s{number}" for number in range(16)]
    ends = {name: start(store, name)[-1] for name in names}
    before = store.commits

    def fill(name: str) -> list[Event]:
        events = chain([said(f"{name} {number}") for number in range(25)], after=ends[name])
        for event in events:
            store.append(name, [event])
        return events

    with ThreadPoolExecutor(16) as threads:
        filled = list(threads.map(fill, names))
    assert store.commits - before < 16 * 25 / 2
    for name, events in zip(names, filled, strict=True):
        assert store.load(name, since=1) == events
    assert store.verify() == []


def test_one_conflict_in_a_group_fails_alone(store: Store) -> None:
    """Of appends that share a commit, the one that lost its race is refused and the others are stored."""
    names = [f"s{number}" for number in range(6)]
    ends = {name: start(store, name)[-1] for name in names}
    stale = chain([said("late")], after=ends["s0"])
    store.append("s0", chain([said("first")], after=ends["s0"]))
    before = store.commits
    outcomes: dict[str, BaseException | None] = {}

    def append(name: str) -> None:
        try:
            store.append(name, stale if name == "s0" else chain([said("x")], after=ends[name]))
            outcomes[name] = None
        except AppendConflict as error:
            outcomes[name] = error

    threads = [threading.Thread(target=append, args=(name,)) for name in names]
    busy, go_on = threading.Event(), threading.Event()

    def occupy(_: object) -> None:
        busy.set()
        go_on.wait(10)

    with ThreadPoolExecutor(1) as other:
        other.submit(store._write, occupy, alone=True)
        assert busy.wait(10)
        for thread in threads:
            thread.start()
        assert store._writer
        while store._writer._queue.qsize() < len(names):
            time.sleep(0.001)
        go_on.set()
    for thread in threads:
        thread.join()
    assert isinstance(outcomes.pop("s0"), AppendConflict)
    assert set(outcomes.values()) == {None}
    assert store.commits - before == 1
    assert [len(store.load(name)) for name in names] == [2] * 6


def test_a_lock_that_is_never_given_up_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When another process holds the database too long, the append fails and stores nothing."""
    monkeypatch.setattr(connection, "BUSY_MS", 50)
    with Store.open(tmp_path / "store") as store:
        events = start(store, "s")
        [event] = chain([said("a")], after=events[-1])
        other = hold(store)
        with pytest.raises(StoreUnavailable, match="another process holds it"):
            store.append("s", [event])
        other.execute("ROLLBACK")
        other.close()
        store.append("s", [event])
        assert store.load("s") == [*events, event]


def test_a_fault_of_the_caller_ends_no_thread(store: Store) -> None:
    """An unexpected error inside a write reaches its caller and the writer goes on."""

    def broken(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store._write(broken)
    start(store, "s")
    assert len(store.load("s")) == 1


def test_a_transaction_that_cant_be_undone_leaves_nobody_waiting(store: Store) -> None:
    """All who wait are told, the lock is given up, and the store says how to go on."""
    ends = {name: start(store, name)[-1] for name in ("s0", "s1", "s2")}

    def refuse(operation: int, name: str | None, *_: object) -> int:
        undone = operation == apsw.SQLITE_TRANSACTION and name == "ROLLBACK"
        return apsw.SQLITE_DENY if undone else apsw.SQLITE_OK

    def breaks(db: apsw.Connection) -> None:
        db.authorizer = refuse
        db.execute("COMMIT; BEGIN")  # the savepoint is gone, and so the job's outcome

    told: list[str] = []

    def append(name: str) -> None:
        try:
            if name == "s0":
                store._write(breaks)
            store.append(name, chain([said("x")], after=ends[name]))
        except StoreUnavailable as error:
            told.append(error.fault)

    threads = [threading.Thread(target=append, args=(name,), daemon=True) for name in ends]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)
    with pytest.raises(StoreUnavailable, match=r"can't be written any more.*open it again"):
        store.append("s1", chain([said("x")], after=ends["s1"]))
    assert len(told) == 3
    assert store.load("s0") == [ends["s0"]]
    with Store.open(store.name) as again:
        again.append("s1", chain([said("y")], after=ends["s1"]))
    store.close()


def test_two_stores_on_one_place_see_each_others_events(store: Store) -> None:
    """A second opening of the same place appends behind what the first wrote."""
    events = start(store, "s")
    with Store.open(store.name) as other:
        more = chain([said("a")], after=other.load("s")[-1])
        other.append("s", more)
    assert store.load("s") == events + more
