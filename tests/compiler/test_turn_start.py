"""A model that thinks by a budget wants a turn that goes on to begin with its thinking: one that doesn't is ended."""

from __future__ import annotations

import msgspec
import pytest

from foreword.compiler.compile import Compiled
from foreword.compiler.turn_start import OTHERS
from foreword.core.block import Message, Opaque, Text
from foreword.core.event import Answered, Draft
from foreword.core.target import Target
from foreword.engine.session import Session
from foreword.testing.referee import Referee
from foreword.testing.script import Answer, Call
from tests.compiler.test_invariants import names, tampered
from tests.engine.sessions import answer, call, plain, session
from tests.histories import Script, digests, from_scratch, referee_for, target_of

THINKS = {"thinking": {"type": "enabled", "budget_tokens": 2_000}}
TARGET = target_of("anthropic", model="claude-sonnet-4-5", keys=THINKS)
STILL = target_of("anthropic", model="claude-sonnet-4-5")


def judged(made: Session, referee: Referee | None = None) -> Compiled:
    """Compile the next request, which the referee takes, and which is the same from the log alone."""
    sent = made.compile()
    judge = referee or referee_for(made.target or TARGET, foreign=True)
    assert judge.judge(sent.body).violations == ()
    assert from_scratch(made, sent).body == sent.body
    return sent


def notes(sent: Compiled) -> list[int]:
    """Return the messages that end in the words by which a turn is ended."""
    messages = plain(sent.body)["messages"]
    return [n for n, each in enumerate(messages) if each["content"][-1].get("text") == OTHERS]


def under_way(target: Target, *calls: str) -> Session:
    """A session whose turn began with another target, and goes on with a budget for thinking."""
    made = session(target)
    made.say("go")
    for name in calls or ("c",):
        made.compile()
        answer(made, "I look.", call(name))
        made.returned(name, "ok")
    made.target = TARGET
    return made


OTHERS_TURNS = {
    "another model": target_of("anthropic"),
    "another wire": target_of("openai-responses"),
    "the same, still": STILL,
}


@pytest.mark.parametrize("before", OTHERS_TURNS)
@pytest.mark.parametrize("calls", [("a",), ("a", "b")])
def test_a_turn_that_another_began_is_ended_in_words(before: str, calls: tuple[str, ...]) -> None:
    """Once, behind its last result; what the model then does begins with its own thinking."""
    script = Script()
    referee = referee_for(TARGET, script, foreign=True)
    made = under_way(OTHERS_TURNS[before], *calls)
    first = judged(made, referee)
    assert notes(first) == [2 * len(calls)]
    sent = first
    for number in range(2):
        script.answer = Answer(thinking=f"t{number}", calls=(Call(name="bash", id=f"d{number}"),))
        status, body = referee.respond(sent.body)
        assert status == 200, body
        made.record(body)
        made.returned(f"d{number}", "ok")
        before_, sent = sent, judged(made, referee)
        assert digests(sent)[: before_.size] == digests(before_)
    assert notes(sent) == notes(first)


def test_a_turn_of_its_own_goes_on() -> None:
    """Only its first answer has to begin with thinking: models that don't think between calls are left alone."""
    script = Script()
    referee = referee_for(TARGET, script, foreign=True)
    made = session(TARGET)
    made.say("go")
    for number, thought in enumerate(("hm", None, None)):
        script.answer = Answer(thinking=thought, calls=(Call(name="bash", id=f"c{number}"),))
        _, body = referee.respond(judged(made, referee).body)
        made.record(body)
        made.returned(f"c{number}", "ok")
    assert notes(judged(made, referee)) == []


@pytest.mark.parametrize("keys", [{}, {"thinking": {"type": "disabled"}}])
def test_without_a_budget_nothing_is_said(keys: dict[str, object]) -> None:
    """Nothing is wanted back."""
    made = under_way(target_of("anthropic"))
    made.target = msgspec.structs.replace(TARGET, params=msgspec.structs.replace(TARGET.params, keys=keys))
    assert notes(judged(made)) == []
    made.target = target_of("anthropic", keys={"thinking": {"type": "adaptive"}})
    assert notes(judged(made)) == []


def test_a_turn_whose_thinking_was_lost_is_ended_too() -> None:
    """What another tool recorded shows none; so does the journal of this epoch."""
    made = session(TARGET)
    made.say("hi")
    made.compile()
    answer(made, "hello")
    made.say("go")
    made.compile()
    message = Message(role="assistant", blocks=(Text(text="I look."), call("c")))
    made.append(
        Draft(body=Answered(message=message), origin="import:claude_code", trust="model", actor="model")
    )
    made.returned("c", "ok")
    sent = judged(made)
    assert notes(sent) == [4]
    made.say("thanks")
    assert notes(judged(made)) == []
    assert digests(made.compile())[: sent.size] == digests(sent)


@pytest.mark.parametrize("before", [[], [{"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}]])
def test_what_the_server_puts_before_an_answer_begins_no_turn(before: list[dict[str, object]]) -> None:
    """The turn has its thinking, right behind."""
    made = session(TARGET)
    made.say("go")
    made.compile()
    thought = {"type": "thinking", "thinking": "t", "signature": "S"}
    asked = {"type": "tool_use", "id": "c", "name": "bash", "input": {}}
    made.record({
        "id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 4}, "content": [*before, thought, asked],
    })  # fmt: skip
    made.returned("c", "ok")
    assert notes(made.compile()) == []


def test_no_answer_is_begun_for_a_model_that_thinks_first() -> None:
    """It would have to begin with thinking, which nobody can write for it."""
    made = session(TARGET)
    made.say("go")
    answer(made, "done")
    assert judged(made).unit(-1 + judged(made).size).role == "user"


def test_a_turn_that_is_not_ended_breaks_a_rule() -> None:
    """It is found before it is sent."""
    sent = judged(under_way(target_of("anthropic")))
    bare = tampered(sent, [unit for unit in sent.tail if unit.kind != "notice"])
    assert names(bare) == {"turn_begun"}


def test_a_model_that_wants_nothing_back_is_left_alone() -> None:
    """On a server that speaks the wire for another vendor's model a note a step would only make it longer."""
    other = target_of("anthropic", model="deepseek-v4-pro", keys={"thinking": {"type": "enabled"}})
    made = under_way(target_of("anthropic"))
    made.target = other
    assert notes(made.compile()) == []


def test_what_the_provider_has_under_way_is_left_out_of_a_turn_that_is_ended() -> None:
    """It would go on with it only as the last thing of a turn that begins with thinking."""
    made = session(target_of("anthropic"))
    made.say("go")
    made.compile()
    raw = '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}'
    answer(made, "I look.", Opaque(wire="anthropic", form="server_tool_use", raw=raw))
    assert judged(made, referee_for(target_of("anthropic"))).unit(-1 + made.compile().size).kind == "opaque"
    made.target = TARGET
    sent = judged(made)
    assert b"srvtoolu_1" not in sent.body
    assert sent.unit(sent.size - 1).role == "user"
