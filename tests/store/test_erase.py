"""What is erased is in no file, and what isn't stays."""

from __future__ import annotations

import base64
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from foreword.core.event import Replacement, RequestSent, Rewritten
from foreword.errors import AppendConflict, LogCorrupt, UnknownEvent
from foreword.store import Store, zstd
from foreword.store import erase as erasing
from foreword.store.artifacts import Artifacts
from foreword.store.database import Database
from foreword.store.rows import INLINE
from tests.store.logs import chain, erase, erased, fork, more, said, start, unit
from tests.tree import ROOT

SECRET = "correct-horse-7391-battery"
REQUEST = RequestSent(wire="messages", model="m", units=1, items=1, added=(b"0" * 16,), tokens=3)
FRAME = re.compile(re.escape(b"\x28\xb5\x2f\xfd"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a new store."""
    with Store.open(tmp_path / "store") as opened:
        yield opened


def frames(data: bytes) -> Iterator[bytes]:
    """Decompress whatever looks like a Zstandard frame, as far as it goes."""
    for match in FRAME.finditer(data):
        reader = zstd.zstd.ZstdDecompressor()
        try:
            yield reader.decompress(data[match.start() :])
        except zstd.ZstdError:
            continue


def where(store: Store, secret: bytes) -> set[str]:
    """Name every file that holds the secret, plain or compressed, and every column that does."""
    found: set[str] = set()
    for path in Path(store.name).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if secret in data or any(secret in frame for frame in frames(data)):
                found.add(path.name.removeprefix("log.") if path.parent == Path(store.name) else "artifact")
    db = apsw.Connection(str(Path(store.name, "log.db")), flags=apsw.SQLITE_OPEN_READONLY)
    for table, column in (
        ("event", "payload"),
        ("units", "data"),
        ("event", "subject"),
        ("session", "source"),
    ):
        for (value,) in db.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"):
            data = value if isinstance(value, bytes) else str(value).encode()
            if secret in data or any(secret in frame for frame in frames(data)):
                found.add(f"{table}.{column}")
    db.close()
    return found


def test_an_erased_secret_is_in_no_file(store: Store) -> None:
    """A secret in a small, a middling, a big and a derived event and a unit is found before, not after."""
    filler = " ".join(f"word{number}" for number in range(INLINE))
    bodies = [
        said(f"the password is {SECRET}"),
        said(f"{'again ' * 250} {SECRET}"),
        said(f"{SECRET} {filler}"),
        Rewritten(
            how="summarized", why="hard", replacements=(Replacement(events=(1, 2, 3), text=f"set {SECRET}"),)
        ),
    ]
    events = start(store, "s", *bodies, said("what stays"))
    [sent] = chain([REQUEST], after=events[-1])
    store.append("s", [sent], units={sent.seq: [unit(f"user says {SECRET}", 1)]})
    before = where(store, SECRET.encode())
    assert before == {"db-wal", "artifact", "event.payload", "units.data"}
    with Store.open(store.name, read_only=True) as other:
        assert other.load("s")[1] == events[1]

    assert erase(store, "s", 1, 2, 3, 4) is True

    assert where(store, SECRET.encode()) == set()
    assert [event.seq for event in store.load("s") if event.body is None] == [1, 2, 3, 4]
    assert store.load("s")[5:7] == [events[5], sent]
    assert store.sent_units("s") == {}
    assert store.verify() == []


def test_a_secret_in_the_database_file_goes_too(store: Store) -> None:
    """After a checkpoint the secret is in the database itself; erasing reaches that as well."""
    start(store, "s", said(SECRET), *(said(f"other {number}") for number in range(200)))
    store.close()
    with Store.open(store.name) as again:
        assert where(again, SECRET.encode()) == {"db", "event.payload"}
        assert erase(again, "s", 1)
        assert where(again, SECRET.encode()) == set()


def test_erasing_leaves_no_copy_that_paging_made(store: Store) -> None:
    """Rows that SQLite moved between pages leave no stale copy. The seed is one that left one, once."""
    dice = random.Random(7)
    raw = apsw.Connection(str(Path(store.name, "log.db")))
    names = [f"s{number}" for number in range(6)]
    logs = {name: start(store, name) for name in names}
    secrets: set[bytes] = set()
    gone: set[tuple[str, int]] = set()

    def text(size: int) -> str:
        return base64.b64encode(dice.randbytes(size)).decode()

    def stored(query: str, *values: object) -> list[bytes]:
        return [value for (value,) in raw.execute(query, values) if value is not None]

    for _ in range(2):
        for _ in range(80):
            name = dice.choice(names)
            sizes = [40, 100, 300, 360, 1000, 2500]
            count = dice.randint(1, 4)
            events = chain([said(text(dice.choice(sizes))) for _ in range(count)], after=logs[name][-1])
            units = {}
            if dice.random() < 0.3:
                events += chain([REQUEST], after=events[-1])
                units = {events[-1].seq: [unit(text(dice.choice([100, 1000, 5000])))]}
            store.append(name, events, units=units)
            logs[name] += events
        for _ in range(10):
            name = dice.choice(names)
            number = logs_number(raw, name)
            kept = [
                event.seq for event in logs[name] if event.kind == "said" and (name, event.seq) not in gone
            ]
            targets = dice.sample(kept, min(len(kept), dice.randint(1, 8)))
            gone |= {(name, seq) for seq in targets}
            for seq in targets:
                query = "SELECT payload FROM event WHERE session = ? AND seq = ?"
                secrets |= {data[60:100] for data in stored(query, number, seq)}
            secrets |= {data[40:90] for data in stored("SELECT data FROM units WHERE session = ?", number)}
            event = erased(store, name, *targets)
            assert store.erase({name: event})
            logs[name].append(event)
    raw.close()
    files = b"".join(path.read_bytes() for path in Path(store.name).rglob("*") if path.is_file())
    assert [secret for secret in secrets if secret in files] == []
    assert len(secrets) > 100


def logs_number(raw: apsw.Connection, session: str) -> int:
    """Return the session's number in the database."""
    return raw.execute("SELECT id FROM session WHERE session = ?", (session,)).get


def test_a_shared_artifact_goes_with_its_last_event(store: Store) -> None:
    """Erasing one of two events with the same big payload leaves the other whole."""
    events = start(store, "s", said(SECRET * INLINE), said(SECRET * INLINE))
    erase(store, "s", 1)
    assert store.load("s")[2] == events[2]
    erase(store, "s", 2)
    assert where(store, SECRET.encode()) == set()
    assert store.verify() == []


def test_erasing_in_a_fork_reaches_its_parent(store: Store) -> None:
    """A shared event is gone for the parent and every fork, with the units of all that shared it."""
    root = start(store, "root", said(SECRET), said("b"))
    child = fork(store, "child", "root", root[2], said("c"))
    aside = fork(store, "aside", "root", root[0], said("d"))
    for name, last in (("root", root), ("child", child), ("aside", aside)):
        [sent] = chain([REQUEST], after=last[-1])
        store.append(name, [sent], units={sent.seq: [unit(f"{SECRET} in {name}")]})
    assert store.erase({name: erased(store, name, 1) for name in ("root", "child")})
    assert store.load("root")[1].body is store.load("child")[1].body is None
    assert (
        len(store.sent_units("root")),
        len(store.sent_units("child")),
        len(store.sent_units("aside")),
    ) == (0, 0, 1)
    assert store.load("aside")[-2] == aside[-1]
    assert store.verify() == []


def test_a_session_that_shares_an_event_cant_be_left_out(store: Store) -> None:
    """Whether parent or fork: nothing is erased without the event that says so in each log that holds it."""
    root = start(store, "root", said(SECRET), said("b"))
    fork(store, "child", "root", root[2], said("c"))
    fork(store, "grandchild", "child", store.load("child")[3])
    for names in (["root"], ["child"], ["root", "child"], ["child", "grandchild"]):
        with pytest.raises(AppendConflict):
            store.erase({name: erased(store, name, 1) for name in names})
    assert [
        event for name in ("root", "child", "grandchild") for event in store.load(name) if not event.body
    ] == []
    assert store.verify() == []
    assert store.erase({name: erased(store, name, 1) for name in ("root", "child", "grandchild")})
    with pytest.raises(LogCorrupt, match="erases nothing"):
        store.erase({"root": root[2]})


def test_a_reader_of_old_pages_is_named_not_ignored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another connection reads an older state, erasing says that it isn't finished."""
    monkeypatch.setattr(erasing, "PATIENCE_MS", 50)
    start(store, "s", said(SECRET))
    other = apsw.Connection(str(Path(store.name, "log.db")), flags=apsw.SQLITE_OPEN_READONLY)
    other.execute("BEGIN; SELECT count(*) FROM event").fetchall()
    assert erase(store, "s", 1) is False
    assert where(store, SECRET.encode()) == {"db-wal"}
    assert [problem.code for problem in store.verify()] == ["erasing"]
    assert store.load("s")[1].body is None
    other.execute("COMMIT")
    other.close()
    assert store.finish_erasing() is True
    assert where(store, SECRET.encode()) == set()
    assert store.verify() == []


@pytest.mark.parametrize("step", ["finish", "shred"])
def test_a_crash_amid_erasing_is_made_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """An erasure that stopped after its transaction, or at a file, ends when the store is opened next."""

    def crash(*_: object) -> None:
        raise RuntimeError("the process ends here")

    store = Store.open(tmp_path / "store")
    start(store, "s", said(SECRET), said(SECRET * INLINE))
    with monkeypatch.context() as patched:
        patched.setattr(*((erasing, "finish") if step == "finish" else (Artifacts, "shred")), crash)
        with pytest.raises(RuntimeError):
            erase(store, "s", 1, 2)
    assert "artifact" in where(store, SECRET.encode())
    assert "erasing" in {problem.code for problem in store.verify()}
    store.close()
    with Store.open(store.name) as again:
        assert where(again, SECRET.encode()) == set()
        assert again.verify() == []


def test_an_erasure_begun_meanwhile_is_not_finished_with_another(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a second erasure begins while the first is being finished, it stays to be done."""
    start(store, "s", said("a"), said("b"))
    rebuild = erasing._rebuild

    def interrupted(db: Database, artifacts: Artifacts) -> None:
        db.execute("UPDATE store SET erasures_begun = erasures_begun + 1")  # as another process would
        rebuild(db, artifacts)

    with monkeypatch.context() as patched:
        patched.setattr(erasing, "_rebuild", interrupted)
        assert erase(store, "s", 1)
    assert [problem.code for problem in store.verify()] == ["erasing"]
    assert store.finish_erasing()
    assert store.verify() == []


REBUILT = """
import os, signal, sys
import apsw
from foreword.store import Store
from foreword.store.artifacts import Artifacts
from tests.store.logs import erase

place, point = sys.argv[1:]
store = Store.open(place)
shred, seen = Artifacts.shred, []

class Watched(apsw.VFSFile):
    def xWrite(self, data, offset):
        super().xWrite(data, offset)
        seen.append(offset)
        if point == "killed" and len(seen) == 9:
            os.kill(os.getpid(), signal.SIGKILL)

def shredded(self, path):
    data = path.read_bytes()
    link = str(path) + ".seen"
    os.link(path, link)
    shred(self, path)
    zeros = open(link, "rb").read()
    os.unlink(link)
    print(path.parent == self.folder, b"what stays" in data, len(data) == len(zeros), any(zeros))

apsw.VFSFile, Artifacts.shred = Watched if point == "killed" else apsw.VFSFile, shredded
erase(store, "s", 1)
store.close()
"""


@pytest.mark.parametrize("point", ["done", "killed"])
def test_the_copy_of_the_database_is_shredded(store: Store, point: str) -> None:
    """What it is written anew from stands beside the artifacts, is overwritten, and goes with a later opening."""
    large = (said(os.urandom(1_900).hex()) for _ in range(1_500))  # SQLite keeps a small copy in memory
    start(store, "s", said(SECRET), said("what stays"), *large)
    store.close()
    command = [sys.executable, "-c", REBUILT, store.name, point]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    folder = Path(store.name, "artifacts")
    if point == "done":
        assert done.stdout.split() == ["True", "True", "True", "False"], done.stderr
    else:
        assert done.returncode == -signal.SIGKILL
        assert [path.suffix for path in folder.iterdir()] == [".tmp"]
        Store.open(store.name).close()
    assert list(folder.iterdir()) == []


def test_erasing_takes_what_dead_writers_left(store: Store) -> None:
    """Drafts and artifacts that no event names go with any erasure."""
    start(store, "s", said("a"))
    left = Path(store.name, "artifacts", "ab", "cd.0000.tmp")
    left.parent.mkdir()
    left.write_bytes(zstd.compress(SECRET.encode()))
    erase(store, "s", 1)
    assert not left.exists()


def test_an_artifact_swept_before_its_row_is_written_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An erasure between a writer's file and its row can't leave the row without the file."""
    start(store, "s", said("a"))
    events = chain([said("x" * 3 * INLINE)], after=store.load("s")[-1])
    write = Artifacts.write

    def swept(self: Artifacts, payloads: dict[bytes, bytes]) -> None:
        monkeypatch.setattr(Artifacts, "write", write)
        write(self, payloads)
        for path in list(self.files()):
            self.shred(path)

    monkeypatch.setattr(Artifacts, "write", swept)
    store.append("s", events)
    assert store.load("s")[-1] == events[0]
    assert store.verify() == []


def test_a_draft_swept_while_it_is_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An erasure that shreds another writer's unfinished draft leaves neither zeros nor a failed append."""
    start(store, "s", said("a"))
    events = chain([said("x" * 3 * INLINE)], after=store.load("s")[-1])
    sync = os.fsync
    swept: list[Path] = []

    def sweep_first(handle: int) -> None:
        monkeypatch.setattr("foreword.store.artifacts.os.fsync", sync)
        artifacts = Artifacts(Path(store.name, "artifacts"))
        swept.extend(artifacts.files())
        for path in swept:
            artifacts.shred(path)
        sync(handle)

    monkeypatch.setattr("foreword.store.artifacts.os.fsync", sweep_first)
    store.append("s", events)
    assert [path.suffix for path in swept] == [".tmp"]
    assert store.load("s")[-1] == events[0]
    assert store.verify() == []


def test_erasing_twice_is_erasing_once(store: Store) -> None:
    """A second erasure of the same event is recorded and harms nothing."""
    start(store, "s", said("a"), said("b"))
    assert erase(store, "s", 1)
    assert erase(store, "s", 1)
    assert [event.body is None for event in store.load("s")] == [False, True, False, False, False]


def test_what_cant_be_erased_erases_nothing(store: Store) -> None:
    """An unknown target, or a head that moved, leaves every payload where it was."""
    events = start(store, "s", said("a"), said("b"))
    with pytest.raises(UnknownEvent):
        erase(store, "s", 1, 9)
    late = erased(store, "s", 1)
    grown = more(store, "s", said("c"))
    with pytest.raises(AppendConflict):
        store.erase({"s": late})
    assert store.load("s") == events + grown
    assert store.verify() == []
