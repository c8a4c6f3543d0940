"""Notices: the operator's go by the operator's channel where that is legal, everyone else's never do."""

from __future__ import annotations

import random

import pytest

from foreword.core.block import Message, Text
from foreword.core.event import Draft, Pinned, Said
from foreword.engine.session import Session
from foreword.testing.script import Answer, Call
from tests.compiler.test_incremental import walk_in_memory
from tests.engine.sessions import answer, call, plain, session, step
from tests.histories import FACTS, Script, digests, examples, referee_for, target_of

OLDER = "claude-opus-4-7"
WIRES = {
    "anthropic": ("claude-opus-4-8", "system"),
    "openai-chat": ("gpt-6.1-sol", "developer"),
    "openai-responses": ("gpt-6.1-sol", "developer"),
    "deepseek": ("deepseek-v4-pro", "user"),
    "gemini": ("gemini-3.6-flash", "user"),
}


def role_of(made: Session, words: str) -> str:
    """Return the role of the wire message that holds some words in the next request."""
    body = plain(made.compile().body)
    listed = body.get("messages") or body.get("input") or body.get("contents")
    found = [message.get("role") for message in listed if words in str(message)]
    assert len(found) == 1, (words, found)
    return found[0]


@pytest.mark.parametrize("wire", WIRES)
def test_a_pin_goes_by_the_channel_of_the_catalog(wire: str) -> None:
    """A notice of the operator behind the user's turn is a system or developer message where the model has one."""
    model, role = WIRES[wire]
    target = target_of(wire, model=model)
    made = session(target)
    made.say("go")
    made.pin("a rule of ours")
    assert role_of(made, "a rule of ours") == role
    assert referee_for(target).judge(made.compile().body).violations == ()


def test_a_model_without_mid_system_hears_it_from_the_user() -> None:
    """An older model of the same wire gets the frame in the user's turn."""
    made = session(target_of("anthropic", model=OLDER))
    made.say("go")
    made.pin("a rule of ours")
    assert role_of(made, "a rule of ours") == "user"


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses"])
def test_text_of_a_tool_never_goes_by_the_operators_channel(wire: str) -> None:
    """A late result is told as a notice of the engine, but its text is the tool's."""
    made = session(target_of(wire, model=WIRES[wire][0]))
    made.say("go")
    step(made, 1, "first")
    answer(made, call("late"))
    made.compile()  # the open call is answered as unknown
    made.returned("late", "obey the tool")
    assert role_of(made, "obey the tool") == "user"


@pytest.mark.parametrize("trust", ["person", "tool", "foreign", "model"])
def test_a_pin_of_anyone_else_is_no_operators(trust: str) -> None:
    """Who set a text decides how it is said, not the kind of event."""
    made = session()
    made.say("go")
    made.append(Draft(body=Pinned(text="from elsewhere"), trust=trust))
    assert role_of(made, "from elsewhere") == "user"


def test_between_turns_of_the_user_it_is_framed() -> None:
    """Behind the assistant, first of all, or before more of the user's words, a system message is not legal."""
    target = target_of("anthropic")
    made = session(target)
    made.pin("first of all")
    made.say("go")
    made.pin("between")
    made.say("on")
    assert role_of(made, "first of all") == role_of(made, "between") == "user"
    answer(made, "done")
    made.pin("behind the assistant")
    assert role_of(made, "behind the assistant") == "user"
    assert referee_for(target).judge(made.compile().body).violations == ()


def test_the_user_goes_on_after_an_unanswered_notice() -> None:
    """What was sent stays as it was; a note of the engine stands for the answer that never came."""
    target = target_of("anthropic")
    referee = referee_for(target)
    made = session(target)
    made.say("go")
    made.pin("a rule")
    first = digests(made.compile())
    made.say("hello?")
    compiled = made.compile()
    assert digests(compiled)[: len(first)] == first
    assert [message["role"] for message in plain(compiled.body)["messages"]] == [
        "user",
        "system",
        "assistant",
        "user",
    ]
    assert referee.judge(compiled.body).violations == ()


def test_two_notices_share_a_message() -> None:
    """One that follows a notice already sent continues its message."""
    made = session()
    made.say("go")
    made.pin("rule one")
    first = digests(made.compile())
    made.pin("rule two")
    compiled = made.compile()
    assert digests(compiled)[: len(first)] == first
    roles = [message["role"] for message in plain(compiled.body)["messages"]]
    assert roles == ["user", "system"]


def test_a_callers_own_system_message() -> None:
    """One that the caller put between turns goes the same way; it is the operator's when the caller is."""
    target = target_of("anthropic")
    made = session(target)
    made.say("go")
    message = Message(role="system", blocks=(Text(text="be brief from here"),))
    made.append(Draft(body=Said(message=message, person=False)))
    assert role_of(made, "be brief from here") == "system"
    assert referee_for(target).judge(made.compile().body).violations == ()


def test_a_notice_ends_no_turn_of_bound_thinking() -> None:
    """Reasoning of the open turn still goes back when a notice stands between result and answer."""
    target = target_of("anthropic", model="claude-opus-5-5")
    script = Script()
    referee = referee_for(target, script)
    made = session(target)
    made.say("go")
    for number in range(3):
        script.answer = Answer(thinking=f"t{number}", calls=(Call(name="bash", id=f"c{number}"),))
        status, body = referee.respond(made.compile().body)
        assert status == 200, body
        made.record(body)
        made.returned(f"c{number}", "ok")
        made.pin(f"rule {number}")
    compiled = made.compile()
    assert referee.judge(compiled.body).violations == ()
    assert [m["role"] for m in plain(compiled.body)["messages"]].count("system") == 3


@pytest.mark.no_cover  # many examples; others measure these lines
def test_random_histories_use_the_channel() -> None:
    """Among random facts there are system messages, user frames and stand-ins for answers, all legal."""
    seen: set[str] = set()
    often = ("pin", "ask", "say", "answer", "results")
    for seed in range(examples(5, 300)):
        rng = random.Random(f"channel {seed}")
        walk = walk_in_memory(target_of("anthropic"), rng)
        walk.run(["say", *rng.choices((*FACTS, *often, *often), k=50)])
        made = walk.ask()
        assert made is not None
        seen |= {f"{unit.by} {unit.role}" for unit in made.units if unit.section == "message"}
    assert {"journal system", "journal user", "placing assistant"} <= seen
