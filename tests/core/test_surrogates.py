"""Lone surrogates are kept as they came and mended for those who read them; numbers that JSON lacks are refused."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.core.block import Message, Opaque, Text, ToolCall, ToolResult
from foreword.core.canonical import finite, lossless, read
from foreword.core.event import Answered, Draft, Said, ToolReturned
from foreword.core.sealing import GENESIS, decode_body, encode_body, seal
from foreword.core.surrogates import mended_json, mended_text
from foreword.errors import InvalidNumber

HALVES = st.text(st.one_of(st.characters(), st.characters(categories=["Cs"])))


def sealed(body: object) -> object:
    """Append a body to nothing."""
    return seal(Draft(body=body), seq=0, at=0, tenant="t", previous=GENESIS, nonce=b"n")


@given(HALVES)
def test_a_payload_reads_back_whatever_its_text(text: str) -> None:
    """What was appended is what the log gives back, but that halves which meet are one character."""
    body = Said(message=Message(role="user", blocks=(Text(text=text, extra={text: text}),)))
    payload = encode_body(body)
    payload.decode()
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    back = decode_body("said", 1, payload)
    assert back == Said(message=Message(role="user", blocks=(Text(text=joined, extra={joined: joined}),)))
    assert encode_body(back) == payload


@given(HALVES)
def test_mended_text_is_utf8_and_mended_only_where_it_must(text: str) -> None:
    """Sound text stays the same; each half without its other becomes U+FFFD."""
    clean = mended_text(text)
    clean.encode()
    if text.isprintable():
        assert clean == text


@pytest.mark.parametrize(
    "text, wanted",
    [
        (r'{"a":"\ud83d"}', r'{"a":"\ufffd"}'),
        (r'{"a":"\ud83d\ude00"}', r'{"a":"\ud83d\ude00"}'),
        (r'{"a":"\ude00\ud83d"}', r'{"a":"\ufffd\ufffd"}'),
        (r'{"a":"\ud83d\ud83d\ude00"}', r'{"a":"\ufffd\ud83d\ude00"}'),
        (r'{"a":"\\ud83d"}', r'{"a":"\\ud83d"}'),
        (r'{"a":"\\\uDC00"}', r'{"a":"\\\ufffd"}'),
        (r'{"\ud83d":"\u4e2d"}', r'{"\ufffd":"\u4e2d"}'),
        (r'{"a":"\udead', r'{"a":"\ufffd'),
        ('{"a":"\ud83d"}', '{"a":"\ufffd"}'),
    ],
)
def test_escapes_in_json_text(text: str, wanted: str) -> None:
    """Only escapes of halves change; a backslash that is itself escaped begins none."""
    assert mended_json(text) == wanted


def test_an_event_shows_the_mended_body_and_keeps_the_original() -> None:
    """In texts, keys, arguments and blocks of a wire; one that needs nothing has no other body."""
    call = ToolCall(id="c", name="bash", arguments=r'{"x":"\ud83d"}')
    raw = Opaque(wire="anthropic", form="odd", raw=r'{"type":"odd","\udc00":1}')
    body = Answered(message=Message(role="assistant", blocks=(Text(text="a\ud83d"), call, raw)))
    event = sealed(body)
    assert event.original == body
    assert [
        getattr(block, "text", "") or getattr(block, "arguments", "") or block.raw
        for block in event.body.message.blocks
    ] == [
        "a\ufffd",
        r'{"x":"\ufffd"}',
        r'{"type":"odd","\ufffd":1}',
    ]
    pair = ToolReturned(result=ToolResult(call_id="c", content=(Text(text="\ud83d\ude00"),)))
    assert sealed(pair).body.result.content == (Text(text="😀"),)
    quoted = Said(message=Message(role="user", blocks=(Text(text=r'"\ud83d" in a source text'),)))
    assert sealed(quoted).original is None


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_lacks_is_refused(number: float) -> None:
    """It would be null in the log, without a word."""
    for extra in ({"x": number}, {"x": ["\ud83d", {"y": number}]}):
        with pytest.raises(InvalidNumber, match="no JSON number"):
            lossless(extra)
        with pytest.raises(InvalidNumber):
            encode_body(Said(message=Message(role="user", blocks=(), extra=extra)))
    assert lossless({"x": None, "y": 1.5}) == b'{"x":null,"y":1.5}'


def test_a_number_out_of_range_is_null_in_what_is_read() -> None:
    """At any depth; what has none is the same object."""
    given = {"a": [read("1e999"), {"b": (math.nan, 1.5)}], "c": None}
    assert finite(given) == {"a": [None, {"b": [None, 1.5]}], "c": None}
    sound = {"a": [1.5]}
    assert finite(sound) is sound


def test_what_is_no_json_stays_an_error() -> None:
    """Leniency is for halves of characters only."""
    for text in ("{", '{"a":NaN}', "[" * 100_000, ""):
        with pytest.raises((msgspec.DecodeError, RecursionError)):
            read(text)
    assert read(r'"\ud83d\ude00\ud83d"') == "😀\ud83d"
