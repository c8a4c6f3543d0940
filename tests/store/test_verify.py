"""Every kind of damage to stored bytes is found and named."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from foreword.core.event import RequestSent
from foreword.engine.verify import verify
from foreword.errors import ArtifactMissing, ForewordError, LogCorrupt
from foreword.store import Store, zstd
from foreword.store.rows import INLINE, PLAIN
from tests.store.logs import chain, erase, fork, said, start, unit

REQUEST = RequestSent(wire="messages", model="m", units=1, items=1, added=(b"0" * 16,), tokens=3)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a store with a session of a small, a middling and a big event and a request."""
    with Store.open(tmp_path / "store") as opened:
        events = start(opened, "s", said("small"), said("middling " * 300), said("big " * INLINE), REQUEST)
        opened.append("s", chain([REQUEST], after=events[-1]), units={5: [unit("u")]})
        assert opened.verify() == []
        yield opened


def change(store: Store, sql: str, *values: object) -> None:
    """Change the database behind the store's back."""
    db = apsw.Connection(str(Path(store.name, "log.db")))
    db.execute(sql, values)  # pyright: ignore[reportArgumentType]
    assert db.total_changes() > 0
    db.close()


def problems(store: Store) -> list[tuple[str, int | None]]:
    """Prove the session and give codes and places."""
    return [(problem.code, problem.seq) for problem in store.verify("s")]


@pytest.mark.parametrize(
    "sql, expected",
    [
        ("UPDATE event SET at = at + 1 WHERE seq = 2", [("chain", 2)]),
        ("UPDATE event SET trust = 'person' WHERE seq = 1", [("chain", 1)]),
        ("UPDATE event SET link = zeroblob(32) WHERE seq = 1", [("chain", 1), ("chain", 2)]),
        ('UPDATE event SET "commit" = zeroblob(32) WHERE seq = 1', [("chain", 1), ("commit", 1)]),
        ("UPDATE event SET nonce = zeroblob(16) WHERE seq = 1", [("commit", 1)]),
        ("UPDATE event SET causes = 'x' WHERE seq = 2", [("row", 2)]),
        ("UPDATE event SET trust = CAST(x'ff' AS TEXT) WHERE seq = 2", [("row", 2)]),
        ("UPDATE event SET link = 7 WHERE seq = 2", [("row", 2)]),
        ("DELETE FROM event WHERE seq = 2", [("chain", 3), ("chain", 3)]),
        ("UPDATE event SET payload = NULL WHERE seq = 1", [("payload", 1)]),
        ("UPDATE event SET payload = NULL, nonce = NULL WHERE seq = 1", [("gone", 1)]),
        ("UPDATE event SET payload = substr(payload, 1, 40) WHERE seq = 2", [("payload", 2)]),
        ("UPDATE session SET alias = '222222'", [("session", 0)]),
        ("UPDATE units SET seq = 1", [("units", 1)]),
    ],
)
def test_a_changed_row_is_named(store: Store, sql: str, expected: list[tuple[str, int]]) -> None:
    """Header, link, commit, nonce, payload, session row and units: each change has its word and place."""
    change(store, sql)
    assert problems(store) == expected


def test_a_changed_payload_is_never_handed_out(store: Store) -> None:
    """One other letter in a stored payload: verify names it and load refuses it."""
    change(store, "UPDATE event SET payload = ? WHERE seq = 1", PLAIN + b'{"type":"said","message":{}}')
    assert ("commit", 1) in problems(store)
    with pytest.raises(LogCorrupt, match="event 1"):
        store.load("s")


def artifact(store: Store) -> Path:
    """Return the store's one artifact."""
    [path] = [path for path in Path(store.name, "artifacts").rglob("*") if path.is_file()]
    return path


def test_a_missing_artifact_is_named(store: Store) -> None:
    """The event that named it, and the error of reading it, say which."""
    path = artifact(store)
    path.unlink()
    assert problems(store) == [("artifact", 3)]
    with pytest.raises(ArtifactMissing, match=path.name):
        store.load("s")


@pytest.mark.parametrize("place", [0, 5, -1])
def test_a_damaged_artifact_is_named(store: Store, place: int) -> None:
    """One flipped byte anywhere in the file is found when it is read."""
    data = bytearray(artifact(store).read_bytes())
    data[place] ^= 0x55
    artifact(store).write_bytes(data)
    assert problems(store) == [("payload", 3)]
    with pytest.raises(LogCorrupt, match="event 3"):
        store.load("s")


def test_an_exchanged_artifact_is_named(store: Store) -> None:
    """A whole file with another content has neither the address nor the commit."""
    artifact(store).write_bytes(zstd.compress(b"{}"))
    assert [code for code, _ in problems(store)] == ["artifact", "commit", "payload"]


def test_what_belongs_to_nothing_is_named(store: Store) -> None:
    """A file that no event names is reported with its path."""
    stray = artifact(store).with_name("0123")
    stray.write_bytes(b"")
    [problem] = store.verify()
    assert (problem.code, problem.session) == ("orphan", None)
    assert f"{stray.parent.name}/0123" in problem.fault


def test_an_erasure_explains_itself_only(store: Store) -> None:
    """A fork's erasure of its own event 6 doesn't excuse that event 6 of the parent is gone."""
    events = store.load("s")
    fork(store, "t", "s", events[2], *map(said, "abcdef"))
    store.append("s", chain([said("later")], after=events[-1]))
    erase(store, "t", 6)
    assert store.verify() == []
    db = apsw.Connection(str(Path(store.name, "log.db")))
    db.execute("UPDATE event SET payload = NULL, nonce = NULL WHERE session = 1 AND seq = 6")
    db.close()
    assert problems(store) == [("gone", 6)]


def test_a_damaged_page_is_named(store: Store) -> None:
    """A database page overwritten on disk is SQLite's own finding or a typed error, never silence."""
    store.close()
    path = Path(store.name, "log.db")
    data = bytearray(path.read_bytes())
    pages = len(data) // 4096
    for page in range(1, pages):
        damaged = data.copy()
        damaged[page * 4096 : (page + 1) * 4096] = b"\x5a" * 4096
        path.write_bytes(damaged)
        try:
            with Store.open(store.name, read_only=True) as again:
                assert again.verify() != []
        except ForewordError:
            continue
    path.write_bytes(data)
    with Store.open(store.name) as again:
        assert again.verify() == []


def test_a_flipped_byte_is_never_taken_for_truth(store: Store) -> None:
    """Whichever byte of the database changes: it is named, or refused, or every event reads as it was."""
    events = store.load("s")
    store.close()
    path = Path(store.name, "log.db")
    data = path.read_bytes()
    dice = random.Random(2)
    found = 0
    for _ in range(200):
        place = dice.randrange(len(data))
        path.write_bytes(data[:place] + bytes([data[place] ^ dice.randrange(1, 256)]) + data[place + 1 :])
        try:
            with Store.open(store.name, read_only=True) as again:
                if again.verify() == []:
                    assert again.load("s") == events
                else:
                    found += 1
        except ForewordError:
            found += 1
    assert found > 10


def test_a_session_that_no_listing_shows_is_named(store: Store) -> None:
    """A session without its first event is named, whether all are proved or it alone; one without any, too."""
    change(store, "DELETE FROM event WHERE seq = 0")
    for found in (store.verify(), store.verify("s")):
        assert {(problem.code, problem.session) for problem in found} == {("session", "s"), ("chain", "s")}
    assert [(row.id, row.events) for row in store.sessions()] == [("s", 6)]
    change(store, "DELETE FROM event")
    for found in (store.verify(), store.verify("s")):
        assert ("session", "s") in [(problem.code, problem.session) for problem in found]


@pytest.mark.parametrize("missing", [0, 2])
def test_a_log_with_a_gap_is_not_handed_out(store: Store, missing: int) -> None:
    """Its events would stand at the places of others."""
    change(store, f"DELETE FROM event WHERE seq = {missing}")
    with pytest.raises(LogCorrupt) as caught:
        store.load("s")
    assert caught.value.seq == missing
    assert [event.seq for event in store.load("s", since=3)] == [3, 4, 5]
    proof = verify(store, "s")
    assert not proof.ok
    assert (proof.sessions, proof.events) == (1, 6)


def test_a_fork_without_its_own_events_is_not_its_parent(store: Store) -> None:
    """Its row alone doesn't make the parent's log its own; the proof names it and ends."""
    fork(store, "t", "s", store.load("s")[2], said("own"))
    change(store, "DELETE FROM event WHERE session = 2")
    with pytest.raises(LogCorrupt):
        store.load("t")
    assert {fault.code for fault in verify(store).problems} == {"session"}
    assert verify(store, "t").events == 0


def test_events_without_a_session_are_named(store: Store) -> None:
    """Events whose session's row is gone are counted."""
    change(store, "DELETE FROM session")  # a connection of its own doesn't enforce foreign keys
    assert "session" in [problem.code for problem in store.verify()]


@pytest.mark.parametrize(
    "sql, values",
    [
        ("UPDATE event SET payload = 'x' WHERE seq = 2 AND session = 1", ()),
        ("UPDATE event SET payload = '' WHERE seq = 1 AND session = 1", ()),
        ("UPDATE event SET artifact = 7 WHERE artifact IS NOT NULL", ()),
        ("UPDATE event SET nonce = 'AAAA' WHERE seq = 1 AND session = 1", ()),
        ("UPDATE units SET data = 'x'", ()),
        ("UPDATE session SET parent = id, parent_at = 9 WHERE session = 't'", ()),
        ("UPDATE session SET parent = 77 WHERE session = 't'", ()),
        ("UPDATE session SET parent_at = ? WHERE session = 't'", (b"x",)),
        ("UPDATE tenant SET key = ?", (b"",)),
        ("DELETE FROM store", ()),
    ],
)
def test_a_value_of_another_kind_is_damage_told_as_such(
    store: Store, sql: str, values: tuple[object, ...]
) -> None:
    """Whatever stands in a column, every way to it ends in an error of ours; a fork of itself ends, too."""
    fork(store, "t", "s", store.load("s")[2], said("own"))
    change(store, sql, *values)
    found = 0
    for ask in (
        lambda: Store.open(store.name).close(),
        lambda: store.load("s"),
        lambda: store.load("t"),
        lambda: store.sent_units("s"),
        store.finish_erasing,
    ):
        try:
            ask()
        except ForewordError:
            found += 1
    try:
        found += store.verify() != []
    except ForewordError:
        found += 1
    assert found


def test_a_damaged_index_takes_no_artifact(store: Store) -> None:
    """Which files events name is read from the events, so that an erasure shreds no other."""
    db = apsw.Connection(str(Path(store.name, "log.db")))
    whole = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'event_artifact'").get
    db.execute("DROP INDEX event_artifact")
    db.execute(f"{whole} AND seq < 0")  # it holds nothing, and then says that it holds all
    db.execute("PRAGMA writable_schema = 1")
    db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'event_artifact'", (whole,))
    db.close()
    store.close()
    with Store.open(store.name) as again:
        erase(again, "s", 1)
        assert len(again.load("s")) == 7
