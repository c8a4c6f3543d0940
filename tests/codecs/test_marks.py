"""Cache marks on the wires: where one may stand, how it is written, and where a caller's stood."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreword.codecs import CODECS, codec
from foreword.codecs.decoded import Mark
from foreword.codecs.openai_marks import part_marked, takes_mark
from foreword.core.block import Message, Opaque, Text, Thinking
from foreword.core.canonical import compact
from foreword.errors import MalformedRequest

TEXT = {"type": "text", "text": "x"}
MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    "value, takes",
    [
        ({"role": "user", "content": [TEXT]}, True),
        ({"role": "user", "content": [TEXT, {"type": "image_url", "image_url": {"url": "u"}}]}, True),
        ({"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}, True),
        ({"role": "user", "content": "x"}, False),
        ({"role": "user", "content": []}, False),
        ({"role": "user", "content": [TEXT], "name": "n"}, False),
        ({"role": "assistant", "content": [TEXT]}, False),
        ({"role": "tool", "content": [TEXT]}, False),
        ({"role": "user", "content": [{"type": "refusal", "refusal": "no"}]}, False),
        ({"role": "user", "content": [{**TEXT, "prompt_cache_breakpoint": {"mode": "explicit"}}]}, False),
        ({"type": "function_call_output", "output": "x"}, False),
    ],
)
def test_a_breakpoint_never_changes_a_form(value: dict[str, Any], takes: bool) -> None:
    """Only a user's message whose parts come last takes one; a string stays a string."""
    assert takes_mark(value) is takes
    if takes:
        marked = json.loads(part_marked(compact(value), "12h"))
        assert marked["content"][-1].pop("prompt_cache_breakpoint") == {"mode": "explicit", "ttl": "12h"}
        assert marked == value


def test_bytes_of_another_form_stay() -> None:
    """A mark that can't be written leaves the bytes alone."""
    data = b'{"role":"user","content":"x"}'
    assert part_marked(data, None) == data


@pytest.mark.parametrize(
    "block, takes",
    [
        (Text(text="x"), True),
        (Thinking(text="t", signature="c2ln"), False),
        (Thinking(data="cmVk"), False),
        (Opaque(wire="anthropic", form="mcp_tool_listing", raw='{"type":"mcp_tool_listing"}'), False),
        (Opaque(wire="anthropic", form="fallback", raw='{"type":"fallback"}'), False),
        (Opaque(wire="anthropic", form="server_tool_use", raw='{"type":"server_tool_use","id":"s"}'), True),
    ],
)
def test_blocks_without_a_member_for_marks(block: Any, takes: bool) -> None:
    """Reasoning and two kinds of served blocks take no mark."""
    message = Message(role="assistant", blocks=(block, Text(text="said")), wire="anthropic")
    piece, said = codec("anthropic").message(message, thinking=True)
    assert said.markable
    assert piece.markable is takes


def test_a_callers_marks_are_found() -> None:
    """On tools, system blocks, blocks of messages and parts of results, with their lifetimes, in order."""
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [TEXT, {**TEXT, **MARK}]}
    messages = [
        {"role": "user", "content": "x"},
        {"role": "user", "content": [TEXT, {**TEXT, **hour}, result]},
    ]
    found = codec("anthropic").decode_marks(messages, [{**TEXT, **hour}, TEXT], [{"name": "t", **MARK}])
    assert found == (
        Mark(section="tool", index=0),
        Mark(section="system", index=0, ttl="1h"),
        Mark(section="message", index=1, block=1, ttl="1h"),
        Mark(section="message", index=1, block=2),
    )
    assert codec("anthropic").decode_marks([{"role": "user", "content": "x"}], "rules", None) == ()
    with pytest.raises(MalformedRequest):
        codec("anthropic").decode_marks([{"role": "user", "content": [3]}], None, None)


def test_a_callers_marks_in_chat_form_are_found() -> None:
    """On tools, parts and whole messages, where they mean the last block; an OpenAI breakpoint is no such mark."""
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": [TEXT, {**TEXT, **hour}]},
        {"role": "user", "content": [TEXT, {**TEXT, "prompt_cache_breakpoint": {"mode": "explicit"}}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [call], **MARK},
        {"role": "tool", "tool_call_id": "c", "content": [TEXT, {**TEXT, **MARK}]},
        {"role": "tool", "tool_call_id": "c", "content": "x", **hour},
    ]
    assert codec("openai-chat").decode_marks(messages, None, [{"type": "function", **MARK}]) == (
        Mark(section="tool", index=0),
        Mark(section="message", index=0, block=1, ttl="1h"),
        Mark(section="message", index=2, block=1),
        Mark(section="message", index=3, block=0),
        Mark(section="message", index=4, block=0, ttl="1h"),
    )


def test_a_lifetime_of_another_wire_is_not_sent_to_openai() -> None:
    """It refuses one that it doesn't know."""
    data = b'{"role":"user","content":[{"type":"text","text":"x"}]}'
    assert b'"ttl":"12h"' in codec("openai-chat").mark(data, "12h")
    assert b"ttl" not in codec("openai-chat").mark(data, "1h")


@pytest.mark.parametrize("wire", [wire for wire in CODECS if wire not in ("anthropic", "openai-chat")])
def test_other_wires_have_none_beside_their_blocks(wire: str) -> None:
    """A member of that name means nothing there."""
    assert codec(wire).decode_marks([{"role": "user", "content": [{**TEXT, **MARK}]}], None, None) == ()
    assert codec(wire).marks_end == wire.startswith("openai")
