"""References: their form, the call that reads one, and the exact bytes they stand for."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.core.block import Image, Message, Opaque, Text, ToolCall, ToolResult
from foreword.core.event import Answered, InstructionsSet, Said, ToolReturned
from foreword.core.reference import Reference, block_bytes, content_bytes, parse_reference, recall
from foreword.errors import UnknownReference
from tests.histories import PIXEL


@given(
    session=st.text("abz019-_~:#.", min_size=1, max_size=20),
    seq=st.integers(0, 10**12 - 1),
    block=st.none() | st.integers(0, 10**6 - 1),
)
def test_what_is_written_is_read(session: str, seq: int, block: int | None) -> None:
    """A reference in either form parses to its parts, whatever characters the session's name has."""
    text = f"{session}#{seq}" + ("" if block is None else f".{block}")
    assert parse_reference(text) == Reference(session, seq, block)
    assert parse_reference(f" {text}\n") == Reference(session, seq, block)


@pytest.mark.parametrize(
    "text",
    ["", "#", "a", "a#", "#1", "a#b", "a#1.", "a#-1", "a#1.2.3", "a#1 2", "a" * 300 + "#1", "a#" + "9" * 13],
)
def test_other_forms_are_refused(text: str) -> None:
    """What isn't a reference is refused with its text."""
    with pytest.raises(UnknownReference) as refused:
        parse_reference(text)
    assert refused.value.ref == text


def test_parsing_never_hangs() -> None:
    """A long hostile text is refused at once."""
    for text in ("#" * 100_000, "a#1" * 50_000, "1" * 100_000, " " * 100_000):
        with pytest.raises(UnknownReference):
            parse_reference(text)


@pytest.mark.parametrize(
    "reader, tool, call",
    [
        ("tool", "read", 'read(ref="k3#12")'),
        ("tool", "foreword_read", 'foreword_read(ref="k3#12")'),
        ("shell", None, "foreword read k3#12"),
        ("none", None, None),
        ("path:/ctx/", None, "/ctx/k3-12.txt"),
    ],
)
def test_the_call_is_the_readers(reader: str, tool: str | None, call: str | None) -> None:
    """The call named is one that this agent can make."""
    assert recall(reader, tool, "k3#12") == call


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
def test_text_is_its_utf8(text: str) -> None:
    """A text block stands for exactly its bytes, alone, in a message and in a result."""
    block = Text(text=text)
    result = ToolResult(call_id="c", content=(block,))
    expected = ("text", text.encode())
    assert block_bytes(block) == expected
    assert content_bytes(ToolReturned(result=result), None) == expected
    assert content_bytes(ToolReturned(result=result), 0) == expected
    assert content_bytes(Said(message=Message(role="user", blocks=(block,))), None) == expected


def test_other_content() -> None:
    """A picture is its bytes, several blocks are their JSON, a body without content is its own JSON."""
    image = Image(media_type="image/png", data=PIXEL)
    assert block_bytes(image) == ("image/png", base64.b64decode(PIXEL))
    assert block_bytes(Image(media_type="image/png", data="not base64!")) == ("base64", b"not base64!")
    both = ToolReturned(result=ToolResult(call_id="c", content=(Text(text="a"), image)))
    found = content_bytes(both, None)
    assert found is not None
    assert [block["type"] for block in json.loads(found[1])] == ["text", "image"]
    assert content_bytes(both, 1) == ("image/png", base64.b64decode(PIXEL))
    assert content_bytes(both, 2) is None
    answered = Answered(
        message=Message(role="assistant", blocks=(ToolCall(id="c", name="f", arguments="{x"),))
    )
    found = content_bytes(answered, 0)
    assert found is not None
    assert json.loads(found[1])["arguments"] == "{x"
    opaque = block_bytes(Opaque(wire="w", form="f", raw='{"a":1}'))
    assert json.loads(opaque[1])["raw"] == '{"a":1}'
    found = content_bytes(InstructionsSet(blocks=(Text(text="be"),)), None)
    assert found is not None
    assert b"be" in found[1]


def test_an_empty_result_is_no_bytes_or_says_so() -> None:
    """A result without content has a body to read, and no block 0."""
    empty = ToolReturned(result=ToolResult(call_id="c"))
    assert content_bytes(empty, 0) is None
    assert content_bytes(empty, None) is not None
