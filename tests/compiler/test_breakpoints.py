"""Cache marks: few, on units that take them, and never further apart than the provider looks back."""

from __future__ import annotations

import random

import pytest

from foreword.core.block import Thinking, ToolSpec
from foreword.engine.session import Session
from tests.engine.sessions import answer, call, session
from tests.histories import OPERATIONS, TIGHT, Walk, counting_clock, examples, target_of


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
                assert marks[-1] == newest


@pytest.mark.parametrize("keys", [{}, {"thinking": {"type": "adaptive"}}])
def test_the_end_of_the_head_has_a_mark(keys: dict[str, object]) -> None:
    """Instructions and tools are shared by later sessions, so their end has a mark, keys behind it or not."""
    made = session(target_of("anthropic", keys=keys))
    made.instruct("Be brief.")
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
    made.say("hello")
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
    made.say("hello")
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
