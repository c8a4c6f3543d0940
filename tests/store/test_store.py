"""What is appended reads back, under the right name, in the right order, or the loser is told."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from foreword.core.event import Draft, EpochStarted, RequestSent, SessionOpened
from foreword.core.reference import ALIAS_LETTERS, alias_of
from foreword.core.sealing import GENESIS, encode_body, seal
from foreword.engine.session import Session
from foreword.errors import AppendConflict, LogCorrupt, UnknownEvent, UnknownSession
from foreword.store import Store
from foreword.store.rows import INLINE
from tests.store.logs import AT, chain, fork, more, said, start, steps, unit

REQUEST = RequestSent(wire="messages", model="m", units=1, items=1, added=(b"0" * 16,), tokens=3)
NEXT_ROW = 10
"""Steps that an index walk takes more where another row comes behind the one that is sought."""
EPOCH = EpochStarted(why="start", wire="messages", model="m", reader="none")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a new store."""
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 4000, 5000, 300_000])
def test_every_size_of_payload_reads_back(store: Store, size: int) -> None:
    """Plain, compressed and artifact payloads come back as they went in, in another opening too."""
    events = start(store, "s", said("ab\u00e9" * (size // 3) + "x" * (size % 3)))
    assert store.load("s") == events
    with Store.open(store.name, read_only=True) as other:
        assert other.load("s") == events


def test_what_compression_would_grow_stays_plain(store: Store) -> None:
    """A payload of random text, which zstd can't shrink below itself, reads back."""
    events = start(store, "s", said(os.urandom(900).hex()), said(os.urandom(5000).hex()))
    assert store.load("s") == events


def test_every_header_field_reads_back(store: Store) -> None:
    """Usual values, which the row leaves out, and unusual ones both return."""
    events = start(store, "s")
    header = {
        "actor": "model:x", "origin": "proxy", "trust": "tool", "subject": "p-1", "audience": ("a", "b"),
        "causes": (0,),
    }  # fmt: skip
    events += chain([said("one")], after=events[-1], **header)
    store.append("s", events[1:])
    assert store.load("s") == events


def test_load_since_reads_the_tail(store: Store) -> None:
    """Only events from that seq on come back; past the end there are none."""
    events = start(store, "s", *map(said, "abcd"))
    assert store.load("s", since=3) == events[3:]
    assert store.load("s", since=5) == []


def test_equal_payloads_share_one_artifact(store: Store) -> None:
    """A big payload that comes again costs no second file."""
    start(store, "s", said("x" * 2 * INLINE), said("x" * 2 * INLINE))
    start(store, "t", said("x" * 2 * INLINE))
    assert len([path for path in Path(store.name, "artifacts").rglob("*") if path.is_file()]) == 1


def test_a_taken_seq_is_a_conflict(store: Store) -> None:
    """The second of two writers from one head loses and stores nothing."""
    events = start(store, "s")
    mine, theirs = (
        chain([said("mine"), said("more")], after=events[-1]),
        chain([said("theirs")], after=events[-1]),
    )
    store.append("s", theirs)
    with pytest.raises(AppendConflict) as caught:
        store.append("s", mine)
    assert (caught.value.expected, caught.value.actual) == (1, 2)
    assert store.load("s") == events + theirs


def test_a_loser_who_goes_on_is_a_conflict_too(store: Store) -> None:
    """An event whose seq is free but whose predecessor is not the stored one does not enter the chain."""
    events = start(store, "s")
    mine, theirs = (
        chain([said("mine"), said("more")], after=events[-1]),
        chain([said("theirs")], after=events[-1]),
    )
    store.append("s", theirs)
    with pytest.raises(AppendConflict):
        store.append("s", mine[1:])
    assert store.load("s") == events + theirs


def test_events_that_dont_chain_are_refused_whole(store: Store) -> None:
    """A gap or a foreign link inside one append stores none of it."""
    events = start(store, "s")
    good = chain([said("a"), said("b"), said("c")], after=events[-1])
    for bad in ([good[0], good[2]], [good[0], msgspec.structs.replace(good[1], link=GENESIS)]):
        with pytest.raises(LogCorrupt, match="doesn't follow"):
            store.append("s", bad)
    with pytest.raises(LogCorrupt, match="commit"):
        store.append("s", [msgspec.structs.replace(good[0], body=said("forged"))])
    assert store.load("s") == events


def test_an_event_of_another_tenant_is_refused(store: Store) -> None:
    """An event sealed for one tenant is not stored under another's name."""
    events = start(store, "s")
    with pytest.raises(LogCorrupt, match="tenant 'other'"):
        store.append("s", chain([said("a")], after=events[-1], tenant="other"))


def test_tenants_see_nothing_of_each_other(store: Store) -> None:
    """The same session id in two tenants is two sessions, with two aliases and two artifacts."""
    mine = start(store, "s", said("x" * 2 * INLINE))
    with Store.open(store.name, tenant="other") as other:
        assert other.sessions() == []
        with pytest.raises(UnknownSession):
            other.load("s")
        theirs = start(other, "s", said("x" * 2 * INLINE))
        assert other.load("s") == theirs
        assert other.sessions()[0].alias != store.sessions()[0].alias
    assert store.load("s") == mine
    assert len([path for path in Path(store.name, "artifacts").rglob("*") if path.is_file()]) == 2


def test_the_list_of_sessions(store: Store) -> None:
    """A row says who the session is, its size and times, and what it continues."""
    events = start(store, "s", said("a"), said("b"))
    fork(store, "t", "s", events[1], said("c"))
    first, second = store.sessions()
    assert (first.id, first.events, first.parent) == ("s", 3, None)
    assert (second.id, second.events, second.parent) == ("t", 4, ("s", 1))
    assert (first.created_at, first.updated_at) == (events[0].at, events[2].at)
    opened = events[0].body
    assert isinstance(opened, SessionOpened)
    assert first.alias == opened.alias == store.alias_for("s")


def test_sessions_that_are_busy_since_a_time(store: Store) -> None:
    """An event of their own counts, wherever it stands; not one that a fork shares, nor another tenant's."""
    first = start(store, "early", said("a"), said("b"))
    fork(store, "fork", "early", first[0], said("c"))
    with Store.open(store.name, tenant="other") as other:
        start(other, "theirs", said("d"), said("e"), said("f"))
    assert store.busy_since(AT) == {"early", "fork"}
    assert store.busy_since(AT + 2) == {"early", "fork"}
    assert store.busy_since(AT + 3) == set()


def test_an_alias_is_short_and_its_own(store: Store) -> None:
    """Six letters that don't look alike, another for each session."""
    for number in range(50):
        start(store, f"s{number}")
    aliases = {row.alias for row in store.sessions()}
    assert len(aliases) == 50
    assert all(len(alias) == 6 and set(alias) <= set(ALIAS_LETTERS) for alias in aliases)


def test_a_taken_alias_gives_way(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session whose alias is taken gets the next; who opens with a taken one is told to ask again."""
    monkeypatch.setattr(
        "foreword.store.sessions.alias_of",
        lambda session, attempt: "same22" if attempt == 0 else alias_of(session, attempt),
    )
    taken = store.alias_for("t")
    start(store, "s")
    assert (store.alias_for("s"), taken) == ("same22", "same22")
    with pytest.raises(AppendConflict):
        store.append("t", chain([SessionOpened(session="t", alias=taken)]))
    start(store, "t")
    assert [row.alias for row in store.sessions()] != ["same22", "same22"]
    assert store.verify() == []


def test_names_find_sessions(store: Store) -> None:
    """Id, alias and any beginning that only one session has; else the error names what comes close."""
    start(store, "alpha-1")
    start(store, "alpha-2")
    start(store, "beta")
    alias = store.alias_for("beta")
    assert [store.resolve(name) for name in ("beta", "be", alias, "alpha-1")] == [
        "beta",
        "beta",
        "beta",
        "alpha-1",
    ]
    with pytest.raises(UnknownSession) as caught:
        store.resolve("alpha")
    assert [name.split("(")[1] for name in caught.value.close] == ["alpha-1)", "alpha-2)"]
    with pytest.raises(UnknownSession) as caught:
        store.resolve("alfa-1")
    assert caught.value.close[0] == "alpha-1"
    with pytest.raises(UnknownSession):
        store.resolve("")


def test_a_prefix_is_taken_as_it_is_written(store: Store) -> None:
    """Characters with a meaning elsewhere, another case, the highest character and half of one find nothing else."""
    for name in ("a%b", "a_c", "Add", "a\U0010ffff", "ä1"):
        start(store, name)
    assert [store.resolve(name) for name in ("a%", "a_", "A", "a\U0010ffff", "ä")] == [
        "a%b",
        "a_c",
        "Add",
        "a\U0010ffff",
        "ä1",
    ]
    for name in ("%", "a*", "add", "\ud800", "a\udcff"):
        with pytest.raises(UnknownSession):
            store.resolve(name)


def test_one_session_costs_the_same_among_many(store: Store) -> None:
    """Finding, opening, proving and forking one session looks at no other session of the store."""
    root = start(store, "root", said("a"))
    fork(store, "fork", "root", root[1])
    asks: list[Callable[[], object]] = [
        lambda: store.resolve("root"),
        lambda: store.resolve(store.alias_for("root")),
        lambda: store.resolve("roo"),
        lambda: store.sessions("root"),
        lambda: store.holds("new"),
        lambda: store.forks("root"),
        lambda: store.verify("root"),
        lambda: Session.open(store, "root"),
    ]
    few = [steps(store, ask) for ask in asks]
    for number in range(200):
        start(store, f"s{number}")
    many = [steps(store, ask) for ask in asks]
    assert [
        after - before for before, after in zip(few, many, strict=True) if after > before + NEXT_ROW
    ] == []


def test_a_new_session_is_not_compared_with_all_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that come close are looked for when an error shows them, not for a session that is about to begin."""

    def compared(*_: object) -> list[str]:
        raise AssertionError("all names of the store were compared")

    start(store, "alpha")
    monkeypatch.setattr(difflib, "get_close_matches", compared)
    made = Session.open(store, "alpha-2")
    made.say("a")
    assert made.fork(1).id == "alpha-2~1"


def test_an_unknown_session_is_named_with_its_neighbours(store: Store) -> None:
    """Reading, proving and appending to a session that isn't there say so."""
    start(store, "known")
    [stray] = chain([said("a")])
    for ask in (store.load, store.verify, store.sent_units, lambda name: store.append(name, [stray])):
        with pytest.raises(UnknownSession, match="know"):
            ask("knwon")


def test_a_session_opens_once(store: Store) -> None:
    """Opening a session a second time is a conflict, not a second log."""
    start(store, "s", said("a"))
    with pytest.raises(AppendConflict):
        store.append("s", chain([SessionOpened(session="s", alias="222222")]))


def test_a_fork_reads_its_parent_up_to_the_fork(store: Store) -> None:
    """Forks of forks, and a fork behind an event its parent only shares, read the right prefix."""
    root = start(store, "root", *map(said, "abcde"))
    child = fork(store, "child", "root", root[3], said("f"), said("g"))
    grandchild = fork(store, "grandchild", "child", child[1], said("h"))
    shared = fork(store, "shared", "child", root[2], said("i"))
    later = more(store, "root", said("z"))
    assert store.load("child") == root[:4] + child
    assert store.load("grandchild") == root[:4] + child[:2] + grandchild
    assert store.load("shared") == root[:3] + shared
    assert store.load("grandchild", since=5) == child[1:2] + grandchild
    assert store.load("root") == root + later
    assert store.verify() == []


def test_a_fork_needs_its_parent(store: Store) -> None:
    """A fork of no session or behind no event is refused."""
    events = start(store, "s")
    opened = SessionOpened(session="t", alias="222222", parent=("s", 7))
    late = seal(Draft(body=opened), seq=8, at=0, tenant="local", previous=events[0].link, nonce=b"n" * 16)
    with pytest.raises(UnknownEvent, match="0 to 0"):
        store.append("t", [late])
    with pytest.raises(UnknownSession):
        store.append("t", chain([SessionOpened(session="t", alias="222222", parent=("no", 0))]))
    wrong = chain([SessionOpened(session="t", alias="222222", parent=("s", 0))])
    with pytest.raises(AppendConflict):
        store.append("t", wrong)
    assert [row.id for row in store.sessions()] == ["s"]


def test_units_of_the_epoch_are_kept(store: Store) -> None:
    """The units a request added come back by its seq, until the next epoch starts."""
    events = start(store, "s", EPOCH)
    [sent] = chain([REQUEST], after=events[-1])
    store.append("s", [sent], units={sent.seq: [unit("one", 0), unit("two", 1)]})
    assert store.sent_units("s") == {2: (unit("one", 0), unit("two", 1))}
    renewed = chain([EPOCH, REQUEST], after=sent)
    store.append("s", renewed, units={4: [unit("three")]})
    assert store.sent_units("s") == {4: (unit("three"),)}


def test_a_fork_has_the_units_it_shares(store: Store) -> None:
    """A fork sees units up to the fork, none once its parent or itself has started another epoch."""
    events = start(store, "s", EPOCH)
    sent = chain([REQUEST, REQUEST], after=events[-1])
    store.append("s", sent, units={2: [unit("one")], 3: [unit("two")]})
    mine = fork(store, "t", "s", sent[0], said("x"))
    assert store.sent_units("t") == {2: (unit("one"),)}
    own = chain([EPOCH, REQUEST], after=mine[-1])
    store.append("t", own, units={own[1].seq: [unit("mine")]})
    assert store.sent_units("t") == {own[1].seq: (unit("mine"),)}
    assert store.sent_units("s") == {2: (unit("one"),), 3: (unit("two"),)}
    fork(store, "u", "s", sent[0])
    more(store, "s", EPOCH)
    assert store.sent_units("u") == store.sent_units("s") == {}


def test_a_database_file_by_url(tmp_path: Path) -> None:
    """A SQLite URL names the file; its artifacts lie beside it."""
    path = tmp_path / "own.db"
    with Store.open(f"sqlite:///{path}") as store:
        events = start(store, "s", said("x" * 2 * INLINE))
        assert store.load("s") == events
    assert path.is_file()
    assert len(list((tmp_path / "own.db.artifacts").iterdir())) == 1


def test_stored_rows_stay_small(store: Store) -> None:
    """An event costs its payload and little more: under 200 bytes beside it in the whole database."""
    events = start(store, "s", *(said(f"message {number}") for number in range(2000)))
    payload = sum(len(encode_body(event.body)) for event in events if event.body)
    store.close()
    assert (Path(store.name, "log.db").stat().st_size - payload) / len(events) < 200


def test_an_append_without_artifacts_leaves_their_folder_alone(store: Store) -> None:
    """Small facts need no folder, and wait for no sync of one."""
    start(store, "s")
    Path(store.name, "artifacts").rmdir()
    assert more(store, "s", said("small"))[0].seq == 1
