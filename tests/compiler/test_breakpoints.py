"""Cache marks: few, on units that take them, and never further apart than the provider looks back."""

from __future__ import annotations

import random

import pytest

from foreword.compiler.compile import Compiled
from foreword.core.block import Thinking, ToolSpec
from foreword.engine.session import Session
from tests.engine.sessions import answer, call, session
from tests.histories import OPERATIONS, TIGHT, Walk, counting_clock, examples, target_of

LONG = "Answer in one word, and in the language of the question. " * 500
"""Longer than the least prefix that any model caches."""


def reaches_minimum(compiled: Compiled) -> bool:
    """Whether the request up to its newest markable unit is as long as the model's least cached prefix."""
    newest = max(i for i in range(compiled.size) if compiled.unit(i).markable)
    tokens = sum(compiled.unit(index).tokens for index in range(newest + 1))
    return compiled.budget.predict(tokens, grown=False) >= (compiled.target.spec.min_cacheable_tokens or 0)


def marked(made: Session) -> list[int]:
    compiled = made.compile()
    marks = list(compiled.breakpoints)
    assert marks == sorted(marks)
    assert len(marks) <= (compiled.target.spec.max_marks or 0)
    for index in marks:
        assert compiled.unit(index).markable
        assert compiled.unit(index).section != "key"
    if compiled.target.codec.wire == "anthropic":
        assert compiled.body.count(b'"cache_control"') == len(marks)
    return marks


def test_marks_stand_where_they_may() -> None:
    """In random histories marks are at most four, on markable units, and the newest such unit has one."""
    large = 0
    for seed in range(examples(15, 500)):
        rng = random.Random(seed)
        made = Session.open(None, "h", target=target_of("anthropic"), policy=TIGHT, clock=counting_clock())
        walk = Walk(rng, made, check=False)
        for name in ["say", *rng.choices([o for o in OPERATIONS if o != "erase"], k=25), "say"]:
            walk.run([name])
            compiled = walk.ask() if name in ("answer", "ask") else None
            if compiled is not None:
                marks = marked(walk.session)
                newest = max(i for i in range(compiled.size) if compiled.unit(i).markable)
                large += bool(marks)
                assert marks[-1:] == ([newest] if reaches_minimum(compiled) else [])
    assert large


@pytest.mark.parametrize("keys", [{}, {"thinking": {"type": "adaptive"}}])
def test_the_end_of_the_head_has_a_mark(keys: dict[str, object]) -> None:
    """Instructions and tools are shared by later sessions, so their end has a mark, keys behind it or not."""
    made = session(target_of("anthropic", keys=keys))
    made.instruct(LONG)
    made.offer([ToolSpec(name="bash", description="d")])
    made.say("hello")
    marks = marked(made)
    assert made.compile().unit(marks[0]).section == "system"


@pytest.mark.parametrize("added", [1, 3, 10, 16, 25, 60, 200])
def test_the_next_request_finds_the_last_one(added: int) -> None:
    """However many blocks a turn adds, some mark has the end of the last request within its look-back.

    A provider looks from a mark at most 20 blocks back for what was written there before.
    """
    made = session()
    made.say(LONG)
    looked = 0
    for turn in range(4):
        before = made.compile()
        written = marked(made)
        ids = [f"c{turn}_{n}" for n in range(added)]
        answer(made, *(call(id_) for id_ in ids))
        for id_ in ids:
            made.returned(id_, "ok")
        marks = marked(made)
        look = made.compile().target.spec.lookback_blocks
        assert look == 20
        assert any(0 <= mark - written[-1] < look for mark in marks)
        looked += 1
        assert made.compile().units[: before.size] == before.units
    assert looked == 4


def test_thinking_takes_no_mark() -> None:
    """A request that ends in blocks without marks has its mark before them."""
    made = session()
    made.say(LONG)
    made.compile()
    answer(made, Thinking(text="hm", signature="c2ln"), call("a"))
    made.returned("a", "ok")
    marks = marked(made)
    assert all(made.compile().unit(index).kind != "thinking" for index in marks)


def test_a_wire_without_marks_has_none_in_its_bytes() -> None:
    """On a wire without marks of ours the body holds none."""
    made = session(target_of("openai-chat"))
    made.say("hello")
    assert b"cache_control" not in made.compile().body


def test_a_prefix_under_the_minimum_takes_no_mark() -> None:
    """Where the model would cache nothing, no mark is spent; the first one stands where the minimum is reached."""
    made = session()
    made.instruct("Be brief.")
    made.say("hello")
    assert marked(made) == []
    answer(made, "hi")
    made.say(LONG)
    assert marked(made) == [made.compile().size - 1]


def test_what_sessions_share_ends_with_a_mark() -> None:
    """Of several system blocks the first may be shared: a session with another second block reads up to there."""
    requests = []
    for user in ("short answers", "long answers"):
        made = session(name=user)
        made.instruct(LONG, user)
        made.say("hello")
        marks = marked(made)
        first = next(i for i in range(made.compile().size) if made.compile().unit(i).section == "system")
        assert marks[:2] == [first, first + 1]
        requests.append([unit.digest for unit in made.compile().units[: first + 1]])
    assert requests[0] == requests[1]
