"""Deferred tools: what the model is told of them, where they stand, and what they cost."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.compiler.compile import Compiled
from foreword.core.block import Message, Opaque, Text, ToolCall, ToolSpec
from foreword.core.canonical import compact
from foreword.core.event import Changed, EpochStarted
from foreword.core.target import Target
from foreword.engine.session import Session
from tests.compiler.test_incremental import LOOP, SLOW, walk_in_memory
from tests.compiler.test_provider_layout import PROVIDER, Loop, summarised_on_the_way
from tests.engine.sessions import answer, call, plain, session
from tests.histories import (
    BOUND,
    MODELS,
    OPERATIONS,
    check_manifest,
    digests,
    examples,
    from_scratch,
    referee_for,
    target_of,
)

WIDE: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"type": "string", "description": "word " * 200}},
}
A = ToolSpec(name="alpha", description="does alpha")
B, C = (
    ToolSpec(name=name, description=f"does {name}", schema=WIDE, deferred=True) for name in ("beta", "gamma")
)
SEARCH = ToolSpec(
    name="tool_search_tool_bm25",
    extra={"anthropic": {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}},
)
WIRES = sorted(MODELS)


def loaded(tool: ToolSpec) -> ToolSpec:
    return msgspec.structs.replace(tool, deferred=False)


def whys(made: Session) -> list[str]:
    return [event.body.why for event in made.events if isinstance(event.body, EpochStarted)]


def asked(made: Session) -> Compiled:
    """Compile the next request, which the wire's referee must accept and a fresh compile must give again."""
    compiled = made.compile()
    assert made.target is not None
    headers = {"anthropic-beta": ",".join(compiled.betas)}
    assert referee_for(made.target).judge(compiled.body, headers).violations == ()
    assert from_scratch(made, compiled).body == compiled.body
    check_manifest(made, compiled)
    return compiled


def begun(target: Target, *tools: ToolSpec) -> Session:
    made = session(target)
    made.instruct("You help.")
    made.offer(tools)
    made.say("go")
    return made


@pytest.mark.parametrize("wire", WIRES)
def test_a_new_name_is_told_at_the_end(wire: str) -> None:
    """What was sent stays byte for byte; the name that is new stands behind it, and the list alone does not grow."""
    made = begun(target_of(wire), A, B)
    first = asked(made)
    assert "beta" in json.dumps([unit.data.decode() for unit in first.units if unit.section != "message"])
    answer(made, "ok")
    made.say("more")
    made.offer([A, B, C])
    grown = asked(made)
    assert digests(grown)[: first.size] == digests(first)
    assert grown.body.startswith(first.body[:40])
    told = [unit for unit in grown.units[first.size :] if unit.category == "notice"]
    assert ["gamma" in unit.data.decode() and "beta" not in unit.data.decode() for unit in told] == [True]
    assert whys(made) == ["start"]
    assert made.compile().body == grown.body


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_withdrawn_is_told_and_the_next_base_says_what_is_left(wire: str) -> None:
    """A name goes by a notice; an epoch folds both notices into its base."""
    made = begun(target_of(wire), A, B, C)
    first = asked(made)
    answer(made, "ok")
    made.say("more")
    made.offer([A, C])
    grown = asked(made)
    assert digests(grown)[: first.size] == digests(first)
    assert "can't be loaded any more: beta" in grown.units[-1].data.decode()
    made.instruct("You help otherwise.")
    again = asked(made)
    said = b"".join(unit.data for unit in again.units)
    assert b"beta" not in said
    assert b"can be loaded when they are needed: gamma." in said
    assert whys(made) == ["start", "instructions"]


@pytest.mark.parametrize("wire", WIRES)
def test_an_offered_one_is_loaded(wire: str) -> None:
    """Offered without being deferred, it is a tool like any other: late where a form exists, else by an epoch."""
    target = target_of(wire)
    made = begun(target, A, B, C)
    first = asked(made)
    answer(made, "ok")
    made.say("more")
    made.offer([A, loaded(B), C])
    grown = asked(made)
    late = target.says(target.spec.late_tools)
    assert whys(made) == (["start"] if late else ["start", "tools"])
    assert (digests(grown)[: first.size] == digests(first)) == late
    assert grown.counted > first.counted + 200
    assert "any more" not in grown.body.decode()


@pytest.mark.parametrize("wire", WIRES)
def test_it_costs_its_name_only(wire: str) -> None:
    """Its schema counts nothing until it is loaded."""
    bare = asked(begun(target_of(wire), A)).counted
    assert 0 < asked(begun(target_of(wire), A, B, C)).counted - bare < 50
    assert asked(begun(target_of(wire), A, loaded(B), loaded(C))).counted - bare > 400


def test_the_provider_is_given_the_definitions() -> None:
    """On Anthropic they stand last in the list, marked as deferred, in no unit, and without a cache mark."""
    made = begun(target_of("anthropic"), SEARCH, A, B)
    first = asked(made)
    tools = plain(first.body)["tools"]
    assert [tool["name"] for tool in tools] == [SEARCH.name, "alpha", "read", "beta"]
    assert [tool.get("defer_loading") for tool in tools] == [None, None, None, True]
    assert "beta" not in b"".join(unit.data for unit in first.units).decode()
    answer(made, "ok")
    made.say("more")
    made.offer([SEARCH, A, C])
    grown = asked(made)
    assert [tool["name"] for tool in plain(grown.body)["tools"]] == [SEARCH.name, "alpha", "read", "gamma"]
    assert digests(grown)[: first.size] == digests(first)
    assert not [unit for unit in grown.units if unit.category == "notice"]


def test_a_model_that_is_not_known_for_it_is_told() -> None:
    """Unknown is never yes: no member that the model might refuse, but the name."""
    target = target_of("anthropic")
    spec = msgspec.structs.replace(target.spec, deferred_tools=None)
    made = begun(msgspec.structs.replace(target, spec=spec), SEARCH, A, B)
    compiled = asked(made)
    assert b"defer_loading" not in compiled.body
    assert "beta" in plain(compiled.body)["system"][-1]["text"]


def test_without_another_tool_it_is_told() -> None:
    """The provider refuses a list of deferred tools alone."""
    target = msgspec.structs.replace(target_of("anthropic"), reader="none")
    compiled = asked(begun(target, B))
    assert "tools" not in plain(compiled.body)
    assert "beta" in plain(compiled.body)["system"][-1]["text"]


def found_by_search(made: Session, name: str) -> None:
    """Record an answer in which the provider's search found a tool."""
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": SEARCH.name, "input": {"query": name}}
    content = {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": name}],
    }
    result = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": content}
    blocks = [Opaque(wire="anthropic", form=str(b["type"]), raw=compact(b).decode()) for b in (use, result)]
    made.answered(Message(role="assistant", blocks=(*blocks, Text(text="found")), wire="anthropic"))


def test_what_a_search_found_counts_and_stays_defined() -> None:
    """The definition stands where the reference does; withdrawn, it is still defined, for the provider asks for it."""
    made = begun(target_of("anthropic"), SEARCH, A, B, C)
    first = asked(made)
    found_by_search(made, "beta")
    made.say("use it")
    second = asked(made)
    assert second.counted > first.counted + 200
    made.offer([SEARCH, A])
    third = asked(made)
    assert digests(third)[: second.size] == digests(second)
    assert [tool["name"] for tool in plain(third.body)["tools"]][-1] == "beta"
    made.offer([SEARCH, A, loaded(B)])
    assert [tool["name"] for tool in plain(asked(made).body)["tools"]] == [
        SEARCH.name,
        "alpha",
        "beta",
        "read",
    ]
    assert whys(made) == ["start", "tools"]


def test_what_was_defined_later_counts_the_same_from_scratch() -> None:
    """A reference is sized by what was known when it was first sent, so that marks stand where they stood."""
    made = begun(target_of("anthropic"), SEARCH, A)
    found_by_search(made, "beta")
    made.say("use it")
    asked(made)
    made.offer([SEARCH, A, B])
    made.say("go on")
    compiled = asked(made)
    assert from_scratch(made, compiled).counted == compiled.counted


def test_a_reference_to_what_nobody_defined_gets_a_stub() -> None:
    """A caller's own search may name a tool that the record never had."""
    made = begun(target_of("anthropic"), A)
    asked(made)
    answer(made, call("c1", name="alpha"))
    reference = Opaque(
        wire="anthropic", form="tool_reference", raw='{"type":"tool_reference","tool_name":"delta"}'
    )
    made.returned("c1", (reference,))
    compiled = asked(made)
    stub = plain(compiled.body)["tools"][-1]
    assert stub == {
        "name": "delta",
        "input_schema": {"type": "object", "properties": {}},
        "defer_loading": True,
    }


def test_a_name_that_no_wire_takes_stays_one_tool() -> None:
    """Told, listed and referenced under the name that the wire has for it."""
    odd = msgspec.structs.replace(B, name="beta tool!")
    made = begun(target_of("anthropic"), SEARCH, A, odd)
    sent = plain(asked(made).body)["tools"][-1]["name"]
    found_by_search(made, sent)
    made.say("use it")
    assert [tool["name"] for tool in plain(asked(made).body)["tools"]].count(sent) == 1
    answer(made, ToolCall(id="c1", name=sent, arguments="{}"))
    made.returned("c1", "ok")
    asked(made)


def test_a_deferred_reader_of_the_callers_is_no_clash() -> None:
    """A deferred tool of our reader's name counts as one of that name."""
    made = begun(target_of("anthropic"), SEARCH, A, msgspec.structs.replace(B, name="read"))
    assert [tool["name"] for tool in plain(asked(made).body)["tools"]] == [
        SEARCH.name, "alpha", "foreword_read", "read",
    ]  # fmt: skip


def test_a_callers_own_member_is_read() -> None:
    """A list in the wire's form that defers a tool is taken as such, and the second sync changes nothing."""
    made = session(target_of("anthropic"))
    tool = {"name": "alpha", "input_schema": {"type": "object", "properties": {}}}
    later = {"name": "beta", "input_schema": WIDE, "defer_loading": True}
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    listed = [{"role": "user", "content": "hi"}]
    given = [search, later, tool]
    first = made.sync(listed, tools=given).request
    assert [one["name"] for one in plain(first.body)["tools"]] == [search["name"], "alpha", "read", "beta"]
    assert plain(first.body)["tools"][-1] == later
    events = len(made.events)
    again = made.sync(listed, tools=given).request
    assert again.body == first.body
    assert len(made.events) == events


def test_on_responses_a_callers_own_member_counts_by_name_and_description() -> None:
    """The provider shows these at the start; the parameters it keeps back."""
    target = target_of("openai-responses")
    tool = {
        "type": "function",
        "name": "beta",
        "description": "does beta",
        "parameters": WIDE,
        "strict": False,
    }
    listed = [{"role": "user", "content": "hi"}]
    counts = [
        session(target).sync(listed, tools=[{"type": "tool_search"}, one]).request.counted
        for one in (tool, tool | {"defer_loading": True})
    ]
    assert counts[0] - counts[1] > 180


@pytest.mark.parametrize("withdrawn", [True, False])
def test_without_any_tool_a_search_is_told_in_words(withdrawn: bool) -> None:
    """No tool can be listed then, and a reference to what is not listed is refused; the same when none ever was."""
    made = begun(target_of("anthropic", reader="none"), *((SEARCH, A, B) if withdrawn else ()))
    asked(made)
    found_by_search(made, "beta")
    made.say("go on")
    if withdrawn:
        assert b'"tool_reference"' in asked(made).body
    made.offer([])
    made.instruct("You help otherwise.")
    body = plain(asked(made).body)
    assert "tools" not in body
    kinds = {block["type"] for message in body["messages"] for block in message["content"]}
    assert kinds == {"text"}
    assert "[tool_search_tool_result of anthropic" in json.dumps(body)


def test_the_change_is_recorded() -> None:
    """One event says what is told, with the tools' event as its cause."""
    made = begun(target_of("gemini"), A, B)
    made.compile()
    made.offer([A, C])
    made.compile()
    changed = [event for event in made.events if isinstance(event.body, Changed)]
    assert [event.body for event in changed] == [Changed(findable=("gamma",), unfindable=("beta",))]
    assert changed[0].causes == (made.view.fold.deferred[0],)


def test_a_switch_of_wires_keeps_what_can_be_found() -> None:
    """Another provider's epoch tells the names in its base."""
    made = begun(target_of("anthropic"), SEARCH, A, B)
    asked(made)
    found_by_search(made, "beta")
    made.say("go on")
    made.target = target_of("openai-chat")
    compiled = asked(made)
    assert "can be loaded when they are needed: beta." in compiled.body.decode()


@pytest.mark.parametrize("name", WIRES)
@settings(SLOW, max_examples=examples(10, 500))
@given(
    names=st.lists(st.sampled_from((*OPERATIONS, *LOOP, "defer", "defer")), max_size=30),
    rng=st.randoms(use_true_random=False),
)
def test_random_histories_with_deferred_tools(name: str, names: list[str], rng: random.Random) -> None:
    """Whatever is deferred, loaded or withdrawn when: every request is legal, grown, and the same from scratch."""
    walk = walk_in_memory(target_of(name), rng)
    for operation in ["say", *names, "ask"]:
        if operation == "defer":
            pool = [SEARCH, A, B, C, loaded(B), loaded(C)]
            chosen = {tool.name: tool for tool in rng.sample(pool, rng.randint(1, len(pool)))}
            walk.session.offer(list(chosen.values()))
        else:
            walk.run([operation])


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.say("Peux-tu regarder pourquoi la dernière page ne s'ouvre plus ?"),
        lambda made: made.offer([ToolSpec(name=name, deferred=True) for name in ("beta", "gamma")]),
    ],
)
def test_reasoning_behind_a_block_is_bound_to_what_the_head_tells(
    change: Callable[[Session], object],
) -> None:
    """A base that tells another language, or other deferred tools, is another prefix: the reasoning stays behind."""
    policy = msgspec.structs.replace(PROVIDER, language_directive=True)
    loop = Loop(target_of("anthropic", model=BOUND), policy)
    loop.made.offer([ToolSpec(name="beta", deferred=True)])
    loop.made.say("Bitte sieh dir den letzten Fehler noch einmal genau an.")
    summarised_on_the_way(loop)
    change(loop.made)
    blocks = plain(loop.judged().body)["messages"][0]["content"]
    assert [block["type"] for block in blocks] == ["compaction", "tool_use"]
