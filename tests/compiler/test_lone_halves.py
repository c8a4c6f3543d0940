"""The walk that finds lone halves goes on where it was, and finds what a walk over everything would."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compiler.passes.lone_halves import halves_of, lone_halves
from foreword.compiler.passes.repair_pairs import UNKNOWN
from foreword.core.block import Block, Message, Opaque, Text, ToolCall
from foreword.core.event import (
    Answered,
    Body,
    Draft,
    Event,
    Noticed,
    Repaired,
    Replacement,
    RequestSent,
    Rewritten,
    Said,
    by_engine,
)
from foreword.core.sealing import GENESIS, seal
from foreword.core.target import Target
from foreword.core.view import View
from foreword.engine.session import Session
from tests.compiler.test_incremental import SLOW
from tests.compiler.test_links import ASKS, FOUND, LOCAL, LOCAL_OUT, MAY, OUT, SEARCH, SHELL
from tests.engine.sessions import answer, judged, session
from tests.histories import AT, counting_clock, target_of

PAIRS = {
    "anthropic": [((SEARCH, "id"), (FOUND, "tool_use_id"))],
    "openai-responses": [
        ((SHELL, "call_id"), (OUT, "call_id")),
        ((LOCAL, "call_id"), (LOCAL_OUT, "id")),
        ((ASKS, "id"), (MAY, "approval_request_id")),
    ],
}
"""Wire -> the halves of each pair, with the member that has the id."""


def half(wire: str, form: dict[str, Any], **ids: str) -> Opaque:
    return Opaque(wire=wire, form=form["type"], raw=json.dumps({**form, **ids}))


class Log:
    """A log that grows by one body at a time, in a view that is extended."""

    def __init__(self, chance: random.Random, target: Target) -> None:
        self.chance = chance
        self.wire = target.codec.wire
        self.target = target
        self.events: list[Event] = []
        self.view = View.of([])

    def append(self, body: Body, trust: Any = "operator") -> None:
        previous = self.events[-1].link if self.events else GENESIS
        draft = Draft(body=body, trust=trust)
        seq = len(self.events)
        self.events.append(seal(draft, seq=seq, at=AT, tenant="t", previous=previous, nonce=bytes(16)))
        self.view = self.view.extend(self.events[-1:])

    def blocks(self) -> tuple[Block, ...]:
        """Blocks and pairs whose ids are few, so that they meet again."""
        made: list[Block] = []
        for _ in range(self.chance.randint(1, 2)):
            id_ = f"c{self.chance.randint(0, 9)}"
            if self.chance.random() < 0.3:
                made.append(ToolCall(id=id_, name="f", arguments="{}"))
            elif self.chance.random() < 0.2:
                made.append(Text(text="words"))
            else:
                halves = self.chance.choice(PAIRS[self.wire])
                if self.chance.random() < 0.4:
                    halves = self.chance.sample(halves, 1)
                made += [half(self.wire, form, **{member: id_}) for form, member in halves]
        return tuple(made)

    def sent(self) -> None:
        """Nearly always all that is there."""
        size = max(0, len(self.view.fold.items) - self.chance.choice([0, 0, 0, 4]))
        self.append(RequestSent(wire=self.wire, model="m", units=size, items=size, added=(), tokens=1))

    def step(self) -> None:
        """Say or answer something: the newest request, or one before."""
        sent = self.view.fold.sent
        match self.chance.choice(["answer", "answer", "said", "notice", "sent", "left out"]):
            case "answer":
                request = sent[-1].seq if sent and self.chance.random() < 0.7 else None
                message = Message(role="assistant", blocks=self.blocks(), wire=self.wire)
                self.append(Answered(message=message, request=request))
            case "said":
                blocks = (Text(text="go on"),) if self.chance.random() < 0.5 else self.blocks()
                blocks = tuple(block for block in blocks if not isinstance(block, ToolCall))
                self.append(Said(message=Message(role="user", blocks=blocks, wire=self.wire)))
            case "notice":
                self.append(Noticed(topic="t", text="told"), trust="engine")
            case "left out":
                opaque = sorted(self.view.fold.opaque)
                found = [half for seq in opaque for half, _ in halves_of(self.view, seq, self.target)]
                found = [half for half in found if half[:2] not in self.view.fold.parted]
                for seq, index, _ in self.chance.sample(found, min(1, len(found))):
                    self.append(Repaired(fault="unpaired", event=seq, call=index, text=""), trust="engine")
            case _:
                self.sent()

    def repair(self) -> None:
        """Record what stands alone, as a compile does, until nothing does."""
        while found := lone_halves(self.view, self.target):
            assert found == lone_halves(View.of(self.events), self.target)
            for (seq, index, _), text in found:
                self.append(Repaired(fault="unpaired", event=seq, call=index, text=text), trust="engine")
        assert lone_halves(View.of(self.events), self.target) == []


@pytest.mark.parametrize("wire", PAIRS)
@SLOW
@given(rng=st.randoms(use_true_random=False), steps=st.integers(10, 40))
def test_going_on_is_starting_anew(wire: str, rng: random.Random, steps: int) -> None:
    """Whatever is said, answered late, left out or called by the same id between two walks."""
    grown = Log(rng, target_of(wire))
    for _ in range(steps):
        grown.step()
        if rng.random() < 0.7:
            grown.repair()
            if rng.random() < 0.7:
                grown.sent()


def test_a_compile_reads_only_new_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pairs a session has."""
    target = target_of("anthropic")
    made = Session.open(None, "s", target=target, clock=counting_clock())
    made.say("go")
    codec: Any = type(target.codec)
    original, read = codec.link, 0

    def link(self: Any, block: Opaque) -> Any:
        nonlocal read
        read += 1
        return original(self, block)

    monkeypatch.setattr(codec, "link", link)
    counts: list[int] = []
    for step in range(40):
        made.compile()
        pair = half("anthropic", SEARCH, id=f"s{step}"), half("anthropic", FOUND, tool_use_id=f"s{step}")
        made.answered(Message(role="assistant", blocks=(*pair, Text(text="found")), wire="anthropic"))
        made.say("more")
        read = 0
        made.compile()
        counts.append(read)
    assert counts[5] == counts[-1] > 0


@pytest.mark.parametrize("hidden", [0, 1])
def test_a_half_whose_other_one_a_summary_took_stands_alone(hidden: int) -> None:
    """On a wire that doesn't know the two as a pair one may be summarised; back on theirs the other is left out."""
    made = session(target_of("openai-responses"))
    made.say("go")
    made.compile()
    shell, out = (half("openai-responses", form, call_id="p1") for form in (SHELL, OUT))
    asked = made.answered(Message(role="assistant", blocks=(shell,), wire="openai-responses"))
    message = Message(role="user", blocks=(out,), wire="openai-responses")
    given = made.append(Draft(body=Said(message=message, person=False), trust="tool", actor="client"))
    answer(made, "Done.")
    made.say("on")
    assert judged(made).violations == ()
    made.target = target_of("deepseek")
    made.compile()
    taken = Replacement(events=((asked, given)[hidden],), text="One of them.", tokens_removed=5)
    made.append(by_engine(Rewritten(how="summarized", why="hard", replacements=(taken,), epoch=True)))
    made.target = target_of("openai-responses")
    body = made.compile().body
    assert judged(made).violations == ()
    assert b"One of them." in body
    assert b"shell_call" not in body
    assert UNKNOWN.encode() not in body  # the summary tells what came of it
