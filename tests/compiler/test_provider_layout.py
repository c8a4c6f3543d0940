"""Compaction blocks of a provider: recorded as they are, sent back first, and what they stand for no more."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.codecs import codec
from foreword.compiler.compile import Compiled
from foreword.compiler.manifest import manifest
from foreword.compiler.policy import Policy
from foreword.core.block import ToolSpec
from foreword.core.event import Draft, EpochStarted
from foreword.core.target import Target
from foreword.engine.session import Session
from foreword.testing.referee import Referee
from foreword.testing.script import Answer, Call
from tests.compiler.test_incremental import LOOP, SLOW
from tests.compiler.test_late_changes import headers, with_keys
from tests.engine.sessions import plain
from tests.histories import (
    BOUND,
    OPERATIONS,
    TIGHT,
    Script,
    Walk,
    counting_clock,
    examples,
    from_scratch,
    referee_for,
    target_of,
)

PROVIDER = msgspec.structs.replace(TIGHT, name="provider", layout="provider")
COMPACT = {"compaction": {"type": "summarize"}}
OPUS = "claude-opus-4-8"


class Loop:
    """A session against a referee that answers what it is told to."""

    def __init__(self, target: Target, policy: Policy = PROVIDER) -> None:
        self.script = Script()
        self.referee: Referee[Any] = referee_for(target, self.script)
        self.made = Session.open(None, "made", target=target, policy=policy, clock=counting_clock())
        self.target = target

    def ask(self, answer: Answer, **keys: Any) -> Compiled:
        """Send the next request, with further keys, and record what the referee answers."""
        self.made.target = with_keys(self.target, **keys) if keys else self.target
        compiled = self.made.compile()
        self.script.answer = answer
        status, body = self.referee.respond(compiled.body, headers(compiled))
        assert status == 200, body
        self.made.record(body)
        return compiled

    def steps(self, count: int, start: int = 0, **keys: Any) -> None:
        for number in range(start, start + count):
            thinking = f"t{number}" if self.target.codec.wire == "anthropic" else None
            self.ask(Answer(thinking=thinking, calls=(Call(name="bash", id=f"c{number}"),)), **keys)
            self.made.returned(f"c{number}", f"output {number}")

    def judged(self) -> Compiled:
        """Return the next request, which is legal and the same from scratch."""
        self.made.target = self.target
        compiled = self.made.compile()
        assert self.referee.judge(compiled.body, headers(compiled)).violations == ()
        assert from_scratch(self.made, compiled).body == compiled.body
        return compiled

    @property
    def whys(self) -> list[str]:
        return [event.body.why for event in self.made.events if isinstance(event.body, EpochStarted)]


@pytest.mark.parametrize("model", [OPUS, BOUND])
def test_on_demand(model: str) -> None:
    """The block stands first in place of the whole history; a person's words and pins follow word for word."""
    loop = Loop(target_of("anthropic", model=model))
    loop.made.say("build it, </foreword> and all")
    loop.made.pin("never push")
    loop.steps(3)
    asked = loop.ask(Answer(text="the summary"), **COMPACT)
    assert asked.betas == ("compact-2026-09-04",)
    assert loop.whys == ["start"]
    compiled = loop.judged()
    assert compiled.betas == ("compact-2026-09-04",)
    messages = plain(compiled.body)["messages"]
    assert [block["type"] for block in messages[0]["content"]] == ["compaction"]
    assert messages[0]["role"] == "assistant"
    text = json.dumps(messages[1:])
    assert "build it, </foreword> and all" in text
    assert "never push" in text
    assert b"output 1" not in compiled.body
    assert loop.whys == ["start", "manual"]
    loop.steps(3, start=3)
    grown = loop.judged()
    assert grown.body.startswith(compiled.body[:200])
    assert loop.whys == ["start", "manual"]


def test_a_second_block_replaces_the_first() -> None:
    """Only the newest block is sent, and the words of before the first one still stand."""
    loop = Loop(target_of("anthropic"))
    loop.made.say("first words")
    loop.steps(2)
    loop.ask(Answer(text="summary one"), **COMPACT)
    loop.steps(2, start=2)
    loop.made.say("later words")
    loop.ask(Answer(text="summary two"), **COMPACT)
    body = loop.judged().body
    assert body.count(b'"type":"compaction"') == 1
    assert b"summary two" in body
    assert b"summary one" not in body
    assert b"first words" in body
    assert b"later words" in body


def test_a_late_answer_covers_what_its_request_showed() -> None:
    """A block that was asked for in the background leaves the turns since then, unchanged, behind it."""
    loop = Loop(target_of("anthropic"))
    loop.made.say("go")
    loop.steps(2)
    loop.made.target = with_keys(loop.target, **COMPACT)
    asked = loop.made.compile()
    request = loop.made.unanswered
    loop.script.answer = Answer(text="the summary")
    status, answer = loop.referee.respond(asked.body, headers(asked))
    assert status == 200
    loop.made.say("meanwhile")
    loop.steps(2, start=2)
    decoded = codec("anthropic").decode_response(answer)
    draft = loop.made.answered(decoded.message, model=decoded.model)
    body = loop.made.events[draft].body
    assert request is not None
    assert body is not None
    loop.made.view = type(loop.made.view).of(loop.made.events[:draft])
    loop.made.append(Draft(body=msgspec.structs.replace(body, request=request), trust="model", actor="model"))
    compiled = loop.judged()
    sent = compiled.body
    assert b"output 1" not in sent
    assert b"output 2" in sent
    assert b"output 3" in sent
    assert sent.index(b"the summary") < sent.index(b"meanwhile") < sent.index(b"output 3")


def summarised_on_the_way(loop: Loop) -> None:
    """Go on until an answer begins with a summary that the provider made, thinks behind it and calls."""
    keys = {"context_management": {"edits": [{"type": "compact_20260112"}]}}
    loop.steps(2, **keys)
    loop.made.target = with_keys(loop.target, **keys)
    compiled = loop.made.compile()
    loop.script.answer = Answer(thinking="after it", calls=(Call(name="bash", id="c2"),))
    status, body = loop.referee.respond(compiled.body, headers(compiled))
    assert status == 200
    body["content"].insert(0, {"type": "compaction", "content": "made on the way"})
    loop.referee.answered(body["content"])
    loop.made.record(body)
    loop.made.returned("c2", "output 2")


@pytest.mark.parametrize("model", [OPUS, BOUND])
def test_threshold(model: str) -> None:
    """A block that came inside an answer opens the base with that answer; its own reasoning goes back."""
    loop = Loop(target_of("anthropic", model=model))
    loop.made.say("go")
    summarised_on_the_way(loop)
    compiled = loop.judged()
    messages = plain(compiled.body)["messages"]
    assert [block["type"] for block in messages[0]["content"]] == ["compaction", "thinking", "tool_use"]
    assert b"output 1" not in compiled.body
    assert compiled.betas == ("compact-2026-01-12",)
    assert b"reasoning of its steps is not repeated" not in compiled.body
    loop.made.instruct("new rules")
    assert loop.judged().epoch.number == 3


def test_in_band_on_openai() -> None:
    """The item opens the input; the person's words, which it does not keep, are said again behind it."""
    loop = Loop(target_of("openai-responses", model="gpt-6.1-sol"))
    loop.made.say("go there")
    loop.steps(2)
    keys = {"context_management": [{"type": "compaction", "compact_threshold": 1}]}
    loop.ask(Answer(calls=(Call(name="bash", id="c2"),)), **keys)
    loop.made.returned("c2", "output 2")
    compiled = loop.judged()
    items = plain(compiled.body)["input"]
    assert items[0]["type"] == "compaction"
    assert b"output 1" not in compiled.body
    assert b"output 2" in compiled.body
    assert b"go there" in compiled.body
    assert loop.whys == ["start", "manual"]


def test_the_compact_endpoint_of_openai() -> None:
    """Its output is the next input as it is: the user's turns that it gives back are not said twice."""
    loop = Loop(target_of("openai-responses", model="gpt-6.1-sol"))
    loop.made.say("go there")
    loop.made.pin("never push")
    loop.steps(1)
    asked = loop.ask(Answer(text="x"), context_management=[{"type": "compaction", "compact_threshold": 1}])
    del asked
    made = Loop(loop.target)
    made.referee = loop.referee
    made.made.say("go there")
    made.made.pin("never push")
    made.made.compile()
    item = next(
        block
        for event in loop.made.events
        for block in getattr(getattr(event.body, "message", None), "blocks", ())
        if getattr(block, "form", "") == "compaction"
    )
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go there"}]}
    made.made.record(
        {
            "id": "resp_1", "object": "response.compaction", "created_at": 1,
            "output": [said, json.loads(item.raw)],
            "usage": {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14},
        }
    )  # fmt: skip
    compiled = made.judged()
    items = plain(compiled.body)["input"]
    assert items[0] == said
    assert items[1]["type"] == "compaction"
    assert compiled.body.count(b"go there") == 1
    assert b"never push" in compiled.body


def test_own_is_the_default() -> None:
    """Without the switch a block is recorded and not sent: the base is made from the record."""
    loop = Loop(target_of("anthropic"), policy=TIGHT)
    loop.made.say("go")
    loop.steps(2)
    loop.ask(Answer(text="the summary"), **COMPACT)
    body = loop.judged().body
    assert b"the summary" not in body
    assert b"output 1" in body
    assert loop.whys == ["start"]
    assert Policy().layout == "own"


def test_what_a_block_stands_for_is_named_and_read_back() -> None:
    """The manifest lists what was left out, with the call that reads it."""
    loop = Loop(target_of("anthropic"))
    loop.made.say("go")
    loop.steps(2)
    loop.ask(Answer(text="the summary"), **COMPACT)
    compiled = loop.judged()
    made = manifest(compiled, session="made", provider="anthropic", step=1, previous=None, violations=())
    assert made["betas"] == ["compact-2026-09-04"]
    gone = [entry for entry in made["omitted"] if "summarised by the provider" in entry["why"]]
    results = [event.seq for event in loop.made.events if event.kind == "tool_returned"]
    assert {seq for entry in gone for seq in entry["events"]} >= set(results)
    assert all(entry["how"] == "summary" and entry["recover"] for entry in gone)
    assert "output 1" in loop.made.run_read_tool({"ref": f"{loop.made.alias}#{results[1]}"})


@pytest.mark.parametrize("act", ["revoke", "erase"])
def test_nothing_revoked_is_sent_inside_a_block(act: str) -> None:
    """What was withdrawn since a block was asked for may stand in it, so it opens no base any more."""
    loop = Loop(target_of("anthropic"))
    seq = loop.made.say("the secret plan")
    loop.made.say("go")
    loop.steps(1)
    loop.ask(Answer(text="all about the secret plan"), **COMPACT)
    loop.judged()
    if act == "revoke":
        loop.made.revoke(seq, "withdrawn")
    else:
        loop.made.erase([seq], "asked to")
    body = loop.judged().body
    assert b"secret plan" not in body
    assert b"output 0" in body


def test_another_model_reads_no_block() -> None:
    """A block opens a base only for the model that gave it."""
    loop = Loop(target_of("anthropic"))
    loop.made.say("go")
    loop.steps(1)
    loop.ask(Answer(text="the summary"), **COMPACT)
    loop.judged()
    loop.target = target_of("anthropic", model="claude-opus-5")
    loop.referee = referee_for(loop.target)
    body = loop.judged().body
    assert b"the summary" not in body
    assert b"output 0" in body


@pytest.mark.parametrize("content", [None, ""])
def test_a_block_that_failed_is_not_sent(content: str | None) -> None:
    """It stands for nothing, and the history goes on as it was."""
    loop = Loop(target_of("anthropic"))
    loop.made.say("go")
    loop.steps(1)
    compiled = loop.made.compile()
    loop.script.answer = Answer(text="hello")
    _, body = loop.referee.respond(compiled.body)
    body["content"].insert(0, {"type": "compaction", "content": content, "signature": "c2ln"})
    loop.made.record(body)
    loop.made.say("more")
    sent = loop.judged().body
    assert b"compaction" not in sent
    assert b"output 0" in sent
    assert loop.whys == ["start"]


def test_a_block_that_repeats_changes_of_tools_keeps_the_head() -> None:
    """Tools that came late stay out of the head while the block says them, and join it afterwards."""
    loop = Loop(target_of("anthropic"))
    loop.made.offer([ToolSpec(name="bash")])
    loop.made.say("go")
    loop.steps(1)
    loop.made.offer([ToolSpec(name="bash"), ToolSpec(name="late")])
    compiled = loop.made.compile()
    assert b"tool_addition" in compiled.body
    loop.made.target = with_keys(loop.target, **COMPACT)
    compiled = loop.made.compile()
    loop.script.answer = Answer(text="the summary")
    _, body = loop.referee.respond(compiled.body, headers(compiled))
    addition = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "late"}}
    body["content"][0]["tool_changes"] = [addition]
    loop.made.record(body)
    opened = loop.judged()
    assert [tool["name"] for tool in plain(opened.body)["tools"]] == ["bash", "read"]
    loop.made.say("more")
    assert loop.judged().epoch.number == opened.epoch.number
    loop.made.instruct("new rules")
    again = loop.judged()
    assert [tool["name"] for tool in plain(again.body)["tools"]] == ["bash", "read"]
    loop.made.offer([ToolSpec(name="late"), ToolSpec(name="bash", description="another")])
    own = loop.judged()
    assert b"the summary" not in own.body
    assert {tool["name"] for tool in plain(own.body)["tools"]} == {"bash", "late", "read"}


def test_usage_of_an_edited_context_teaches_nothing() -> None:
    """A response that says the provider cleared results, or dropped reasoning, gives no ratio."""
    loop = Loop(target_of("anthropic"))
    loop.made.say("go")
    loop.steps(1)
    (known,) = (list(each) for each in loop.made.view.fold.reports.values())
    assert known
    edits = {
        "context_management": {
            "applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2}]
        }
    }
    for extra in (
        edits,
        {"input_transformations": [{"type": "thinking_dropped", "path": "messages.1.content.0"}]},
    ):
        loop.made.say("more")
        compiled = loop.made.compile()
        loop.script.answer = Answer(text="ok")
        _, body = loop.referee.respond(compiled.body)
        body["usage"]["input_tokens"] = 1
        seq = loop.made.record({**body, **extra})
        recorded = loop.made.events[seq].body
        assert getattr(recorded, "edits", None)
        assert [*loop.made.view.fold.reports.values()] == [known]
    loop.made.say("more")
    compiled = loop.made.compile()
    _, body = loop.referee.respond(compiled.body)
    loop.made.record({**body, "context_management": {"applied_edits": []}})
    assert [len(each) for each in loop.made.view.fold.reports.values()] == [len(known) + 1]


@pytest.mark.parametrize("model", [OPUS, BOUND])
def test_long_loops_with_blocks_in_a_small_window(model: str) -> None:
    """Blocks and rewrites of our own live together: every request is legal and the same from scratch."""
    loop = Loop(target_of("anthropic", 6_000, model=model))
    loop.made.say("go")
    for number in range(30):
        loop.steps(1, start=number)
        loop.made.say(f"words {number}") if number % 7 == 3 else None
        if number % 6 == 5:
            loop.ask(Answer(text=f"summary {number}"), **COMPACT)
        loop.judged()
    assert loop.whys.count("manual") == 5


def test_a_callers_list_that_begins_with_the_block_of_the_log() -> None:
    """A caller who swaps the history for the block he was given goes on in the same session."""
    loop = Loop(target_of("anthropic"))
    loop.made.say("go")
    loop.steps(2)
    loop.ask(Answer(text="the summary"), **COMPACT)
    block = plain(loop.judged().body)["messages"][0]
    name, size = loop.made.id, len(loop.made.events)
    synced = loop.made.sync([block, {"role": "user", "content": "and now this"}])
    assert (synced.forked_at, synced.appended, loop.made.id) == (None, 1, name)
    assert len(loop.made.events) > size
    assert b"output 1" not in synced.request.body
    assert b"and now this" in synced.request.body
    answered = {"role": "assistant", "content": "done"}
    again = loop.made.sync(
        [block, {"role": "user", "content": "and now this"}, answered, {"role": "user", "content": "x"}]
    )
    assert (again.forked_at, again.appended) == (None, 2)
    assert loop.referee.judge(again.request.body, headers(again.request)).violations == ()


@pytest.mark.parametrize("policy", [TIGHT, PROVIDER])
def test_a_callers_list_that_begins_with_a_block_of_his_own(policy: Policy) -> None:
    """What it stands for was never recorded here, so it is sent first, whatever the policy."""
    loop = Loop(target_of("anthropic"))
    loop.made.say("go")
    loop.ask(Answer(text="the summary"), **COMPACT)
    block = plain(loop.judged().body)["messages"][0]
    other = Loop(loop.target, policy)
    other.referee = loop.referee
    listed = [block, {"role": "user", "content": "and now this"}]
    synced = other.made.sync(listed)
    assert b"and now this" in synced.request.body
    assert plain(synced.request.body)["messages"][0] == block
    other.judged()
    other.made.instruct("new rules")
    assert b"the summary" in other.judged().body


def test_a_block_in_the_base_of_our_own_is_left_out() -> None:
    """A provider reads nothing before a block, so a base from the record holds none."""
    loop = Loop(target_of("anthropic"), policy=TIGHT)
    loop.made.say("go")
    loop.steps(1)
    compiled = loop.made.compile()
    loop.script.answer = Answer(text="words")
    _, body = loop.referee.respond(compiled.body)
    body["content"].insert(0, {"type": "compaction", "content": "made on the way"})
    loop.made.record(body)
    loop.made.say("more")
    assert b"made on the way" in loop.judged().body
    loop.made.instruct("new rules")
    sent = loop.judged().body
    assert b"made on the way" not in sent
    assert b"output 0" in sent
    assert b"words" in sent


WALKED = {
    "anthropic": (target_of("anthropic"), COMPACT),
    "anthropic, bound thinking": (target_of("anthropic", 9_000, model=BOUND), COMPACT),
    "openai-responses": (
        target_of("openai-responses", 9_000, model="gpt-6.1-sol"),
        {"context_management": [{"type": "compaction", "compact_threshold": 1}]},
    ),
}


@pytest.mark.parametrize("name", WALKED)
@settings(SLOW, max_examples=examples(20, 2_000))
@given(
    names=st.lists(st.sampled_from((*OPERATIONS, *LOOP, "compact", "compact")), max_size=40),
    rng=st.randoms(use_true_random=False),
)
def test_random_histories_with_blocks(name: str, names: list[str], rng: random.Random) -> None:
    """Whenever a provider compacts, every request is legal, grown, tiled, and equal from scratch."""
    target, keys = WALKED[name]
    made = Session.open(None, "history", target=target, policy=PROVIDER, clock=counting_clock())
    walk = Walk(rng, made, seed=rng.randint(0, 3))
    for operation in ["say", *names, "ask"]:
        if operation != "compact":
            walk.run([operation])
            continue
        walk.session.target = with_keys(target, **keys)
        walk.run(["answer"])
        walk.session.target = target


def test_erasing_reaches_a_summary_of_the_provider() -> None:
    """A block may say anything of what it stands for, so it goes with any of it; a later one stays."""
    loop = Loop(target_of("anthropic"))
    seq = loop.made.say("my number is 555")
    loop.steps(1)
    loop.ask(Answer(text="their number is 555"), **COMPACT)
    block = len(loop.made.events) - 1
    later = loop.made.say("later")
    loop.judged()
    gone = loop.made.erase([seq], "asked to")
    assert {seq, block} <= set(gone)
    assert later not in gone
    assert loop.made.events[block].body is None
    assert b"555" not in loop.judged().body
