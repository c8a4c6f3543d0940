"""Erasure: what is erased is in no later request, no manifest, no read-back and no file."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from foreword.core.event import Draft, Erased, Noticed, Pinned, Replacement, Rewritten
from foreword.core.sealing import encode_body
from foreword.engine.session import Session
from foreword.engine.verify import verify
from foreword.errors import Gone, NotErasable
from foreword.store import Store
from tests.engine.sessions import answer, call, files_with, judged, reopened, session, step
from tests.histories import check_manifest, target_of
from tests.tree import ROOT

SECRET = "hunter2-s3cret"
WIRES = ("anthropic", "openai-chat")
FILLER = "\n".join(f"line {n} of plain output that fills the window a little" for n in range(60))


def told(store: Store, wire: str, where: str) -> tuple[Session, int]:
    """Put the secret somewhere, and go on until it was summarised, cleared or just sent."""
    made = session(target_of(wire, 200_000 if where in ("turn", "small result") else 6_000), store)
    made.say(f"first {SECRET if where == 'turn' else 'words'}")
    seq = 1
    if where == "small result":
        seq = step(made, 0, f"password: {SECRET}")
    elif where == "excerpt":
        seq = step(made, 0, f"{SECRET}\n{FILLER * 20}\n{SECRET}")
    elif where == "summary":
        seq = step(made, 0, f"error: {SECRET}", is_error=True, command="login")
    for number in range(1, 30 if where in ("summary", "excerpt") else 3):
        made.compile()
        step(made, number, FILLER if where in ("summary", "excerpt") else "ok")
    made.compile()
    return made, seq


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("where", ["turn", "small result", "excerpt", "summary"])
def test_an_erased_secret_is_gone(where: str, wire: str, tmp_path: Path) -> None:
    """After erasing the event no request, manifest, read-back or file shows the secret, and pairs stay whole."""
    with Store.open(tmp_path) as store:
        made, seq = told(store, wire, where)
        if where == "summary":
            derived = [e for e in made.events if isinstance(e.body, Rewritten) and e.body.how == "summarized"]
            assert any(SECRET.encode() in encode_body(e.body) for e in derived if e.body), "not summarised"
        erased = made.erase([seq], "asked to forget")
        assert seq in erased
        for again in (made, reopened(store, made)):
            compiled = again.compile()
            assert SECRET.encode() not in compiled.body
            assert SECRET not in json.dumps(check_manifest(again, compiled))
            assert compiled.epoch.body.why in ("permission", "hard")
            assert "permission" in [
                e.body.why for e in again.events[max(erased) :] if e.kind == "epoch_started"
            ]
            with pytest.raises(Gone, match="asked to forget"):
                again.read(f"{again.alias}#{seq}")
            assert "asked to forget" in again.run_read_tool({"ref": f"{again.alias}#{seq}"})
            assert all(SECRET.encode() not in encode_body(e.body) for e in again.events if e.body is not None)
            assert judged(again).violations == ()
        assert store.verify() == []
    assert files_with(tmp_path, SECRET.encode()) == []


def test_a_late_result_told_as_notice_is_erased_with_it(tmp_path: Path) -> None:
    """The notice that told a late result is derived from it and goes with it."""
    with Store.open(tmp_path) as store:
        made = session(store=store)
        made.say("go")
        answer(made, call("x"))
        made.say("and?")
        made.compile()
        seq = made.returned("x", SECRET)
        made.compile()
        assert any(isinstance(e.body, Noticed) for e in made.events)
        made.erase([seq], "asked")
        assert SECRET.encode() not in made.compile().body
        assert judged(made).violations == ()
        assert all(SECRET.encode() not in encode_body(e.body) for e in made.events if e.body is not None)


@pytest.mark.parametrize("first", ["parent", "child"])
def test_an_erasure_reaches_relatives(first: str, tmp_path: Path) -> None:
    """What is erased in a session is erased in its forks and its parent, with all that was derived there."""
    with Store.open(tmp_path) as store:
        parent, seq = told(store, "anthropic", "summary")
        shared = max(e.seq for e in parent.events if e.kind == "answered")
        child = parent.fork(shared)
        for number in range(40, 60):
            child.compile()
            step(child, number, FILLER)
        child.flush()
        (parent if first == "parent" else child).erase([seq], "asked to forget")
        for name in (parent.id, child.id):
            made = session(parent.target, store, name)
            compiled = made.compile()
            assert SECRET.encode() not in compiled.body
            assert judged(made).violations == ()
            assert b"outcome unknown" not in compiled.body or name == child.id
            assert all(SECRET.encode() not in encode_body(e.body) for e in made.events if e.body is not None)
            with pytest.raises(Gone, match="asked to forget"):
                made.read(f"{made.alias}#{seq}")
        assert store.verify() == []
    assert files_with(tmp_path, SECRET.encode()) == []


KILLED = """
import os, signal, sys
from foreword.engine.session import Session
from foreword.store import Store, erase, log

place, name, seq, point = sys.argv[1:]
here, number = {"begun": (erase, "empty"), "half": (log, "append"), "committed": (Store, "finish_erasing"),
                "shred": (erase, "_rebuild")}[point], 1 if point == "half" else 0
store = Store.open(place)
work, left = getattr(*here), [None] * number

def kill(*given, **named):
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left.pop()
    return work(*given, **named)

setattr(*here, kill)
Session.open(store, name).erase([int(seq)], "asked to forget")
"""


@pytest.mark.parametrize("first", ["parent", "child"])
@pytest.mark.parametrize("point", ["begun", "half", "committed", "shred"])
def test_a_process_killed_amid_erasing_leaves_no_fork_behind(first: str, point: str, tmp_path: Path) -> None:
    """All of the family is erased or nothing: what a fork derived never outlives its source, and verify holds."""
    with Store.open(tmp_path) as store:
        parent, seq = told(store, "anthropic", "excerpt")
        child = parent.fork(seq)
        child.compile()
        child.flush()
        assert SECRET in str([e.body for e in child.events[seq + 1 :] if isinstance(e.body, Rewritten)])
        names = {"parent": parent.id, "child": child.id}
    command = [sys.executable, "-c", KILLED, str(tmp_path), names[first], str(seq), point]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with Store.open(tmp_path) as store:
        assert verify(store).problems == ()
        held = {name: SECRET in str(store.load(name)) for name in names.values()}
        assert set(held.values()) == {point in ("begun", "half")}
    assert bool(files_with(tmp_path, SECRET.encode())) == (point in ("begun", "half"))


def test_what_an_erasure_left_in_a_fork_is_named_until_it_goes(tmp_path: Path) -> None:
    """A summary that stands beside its erased source, as a crash once left it, is found, and erasing again takes it."""
    with Store.open(tmp_path) as store:
        parent = session(store=store)
        seq = parent.say(SECRET)
        child = parent.fork(seq)
        told = Replacement(events=(seq,), text=f"they said {SECRET}")
        left = child.append(
            Draft(
                body=Rewritten(how="summarized", why="hard", replacements=(told,)),
                origin="engine",
                causes=(seq,),
            )
        )
        body = Erased(targets=(seq,), reason="asked")
        assert store.erase({made.id: made.seal(Draft(body=body)) for made in (parent, child)})
        assert store.verify() == []
        [fault] = verify(store).problems
        assert (fault.code, fault.where) == ("erasing", f"{child.id}#{left}")
        parent.reload()
        parent.erase([seq], "asked")
        assert verify(store).ok
    assert files_with(tmp_path, SECRET.encode()) == []


def test_what_is_made_since_an_erasure_is_no_rest_of_it(tmp_path: Path) -> None:
    """A summary that covers an erased result later, and says that it is erased, leaves nothing to finish."""
    with Store.open(tmp_path) as store:
        made = session(target_of("anthropic", 6_000), store)
        made.say("go")
        seq = step(made, 0, SECRET)
        made.erase([seq], "asked")
        for number in range(1, 40):
            made.compile()
            step(made, number, FILLER)
        made.flush()
        later = [event for event in made.events if seq in event.causes and event.body is not None]
        assert [event.kind for event in later if event.origin == "engine"] != []
        assert verify(store).problems == ()


def test_a_fork_answers_only_what_it_shares(tmp_path: Path) -> None:
    """Results erased behind the fork are the parent's alone: the fork's own events of those seqs are others."""
    with Store.open(tmp_path) as store:
        parent = session(store=store)
        parent.say("go")
        early = step(parent, 1, "one")
        child = parent.fork(early)
        late = step(parent, 2, "two")
        for number in range(3, 6):
            step(child, number, "other")
        parent.erase([early, late], "asked")
        child.reload()
        [said] = [event.body for event in child.events if isinstance(event.body, Erased)]
        assert said.targets == (early,)
        assert {seq for seq, _, _ in said.answers} == {early}


def test_a_fork_made_after_an_erasure_knows_of_it(tmp_path: Path) -> None:
    """A fork at a point before the erasure still says that the result was erased, and why."""
    with Store.open(tmp_path) as store:
        made = session(store=store)
        made.say("go")
        seq = step(made, 1, SECRET)
        last = made.say("more")
        made.compile()
        made.erase([seq], "asked to forget")
        child = made.fork(last)
        body = child.compile().body
        assert b"was erased" in body
        assert b"outcome unknown" not in body
        with pytest.raises(Gone, match="asked to forget"):
            child.read(f"{child.alias}#{seq}")


def test_the_logs_structure_cannot_be_erased() -> None:
    """Events without content are the log itself; erasing one is refused and changes nothing."""
    made = session()
    made.say("x")
    made.compile()
    size, alias = len(made.events), made.alias
    for event in list(made.events):
        if event.kind in ("session_opened", "epoch_started", "request_sent"):
            with pytest.raises(NotErasable):
                made.erase([event.seq], "x")
    assert len(made.events) == size
    assert made.alias == alias


def test_an_erased_pin_is_gone_and_the_rest_stands() -> None:
    """Erasing one pin leaves the others where they were."""
    made = session()
    made.say("hello")
    gone, stays = made.pin(f"never say {SECRET}"), made.pin("always say please")
    made.compile()
    made.erase([gone], "asked")
    compiled = made.compile()
    assert SECRET.encode() not in compiled.body
    assert b"always say please" in compiled.body
    assert isinstance(made.events[stays].body, Pinned)


def test_other_open_sessions_send_nothing_that_was_erased(tmp_path: Path) -> None:
    """A fork and a second object of the session, both open, learn of an erasure before their next request."""
    with Store.open(tmp_path) as store:
        made = session(store=store)
        secret = made.say("my key is SECRET-77")
        made.say("go on")
        made.compile()
        fork = made.fork(made.view.position - 1)
        second = reopened(store, made)
        for other in (fork, second):
            assert b"SECRET-77" in other.compile().body
        made.erase([secret], "asked to")
        for other in (made, fork, second):
            assert b"SECRET-77" not in other.compile().body
