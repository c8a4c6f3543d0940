"""Forks of Codex threads: they repeat the rows of the thread that they left, and each call was paid once."""

import json

from foreword.core.ledger import once, rows
from foreword.core.prices import Prices
from foreword.importers.grown import growth
from foreword.importers.imported import Imported
from tests.importers.claude_file import codes
from tests.importers.codex_file import THREAD, CodexFile

FORK = "019f03e0-2222-7eb2-83cc-b54ecd71be23"
SECOND = "019f03e0-3333-7eb2-83cc-b54ecd71be23"


def thread(*turns: str) -> CodexFile:
    """A thread of one call a turn; `turns`: their ids, "" for none, as before version 0.80."""
    file = CodexFile()
    for turn in turns:
        file.turn(**({"turn_id": turn} if turn else {}))
        file.user("Fix it.")
        file.call("c1")
        file.result("c1")
        file.tokens()
    return file


def forked(parent: CodexFile, id_: str = FORK) -> CodexFile:
    """A fork as Codex writes it: its own meta, then all rows of the parent, with the time of the fork."""
    fork = CodexFile(id=id_)
    fork.lines = fork.lines[:1]
    for line in parent.lines:
        row = json.loads(line)
        fork.row(row["type"], row["payload"])
    fork.spent = dict(parent.spent)
    return fork


def paid(*files: Imported) -> list[tuple[str, int | None]]:
    """Session and prompt of each call that is billed."""
    prices = Prices()
    listed = [row for one in files for row in rows(one.drafts, session=one.session, prices=prices)]
    return [(row.session, row.input) for row in once(listed)]


def test_calls_of_a_fork_that_its_parent_made_are_billed_once() -> None:
    """By the ids of their turns, or where turns have none by the thread, what it had spent and what was said."""
    for turns, more in ((("t1", "t2"), "t3"), (("", ""), "")):
        parent = thread(*turns)
        fork = forked(parent)
        fork.turn(**({"turn_id": more} if more else {}))
        fork.user("Other way.")
        fork.say("Done.")
        fork.tokens(1_500)
        found = fork.read()
        assert (found.session, "several_sessions" in codes(found)) == (FORK, True)
        assert paid(parent.read(), found) == [(THREAD, 1_000), (THREAD, 1_000), (FORK, 1_500)]
        again = forked(fork, SECOND)
        again.user("Third way.")
        again.say("Done.")
        again.tokens(1_700)
        assert paid(parent.read(), found, again.read())[-2:] == [(FORK, 1_500), (SECOND, 1_700)]


def test_a_call_that_a_fork_repeats_without_its_tokens_is_billed_once() -> None:
    """The thread was left before its row of tokens came."""
    parent = thread("t1")
    parent.user("More.")
    parent.say("Hm.")
    assert paid(parent.read(), forked(parent).read()) == [(THREAD, 1_000), (THREAD, None)]


def test_equal_calls_of_two_forks_are_two() -> None:
    """What each said after the fork is its own, also with the same number of tokens."""
    parent = thread("t1")
    files = [forked(parent, FORK), forked(parent, SECOND)]
    for number, file in enumerate(files):
        file.turn(turn_id=f"own-{number}")
        file.user("Go on.")
        file.say("On.")
        file.tokens(1_500)
    found = paid(*(file.read() for file in files))
    assert found == [(FORK, 1_000), (FORK, 1_500), (SECOND, 1_500)]


def test_calls_of_equal_words_without_tokens_are_each_billed() -> None:
    """Files before version 0.80, and parts of them, tell neither tokens nor turns; a fork repeats them all."""
    parent = CodexFile()
    for _ in range(3):
        parent.user("Go on.")
        parent.say("On.")
    assert paid(parent.read()) == [(THREAD, None)] * 3
    assert paid(parent.read(), forked(parent).read()) == [(THREAD, None)] * 3


def test_a_call_that_was_read_before_its_tokens_came_is_one() -> None:
    """Its name may be told with its last row; what is recorded of it keeps the one that it has."""
    file = thread("t1")
    file.turn(turn_id="t2")
    file.user("More.")
    file.call("c2")
    old = file.read()
    file.call("c3")
    file.result("c2")
    file.result("c3")
    file.tokens(1_500)
    found = growth(old.drafts, file.read().drafts)
    assert not found.forked
    prices = Prices()
    assert len(list(once(rows([*old.drafts, *found.added], session=THREAD, prices=prices)))) == 2


def test_calls_taken_back_before_a_fork_are_billed_once() -> None:
    """They keep their name as calls that are no history."""
    parent = thread("t1", "t2")
    parent.event("thread_rolled_back", num_turns=1)
    assert paid(parent.read(), forked(parent).read()) == [(THREAD, 1_000), (THREAD, 1_000)]


def test_rows_that_are_none_are_counted() -> None:
    """A record without a payload is left out, and said to be."""
    file = thread("t1")
    file.lines += ['{"type":"brand_new","x":1}', '{"x":1}']
    told = {flaw.text for flaw in file.read().flaws if flaw.code == "left_out"}
    assert {
        f"1 records of type {name} are not messages and were left out" for name in ("brand_new", "unknown")
    } <= told
