"""A list that was edited and recorded before goes on in the fork that holds it, in whatever process."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from foreword.core.block import Text
from foreword.core.event import Answered, Event, Said
from foreword.core.ledger import once, rows, total
from foreword.core.prices import Prices
from foreword.core.sealing import encode_body
from foreword.engine.session import Session
from foreword.engine.sync_forks import LOOKED, free_name
from foreword.evals.calls import calls_of
from foreword.store import Store
from tests.engine.message_lists import Messages
from tests.histories import counting_clock, target_of


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path) as opened:
        yield opened


def started(store: Store, name: str = "f") -> Session:
    """Open the session as a process that begins does."""
    return Session.open(store, name, target=target_of("openai-chat"), clock=counting_clock())


def turn(session: Session, listed: Messages, text: str) -> None:
    """Sync a list, answer its request with a usage, and go on."""
    session.sync(listed)
    number = sum(isinstance(event.body, Answered) for event in session.events)
    message = {"role": "assistant", "content": f"answer to {text}"}
    session.record({
        "id": f"{session.id}-{text}-{number}", "object": "chat.completion", "created": 1, "model": "gpt-6.1-sol",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
    })  # fmt: skip
    listed += [message, {"role": "user", "content": text}]


def conversation(session: Session, *texts: str) -> Messages:
    listed: Messages = [{"role": "user", "content": "begin"}]
    for text in texts:
        turn(session, listed, text)
    session.sync(listed)
    return listed


def edited(listed: Messages, at: int, text: str) -> Messages:
    """The list with another message of the user there, and nothing behind it."""
    return [*copy.deepcopy(listed[:at]), {"role": "user", "content": text}]


def names(store: Store) -> list[str]:
    return [row.id for row in store.sessions()]


def test_a_process_that_is_restarted_goes_on_in_its_fork(store: Store) -> None:
    """Four times with one edited list: one fork, no new epoch, and each call stands in the bill once, with usage."""
    session = started(store)
    listed = edited(conversation(session, "one", "two"), 2, "another one")
    forked = session.sync(listed)
    turn(session, listed, "three")
    session.sync(listed)
    session.flush()
    epochs = sum(event.kind == "epoch_started" for event in session.events)
    for number in range(4):
        session = started(store)
        synced = session.sync(listed)
        assert (session.id, synced.appended) == ("f~1", 0)
        assert synced.forked_at == forked.forked_at
        turn(session, listed, f"more {number}")
        session.sync(listed)
        session.flush()
    assert names(store) == ["f", "f~1"]
    assert sum(event.kind == "epoch_started" for event in session.events) == epochs
    bill = total(
        once(row for name in names(store) for row in rows(store.load(name), session=name, prices=Prices()))
    )
    assert (bill.statuses["ok"], bill.counted) == (7, 7)


def test_to_and_fro_between_versions_stays_in_their_logs(store: Store) -> None:
    """In one process, also where the first message is edited: no version is recorded twice."""
    session = started(store)
    first = conversation(session, "one", "two")
    second, third = edited(first, 2, "other"), edited(first, 0, "begin otherwise")
    versions = {"f": first, "f~1": second, "f~2": third}
    for listed in (second, third):
        turn(session, listed, "three")
        session.sync(listed)
    for name in ("f", "f~2", "f~1", "f", "f~1", "f~2", "f"):
        synced = session.sync(copy.deepcopy(versions[name]))
        assert (session.id, synced.appended) == (name, 0)
        assert synced.forked_at is not None
        turn(session, versions[name], "more")
        session.sync(versions[name])
    session.flush()
    for name in versions:
        session = started(store)
        assert session.sync(versions[name]).appended == 0
        assert session.id == name
    assert names(store) == ["f", "f~1", "f~2"]


def test_a_fork_of_a_fork_is_found_and_holds_most(store: Store) -> None:
    """A fork that was rewound holds less of the list than the one that went on."""
    session = started(store)
    listed = edited(conversation(session, "one", "two"), 2, "other")
    for text in ("three", "four"):
        turn(session, listed, text)
    session.sync(listed)
    below = edited(listed, len(listed) - 1, "five")
    turn(session, below, "six")
    session.sync(below)
    assert session.id == "f~2"
    session.sync(below[:3])
    assert session.id == "f~3"
    session.flush()
    for expected, wanted in ((below, "f~2"), (listed, "f~1"), (below, "f~2")):
        session = started(store)
        assert session.sync(expected).appended == 0
        assert session.id == wanted
    assert len(names(store)) == 4


@pytest.mark.parametrize("cleaned", [False, True])
def test_a_fork_of_which_something_was_erased_is_found(store: Store, cleaned: bool) -> None:
    """Whether the caller still holds what was erased or took it out; nothing of it comes back."""
    session = started(store)
    listed = edited(conversation(session, "one", "two"), 2, "SECRET")
    turn(session, listed, "three")
    session.sync(listed)
    secret = next(e.seq for e in session.events if e.body is not None and b"SECRET" in encode_body(e.body))
    session.erase([secret], "asked to")
    if cleaned:
        del listed[2]
    for _ in range(2):
        session = started(store)
        synced = session.sync(listed)
        assert (session.id, synced.appended) == ("f~1", 0)
        assert b"SECRET" not in synced.request.body
        session.flush()
    assert names(store) == ["f", "f~1"]


def test_shortened_results_of_a_known_fork_are_named(store: Store) -> None:
    """Going on in a fork says which results the list holds cut, as the sync that made it did."""
    session = started(store)
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    conversation(session, "one")
    listed: Messages = [
        {"role": "user", "content": "begin"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a long result " * 40},
    ]
    session.sync(listed)
    session.flush()
    listed[2]["content"] = "[Old tool result content cleared]"
    session = started(store)
    synced = session.sync(listed)
    assert (session.id, synced.appended, synced.shortened) == ("f~1", 0, ("c1",))


def test_forks_of_the_caller_are_left_alone(store: Store) -> None:
    """Another agent works in a fork that was made by hand: the same list makes a fork of its own."""
    session = started(store)
    listed = conversation(session, "one", "two")
    said = next(e.seq for e in session.events if e.kind == "answered")
    child = session.fork(said)
    assert child.id == "f~1"
    mine = edited(listed, 2, "other")
    child.sync(mine)
    child.flush()
    session.sync(mine)
    assert session.id == "f~2"
    child.sync(listed)  # nor does the child go on in the log that it was forked from
    assert child.id == "f~3"


def test_processes_that_edit_at_once_meet_in_one_fork(tmp_path: Path) -> None:
    """Who comes second goes on in the fork of the first; another edit gets a fork of its own."""
    with Store.open(tmp_path) as store:
        session = started(store)
        listed = conversation(session, "one", "two", "three")
        session.flush()
    same = edited(listed, 4, "the same")
    lists = [same, same, same, edited(listed, 2, "another")]
    start = Barrier(len(lists))

    def work(mine: Messages) -> tuple[str, list[str]]:
        with Store.open(tmp_path) as store:
            session = started(store)
            start.wait()
            session.sync(mine)
            session.flush()
            said = [e.body.message for e in session.events if isinstance(e.body, Said)]
            return session.id, [block.text for m in said for block in m.blocks if isinstance(block, Text)]

    with ThreadPoolExecutor(len(lists)) as pool:
        done = list(pool.map(work, lists))
    with Store.open(tmp_path) as store:
        for mine in (same, lists[-1]):
            session = started(store)
            assert session.sync(mine).appended == 0
    assert all(said == ["begin", "one", "the same"] for _, said in done[:3])
    assert done[3][1] == ["begin", "another"]
    assert len({name for name, _ in done[:3]}) == 1


def test_a_past_that_is_edited_before_each_call_costs_no_more_each_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forks are siblings, few are looked at, and those that begin otherwise are not read."""
    session = started(store)
    listed = conversation(session, "one")
    for number in range(2 * LOOKED):
        listed[0]["content"] = f"it is {number} o'clock"
        assert session.sync(listed).forked_at is not None
    session.flush()
    assert {row.parent for row in store.sessions() if row.id != "f"} == {("f", 0)}
    read: list[tuple[str, int | None]] = []
    loaded = store.load

    def load(name: str, *, since: int = 0, limit: int | None = None) -> list[Event]:
        read.append((name, limit))
        return loaded(name, since=since, limit=limit)

    monkeypatch.setattr(store, "load", load)
    listed[0]["content"] = "it is late"
    assert session.sync(listed).forked_at is not None
    assert len(read) <= LOOKED + 4
    assert sum(limit is None for _, limit in read) <= 3


def test_a_free_name_is_found_among_many(store: Store) -> None:
    """However many forks stand, few names are tried."""
    session = started(store)
    session.say("hello")
    assert free_name(store, "f") == "f~1"
    for number in (1, 2, 3, 4, 5, 8):
        session.fork(0, f"f~{number}")
    assert free_name(store, "f~3") in ("f~6", "f~7", "f~9")


def test_answers_that_a_cut_list_repeats_are_copies_of_calls_with_their_bill(store: Store) -> None:
    """A loop that keeps its newest messages only forks at each step; no call is counted twice or becomes unknown."""
    made = started(store)
    listed: Messages = [{"role": "user", "content": "begin"}]
    for step in range(6):
        turn(made, listed, f"step {step}")
        listed = listed[-5:]
    made.sync(listed)
    calls = [
        row
        for listed_session in store.sessions()
        for row in rows(store.load(listed_session.id), session=listed_session.id, prices=Prices())
    ]
    assert len(calls) > 6
    bill = total(once(calls))
    assert (bill.calls, bill.unknown, bill.usage.uncached) == (6, 0, 600)
    copied = [event for event in made.events if isinstance(event.body, Answered) and event.body.copy_of]
    assert copied
    assert all(event.at < made.events[0].at + 10**9 for event in copied)


def test_an_answer_that_no_log_holds_is_no_copy(store: Store) -> None:
    """Equal words in the part that both logs share are another answer's."""
    made = started(store)
    listed = conversation(made, "a", "b")
    own = [{"role": "assistant", "content": "answer to a"}, {"role": "user", "content": "so?"}]
    made.sync([*edited(listed, 4, "other"), *own])
    answers = [event.body for event in made.events if isinstance(event.body, Answered)]
    assert [(body.usage is None, body.copy_of) for body in answers[-1:]] == [(True, None)]


def test_a_further_edit_forks_from_the_fork_that_shares_most(store: Store) -> None:
    """A process that starts again opens the first log; what the fork holds is shared, not recorded a second time."""
    made = started(store)
    first = conversation(made, "a", "b")
    changed = edited(first, 0, "begin anew")
    for text in ("c", "d"):
        turn(made, changed, text)
    made.sync(changed)
    again = started(store)
    synced = again.sync(edited(changed, len(changed) - 1, "d, said otherwise"))
    assert (again.id, synced.appended) == ("f~2", 1)
    assert [fork.parent for fork in store.forks("f") if fork.id == "f~2"] == ["f~1"]
    assert synced.forked_at == 0


def test_a_copy_answers_no_request_of_the_fork(store: Store) -> None:
    """A cut in the middle leaves a request unanswered in the shared part; a later answer is none to it."""
    made = started(store)
    listed = conversation(made, "a", "b", "c")
    made.sync([listed[0], *listed[3:]])
    copies = [event.body for event in made.events if isinstance(event.body, Answered) and event.body.copy_of]
    assert copies
    assert {body.request for body in copies} == {None}
    told = sum(isinstance(e.body, Answered) and e.body.request is not None for e in made.events)
    assert sum(len(reports) for reports in made.view.fold.reports.values()) == told


def test_a_restarted_loop_that_cuts_its_list_counts_each_call_once(store: Store) -> None:
    """The answers that its list repeats stand in forks which the process never opened."""
    listed: Messages = [{"role": "user", "content": "begin"}]
    for step in range(6):
        made = started(store)
        turn(made, listed, f"step {step}")
        listed = listed[-5:]
    calls = [
        row for one in store.sessions() for row in rows(store.load(one.id), session=one.id, prices=Prices())
    ]
    bill = total(once(calls))
    assert (bill.calls, bill.unknown) == (6, 0)


def test_copies_are_no_calls_to_those_who_watch(store: Store) -> None:
    """Neither to telemetry nor to what explains the cache: they were made, and told, in the log before."""
    made = started(store)
    listed: Messages = [{"role": "user", "content": "begin"}]
    for step in range(5):
        turn(made, listed, f"step {step}")
        listed = listed[-5:]
    made.sync(listed)
    own = [row for row in rows(made.events, session=made.id, prices=Prices()) if not row.copied]
    copied = [row for row in rows(made.events, session=made.id, prices=Prices()) if row.copied]
    assert copied
    assert len(calls_of(made.events)) == len(own)
