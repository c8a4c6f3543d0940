"""Deterministic summaries: no outcome stronger than its evidence, every line with its events, within the limit."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.compiler.summary import summarize
from foreword.core.block import Text
from foreword.engine.session import Session
from tests.compiler.test_incremental import SLOW
from tests.engine.sessions import answer, call, session, step
from tests.histories import TIGHT, Walk, counting_clock, examples, target_of

CITED = re.compile(r"\[(#[^\]]*)\]$")


def summary_of(made: Session, limit: int = 600) -> str:
    """Summarise everything the model did."""
    items = [item for item in made.view.fold.items if not item.kept]
    assert made.target is not None
    return summarize(made.view, items, limit, made.target)


def test_a_fork_names_both_logs() -> None:
    """What its parent recorded is read by the parent's name, what it recorded itself by its own."""
    made = session()
    made.say("go")
    step(made, 1, "one")
    fork = made.fork(made.view.position - 1, "child")
    first = len(fork.events)
    step(fork, 2, "two")
    head = summary_of(fork).split("\n", 1)[0]
    assert f"{made.alias}#N" in head
    assert f"{fork.alias}#N" in head
    assert head.endswith(f" from #{first}")
    assert fork.alias not in summary_of(made)


def outcome(result: str | None, *, is_error: bool = False) -> str:
    """Return the line that tells how a command ended."""
    made = session()
    made.say("go")
    answer(made, call("c", arguments='{"command":"rm -rf build"}'))
    if result is None:
        made.say("never mind")
        made.compile()
    else:
        made.returned("c", result, is_error=is_error)
    lines = [line for line in summary_of(made).split("\n") if "rm -rf build" in line]
    assert len(lines) == 1
    return lines[0].split("`")[-1]


@pytest.mark.parametrize(
    "result, is_error, said, never",
    [
        (None, False, "unknown", ("error", "returned", "exit")),
        ("fine", False, "returned", ("error", "exit")),
        ("boom", True, "error", ("exit code 0", "returned")),
        ("exit code 0", False, "exit code 0", ("error",)),
        ("out\nexit code 1", True, "exit code 1", ("exit code 0",)),
        ("exit code 0\n10 files", False, "exit code 0", ("10",)),
        ("exit code: 1\n2 tests", True, "exit code 1", ("12",)),
        ("boom\nexit code 0", True, "error", ("exit code 0",)),
        ("exit code ²", False, "returned", ("2",)),
        ("exit code ٣", False, "returned", ("3",)),
        ("exit code", False, "returned", ()),
        ("exit code " + "9" * 5_000, False, "", ()),
        ("", False, "returned", ("error",)),
        ("", True, "error", ("exit",)),
    ],
)
def test_an_outcome_is_what_the_record_says(
    result: str | None, is_error: bool, said: str, never: tuple[str, ...]
) -> None:
    """Unknown stays unknown, an error is never a success, and an exit code is read as it was printed."""
    told = outcome(result, is_error=is_error).split("[#")[0]
    assert said in told
    for word in never:
        assert word not in told


def test_an_erased_result_has_no_outcome() -> None:
    """What an erased result said, success or failure, is no longer known."""
    made = session()
    made.say("go")
    seq = step(made, 1, "boom", is_error=True, command="deploy")
    made.say("so?")
    made.erase([seq], "asked")
    line = next(line for line in summary_of(made).split("\n") if "deploy" in line)
    assert "returned" not in line
    assert "exit code" not in line


def test_errors_are_verbatim() -> None:
    """The line of an error that says what went wrong stands in the summary as it was."""
    made = session()
    made.say("go")
    step(made, 1, "compiling\nsrc/main.c:3: error: unknown type name 'foo_t'\nmake: stop", is_error=True)
    assert "src/main.c:3: error: unknown type name 'foo_t'" in summary_of(made)


@settings(SLOW, max_examples=examples(40, 2_000))
@given(
    names=st.lists(
        st.sampled_from(("say", "told", "told", "results", "late", "orphan", "pin", "ask")), max_size=30
    ),
    limit=st.integers(40, 800),
    rng=st.randoms(use_true_random=False),
)
def test_every_line_cites_what_exists_and_the_limit_holds(
    names: list[str], limit: int, rng: random.Random
) -> None:
    """Lines cite only events of the stage; the text is under its limit as far as the head line allows."""
    made = Session.open(None, "h", target=target_of("anthropic"), policy=TIGHT, clock=counting_clock())
    Walk(rng, made, check=False).run(["say", *names, "told"])
    items = [item for item in made.view.fold.items if not item.kept]
    covered = {seq for item in items for seq in item.events}
    assert made.target is not None
    text = summarize(made.view, items, limit, made.target)
    head, *lines = text.split("\n")
    for line in lines:
        assert line.startswith("- ")
        if line.startswith("- (") and line.endswith("more)"):
            continue
        cited = CITED.search(line)
        assert cited, line
        assert {int(seq) for seq in re.findall(r"#(\d+)", cited[1])} <= covered
    counter = made.target.counter
    assert counter.count(text) <= max(limit, counter.count(head) + 12) + 4


def test_the_dearest_lines_stay() -> None:
    """When room is short the model's last words and errors are kept before what was only read."""
    made = session()
    made.say("go")
    for number in range(30):
        answer(made, call(f"r{number}", "read_file", f'{{"path":"src/file{number}.py"}}'))
        made.returned(f"r{number}", "content")
    step(made, 99, "fatal: disk full", is_error=True)
    answer(made, Text(text="So the disk is full."))
    text = summary_of(made, 120)
    assert "So the disk is full." in text
    assert "fatal: disk full" in text
    assert "more" in text.split("\n")[-1]
