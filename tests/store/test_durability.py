"""An acknowledged append survives: power loss, torn pages, kill -9, a cut write-ahead log."""

from __future__ import annotations

import os
import random
import re
import selectors
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from foreword.errors import ForewordError, StoreUnavailable
from foreword.store import Store
from tests.store.disk import NAME, USUAL, Disk
from tests.store.logs import chain, said, start
from tests.tree import ROOT

APPENDS = 500


@pytest.fixture
def usual_disk() -> Iterator[None]:
    """Give SQLite its own file system back afterwards."""
    yield
    apsw.set_default_vfs(USUAL)


def survivors(folder: Path, dice: random.Random, *, lies: bool) -> list[tuple[Path, int]]:
    """Append while the power may fail at any write; return what each left, and how much was acknowledged."""
    acknowledged = 0
    crashes: list[tuple[Path, int]] = []

    def maybe_crash() -> None:
        if acknowledged and dice.random() < 0.02:
            crashes.append((folder / f"crash{len(crashes)}", acknowledged))
            disk.crash(crashes[-1][0], dice)

    disk = Disk(lies=lies, on_write=maybe_crash)
    apsw.set_default_vfs(NAME)
    with Store.open(folder / "store") as store:
        end = start(store, "s")[-1]
        for number in range(APPENDS):
            [event] = chain([said(f"{number} {dice.randbytes(500).hex()}")], after=end)
            store.append("s", [event])
            acknowledged, end = number + 1, event
        moved = len(disk.files[folder / "store" / "log.db"].durable)
        assert lies or moved > 100_000, "no checkpoint happened, so none was interrupted"
    disk.unregister()
    return crashes


def texts(store: Store) -> list[str]:
    """Return the first word of every message."""
    return [event.body.message.blocks[0].text.split()[0] for event in store.load("s")[1:]]


@pytest.mark.usefixtures("usual_disk")
def test_power_loss_at_any_write_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Whatever unsynced sectors are lost, the log opens, proves, and holds each acknowledged event."""
    crashes = survivors(tmp_path, random.Random(3), lies=False)
    assert len(crashes) > 15
    for folder, acknowledged in crashes:
        with Store.open(folder) as store:
            assert store.verify() == [], folder
            found = texts(store)
            assert found == [str(number) for number in range(len(found))]
            assert acknowledged <= len(found) <= acknowledged + 1


@pytest.mark.usefixtures("usual_disk")
def test_a_disk_that_lies_about_syncs_is_caught_by_the_same_test(tmp_path: Path) -> None:
    """When a sync does nothing, acknowledged events are lost: the test above can fail."""
    lost = 0
    for folder, acknowledged in survivors(tmp_path, random.Random(3), lies=True):
        try:
            with Store.open(folder) as store:
                lost += store.verify() != [] or len(texts(store)) < acknowledged
        except ForewordError:
            lost += 1
    assert lost > 0


@pytest.mark.usefixtures("usual_disk")
def test_each_append_alone_is_one_sync(tmp_path: Path) -> None:
    """An append that shares with nobody syncs the log once before it returns; a read syncs nothing."""
    disk = Disk()
    apsw.set_default_vfs(NAME)
    with Store.open(tmp_path / "store") as store:
        end = start(store, "s")[-1]
        for number in range(20):
            [end] = chain([said(str(number))], after=end)
            before = disk.syncs
            store.append("s", [end])
            assert disk.syncs == before + 1
            store.load("s")
            assert disk.syncs == before + 1
    disk.unregister()


@pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace shows the order of system calls; not installed"
)
def test_the_sync_comes_before_the_answer(tmp_path: Path) -> None:
    """As the kernel sees it: artifact synced, renamed, folder synced, log written, synced, then answered."""
    code = (
        "import os, sys\n"
        "from foreword.store import Store\n"
        "from tests.store.logs import chain, said, start\n"
        "store = Store.open(sys.argv[1]); end = start(store, 's')[-1]\n"
        "for size in (1, 9000, 1, 9001):\n"
        "    [end] = chain([said('x' * size)], after=end)\n"
        "    os.write(1, b'begin'); store.append('s', [end]); os.write(1, b'answer')\n"
    )
    calls = tmp_path / "calls"
    trace = ["strace", "-f", "-y", "-o", str(calls), "-e", "trace=write,pwrite64,fsync,fdatasync,rename"]
    command = [*trace, sys.executable, "-c", code, str(tmp_path / "store")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    if "ptrace" in done.stderr.lower():
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr
    words = {
        r'write\(1<.*"begin"': "begin",
        r'write\(1<.*"answer"': "answer",
        r"pwrite64\(\d+<\S*-wal>": "log",
        r"(fsync|fdatasync)\(\d+<\S*-wal>": "log synced",
        r"(fsync|fdatasync)\(\d+<\S*\.tmp>": "artifact synced",
        r"rename\(": "renamed",
        r"fsync\(\d+<\S*artifacts/..>": "folder synced",
    }
    order: list[str] = []
    for line in calls.read_text().splitlines():
        for pattern, word in words.items():
            if re.search(pattern, line) and order[-1:] != [word]:
                order.append(word)
    appends = " ".join(order).split("begin ")[1:]
    small, big = "log log synced answer", "artifact synced renamed folder synced log log synced answer"
    assert [append.strip() for append in appends] == [small, big, small, big]


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the paths that this process syncs itself, as it does so."""
    found: list[Path] = []
    sync = os.fsync

    def note(handle: int) -> None:
        sync(handle)
        found.append(Path(os.readlink(f"/proc/self/fd/{handle}")))

    monkeypatch.setattr(os, "fsync", note)
    return found


@pytest.mark.parametrize("form", ["{}/a/b/store", "sqlite:///{}/a/b/log.db"])
def test_the_folders_of_a_new_store_are_synced(tmp_path: Path, synced: list[Path], form: str) -> None:
    """A name that is in no synced folder can be lost with all that is below it."""
    with Store.open(form.format(tmp_path)) as store:
        made = [path for path in tmp_path.rglob("*") if path.is_dir()]
        assert len(made) >= 3
        assert {path.parent for path in made} <= set(synced)
        start(store, "s")


def test_a_folder_that_another_writer_made_is_synced(tmp_path: Path, synced: list[Path]) -> None:
    """It may not have come to syncing its name, and this append is acknowledged first."""
    with Store.open(tmp_path / "store") as store:
        end = start(store, "s")[-1]
        events = chain([said("big " * 2_000)], after=end)
        folder = tmp_path / "store" / "artifacts"
        for number in range(256):
            (folder / f"{number:02x}").mkdir()
        synced.clear()
        store.append("s", events)
        assert folder in synced


def test_kill_nine_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Three processes append to their own and one shared session and are killed, again and again."""
    dice = random.Random(11)
    place = str(tmp_path / "store")
    acknowledged: list[tuple[str, int, str]] = []
    rounds = 0
    while len(acknowledged) < 500:
        rounds += 1
        command = [sys.executable, "-m", "tests.store.appender", place]
        children = [
            subprocess.Popen([*command, f"own{number}", "shared"], cwd=ROOT, stdout=subprocess.PIPE)
            for number in range(3)
        ]
        wanted = len(acknowledged) + dice.randint(40, 160)
        lines: list[bytes] = []
        with selectors.DefaultSelector() as ready:
            for child in children:
                assert child.stdout is not None
                ready.register(child.stdout, selectors.EVENT_READ)
            while len(acknowledged) + len(lines) < wanted:
                for key, _ in ready.select(timeout=20):
                    lines.append(key.fileobj.readline())
                    assert lines[-1], "a child ended by itself"
        for child in children:
            child.kill()
        for child in children:
            assert child.stdout is not None
            lines += child.stdout.readlines()
            child.stdout.close()
            child.wait()
        for line in lines:
            if line.endswith(b"\n"):
                session, seq, commit = line.decode().split()
                acknowledged.append((session, int(seq), commit))
    assert rounds >= 3
    with Store.open(place) as store:
        assert {problem.code for problem in store.verify()} <= {"orphan"}  # a file written before its row
        logs = {row.id: store.load(row.id) for row in store.sessions()}
    assert logs.keys() == {"own0", "own1", "own2", "shared"}
    assert len({(session, seq) for session, seq, _ in acknowledged}) == len(acknowledged)
    for session, seq, commit in acknowledged:
        assert logs[session][seq].commit.hex() == commit


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_log_tail_leaves_what_came_before(tmp_path: Path, damage: str) -> None:
    """Cut or flipped anywhere, the write-ahead log yields a whole prefix of the events or a typed error."""
    dice = random.Random(5)
    with Store.open(tmp_path / "store") as store:
        end = start(store, "s")[-1]
        store._write(lambda db: db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE), alone=True)
        events = chain([said(f"{number} {'word ' * 50}") for number in range(60)], after=end)
        for event in events:
            store.append("s", [event])
        database = (tmp_path / "store" / "log.db").read_bytes()
        log = (tmp_path / "store" / "log.db-wal").read_bytes()
    lengths: set[int] = set()
    for number in range(25):
        copy = tmp_path / f"copy{number}"
        copy.mkdir()
        place = dice.randrange(len(log))
        tail = b"" if damage == "cut" else bytes([log[place] ^ 0xFF]) + log[place + 1 :]
        (copy / "log.db").write_bytes(database)
        (copy / "log.db-wal").write_bytes(log[:place] + tail)
        try:
            with Store.open(copy) as store:
                assert store.verify() == []
                found = store.load("s")[1:]
        except StoreUnavailable:
            continue
        assert found == events[: len(found)]
        lengths.add(len(found))
    assert len(lengths) > 5


def test_a_store_opened_before_a_fork_is_of_no_use_behind_it(tmp_path: Path) -> None:
    """Neither its thread nor its connections are the child's: it is told so, and closing leaves the parent's alone."""
    code = (
        "import os, sys\n"
        "from foreword.errors import ForewordError, StoreUnavailable\n"
        "from foreword.store import Store\n"
        "from tests.store.logs import start\n"
        "store = Store.open(sys.argv[1])\n"
        "start(store, 's')\n"
        "store.load('s')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    for use in (store.finish_erasing, store.sessions):\n"
        "        try: use()\n"
        "        except StoreUnavailable as error: os.write(1, str(error).encode())\n"
        "    store.close()\n"
        "    os.write(1, str(len(Store.open(sys.argv[1]).load('s'))).encode())\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "start(store, 't')\n"
        "assert len(store.load('s')) == 1\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "store")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout.count("opened before a fork") == 2
    assert done.stdout.endswith("1")
    assert os.listdir(tmp_path / "store")
