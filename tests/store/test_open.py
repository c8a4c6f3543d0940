"""A store that can't be opened or written says so in one line, and is left as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from foreword.errors import StoreUnavailable
from foreword.store import Store, connection
from foreword.store.migrations import STEPS
from foreword.store.rows import INLINE
from tests.store.logs import chain, said, start

NOBODY = 65534


def refused(place: str | Path, *, read_only: bool = False) -> str:
    """Open a place that can't be opened and return the one line that says why."""
    with pytest.raises(StoreUnavailable) as caught:
        Store.open(place, read_only=read_only)
    line = str(caught.value)
    assert "\n" not in line
    return line


def made(place: Path) -> Path:
    """Make a store with a session in it."""
    with Store.open(place) as store:
        start(store, "s", said("a"), said("big " * INLINE))
    return place


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    """Another file under the database's name is refused and not touched."""
    path = tmp_path / "log.db"
    path.write_text("my notes\n" * 1000)
    assert "not a database" in refused(tmp_path)
    assert path.read_text() == "my notes\n" * 1000


def test_another_programs_database(tmp_path: Path) -> None:
    """A SQLite database with tables of another program is refused and not touched."""
    path = tmp_path / "theirs.db"
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE theirs (a)")
    db.close()
    before = path.read_bytes()
    assert "another program" in refused(f"sqlite:///{path}")
    assert "another program" in refused(f"sqlite:///{path}", read_only=True)
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["theirs.db"]


def test_a_newer_schema(tmp_path: Path) -> None:
    """A database of a later Foreword is refused, for reading too, and not one byte changes."""
    path = made(tmp_path / "store") / "log.db"
    db = apsw.Connection(str(path))
    db.pragma("user_version", len(STEPS) + 1)
    db.close()
    before = path.read_bytes()
    assert f"schema {len(STEPS) + 1} is newer" in refused(path.parent)
    assert f"schema {len(STEPS) + 1} is newer" in refused(path.parent, read_only=True)
    assert path.read_bytes() == before


def test_an_older_schema_is_brought_up_to_date_by_a_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The missing steps run once, events stay; a reader alone is told who must do it."""
    place = made(tmp_path / "store")
    later = (*STEPS, "CREATE TABLE later (a)")
    for module in ("foreword.store.migrations", "foreword.store.connection"):
        monkeypatch.setattr(f"{module}.STEPS", later)
    assert "is older" in refused(place, read_only=True)
    with Store.open(place) as store:
        assert [event.seq for event in store.load("s")] == [0, 1, 2]
    db = apsw.Connection(str(place / "log.db"))
    assert db.execute("SELECT count(*) FROM later").get == 0
    assert db.pragma("user_version") == len(later)
    db.close()


def test_a_failed_migration_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the second of two steps fails, the first is undone."""
    place = made(tmp_path / "store")
    with monkeypatch.context() as patched:
        broken = (*STEPS, "CREATE TABLE later (a)", "CREATE TABLE later (a)")
        for module in ("foreword.store.migrations", "foreword.store.connection"):
            patched.setattr(f"{module}.STEPS", broken)
        assert "already exists" in refused(place)
    with Store.open(place) as store:
        assert store.verify() == []


def test_an_unsafe_sqlite_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The builds with the fault in the write-ahead log's reset are not used."""
    monkeypatch.setattr(connection.apsw, "sqlite_lib_version", lambda: "3.51.2")
    assert "SQLite 3.51.2" in refused(tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("place", ["", "postgres://host/db", "sqlite:///"])
def test_a_place_of_another_kind(place: str) -> None:
    """A URL of another kind, or nothing, names no store."""
    assert "isn't a place for a store" in refused(place)


def test_a_place_below_a_file(tmp_path: Path) -> None:
    """A path through a file names the file."""
    (tmp_path / "file").touch()
    assert "Not a directory" in refused(tmp_path / "file" / "store")


@pytest.mark.parametrize("place", ["a\0b", "a\ud800b", "x" * 5000])
def test_a_name_that_no_path_can_have(place: str) -> None:
    """Text that the file system can't take is refused in words."""
    refused(place)


def test_nothing_to_read(tmp_path: Path) -> None:
    """Reading alone makes nothing: neither a store nor a tenant."""
    assert "holds no store" in refused(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()
    place = made(tmp_path / "store")
    with pytest.raises(StoreUnavailable, match="no tenant 'other'"):
        Store.open(place, tenant="other", read_only=True)


def test_a_read_only_store_refuses_writes(tmp_path: Path) -> None:
    """It reads, and says why it doesn't write."""
    with Store.open(made(tmp_path / "store"), read_only=True) as store:
        events = store.load("s")
        with pytest.raises(StoreUnavailable, match="reading only"):
            store.append("s", chain([said("b")], after=events[-1]))
        assert store.load("s") == events


def test_a_folder_that_cant_be_written(tmp_path: Path) -> None:
    """Without write permission the store still opens for reading, and for writing says why not."""
    place = made(tmp_path / "store")
    code = (
        "import os, sys\n"
        "from foreword.errors import StoreUnavailable\n"
        "from foreword.store import Store\n"
        f"if os.getuid() == 0: os.setuid({NOBODY})\n"
        "print(len(Store.open(sys.argv[1], read_only=True).load('s')))\n"
        "for place in (sys.argv[1], sys.argv[2]):\n"
        "    try: Store.open(place)\n"
        "    except StoreUnavailable as error: print(error)\n"
    )
    below = [place, *place.rglob("*")]
    above = [
        folder
        for folder in tmp_path.parents
        if folder.stat().st_uid == os.getuid() and not folder.stat().st_mode & 1
    ]
    modes = {path: path.stat().st_mode for path in [*above, tmp_path, *below]}
    for path in below:
        path.chmod(0o555 if path.is_dir() else 0o444)
    for path in above:
        path.chmod(0o711)
    tmp_path.chmod(0o555)
    try:
        child = subprocess.run(
            [sys.executable, "-c", code, str(place), str(tmp_path / "new")],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    lines = child.stdout.splitlines()
    assert lines[:1] == ["3"], child.stderr
    assert "readonly" in lines[1]
    assert "Permission denied" in lines[2]


def test_a_full_disk_stores_nothing_and_recovers(tmp_path: Path) -> None:
    """When the database can't grow, the append fails whole, and works again once there is room."""
    with Store.open(tmp_path / "store") as store:
        events = start(store, "s")
        tail = chain([said(os.urandom(1900).hex()) for _ in range(5)], after=events[-1])
        pages = store._write(lambda db: db.pragma("page_count"))
        store._write(lambda db: db.pragma("max_page_count", pages))
        with pytest.raises(StoreUnavailable, match="disk is full; free some space"):
            store.append("s", tail)
        assert store.load("s") == events
        assert store.verify() == []
        store._write(lambda db: db.pragma("max_page_count", 1_000_000))
        store.append("s", tail)
        assert store.load("s") == events + tail


def test_an_artifact_folder_that_cant_be_written(tmp_path: Path) -> None:
    """An artifact that can't be written leaves no row that names it."""
    with Store.open(tmp_path / "store") as store:
        events = start(store, "s")
        (tmp_path / "store" / "artifacts").rmdir()
        (tmp_path / "store" / "artifacts").touch()
        with pytest.raises(StoreUnavailable, match="Not a directory"):
            store.append("s", chain([said("x" * 2 * INLINE)], after=events[-1]))
        assert store.load("s") == events


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """Reading and writing after close are refused; closing again is not."""
    store = Store.open(tmp_path / "store")
    events = start(store, "s")
    store.close()
    store.close()
    for use in (store.sessions, lambda: store.append("s", chain([said("a")], after=events[-1]))):
        with pytest.raises(StoreUnavailable, match="closed"):
            use()


@pytest.mark.parametrize("attempt", range(8))
def test_a_new_store_opened_by_many_at_once(tmp_path: Path, attempt: int) -> None:
    """Threads that all make the same store get the same one, migrated once."""
    ready = threading.Barrier(6)

    def make(_: int) -> Store:
        ready.wait()
        return Store.open(tmp_path / "store")

    with ThreadPoolExecutor(6) as threads:
        stores = list(threads.map(make, range(6)))
    events = start(stores[0], f"s{attempt}")
    assert all(store.load(f"s{attempt}") == events for store in stores)
    for store in stores:
        store.close()
