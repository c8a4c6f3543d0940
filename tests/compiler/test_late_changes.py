"""Late changes: tools and effort change in the history where the wire has a form for it, else in an epoch."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.core.block import ToolSpec
from foreword.core.event import Changed, EpochStarted
from foreword.core.target import Target
from foreword.engine.session import Session
from foreword.testing.script import Answer, Call
from tests.compiler.test_incremental import LOOP, SLOW, walk_in_memory
from tests.engine.sessions import plain, session, step
from tests.histories import OPERATIONS, Script, digests, examples, referee_for, target_of

TOOL = {"name": "look", "input_schema": {"type": "object", "properties": {}}}
EFFORT_MODEL = "claude-fable-5-1"
A, B, C = (ToolSpec(name=name, description=f"does {name}") for name in ("alpha", "beta", "gamma"))


def whys(made: Session) -> list[str]:
    return [event.body.why for event in made.events if isinstance(event.body, EpochStarted)]


def headers(compiled: Any) -> dict[str, str]:
    return {"anthropic-beta": ",".join(compiled.betas)}


def with_keys(target: Target, **keys: Any) -> Target:
    return msgspec.structs.replace(target, params=msgspec.structs.replace(target.params, keys=keys))


def running(target: Target) -> Session:
    made = session(target)
    made.offer([A])
    made.say("go")
    step(made, 1, "out")
    made.compile()
    return made


def test_an_added_tool_is_said_in_the_history() -> None:
    """On Anthropic a tool that is only added keeps the prefix; the request names the betas it needs."""
    made = running(target_of("anthropic"))
    before = digests(made.compile())
    made.offer([A, B])
    made.say("use it")
    grown = made.compile()
    assert digests(grown)[: len(before)] == before
    assert whys(made) == ["start"]
    body = plain(grown.body)
    assert [tool["name"] for tool in body["tools"]] == ["alpha", "read"]
    last = body["messages"][-1]
    assert last["role"] == "system"
    assert [block["type"] for block in last["content"]] == ["tool_addition"]
    assert last["content"][0]["tool"]["definition"]["name"] == "beta"
    assert set(grown.betas) == {"inline-tools-2026-09-15", "mid-conversation-tool-changes-2026-07-01"}
    assert (
        referee_for(made.target or target_of("anthropic")).judge(grown.body, headers(grown)).violations == ()
    )


def test_the_next_base_folds_the_change_in() -> None:
    """An epoch puts added tools into the head and says nothing of the change any more."""
    made = running(target_of("anthropic"))
    made.offer([A, B])
    made.compile()
    made.instruct("new rules")
    compiled = made.compile()
    body = plain(compiled.body)
    assert [tool["name"] for tool in body["tools"]] == ["alpha", "beta", "read"]
    assert b"tool_addition" not in compiled.body
    assert compiled.betas == ()
    assert whys(made) == ["start", "instructions"]


def test_a_removed_tool_is_said_too() -> None:
    """On Anthropic a tool goes away by its name, whether it stood in the head or came late."""
    made = running(target_of("anthropic"))
    made.offer([A, B])
    made.compile()
    made.say("enough")
    made.offer([B])
    made.compile()
    made.offer([])
    body = plain(made.compile().body)
    kinds = [b["type"] for m in body["messages"] if m["role"] == "system" for b in m["content"]]
    assert kinds == ["tool_addition", "tool_removal", "tool_removal"]
    assert whys(made) == ["start"]


@pytest.mark.parametrize(
    "name, tools",
    [
        ("a tool that changed", [ToolSpec(name="alpha", description="does it otherwise")]),
        ("the name of our reader", [A, ToolSpec(name="read")]),
    ],
)
def test_what_would_stand_beside_its_old_self_is_an_epoch(name: str, tools: list[ToolSpec]) -> None:
    """A name that was used in this epoch is never defined a second time."""
    made = running(target_of("anthropic"))
    made.offer(tools)
    made.compile()
    assert whys(made) == ["start", "tools"], name


def test_a_tool_that_comes_back_is_an_epoch() -> None:
    """What was removed late is not defined again in the same epoch."""
    made = running(target_of("anthropic"))
    for tools in ([A, B], [A], [A, B]):
        made.offer(tools)
        made.compile()
    assert whys(made) == ["start", "tools"]
    assert b"tool_removal" not in made.compile().body


@pytest.mark.parametrize(
    "wire, model, late",
    [
        ("openai-responses", "gpt-6.1-sol", True),
        ("openai-chat", "gpt-6.1-sol", False),
        ("deepseek", "deepseek-v4-pro", False),
        ("gemini", "gemini-3.6-flash", False),
        ("anthropic", "claude-opus-4-7", False),
    ],
)
def test_other_wires(wire: str, model: str, late: bool) -> None:
    """OpenAI Responses has an item for it; where wire or model has no form, the epoch is as ever."""
    target = target_of(wire, model=model)
    made = running(target)
    before = digests(made.compile())
    made.offer([A, B])
    grown = made.compile()
    assert referee_for(target).judge(grown.body).violations == ()
    assert (digests(grown)[: len(before)] == before) == late
    assert whys(made) == (["start"] if late else ["start", "tools"])
    if late:
        item = plain(grown.body)["input"][-1]
        assert (item["type"], item["role"], item["tools"][0]["name"]) == (
            "additional_tools",
            "developer",
            "beta",
        )
        made.offer([B])
        made.compile()
        assert whys(made) == ["start", "tools"]


def test_a_new_call_of_a_late_tool_is_legal_under_bound_thinking() -> None:
    """A tool loop with signed thinking goes on over a late tool, and over its fold into the next base."""
    target = target_of("anthropic", model=EFFORT_MODEL)
    script = Script()
    referee = referee_for(target, script)
    made = session(target)
    made.offer([A])
    made.say("go")
    for number, tool in enumerate(("alpha", "beta", "gamma")):
        script.answer = Answer(thinking=f"t{number}", calls=(Call(name=tool, id=f"c{number}"),))
        compiled = made.compile()
        status, body = referee.respond(compiled.body, headers(compiled))
        assert status == 200, body
        made.record(body)
        made.returned(f"c{number}", "ok")
        made.offer([A, B, C][: number + 2])
    assert whys(made) == ["start"]
    made.instruct("new rules")
    compiled = made.compile()
    assert referee.judge(compiled.body, headers(compiled)).violations == ()


@pytest.mark.parametrize(
    "wire, model, key, late",
    [
        ("anthropic", EFFORT_MODEL, lambda effort: {"output_config": {"effort": effort}}, True),
        ("anthropic", "claude-opus-4-7", lambda effort: {"output_config": {"effort": effort}}, False),
        ("openai-responses", "gpt-6.1-sol", lambda effort: {"reasoning": {"effort": effort}}, True),
        ("openai-chat", "gpt-6.1-sol", lambda effort: {"reasoning_effort": effort}, False),
    ],
)
def test_effort(wire: str, model: str, key: Any, late: bool) -> None:
    """A new effort is said in the history where a form exists; the key stays what it was until the next epoch."""
    target = with_keys(target_of(wire, model=model), **key("high"))
    referee = referee_for(target)
    made = running(target)
    before = digests(made.compile())
    made.target = with_keys(target, **key("low"))
    grown = made.compile()
    assert referee.judge(grown.body, headers(grown)).violations == ()
    assert whys(made) == (["start"] if late else ["start", "manual"])
    assert (digests(grown)[: len(before)] == before) == late
    made.say("more")
    again = made.compile()
    assert referee.judge(again.body, headers(again)).violations == ()
    assert digests(again)[: grown.size] == digests(grown)
    name = next(iter(key("low")))
    assert plain(again.body)[name] == key("high" if late else "low")[name]
    made.target = with_keys(target, **key("high"))
    back = made.compile()
    assert referee.judge(back.body, headers(back)).violations == ()
    made.instruct("new rules")
    assert plain(made.compile().body)[name] == key("high")[name]


def test_the_anthropic_form_of_an_effort() -> None:
    """It is a system message without content behind the user's turn; a notice may follow in it."""
    target = with_keys(target_of("anthropic", model=EFFORT_MODEL), output_config={"effort": "high"})
    made = running(target)
    made.target = with_keys(target, output_config={"effort": "low"})
    grown = made.compile()
    assert plain(grown.body)["messages"][-1] == {
        "role": "system",
        "output_config": {"effort": "low"},
        "content": [],
    }
    assert grown.betas == ("mid-conversation-output-config-2026-07-01",)
    made.pin("a rule")
    message = plain(made.compile().body)["messages"][-1]
    assert message["output_config"] == {"effort": "low"}
    assert "a rule" in message["content"][0]["text"]


def test_no_effort_at_all_and_thinking_are_epochs() -> None:
    """No form says that nothing is asked for, or that the model thinks otherwise."""
    target = with_keys(target_of("anthropic", model=EFFORT_MODEL), output_config={"effort": "high"})
    made = running(target)
    made.target = with_keys(target)
    made.compile()
    made.target = with_keys(target, thinking={"type": "adaptive"})
    made.compile()
    assert whys(made) == ["start", "manual", "manual"]


def test_keys_that_no_cache_looks_at_are_no_epoch() -> None:
    """Context management, stop sequences and the like may change from request to request."""
    target = target_of("anthropic")
    made = running(target)
    edits = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    made.target = with_keys(target, context_management=edits)
    compiled = made.compile()
    assert whys(made) == ["start"]
    assert compiled.betas == ("context-management-2025-06-27",)
    assert referee_for(target).judge(compiled.body, headers(compiled)).violations == ()


TARGETS = {
    "anthropic": target_of("anthropic", model=EFFORT_MODEL),
    "anthropic, small window": target_of("anthropic", 6_000, model=EFFORT_MODEL),
    "openai-responses": target_of("openai-responses", model="gpt-6.1-sol"),
}
EFFORTS = ("low", "medium", "high")


@pytest.mark.parametrize("name", TARGETS)
@settings(SLOW, max_examples=examples(20, 2_000))
@given(
    names=st.lists(st.sampled_from((*OPERATIONS, *LOOP, "offer", "pin", "effort", "betas")), max_size=40),
    rng=st.randoms(use_true_random=False),
)
def test_random_histories_with_late_changes(name: str, names: list[str], rng: random.Random) -> None:
    """Whatever changes when, every request is legal, grown, and the same from scratch."""
    walk = walk_in_memory(TARGETS[name], rng)
    path = TARGETS[name].codec.effort
    for operation in ["say", *names, "ask"]:
        target = walk.session.target
        assert target is not None
        if operation == "betas":
            walk.session.target = msgspec.structs.replace(target, betas=not target.betas)
        elif operation == "effort":
            walk.session.target = with_keys(target, **{path[0]: {path[1]: rng.choice(EFFORTS)}})
        else:
            walk.run([operation])


def test_a_late_change_is_recorded() -> None:
    """The event says what was added, so that the log alone gives the same request again."""
    made = running(target_of("anthropic"))
    made.offer([A, B])
    made.compile()
    changed = [event.body for event in made.events if isinstance(event.body, Changed)]
    assert changed == [Changed(added=(B,))]


def test_erasing_tools_erases_what_was_said_of_them() -> None:
    """A late change repeats definitions, so it goes with the event that it was made from."""
    made = running(target_of("anthropic"))
    made.offer([A, B])
    made.compile()
    tools = max(event.seq for event in made.events if event.kind == "tools_set")
    changed = next(event.seq for event in made.events if event.kind == "changed")
    assert set(made.erase([tools], "asked to")) == {tools, changed}
    body = made.compile().body
    assert b"does beta" not in body
    assert b"does alpha" in body


def test_a_callers_own_change_is_sent_as_he_said_it() -> None:
    """A caller that adds tools in his own list keeps the form, its place and the betas it needs."""
    target = target_of("anthropic")
    made = session(target)
    addition = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": TOOL}}
    listed: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "system", "content": [addition]},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "more"},
    ]
    synced = made.sync(listed)
    assert plain(synced.request.body)["messages"][1] == {"role": "system", "content": [addition]}
    assert len(synced.request.betas) == 2
    assert referee_for(target).judge(synced.request.body, headers(synced.request)).violations == ()
    again = made.sync([*listed, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "x"}])
    assert (again.forked_at, again.appended) == (None, 2)
    older = session(target_of("anthropic", model="claude-opus-4-7"))
    assert b"tool_addition" not in older.sync(listed).request.body
