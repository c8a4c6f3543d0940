"""Epochs: only they rebuild what was sent, each has its reason, and an open turn of bound thinking survives them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from foreword.compiler.compile import compile
from foreword.core.block import ToolSpec
from foreword.core.catalog import Catalog
from foreword.core.event import Draft, EpochStarted
from foreword.core.view import View
from foreword.engine.calls import answer_of
from foreword.engine.session import Session
from foreword.store import Store
from foreword.testing.script import Answer, Call
from tests.engine.sessions import answer, session, step
from tests.histories import BOUND, MODELS, Script, digests, referee_for, target_of

CHANGES: dict[str, tuple[Callable[[Session], object], str]] = {
    "instructions": (lambda made: made.instruct("new rules"), "instructions"),
    "a tool of our reader's name": (lambda made: made.offer([ToolSpec(name="read")]), "tools"),
    "a revoked pin": (lambda made: made.revoke(1, "no longer"), "permission"),
    "an erased turn": (lambda made: made.erase([1], "asked"), "permission"),
}


def whys(made: Session) -> list[str]:
    return [event.body.why for event in made.events if isinstance(event.body, EpochStarted)]


@pytest.mark.parametrize("model", [MODELS["anthropic"], BOUND])
@pytest.mark.parametrize("answered", [True, False], ids=["result came", "call is open"])
@pytest.mark.parametrize("change", CHANGES)
def test_an_epoch_inside_a_tool_loop_is_legal(change: str, answered: bool, model: str) -> None:
    """A change in the middle of a turn with thinking and calls gives a request that the provider takes."""
    target = target_of("anthropic", model=model)
    script = Script()
    referee = referee_for(target, script)
    made = session(target)
    made.pin("a rule")
    made.say("go")
    for number in range(2):
        script.answer = Answer(thinking=f"thought {number}", calls=(Call(name="bash", id=f"c{number}"),))
        status, body = referee.respond(made.compile().body)
        assert status == 200
        made.record(body)
        if answered or number == 0:
            made.returned(f"c{number}", "ok")
    act, why = CHANGES[change]
    act(made)
    verdict = referee.judge(made.compile().body)
    assert verdict.violations == ()
    assert why in whys(made)
    made.say("thanks")
    assert referee.judge(made.compile().body).violations == ()


def test_a_hard_epoch_inside_a_tool_loop_is_legal() -> None:
    """A turn of bound thinking that outgrows the window is brought down to a request that the provider takes."""
    target = target_of("anthropic", 6_000, model=BOUND)
    script = Script()
    referee = referee_for(target, script)
    made = session(target)
    made.say("go")
    for number in range(40):
        script.answer = Answer(thinking=f"thought {number}", calls=(Call(name="bash", id=f"c{number}"),))
        status, body = referee.respond(made.compile().body)
        assert status == 200, body
        made.record(body)
        made.returned(f"c{number}", "\n".join(f"{n} words of output" for n in range(20)))
    assert "hard" in whys(made)


def test_a_model_of_which_nothing_is_known_is_taken_as_bound() -> None:
    """Whatever the provider does with moved reasoning, a row that doesn't say sends none under a new base."""
    row = '[[model]]\nid = "new"\nprovider = "mine"\nwires = ["anthropic"]\nwindow = 6000\n'
    catalog = Catalog.load().override(f'{row}source = "own"\nas_of = "2026-11-30"\n')
    target = target_of("anthropic", 6_000, model="new", catalog=catalog)
    script = Script()
    referee = referee_for(target, script)
    made = session(target)
    made.say("go")
    for number in range(40):
        script.answer = Answer(thinking=f"thought {number}", calls=(Call(name="bash", id=f"c{number}"),))
        status, body = referee.respond(made.compile().body)
        assert status == 200, body
        made.record(body)
        made.returned(f"c{number}", "\n".join(f"{n} words of output" for n in range(20)))
    units = made.compile().units
    assert "hard" in whys(made)
    assert [unit.by for unit in units if unit.kind == "thinking"].count("base") == 0
    assert any(unit.kind == "tool_call" and unit.by == "base" for unit in units)


def test_a_second_answer_to_one_request_comes_last() -> None:
    """Two processes may both ask and record: the first keeps its place and reasoning, the second has no prefix."""
    target = target_of("anthropic", model=BOUND)
    script = Script()
    referee = referee_for(target, script)
    made = session(target)
    made.say("go")
    asked = made.compile().body
    for name in ("first", "second"):
        script.answer = Answer(thinking=f"{name} thought", text=f"{name} words")
        _, body = referee.respond(asked)
        decoded = answer_of(target.codec.wire, made.codec.decode_response(body))
        sent = made.view.fold.sent[-1].seq
        made.append(Draft(body=msgspec.structs.replace(decoded, request=sent), trust="model", actor="model"))
    made.say("on")
    body = made.compile().body
    assert referee.judge(body).violations == ()
    assert body.index(b"first thought") < body.index(b"first words") < body.index(b"second words")
    assert b"second thought" not in body


def test_reasoning_stays_with_its_call_where_it_is_only_not_read() -> None:
    """A wire that never refuses moved reasoning, but calls without it, keeps it over an epoch, as it came."""
    name = MODELS["openai-responses"]
    catalog = Catalog.load().override(f'[[model]]\nid = "{name}"\nbinds_thinking = true\n')
    target = target_of("openai-responses", 6_000, catalog=catalog)
    script = Script()
    referee = referee_for(target, script)
    made = session(target)
    made.say("go")
    for number in range(40):
        script.answer = Answer(thinking=f"thought {number}", calls=(Call(name="bash", id=f"c{number}"),))
        compiled = made.compile()
        assert all(unit.kind != "notice" for unit in compiled.units)
        verdict = referee.judge(compiled.body)
        assert verdict.violations == ()
        status, body = referee.respond(compiled.body)
        assert status == 200, body
        made.record(body)
        made.returned(f"c{number}", "\n".join(f"{n} words of output" for n in range(20)))
    compiled = made.compile()
    assert "hard" in whys(made)
    base = [unit for unit in compiled.units if unit.by == "base" and unit.events]
    assert sum(unit.kind == "thinking" for unit in base) == sum(unit.kind == "tool_call" for unit in base) > 0


def test_nothing_else_starts_an_epoch() -> None:
    """Turns, answers, results, pins, repairs and asking twice only add to what was sent."""
    made = session()
    made.say("go")
    before: list[bytes] = []
    for number in range(12):
        made.compile()
        now = digests(made.compile())
        assert now[: len(before)] == before
        before = now
        step(made, number, "out", is_error=number % 2 == 0)
        if number == 3:
            made.pin("a rule")
        if number == 5:
            made.returned("call_2", "second result")
        if number == 7:
            answer(made, "words only")
    assert whys(made) == ["start"]


def test_the_same_again_starts_none() -> None:
    """Instructions and tools that are what stands already append nothing."""
    made = session()
    made.instruct("Be brief.")
    made.offer([ToolSpec(name="a", schema={"type": "object", "title": "x"})])
    made.say("go")
    made.compile()
    size = len(made.events)
    made.instruct("Be brief.")
    made.offer([ToolSpec(name="a", schema={"title": "x", "type": "object"})])
    made.compile()
    assert len(made.events) == size


def test_another_model_or_wire_is_a_switch() -> None:
    """A session goes on with another model, then on another wire, each time in an epoch that says so."""
    made = session()
    made.say("go")
    step(made, 1, "out")
    made.compile()
    for target in (target_of("anthropic", model=BOUND), target_of("openai-chat")):
        made.target = target
        assert referee_for(target).judge(made.compile().body).violations == ()
    assert whys(made) == ["start", "switch", "switch"]


def test_another_window_is_no_epoch() -> None:
    """A window changes no bytes, so it breaks no prefix while everything fits."""
    made = session(target_of("anthropic", 100_000, reserve_output=1_000))
    made.say("go")
    first = digests(made.compile())
    made.target = target_of("anthropic", 50_000, reserve_output=1_000)
    made.say("more")
    assert digests(made.compile())[: len(first)] == first
    assert whys(made) == ["start"]


def test_a_revoked_text_is_in_no_later_request() -> None:
    """A person's turn that was revoked goes out of the base, and its notice stays."""
    made = session()
    made.say("deploy on fridays")
    seq = made.say("never mind the tests")
    step(made, 1, "ok")
    made.compile()
    made.revoke(seq, "that permission was withdrawn")
    for text in ("x", "y"):
        body = made.compile().body
        assert b"never mind the tests" not in body
        assert b"that permission was withdrawn" in body
        assert b"deploy on fridays" in body
        made.say(text)
    assert whys(made) == ["start", "permission"]


def test_a_blank_turn_ends_no_tool_loop() -> None:
    """A turn of blanks is not sent, so the turn of bound thinking before it is still open for the provider."""
    target = target_of("anthropic", model=BOUND)
    script = Script()
    referee = referee_for(target, script)
    made = session(target)
    made.say("go")
    script.answer = Answer(thinking="hm", calls=(Call(name="bash", id="c"),))
    status, body = referee.respond(made.compile().body)
    assert status == 200
    made.record(body)
    made.say("  ")
    made.instruct("new rules")
    assert referee.judge(made.compile().body).violations == ()


@pytest.mark.parametrize("model", [MODELS["anthropic"], BOUND])
@pytest.mark.parametrize("calls", [(), (Call(name="bash", id="c"),)], ids=["words", "a call"])
def test_what_was_said_meanwhile_comes_after_the_answer(calls: tuple[Call, ...], model: str) -> None:
    """Words that come while the model answers stand behind its answer: it had not read them."""
    target = target_of("anthropic", model=model)
    script = Script()
    referee = referee_for(target, script)
    made = session(target)
    made.say("go")
    script.answer = Answer(thinking="hm", text="my answer", calls=calls)
    status, body = referee.respond(made.compile().body)
    assert status == 200
    made.say("said meanwhile")
    made.record(body)
    if calls:
        made.returned("c", "ok")
    sent = made.compile().body
    assert sent.index(b"my answer") < sent.index(b"said meanwhile")
    assert referee.judge(sent).violations == ()


def test_kept_units_that_were_altered_are_not_sent(tmp_path: Path) -> None:
    """Units whose bytes no longer are what the log's digests name are encoded again from the log."""
    with Store.open(tmp_path) as store:
        made = session(store=store)
        made.say("the words of a person")
        body = made.compile().body
        made.flush()
        kept = store.sent_units(made.id)
        altered = {
            seq: [msgspec.structs.replace(unit, data=unit.data.replace(b"words", b"WORDS")) for unit in units]
            for seq, units in kept.items()
        }
        again = compile(View.of(store.load(made.id)), made.policy, made.target, sent_units=altered)
        assert again.body == body
