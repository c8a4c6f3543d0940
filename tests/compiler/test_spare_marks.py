"""Spare cache marks: both boundaries of an epoch are marked, so that a cut costs only what it changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from foreword.compiler.compile import Compiled
from foreword.compiler.policy import Policy
from foreword.engine.session import Session
from foreword.testing.prefix_cache import CacheUse, MarkedCache, Unit
from tests.engine.sessions import answer, call
from tests.histories import counting_clock, referee_for, target_of

Marks = Callable[[Compiled], set[int]]
OUTPUT = "lorem ipsum dolor " * 400


def planned(compiled: Compiled) -> set[int]:
    return set(compiled.breakpoints)


def without_spare(compiled: Compiled) -> set[int]:
    """The ends of the request and of its head alone."""
    marks = [index for index in compiled.breakpoints if index < compiled.head]
    return {*marks, max(compiled.breakpoints, default=0)}


def walked(marks: Marks, *, steps: int = 70) -> tuple[list[CacheUse], list[CacheUse]]:
    """Return what a cache did for each request, and for those that began an epoch for the sake of the window."""
    made = Session.open(
        None, "long", target=target_of("anthropic", 60_000), policy=Policy(), clock=counting_clock()
    )
    made.instruct("Be brief. " * 400)
    made.say("Find it. " * 800)
    cache = MarkedCache(1_024)
    every: list[CacheUse] = []
    cuts: list[CacheUse] = []
    epoch = 1
    for number in range(steps):
        compiled = made.compile()
        chosen = marks(compiled)
        assert len(chosen) <= 4
        use = cache.use(
            [
                Unit(
                    digest=unit.digest,
                    tokens=unit.tokens,
                    key=unit.section == "key",
                    mark="5m" if index in chosen else None,
                )
                for index, unit in enumerate(compiled.units)
            ]
        )
        every.append(use)
        if compiled.epoch.number > epoch:
            cuts.append(use)
            epoch = compiled.epoch.number
        answer(made, call(f"c{number}"))
        made.returned(f"c{number}", f"result {number} {OUTPUT}")
    return every, cuts


def cost(uses: list[CacheUse]) -> float:
    """Price requests in units of an input token: reads at 0.1, writes at 1.25."""
    return sum(use.read * 0.1 + use.write_5m * 1.25 + use.uncached for use in uses)


def test_a_cut_is_read_up_to_the_old_boundary() -> None:
    """On the step of each cut more is read than the head, more each time, and the whole session is cheaper."""
    every, cuts = walked(planned)
    plain, plain_cuts = walked(without_spare)
    assert len(cuts) == len(plain_cuts) >= 3
    assert all(use.read > other.read for use, other in zip(cuts, plain_cuts, strict=True))
    reads = [use.read for use in cuts]
    assert reads == sorted(set(reads))
    assert [sum((u.read, u.write_5m, u.uncached)) for u in every] == [
        sum((u.read, u.write_5m, u.uncached)) for u in plain
    ]
    assert cost(every) < 0.97 * cost(plain)


def test_where_the_provider_marks_the_end_a_mark_of_ours_is_spare() -> None:
    """On OpenAI's wires the newest unit takes no mark, a string stays a string, and parts carry the breakpoint."""
    target = target_of("openai-responses", 60_000, model="gpt-6.1-sol")
    made = Session.open(None, "r", target=target, policy=Policy(), clock=counting_clock())
    made.say("Find it. " * 3_000)
    assert made.compile().breakpoints == {}
    made = Session.open(None, "parts", target=target, policy=Policy(), clock=counting_clock())
    parts = [{"type": "input_text", "text": "Read. " * 3_000}, {"type": "input_text", "text": "Find it."}]
    made.sync([{"role": "user", "content": parts}])
    compiled = made.compile()
    marked = compiled.target.codec.mark(compiled.unit(compiled.size - 1).data, None)
    assert marked.endswith(b'"text":"Find it.","prompt_cache_breakpoint":{"mode":"explicit"}}]}')
    assert compiled.unit(compiled.size - 1).markable
    assert compiled.breakpoints == {}


@pytest.mark.parametrize("wire, kind", [("openai-responses", "input_text"), ("openai-chat", "text")])
def test_explicit_breakpoints_are_legal_at_every_epoch(wire: str, kind: str) -> None:
    """Where a person's message has parts, an epoch marks it, and the service takes every request."""
    target = target_of(wire, 60_000, model="gpt-6.1-sol")
    made = Session.open(None, "parts", target=target, policy=Policy(), clock=counting_clock())
    made.sync(
        [
            {
                "role": "user",
                "content": [{"type": kind, "text": "Find it. " * 800}, {"type": kind, "text": "Now."}],
            }
        ]
    )
    referee = referee_for(target)
    while made.compile().epoch.number < 3:
        compiled = made.compile()
        assert referee.judge(compiled.body).status == 200
        assert compiled.body.count(b"prompt_cache_breakpoint") == len(compiled.breakpoints)
        number = len(made.events)
        answer(made, call(f"c{number}"))
        made.returned(f"c{number}", f"result {number} {OUTPUT}")
    assert made.compile().breakpoints != {}
    assert referee.judge(made.compile().body).status == 200


@pytest.mark.parametrize(
    "wire, keys",
    [
        ("openai-chat", {"prompt_cache_key": "team-7"}),
        ("openai-responses", {"prompt_cache_key": "team-7"}),
        ("gemini", {"cachedContent": "cachedContents/7"}),
    ],
)
def test_what_names_a_cache_is_a_key_of_the_first_layer(wire: str, keys: dict[str, str]) -> None:
    """It stands before all else, so that another one is seen as the break that it is."""
    made = Session.open(None, "key", target=target_of(wire, keys=keys), clock=counting_clock())
    made.say("hello")
    compiled = made.compile()
    key = next(unit for unit in compiled.units if unit.kind == next(iter(keys)))
    assert (key.section, key.layer) == ("key", "tools")
    made.target = target_of(wire, keys={name: value + "x" for name, value in keys.items()})
    other = made.compile()
    assert (other.epoch.number, other.epoch.body.why) == (2, "manual")


def test_a_request_too_short_for_the_cache_says_so() -> None:
    """With both numbers, and no longer once it is long enough."""
    made = Session.open(None, "s", target=target_of("anthropic"), clock=counting_clock())
    made.say("hello")
    [warned] = made.compile().warnings
    assert warned.code == "cache_prefix_too_short"
    assert warned.numbers["prefix_tokens"] < warned.numbers["minimum"] == 1_024
    answer(made, "hi")
    made.say(OUTPUT)
    assert made.compile().warnings == ()


@pytest.mark.parametrize("place", [0, 1])
def test_a_long_lived_mark_never_follows_a_short_one(place: int) -> None:
    """Wherever a caller puts a mark of one hour, all marks before it live as long; those behind need not."""
    made = Session.open(None, "ttl", target=target_of("anthropic"), clock=counting_clock())
    hour = {"type": "ephemeral", "ttl": "1h"}
    blocks = [{"type": "text", "text": f"part {number} {OUTPUT}"} for number in range(3)]
    blocks[place]["cache_control"] = hour
    compiled = made.sync([{"role": "user", "content": blocks}], system=f"Be brief. {OUTPUT}").request
    ttls = list(compiled.breakpoints.values())
    assert "1h" in ttls
    assert ttls == sorted(ttls, key=lambda ttl: ttl != "1h")
    at = compiled.head + place
    assert compiled.breakpoints[at] == "1h"
    assert compiled.breakpoints[compiled.size - 1] is None


def test_an_automatic_mark_takes_its_room() -> None:
    """A top-level mark in the request's members marks the end itself, and is one of the four."""
    target = target_of("anthropic", keys={"cache_control": {"type": "ephemeral"}})
    made = Session.open(None, "auto", target=target, clock=counting_clock())
    made.instruct(OUTPUT, OUTPUT + "more")
    made.say(OUTPUT)
    compiled = made.compile()
    assert compiled.size - 1 not in compiled.breakpoints
    assert compiled.body.count(b'"cache_control"') == len(compiled.breakpoints) + 1 <= 4


def test_a_layout_taken_back_forgets_its_boundary() -> None:
    """Taken back behind the boundary a layout keeps it; before it, there is none."""
    every = Session.open(
        None, "c", target=target_of("anthropic", 60_000), policy=Policy(), clock=counting_clock()
    )
    every.say("Find it. " * 800)
    while every.compile().epoch.number < 2:
        number = len(every.events)
        answer(every, call(f"c{number}"))
        every.returned(f"c{number}", f"result {number} {OUTPUT}")
    every.say("More.")
    layout = every.compile().layout
    assert layout.units[layout.boundary].by == "cleared"
    assert all(unit.by != "cleared" for unit in layout.units[layout.boundary + 1 :])
    assert layout.copy(layout.boundary + 1, 0, 0, -1, -1).boundary == layout.boundary
    assert layout.copy(layout.boundary, 0, 0, -1, -1).boundary == -1
