"""Numbers that no server reads, such as 1e999, in arguments and in blocks of one wire: told in words, never an end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreword.core.block import Message, Opaque, Text, ToolCall
from foreword.core.event import Answered
from foreword.engine.session import Session
from tests.engine.sessions import answer, call, judged, session
from tests.histories import MODELS, target_of

WIRES = tuple(MODELS)


@pytest.mark.parametrize("wire", WIRES)
def test_arguments_out_of_range_are_a_text(wire: str) -> None:
    """A number that a server can't hold makes its JSON none: the model reads what it wrote."""
    made = session(target_of(wire))
    made.say("q")
    made.compile()
    answer(made, call("c", arguments='{"a": 1e400}'))
    made.returned("c", "ok")
    assert judged(made).violations == ()
    assert b"1e400" in made.compile().body
    assert b": 1e400}," not in made.compile().body


BLOCKS = [
    (
        "anthropic",
        ("server_tool_use", "web_search_tool_result"),
        '"id":"srvtoolu_1","tool_use_id":"srvtoolu_1"',
    ),
    ("anthropic", ("compaction",), '"content":"all of it"'),
    ("anthropic", ("tool_search_tool_result",), '"content":{"type":"tool_reference","tool_name":"x"}'),
    ("anthropic", ("server_tool_use",), '"id":"s","name":"tool_search_tool_regex"'),
    ("openai-responses", ("shell_call", "shell_call_output"), '"call_id":"s"'),
    ("openai-responses", ("compaction",), '"encrypted_content":"x"'),
    ("gemini", ("executableCode",), '"executableCode":{"code":"x"}'),
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("origin, forms, members", BLOCKS)
def test_a_block_out_of_range_ends_nothing(
    wire: str, origin: str, forms: tuple[str, ...], members: str
) -> None:
    """On its own wire and on every other."""
    made = session(target_of(wire))
    made.say("q")
    blocks = [
        Opaque(wire=origin, form=form, raw=f'{{"type":"{form}",{members},"n":1e999}}') for form in forms
    ]
    made.answered(Message(role="assistant", wire=origin, blocks=(*blocks, Text(text="so it is"))))
    made.say("go on")
    assert judged(made).violations == ()


def whole(made: Session, content: list[dict[str, Any]]) -> Answered:
    """Record an answer whose numbers Python has read already, as an official client gives it."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    made.record({"type": "message", "role": "assistant", "model": "m", "content": content, "usage": usage})
    body = made.events[-1].body
    assert isinstance(body, Answered)
    return body


def test_an_answer_that_was_paid_for_is_recorded() -> None:
    """As an import does: null where the number stood; from bytes and from what a client has read."""
    text = '[{"type":"tool_use","id":"t","name":"f","input":{"a":1e999,"b":1}},{"type":"new","n":-1e999}]'
    by_client = session()
    by_client.say("q")
    by_client.compile()
    body = whole(by_client, json.loads(text))
    by_bytes = session()
    by_bytes.say("q")
    by_bytes.compile()
    by_bytes.record(b'{"type":"message","role":"assistant","model":"m","content":' + text.encode() + b"}")
    assert by_bytes.events[-1].body.message == body.message
    called, block = body.message.blocks
    assert isinstance(called, ToolCall)
    assert called.arguments == '{"a":null,"b":1}'
    assert isinstance(block, Opaque)
    assert json.loads(block.raw) == {"type": "new", "n": None}
