"""Each named rule finds its own fault in a request that was tampered with, and none in a sound one."""

from __future__ import annotations

import msgspec
import pytest

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.check import INVARIANTS, CutPoints, broken
from foreword.compiler.passes.repair_pairs import UNKNOWN
from foreword.core.block import Message, Text, Thinking, ToolCall
from foreword.core.request import Unit
from foreword.engine.session import Session
from foreword.engine.target import target_for


def session(model: str = "claude-opus-4-8") -> Session:
    """A session with two steps, the second with a call and its result."""
    made = Session.open(None, "s", target=target_for("anthropic", model, window=64_000))
    made.instruct("Be brief.")
    made.say("go")
    made.compile()
    call = ToolCall(id="c1", name="bash", arguments="{}")
    thought = Thinking(text="hm", signature="sig")
    made.answered(Message(role="assistant", blocks=(thought, Text(text="I look."), call), wire="anthropic"))
    made.returned("c1", "done")
    return made


def tampered(compiled: Compiled, units: list[Unit]) -> Compiled:
    """The same request with other units behind those sent before."""
    return Compiled(compiled.view, compiled.policy, compiled.target, compiled.layout, units)


def names(compiled: Compiled) -> set[str]:
    """The rules that are broken."""
    return {fault.rule for fault in broken(compiled)}


def test_a_sound_request_breaks_nothing() -> None:
    """All rules hold of what compile makes."""
    assert broken(session().compile()) == []


def test_every_rule_has_a_name_and_a_source() -> None:
    """Names are unique and each says where the rule comes from."""
    assert len({rule.name for rule in INVARIANTS}) == len(INVARIANTS)
    assert all(rule.source for rule in INVARIANTS)


def test_a_missing_result_breaks_the_pairing() -> None:
    """A call whose result is cut away is found."""
    compiled = session().compile()
    assert "tool_pairing" in names(tampered(compiled, [u for u in compiled.tail if u.kind != "tool_result"]))


def test_a_result_moved_before_its_call_breaks_the_pairing() -> None:
    """Order counts, not only presence."""
    compiled = session().compile()
    assert "tool_pairing" in names(tampered(compiled, compiled.tail[::-1]))


def test_the_assistant_may_not_speak_last() -> None:
    """A request that ends with the model's words is found."""
    compiled = session().compile()
    assert "role_order" in names(tampered(compiled, [u for u in compiled.tail if u.role == "assistant"]))


def test_foreign_reasoning_is_found() -> None:
    """A thinking unit of an imported answer, or of another epoch on a model that binds it, may not be sent."""
    made = session()
    compiled = made.compile()
    thinking = next(u for u in compiled.tail if u.kind == "thinking")
    said = next(event.seq for event in made.events if event.kind == "said")
    foreign = msgspec.structs.replace(thinking, events=(said,))
    units = [foreign if u is thinking else u for u in compiled.tail]
    assert "reasoning_own" in names(tampered(compiled, units))


def test_a_persons_words_may_not_be_left_out() -> None:
    """A request without a person's turn is found."""
    made = session()
    made.say("and never touch include/")
    compiled = made.compile()
    words = next(event.seq for event in reversed(made.events) if event.kind == "said")
    assert "words_kept" in names(tampered(compiled, [u for u in compiled.tail if u.events != (words,)]))


def test_marks_stand_only_where_they_may() -> None:
    """A mark on reasoning, and one mark too many, are found."""
    compiled = session().compile()
    thinking = next(i for i in range(compiled.size) if compiled.unit(i).kind == "thinking")
    compiled.__dict__["breakpoints"] = {thinking: None}
    assert names(compiled) == {"marks_legal"}
    compiled.__dict__["breakpoints"] = dict.fromkeys(range(2, 8))
    assert "marks_legal" in names(compiled)


def test_what_was_sent_must_stand() -> None:
    """A request that shows fewer units than the one before it was sent with is found."""
    made = session()
    compiled = made.compile()
    layout = compiled.layout.copy(compiled.frozen - 1, 0, compiled.frozen_items, compiled.sent_seq, -1)
    shorter = Compiled(compiled.view, compiled.policy, compiled.target, layout, compiled.tail)
    assert "prefix_grows" in names(shorter)


@pytest.mark.parametrize("closed", [True, False])
def test_history_is_not_cut_behind_an_open_call(closed: bool) -> None:
    """A cut right behind a call without a result moves before it."""
    made = Session.open(None, "s", target=target_for("anthropic", "claude-opus-4-8"))
    made.say("go")
    made.answered(Message(role="assistant", blocks=(ToolCall(id="c1", name="bash", arguments="{}"),)))
    if closed:
        made.returned("c1", UNKNOWN)
    assert CutPoints(made.view, made.target).at_or_before(2) == (2 if closed else 1)
