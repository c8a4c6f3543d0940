"""Runs of tools: what is known of each call, when, and what the model is told of it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from foreword.core.event import Answered, Run
from foreword.core.outcome import WORDS
from foreword.engine.session import Session
from foreword.errors import InvalidValue
from foreword.store import Store
from tests.engine.sessions import answer, call, files_with, judged, reopened, session
from tests.histories import AT, MODELS, digests, target_of


def asked(*ids: str, marks: bool = True, **more: Any) -> Session:
    """Return a session whose model asked for some calls."""
    made = session(**more)
    made.start_marks = marks
    made.say("Run it.")
    made.compile()
    answer(made, *(call(id_) for id_ in ids))
    return made


def known(made: Session, at: int | None = None) -> dict[str, tuple[str, str, int | None]]:
    """Return outcome, run and exit code of each call."""
    return {one.call_id: (one.status, one.run, one.exit_code) for one in made.outcomes(at)}


def retryable(made: Session) -> list[str]:
    return [one.call_id for one in made.outcomes() if one.retryable]


def shown(made: Session) -> str:
    """Return the texts of the next request, after its referee took it."""
    assert judged(made).violations == ()
    return json.dumps(json.loads(made.compile().body), ensure_ascii=False)


def test_a_refused_result_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    """Nothing that can't be read again is acknowledged."""
    with Store.open(tmp_path) as store:
        made = asked("a", store=store)
        before = len(made.events)
        wrong: Any = "0"
        with pytest.raises(InvalidValue, match="exit_code: Expected `int"):
            made.returned("a", "x", exit_code=wrong)
        made.returned("a", "x", exit_code=0)
        assert len(reopened(store, made).events) == before + 1
        assert known(made) == {"a": ("succeeded", "completed", 0)}


def test_outcomes_are_those_of_the_store(tmp_path: Path) -> None:
    """What another process recorded counts, and a request of ours that waits is not lost by asking."""
    with Store.open(tmp_path) as store:
        made = asked("a", store=store)
        other = session(store=store)
        other.compile()
        made.returned("a", "x", exit_code=0)
        assert known(other) == {"a": ("succeeded", "completed", 0)}
        answer(other, "done")
        body = other.events[-1].body
        assert isinstance(body, Answered)
        assert body.request is not None
        assert other.events[body.request].kind == "request_sent"


ENDS = [
    ("ended", UNSET, False, ("succeeded", "completed", None)),
    ("ended", UNSET, True, ("failed", "completed", None)),
    ("ended", 0, False, ("succeeded", "completed", 0)),
    ("ended", 0, True, ("failed", "completed", 0)),
    ("ended", 1, False, ("failed", "completed", 1)),
    ("ended", -9, False, ("failed", "completed", -9)),
    ("ended", None, False, ("unknown", "completed", None)),
    ("ended", None, True, ("failed", "completed", None)),
    ("running", UNSET, False, ("running", "running", None)),
    ("running", None, False, ("running", "running", None)),
    ("cancelled", UNSET, False, ("cancelled", "completed", None)),
    ("cancelled", 130, True, ("cancelled", "completed", 130)),
]


@pytest.mark.parametrize("run, code, failed, expected", ENDS)
@pytest.mark.parametrize("marked", [True, False])
def test_how_it_went_and_whether_it_ended_are_two_things(
    run: Run, code: Any, failed: bool, marked: bool, expected: tuple[str, str, int | None], tmp_path: Path
) -> None:
    """Every end of a run has its outcome, also read back from the disk; a missing code is never 0."""
    with Store.open(tmp_path) as store:
        made = asked("a", marks=marked, store=store)
        if marked:
            made.started("a")
            assert known(made) == {"a": ("running", "running", None)}
        made.returned("a", "out", exit_code=code, run=run, is_error=failed)
        assert known(made) == known(reopened(store, made)) == {"a": expected}
        assert retryable(made) == []


def test_a_call_without_a_mark_never_began_where_starts_are_marked() -> None:
    """Only such a call may be repeated, before and after the request that tells of it, until its repetition starts."""
    made = asked("done", "lost", "waiting")
    made.started("done")
    made.returned("done", "ok")
    made.started("lost")
    assert [one[0] for one in known(made).values()] == ["succeeded", "running", "never_started"]
    assert retryable(made) == ["waiting"]
    text = shown(made)
    assert text.count("outcome unknown") == text.count("never started") == 1
    assert [one[:2] for one in known(made).values()] == [
        ("succeeded", "completed"), ("unknown", "unknown"), ("never_started", "never_started"),
    ]  # fmt: skip
    assert retryable(made) == ["waiting"]
    made.started("waiting")
    assert known(made)["waiting"] == ("unknown", "unknown", None)
    assert retryable(made) == []
    made.returned("waiting", "paid")
    assert known(made)["waiting"] == ("succeeded", "completed", None)
    assert "paid" in shown(made)


def test_without_start_marks_an_open_call_is_unknown() -> None:
    """Nothing is known of it, so nothing is repeated; the marks of one answer say nothing of another's calls."""
    made = asked("a", marks=False)
    assert known(made) == {"a": ("unknown", "unknown", None)}
    made.start_marks = True
    assert retryable(made) == []
    made.compile()
    answer(made, call("b"))
    assert known(made)["a"] == ("unknown", "unknown", None)
    assert retryable(made) == ["b"]


def test_what_was_known_at_a_time() -> None:
    """Each time has its own answer; an exit code that came late does not change what was known before."""
    made = asked("a")
    times = list[int]()

    def took() -> None:
        times.append(made.events[-1].at)

    took()
    made.started("a")
    took()
    made.returned("a", "begun", run="running")
    took()
    made.returned("a", "", exit_code=None)
    took()
    made.returned("a", "end", exit_code=3)
    took()
    assert [known(made, at)["a"] for at in times] == [
        ("never_started", "never_started", None),
        ("running", "running", None),
        ("running", "running", None),
        ("unknown", "completed", None),
        ("failed", "completed", 3),
    ]
    assert known(made, AT - 1) == {}
    assert known(made) == known(made, times[-1])


@pytest.mark.parametrize("wire", MODELS)
def test_the_model_is_told_of_the_run(wire: str) -> None:
    """A code that the output doesn't show stands behind it, the same on every wire; what is unknown is called so."""
    made = asked(*"abcdefg", target=target_of(wire))
    made.returned("a", "", exit_code=1)
    made.returned("b", "boom\n", exit_code=None)
    made.returned("c", "fine", exit_code=0)
    made.returned("d", " \n", exit_code=0)
    made.returned("e", "begun", run="running")
    made.returned("f", "half", run="cancelled", exit_code=-2)
    made.returned("g", "plain")
    text = shown(made)
    for told in (
        "exit code 1\\n<", "boom\\n<foreword kind=\\\"run\\\">\\nexit code unknown\\n<", "exit code 0\\n<",
        "begun\\n<foreword kind=\\\"run\\\">\\nstill running in the background\\n<",
        "cancelled before it ended, exit code -2",
    ):  # fmt: skip
        assert text.count(told) == 1
    assert text.count("exit code") == 4
    assert '"fine"' in text
    assert '"plain"' in text


@pytest.mark.parametrize("wire", MODELS)
def test_the_end_of_a_run_in_the_background_is_a_notice(wire: str) -> None:
    """The result that was sent stays as it is; what came of the run is said where it came."""
    made = asked("a", target=target_of(wire))
    made.returned("a", "begun", run="running")
    before = made.compile()
    made.returned("a", "all built", exit_code=2)
    after = made.compile()
    assert digests(after)[: len(before.units)] == digests(before)
    assert after.epoch.number == before.epoch.number
    text = shown(made)
    assert "late result of call a, exit code 2" in text
    assert "all built" in text


def test_a_list_that_lacks_the_end_of_a_background_run_is_no_edit() -> None:
    """A caller's list has the receipt alone; nothing is forked, and what came late stays."""
    made = session(target=target_of("openai-chat"))
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Run it."}]
    made.sync(messages)
    asking = {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    messages.append({"role": "assistant", "content": None, "tool_calls": [asking]})
    answer(made, call("a"))
    made.returned("a", "begun", run="running")
    messages.append({"role": "tool", "tool_call_id": "a", "content": "begun"})
    made.sync(messages)
    made.returned("a", "ended", exit_code=1)
    messages.append({"role": "user", "content": "And?"})
    for _ in range(2):
        synced = made.sync(messages)
        assert synced.forked_at is None
    assert synced.appended == 0
    assert known(made) == {"a": ("failed", "completed", 1)}


def test_what_a_lost_run_had_printed_is_told_and_can_be_erased(tmp_path: Path) -> None:
    """Output before a crash stands with the word that the outcome is unknown, and goes with its event."""
    with Store.open(tmp_path) as store:
        made = asked("a", "b", store=store)
        made.started("a")
        seq = made.printed("a", "half a marzipan\n")
        made.printed("a", "and a bit")
        made = reopened(store, made)
        text = shown(made)
        assert "half a marzipan\\nand a bit\\n[outcome unknown" in text
        assert made.read(f"{made.alias}#{seq}").text == "half a marzipan\n"
        made.erase([seq], "asked to")
        assert known(made)["a"][0] in ("running", "unknown")
        text = shown(made)
        assert "marzipan" not in text
        assert "and a bit\\n[outcome unknown" in text
    assert files_with(tmp_path, b"marzipan") == []


def test_an_erased_result_is_unknown_and_never_repeated() -> None:
    """That there was a result is still known, at every time, but not what it said."""
    made = asked("a")
    seq = made.returned("a", "secret", exit_code=0)
    at = made.events[-1].at
    made.say("Go on.")
    made.erase([seq], "asked to")
    assert known(made) == known(made, at) == {"a": ("unknown", "unknown", None)}
    assert retryable(made) == []


def test_starts_of_one_id_are_those_of_its_calls_in_order() -> None:
    """Two calls of one id have a mark each; one too many says nothing of any other."""
    made = asked("a", "a", "b")
    made.started("a")
    made.returned("a", "first")
    assert [(one.call_id, one.position, one.status) for one in made.outcomes()] == [
        ("a", 0, "succeeded"), ("a", 1, "never_started"), ("b", 2, "never_started"),
    ]  # fmt: skip
    made.started("a")
    made.started("a")
    assert retryable(made) == ["b"]


def test_no_way_a_call_can_stand_is_more_than_the_log_says() -> None:
    """Success and failure need a result that says so; only what never began may be repeated."""
    completed = {standing for standing, words in WORDS.items() if words[1] == "completed"}
    assert completed == {"stopped", "error", "no_code", "no_flag", "fine"}
    assert [standing for standing, words in WORDS.items() if words[0] == "succeeded"] == ["fine"]
    assert [standing for standing, words in WORDS.items() if words[0] == "never_started"] == ["waiting"]


def test_what_no_open_call_waits_for_is_kept_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """A wrong id is the loop's mistake: it is said at once, with the ids that are open."""
    made = asked("k1", "k3")
    with caplog.at_level(logging.WARNING, "foreword.calls"):
        made.started("k1")
        made.printed("k1", "so far")
        made.returned("k1", "fine", exit_code=0)
        assert caplog.messages == []
        seqs = (
            made.started("zzz"),
            made.printed("zzz", "out"),
            made.returned("k2", "other"),
            made.returned("k1", "again", exit_code=1),
        )
    rest = "which is not open (open: 'k3'): recorded, and counts for none"
    whats = (
        "the start of call 'zzz'",
        "output of call 'zzz'",
        "a result of call 'k2'",
        "a result of call 'k1'",
    )
    assert caplog.messages == [
        f"session made, event {seq}: {what}, {rest}" for seq, what in zip(seqs, whats, strict=True)
    ]
    assert known(made)["k1"] == ("succeeded", "completed", 0)
    assert shown(made)


def test_an_end_that_is_waited_for_warns_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """That of a background run, of one whose exit code nobody knew, and of a call that was given up."""
    made = asked("background", "coded", "late")
    with caplog.at_level(logging.WARNING, "foreword.calls"):
        made.returned("background", "goes on", run="running")
        made.returned("coded", "ended", exit_code=None)
        made.compile()
        for id_ in ("background", "coded", "late"):
            made.printed(id_, "out")
            made.returned(id_, "the end", exit_code=0)
    assert caplog.messages == []
