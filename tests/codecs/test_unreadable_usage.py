"""A usage that is no count: the answer beside it stays, and what it cost is unknown."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from foreword.codecs import codec
from foreword.codecs.doubts import UNREADABLE
from foreword.codecs.stream.decoder import Decoder
from foreword.core.usage import Usage
from foreword.errors import MalformedResponse
from tests.codecs.stream.streams import BODIES, EVENTS, WIRES, events, stream

COUNTS = {
    "anthropic": ("usage", "input_tokens"),
    "openai-chat": ("usage", "prompt_tokens"),
    "deepseek": ("usage", "prompt_tokens"),
    "openai-responses": ("usage", "input_tokens"),
    "gemini": ("usageMetadata", "promptTokenCount"),
}
every_wire = pytest.mark.parametrize("wire", WIRES)
no_count = pytest.mark.parametrize("value", ["10", -1, 1.5, True, [], float(2**60)])


def answered(wire: str, value: Any) -> dict[str, Any]:
    """Return a response of a wire whose prompt is counted by a value."""
    usage, name = COUNTS[wire]
    body = BODIES[wire]()
    return body | {usage: body[usage] | {name: value}}


@every_wire
@no_count
def test_a_usage_that_is_no_count_is_unknown_and_named(wire: str, value: Any) -> None:
    """Whole or streamed, the answer is what it is without it."""
    body = answered(wire, value)
    found = codec(wire).decode_response(body)
    expected = codec(wire).decode_response(BODIES[wire]())
    assert (found.message, found.stop_reason) == (expected.message, expected.stop_reason)
    assert (found.usage, found.doubts) == (Usage(), (UNREADABLE,))
    decoder = Decoder(wire)
    decoder.feed(stream(wire, body=body))
    streamed = decoder.end()
    assert (streamed.state, streamed.usage) == ("complete", None)
    assert streamed.response == found
    with pytest.raises(MalformedResponse):
        codec(wire).usage_from(body[COUNTS[wire][0]])


@every_wire
def test_a_usage_that_is_no_object_is_unknown_and_named(wire: str) -> None:
    """In a response, and in each event of a stream that would hold one."""
    usage, _ = COUNTS[wire]
    found = codec(wire).decode_response(BODIES[wire]() | {usage: "n/a"})
    assert (found.usage, found.doubts) == (Usage(), (UNREADABLE,))
    decoder = Decoder(wire)
    decoder.feed(stream(wire).replace(f'"{usage}": {{'.encode(), f'"{usage}": "n/a", "kept": {{'.encode()))
    streamed = decoder.end()
    assert streamed.state == "complete"
    assert streamed.response is not None
    assert streamed.response.message == codec(wire).decode_response(BODIES[wire]()).message
    assert streamed.response.doubts == (UNREADABLE,)


@every_wire
def test_a_whole_number_may_be_written_with_a_point(wire: str) -> None:
    """JSON has one kind of number; programs that know only floats write `900.0`."""
    body, usage = BODIES[wire](), COUNTS[wire][0]
    floats = {name: float(value) if type(value) is int else value for name, value in body[usage].items()}
    found = codec(wire).decode_response(body | {usage: floats})
    assert (found.usage, found.doubts) == (codec(wire).decode_response(body).usage, ())
    assert type(found.usage.uncached) is int


def test_a_later_usage_mends_an_earlier_one() -> None:
    """Gateways count beside each chunk; the last word stands."""
    first, *rest = EVENTS["gemini"](BODIES["gemini"](), random.Random(0))
    payloads = iter([first | {"usageMetadata": {"promptTokenCount": "?"}}, *rest])
    decoder = Decoder("gemini")
    decoder.feed(events(payloads, named=False))
    assert decoder.end().usage == codec("gemini").decode_response(BODIES["gemini"]()).usage


@pytest.mark.parametrize("wire", ["openai-chat", "deepseek", "openai-responses", "gemini"])
def test_a_total_without_the_prompt_is_not_written(wire: str) -> None:
    """The output alone is no total, and the response reads back with as little known as before."""
    given = codec(wire).decode_response(BODIES[wire]())
    response = msgspec.structs.replace(given, usage=Usage(output=5), extra=None)
    written = codec(wire).encode_response(response)
    counts = written[COUNTS[wire][0]]
    assert {"total_tokens", "totalTokenCount"}.isdisjoint(counts)
    read = codec(wire).decode_response(written).usage
    assert (read.total_input, read.output) == (None, 5)
