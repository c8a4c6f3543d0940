"""Amazon's framing: the same events as of the stream inside, however it is cut, and damage that is told."""

import random
from binascii import crc32
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.codecs.stream.aws_frames import AwsFrames
from foreword.codecs.stream.decoder import Decoder
from foreword.codecs.stream.streamed import MALFORMED, Failure, Streamed
from foreword.testing.aws_messages import chunk, exception, message
from tests.codecs.stream.streams import stream

EVENTS = [event for event in stream("anthropic", 1).split(b"\n\n") if event]
DATA = [event.partition(b"data: ")[2] for event in EVENTS]
BODY = b"".join(map(chunk, DATA))


def decode(*chunks: bytes) -> tuple[list[Any], Streamed]:
    """Run a decoder of the wire over chunks."""
    decoder = Decoder("anthropic")
    deltas = [delta for piece in chunks for delta in decoder.feed(piece)]
    return deltas, decoder.end()


def bytes_of(data: bytes) -> list[bytes]:
    """Cut into single bytes."""
    return [data[at : at + 1] for at in range(len(data))]


def test_a_framed_stream_is_the_stream_inside() -> None:
    """Whole and byte by byte, the deltas and the response are those of the plain event stream."""
    plain = decode(stream("anthropic", 1))
    assert plain[1].state == "complete"
    assert decode(BODY) == decode(*bytes_of(BODY)) == plain


def test_the_framing_is_amazon_s() -> None:
    """Its own library reads what the referee's server writes: headers, payloads, checksums."""
    buffer = EventStreamBuffer()
    buffer.add_data(BODY + exception("throttlingException", "slow down"))
    *events, last = buffer
    assert len(events) == len(DATA)
    assert {event.headers[":event-type"] for event in events} == {"chunk"}
    assert last.headers[":exception-type"] == "throttlingException"


@pytest.mark.no_cover  # many examples; others measure these lines
def test_a_thousand_cuts_leave_what_came_before() -> None:
    """A stream that ends anywhere is incomplete, with the events of its whole messages and no more."""
    chance = random.Random(7)
    edges = [0]
    for data in DATA:
        edges.append(edges[-1] + len(chunk(data)))
    for _ in range(1_000):
        at = chance.randrange(len(BODY))
        whole = sum(edge <= at for edge in edges) - 1
        plain = b"".join(b"data: " + data + b"\n\n" for data in DATA[:whole])
        assert decode(BODY[:at]) == decode(plain)
    assert decode(BODY[:-1])[1].state == "incomplete"


@pytest.mark.parametrize(
    "last, failure",
    [
        (
            exception("throttlingException", "slow down"),
            Failure(type="throttlingException", message="slow down"),
        ),
        (message({":exception-type": "x", ":message-type": "exception"}, []), Failure(type="x")),
        (
            message({":message-type": "error", ":error-code": "500", ":error-message": "broken"}, {}),
            Failure(type="500", message="broken"),
        ),
    ],
    ids=["throttled", "wordless", "error"],
)
def test_an_exception_ends_the_stream(last: bytes, failure: Failure) -> None:
    """What came before it stands; nothing behind it is read."""
    deltas, streamed = decode(b"".join(map(chunk, DATA[:5])) + last + chunk(DATA[5]))
    assert (streamed.state, streamed.error) == ("failed", failure)
    assert deltas[-1].kind == "error"
    assert deltas[:-1] == decode(b"".join(map(chunk, DATA[:5])))[0]


def flipped(data: bytes, at: int) -> bytes:
    """Change one byte."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def sized(total: int, headers: int) -> bytes:
    """Write the prelude of a message that says to be so long."""
    prelude = total.to_bytes(4) + headers.to_bytes(4)
    return prelude + crc32(prelude).to_bytes(4)


FIRST = chunk(DATA[0])


@pytest.mark.parametrize(
    "damaged",
    [
        *(flipped(FIRST, at) for at in (3, 7, 11, 14, 60, len(FIRST) - 1)),
        sized(15, 0),
        sized(20, 5),
        sized(1 << 25, 0),
        message({":message-type": "greeting"}, {}),
        message({":event-type": "chunk", ":message-type": "event"}, {"bytes": "no base64!"}),
        message({":event-type": "chunk", ":message-type": "event"}, []),
    ],
    ids=lambda damaged: str(len(damaged)),
)
def test_damage_is_told_and_nothing_is_read_behind_it(damaged: bytes) -> None:
    """A wrong checksum or length, a message of no known kind: what came before stands, whole and byte by byte."""
    body = FIRST + damaged + b"".join(map(chunk, DATA[1:]))
    deltas, streamed = decode(body)
    assert streamed.state == "failed"
    assert streamed.error is not None
    assert streamed.error.type == MALFORMED
    assert streamed.response is not None
    assert decode(*bytes_of(body)) == (deltas, streamed)


def test_other_headers_and_other_events_are_passed_over() -> None:
    """Every kind of value has its length; an event that is no chunk says nothing to us."""
    kinds = {
        0: b"",
        1: b"",
        2: b"x",
        3: b"xx",
        4: b"xxxx",
        5: b"x" * 8,
        6: b"\0\2xx",
        8: b"x" * 8,
        9: b"x" * 16,
    }
    head = b"".join(b"\1h" + bytes([kind]) + value for kind, value in kinds.items())
    plain = chunk(DATA[0])
    size, headers = (int.from_bytes(plain[at : at + 4]) for at in (0, 4))
    begun = sized(size + len(head), headers + len(head)) + head + plain[12:-4]
    frames = AwsFrames()
    (event,) = frames.feed(begun + crc32(begun).to_bytes(4))
    assert event.data == DATA[0]
    assert frames.feed(message({":event-type": "initial-response", ":message-type": "event"}, {})) == []


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 200))
def test_any_bytes_come_to_something(data: bytes, at: int) -> None:
    """No exception, and cutting changes nothing."""
    begun = b"\0" + data
    assert decode(begun[:at], begun[at:]) == decode(begun)
