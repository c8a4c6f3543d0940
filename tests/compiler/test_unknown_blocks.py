"""A block that another tool recorded is sent where the wire's API knows its type; what came first-hand always is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreword.codecs import codec
from foreword.compiler.manifest import manifest
from foreword.core.block import Message, Opaque, Text, ToolResult
from foreword.core.event import Answered, Draft, Said, ToolReturned
from tests.engine.sessions import call, session
from tests.histories import MODELS, referee_for, target_of

ODD = {
    "anthropic": {"type": "harness_note", "text": "x"},
    "openai-chat": {"type": "harness_note", "text": "x"},
    "openai-responses": {"type": "encrypted_content", "encrypted_content": "x"},
    "deepseek": {"type": "harness_note", "text": "x"},
    "gemini": {"harnessNote": {"x": 1}},
}


def odd(wire: str) -> Opaque:
    """Return a block of a type that no API knows, as a tool records it under a wire's name."""
    form = str(ODD[wire].get("type", "harnessNote"))
    assert not codec(wire).knows(Opaque(wire=wire, form=form, raw="{}"))
    return Opaque(wire=wire, form=form, raw=json.dumps(ODD[wire]))


def recorded(wire: str, origin: str) -> list[Draft]:
    """Return a history with such a block in each place, from somewhere."""
    block = odd(wire)
    bodies: dict[str, Any] = {
        "user": Said(message=Message(role="user", blocks=(Text(text="hi"), block), wire=wire)),
        "model": Answered(message=Message(role="assistant", blocks=(block, call("c1")), wire=wire)),
        "tool": ToolReturned(result=ToolResult(call_id="c1", content=(Text(text="out"), block))),
    }
    return [Draft(body=body, actor="harness", origin=origin) for body in bodies.values()]


@pytest.mark.parametrize("wire", MODELS)
def test_a_recorded_block_that_the_api_lacks_is_told(wire: str) -> None:
    """In words, which say of what tool it is, and the manifest lists it as left out; the log keeps it."""
    made = session(target_of(wire))
    made.append(*recorded(wire, "harness:file:1"))
    compiled = made.compile()
    assert referee_for(target_of(wire), foreign=True).judge(compiled.body).violations == ()
    text = compiled.body.decode()
    assert text.count(f"of {wire} as harness records it, not shown") == 3
    assert json.dumps(ODD[wire], separators=(",", ":")) not in text
    told = manifest(compiled, session="s", provider=wire, step=1, previous=None, violations=())
    assert {row["events"][0] for row in told["omitted"] if row["how"] == "dropped"} == {1, 2, 3}
    assert odd(wire) in made.events[1].body.message.blocks


@pytest.mark.parametrize("wire", MODELS)
def test_a_block_that_came_first_hand_is_sent(wire: str) -> None:
    """Providers add types, and the caller's own words are the caller's to know."""
    made = session(target_of(wire))
    made.append(recorded(wire, "sync")[0])
    text = made.compile().body.decode()
    assert json.dumps(ODD[wire], separators=(",", ":")) in text.replace(", ", ",").replace(": ", ":")
