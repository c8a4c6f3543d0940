"""The manifest: each byte of a request has its reason, each thing left out its way back, in a stable form."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from typing import Any

import pytest

from foreword.compiler.compile import Compiled
from foreword.compiler.manifest import Sketch, manifest
from foreword.core.block import Thinking, ToolSpec
from foreword.core.event import Rewritten
from foreword.core.request import CATEGORIES
from foreword.engine.session import Session
from tests.engine.sessions import answer, session, step
from tests.histories import FACTS, TIGHT, TURNS, Walk, counting_clock, digests, examples, target_of

NUMBER = (int, float)
NONE = type(None)
FORM: dict[str, Any] = {
    "step": int, "session": str, "log_position": int, "provider": str, "model": str, "epoch": int, "bytes": int,
    "units": [{"layer": str, "digest": str}],
    "tokens": {"total": int, "exact": bool, "by_category": dict.fromkeys(CATEGORIES, int)},
    "budget": dict.fromkeys(
        ("window", "working_limit", "reserve_output", "reserve_tool_result", "reserve_compaction", "available"), int
    ),
    "segments": [
        {
            "kind": str, "events": [int], "tokens": int, "start": int, "end": int, "depth": NUMBER, "cache": str,
            "pass": str, "why": str,
        }
    ],
    "omitted": [{"events": [int], "tokens": int, "how": str, "why": str, "recover": (str, NONE)}],
    "rewrites": [
        {
            "event": int, "kind": str, "why": str, "epoch": bool, "tokens_removed": int,
            "suffix_rewritten": (int, NONE), "price_delta_usd": (str, NONE),
        }
    ],
    "prefix": {"kept_units": int, "previous_units": int, "kept_tokens": int, "broke": (dict, NONE)},
    "breakpoints": [int], "pins": [{"event": int, "text_sha256": str, "where": str}], "violations": [str],
    "warnings": [{"code": str, "text": str, "numbers": dict}],
}  # fmt: skip
WORDS = {
    "layer": {"tools", "system", "messages"},
    "cache": {"read", "write", "none"},
    "how": {"artifact", "cleared", "summary", "duplicate", "dropped", "erased"},
    "where": {"base", "said"},
}


def formed(value: Any, form: Any, at: str = "manifest") -> None:
    """Check a value against a form: a type, a list of one form, or members by name (more are free)."""
    if isinstance(form, dict):
        assert isinstance(value, dict), at
        for name, inner in form.items():
            assert name in value, f"{at}.{name}"
            formed(value[name], inner, f"{at}.{name}")
            if name in WORDS:
                assert value[name] in WORDS[name], f"{at}.{name}: {value[name]}"
    elif isinstance(form, list):
        assert isinstance(value, list), at
        for index, item in enumerate(value):
            formed(item, form[0], f"{at}[{index}]")
    else:
        assert isinstance(value, form), f"{at}: {value!r}"
        assert form is not int or not isinstance(value, bool), at


def made_of(
    made: Session, compiled: Compiled, previous: Sketch | None = None, step: int = 1
) -> dict[str, Any]:
    return manifest(
        compiled,
        session=made.id,
        provider=compiled.target.codec.wire,
        step=step,
        previous=previous,
        violations=(),
    )


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat"])
def test_the_form_is_kept(wire: str) -> None:
    """Every manifest of random histories has the members of the contract with their types, as plain JSON."""
    for seed in range(examples(8, 200)):
        rng = random.Random(seed)
        made = Session.open(None, "h", target=target_of(wire, 8_000), policy=TIGHT, clock=counting_clock())
        walk = Walk(rng, made, check=False)
        last = None
        for number, name in enumerate(["say", *rng.choices([*FACTS, *TURNS, "revoke", "erase"], k=30)]):
            walk.run([name])
            compiled = walk.ask()
            if compiled is None:
                continue
            found = made_of(walk.session, compiled, last, number + 1)
            formed(found, FORM)
            assert json.loads(json.dumps(found)) == found
            assert [unit["digest"] for unit in found["units"]] == [unit.hex() for unit in digests(compiled)]
            assert [s["tokens"] for s in found["segments"][:-1]] == [unit.tokens for unit in compiled.units]
            last = Sketch(compiled)


def test_a_break_is_explained_and_a_growth_is_none() -> None:
    """Between epochs the whole last request is kept; at an epoch the first lost unit and its cause are named."""
    made = session()
    made.instruct("Be brief.")
    made.say("hello")
    first = made.compile()
    step(made, 1, "out")
    grown = made.compile()
    prefix = made_of(made, grown, Sketch(first))["prefix"]
    assert prefix["broke"] is None
    assert prefix["kept_units"] == prefix["previous_units"] == first.size
    assert prefix["kept_tokens"] == first.counted
    made.offer([ToolSpec(name="read")])
    new = made.compile()
    prefix = made_of(made, new, Sketch(grown))["prefix"]
    assert prefix["broke"]["layer"] == "tools"
    assert prefix["broke"]["cause"] == "tools"
    assert made.events[prefix["broke"]["event"]].kind == "epoch_started"


def test_recent_and_history() -> None:
    """Turns of this epoch are recent; after an epoch what was kept from before it is history, pins aside."""
    made = session()
    made.say("a person's words")
    step(made, 1, "out")
    kinds = {s["kind"] for s in made_of(made, made.compile())["segments"]}
    assert "recent" in kinds or "history" in kinds
    step(made, 2, "more")
    segments = made_of(made, made.compile())["segments"]
    newest = [s for s in segments if s["events"] and s["events"][0] >= made.view.fold.epochs[-1].seq]
    assert newest
    assert {s["kind"] for s in newest} == {"recent"}
    made.instruct("New rules.")
    segments = [s for s in made_of(made, made.compile())["segments"] if s["events"]]
    assert {s["kind"] for s in segments if made.events[s["events"][0]].kind == "said"} == {"pins"}
    assert {
        s["kind"] for s in segments if made.events[s["events"][0]].kind in ("answered", "tool_returned")
    } == {"history"}


def test_pins_are_hashes_of_what_stands_there() -> None:
    """Each pin names its event, the hash of its text, and whether it stands in the base or where it was said."""
    made = session()
    made.say("first words")
    made.compile()
    pinned = made.pin("standing text")
    pins = {pin["event"]: pin for pin in made_of(made, made.compile())["pins"]}
    assert pins[pinned]["text_sha256"] == hashlib.sha256(b"standing text").hexdigest()
    assert {pin["where"] for pin in pins.values()} == {"base", "said"}
    made.revoke(pinned, "no longer")
    compiled = made.compile()
    assert pinned not in {pin["event"] for pin in made_of(made, compiled)["pins"]}
    assert b"standing text" not in compiled.body
    assert b"no longer" in compiled.body


@pytest.mark.parametrize("reader", ["tool", "shell", "path:/ctx", "none"])
def test_what_is_left_out_names_its_way_back(reader: str) -> None:
    """Everything replaced is listed with the call that this agent's reader makes; without a reader with none."""
    made = session(target_of("anthropic", 7_000, reader=reader))
    made.say("go")
    for number in range(40):
        made.compile()
        step(made, number, "\n".join(f"{n} some words of output" for n in range(14)))
    compiled = made.compile()
    found = made_of(made, compiled)
    replaced = {
        seq
        for event in made.events
        if isinstance(event.body, Rewritten)
        for replacement in event.body.replacements
        for seq in replacement.events
    }
    assert replaced
    omitted = {entry["events"][0]: entry for entry in found["omitted"]}
    assert replaced <= set(omitted)
    for seq in replaced:
        call = omitted[seq]["recover"]
        assert (call is None) is (reader == "none")
        if call is not None:
            assert f"{made.alias}#{seq}" in call or f"{made.alias}-{seq}" in call
    shown = {
        seq for segment in found["segments"] if segment["kind"] != "summary" for seq in segment["events"]
    }
    summarised = {seq for seq, entry in omitted.items() if entry["how"] == "summary"}
    assert not shown & summarised


def test_what_is_gone_names_no_way_back() -> None:
    """A result that an excerpt or a summary stood for, and that was erased since, can't be read any more."""
    made = session(target_of("anthropic", 7_000))
    made.say("go")
    for number in range(40):
        made.compile()
        step(made, number, "\n".join(f"{n} some words of output" for n in range(14)))
    summarised = next(
        one.events[1]
        for event in made.events
        if isinstance(event.body, Rewritten) and event.body.how == "summarized"
        for one in event.body.replacements
    )
    made.erase([summarised], "asked to")
    made.say("on")
    for entry in made_of(made, made.compile())["omitted"]:
        if entry["recover"] is None:
            assert entry["events"][0] in made.view.fold.erased
        else:
            assert made.read(entry["recover"].split('"')[1]).text


def test_a_text_that_is_left_out_is_counted_and_not_held() -> None:
    """A manifest of one session keeps nothing of it in the process, such as what is erased later."""
    made = session()
    made.say("go")
    thought = "".join(["what the model ", "thought of by itself ", "and nobody asked for"])
    answer(made, Thinking(text=thought), "done")
    made.say("on")
    compiled = made.compile()
    held = sys.getrefcount(thought)
    (entry,) = made_of(made, compiled)["omitted"]
    assert entry["tokens"] == compiled.target.counter.count(thought)
    assert made_of(made, compiled)["omitted"] == [entry]
    assert sys.getrefcount(thought) == held


def test_what_is_left_out_is_all_that_was_left_out_step_by_step() -> None:
    """A result that became an excerpt on arrival and a line of a summary later saves both times."""
    made = session(target_of("anthropic", 6_000))
    made.say("Mend the pipe.")
    output = "pipe.c: warning: unused variable in the cellar\n" * 600
    results = []
    for number in range(25):
        results.append(step(made, number, output))
        compiled = made.compile()
    assert made.target is not None
    whole = made.target.counter.count(output)
    told = manifest(compiled, session="made", provider="anthropic", step=1, previous=None, violations=[])
    saved = {one["events"][0]: one["tokens"] for one in told["omitted"] if one["how"] == "summary"}
    summarised = [seq for seq in results if seq in saved]
    assert summarised
    assert all(0.9 * whole < saved[seq] <= whole for seq in summarised)
