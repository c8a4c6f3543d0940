"""All wires: what a stream comes to, however its bytes are cut and wherever they end."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.codecs import codec
from foreword.codecs.stream.decoder import Decoder
from foreword.codecs.stream.streamed import MALFORMED, Delta, Streamed
from foreword.core.block import Opaque, Text, Thinking, ToolCall
from foreword.errors import UnknownWire
from tests.codecs.stream.streams import BODIES, SAID, THOUGHT, WIRES, stream

every_wire = pytest.mark.parametrize("wire", WIRES)


def decode(wire: str, *chunks: bytes) -> tuple[list[Delta], Streamed]:
    """Run a decoder over chunks."""
    decoder = Decoder(wire)
    deltas = [delta for chunk in chunks for delta in decoder.feed(chunk)]
    return deltas, decoder.end()


def cut(body: bytes, places: list[int]) -> list[bytes]:
    """Cut bytes at places."""
    edges = sorted(place % (len(body) + 1) for place in places)
    return [body[a:b] for a, b in zip([0, *edges], [*edges, len(body)], strict=True)]


def shown(deltas: list[Delta], kind: str) -> str:
    """Join what was shown of a kind."""
    return "".join(delta.text for delta in deltas if delta.kind == kind)


@every_wire
@pytest.mark.parametrize("seed", range(5))
def test_a_stream_is_its_unstreamed_response(wire: str, seed: int) -> None:
    """What a stream comes to is what the codec reads from the same response given at once."""
    deltas, streamed = decode(wire, stream(wire, seed))
    expected = codec(wire).decode_response(BODIES[wire]())
    assert streamed == Streamed(state="complete", response=expected, usage=expected.usage)
    assert deltas[-1].kind == "done" or wire == "gemini"
    assert [delta.kind for delta in deltas].count("done") == 1
    usages = [delta.usage for delta in deltas if delta.kind == "usage"]
    assert usages[-1] == expected.usage


@every_wire
def test_deltas_tell_what_the_response_holds(wire: str) -> None:
    """Texts, thinking and arguments shown step by step add up to the blocks; each block has its number."""
    deltas, streamed = decode(wire, stream(wire))
    assert streamed.response is not None
    blocks = streamed.response.message.blocks
    assert shown(deltas, "text") == SAID
    assert shown(deltas, "thinking") == (THOUGHT if wire != "openai-chat" else "")
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    starts = [delta for delta in deltas if delta.kind == "tool_call_start"]
    assert [(start.id, start.name) for start in starts] == [(call.id, call.name) for call in calls]
    for start, call in zip(starts, calls, strict=True):
        parts = [d.text for d in deltas if d.kind == "tool_call_arguments" and d.block == start.block]
        assert json.loads("".join(parts) or "{}") == json.loads(call.arguments)
    numbers = [delta.block for delta in deltas if delta.block is not None]
    assert sorted(set(numbers), key=numbers.index) == sorted(set(numbers))


@every_wire
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_byte_by_byte_is_the_same(wire: str, end: str) -> None:
    """The smallest pieces give the same deltas in the same order, with every line end."""
    body = stream(wire, end=end)
    whole = decode(wire, stream(wire))
    assert decode(wire, body) == whole
    assert decode(wire, *(body[i : i + 1] for i in range(len(body)))) == whole


@every_wire
@settings(max_examples=40, deadline=None)
@given(places=st.lists(st.integers(0, 100_000), max_size=30), seed=st.integers(0, 3))
def test_pieces_do_not_matter(wire: str, places: list[int], seed: int) -> None:
    """Random pieces, also such that end inside a character, give the same deltas and the same end."""
    body = stream(wire, seed)
    assert decode(wire, *cut(body, places)) == decode(wire, body)


@pytest.mark.no_cover  # many examples; others measure these lines
@every_wire
def test_a_cut_stream_keeps_all_that_came(wire: str) -> None:
    """A thousand cuts: a partial response, equal to what was shown, never an exception, never a whole cut call."""
    body = stream(wire, 1)
    _, full = decode(wire, body)
    assert full.response is not None
    whole_calls = [block for block in full.response.message.blocks if isinstance(block, ToolCall)]
    chance = random.Random(7)
    cuts = [chance.randrange(len(body)) for _ in range(1000)]
    states = {"complete": 0, "incomplete": 0, "failed": 0}
    for place in cuts:
        deltas, streamed = decode(wire, body[:place])
        states[streamed.state] += 1
        if streamed.state == "complete":
            continue
        blocks = streamed.response.message.blocks if streamed.response else ()
        texts = "".join(block.text for block in blocks if isinstance(block, Text))
        thoughts = "".join(block.text for block in blocks if isinstance(block, Thinking))
        assert SAID.startswith(texts)
        assert texts.startswith(shown(deltas, "text"))
        assert thoughts.startswith(shown(deltas, "thinking")) or wire == "openai-chat"
        calls = [(index, block) for index, block in enumerate(blocks) if isinstance(block, ToolCall)]
        for (index, call), whole in zip(calls, whole_calls, strict=False):
            assert call.name == whole.name
            assert index in streamed.partial or json.loads(call.arguments) == json.loads(whole.arguments)
            assert call.id == whole.id
    assert states["failed"] == 0
    assert states["incomplete"] > 900 or wire in ("openai-chat", "deepseek", "gemini", "openai-responses")
    assert states["incomplete"] > 500


@every_wire
def test_a_last_event_without_its_blank_line_counts(wire: str) -> None:
    """Servers that leave out the last line end are understood; a cut one isn't taken for whole."""
    body = stream(wire)
    assert decode(wire, body[:-2])[1] == decode(wire, body)[1]
    last = body.rstrip().rindex(b"data: ") + 10
    assert decode(wire, body[:last])[1].state == ("complete" if b"[DONE]" in body else "incomplete")


@every_wire
def test_unreadable_bytes_fail_and_keep_what_came(wire: str) -> None:
    """Broken JSON fails the stream with a type of its own; what stood before it is kept, what follows isn't."""
    parts = stream(wire).split(b"\n\n")
    middle = len(parts) // 2
    bad = b"\n\n".join([*parts[:middle], b'event: x\ndata: {"broken', *parts[middle:]])
    deltas, streamed = decode(wire, bad)
    before, partial = decode(wire, b"\n\n".join(parts[:middle]) + b"\n\n")
    assert streamed.state == "failed"
    assert streamed.error is not None
    assert streamed.error.type == MALFORMED
    assert deltas == [*before, Delta(kind="error", error=streamed.error)]
    assert streamed.response == partial.response


@every_wire
def test_unknown_events_and_members_are_passed_over(wire: str) -> None:
    """Events nobody has heard of change nothing, wherever they stand."""
    new = b'event: brand.new\ndata: {"type":"brand.new","index":0,"novel":[1]}\n\n'
    if wire in ("openai-chat", "deepseek", "gemini"):
        new = b"event: brand.new\n: comment\n\n"
    parts = stream(wire).split(b"\n\n")
    body = b"".join(part + b"\n\n" + new for part in parts[:-1])
    assert decode(wire, body) == decode(wire, stream(wire))


@every_wire
def test_done_is_tolerated_and_nothing_follows_it(wire: str) -> None:
    """An extra `[DONE]`, and bytes after the end, change nothing."""
    body = stream(wire)
    assert decode(wire, body + b"data: [DONE]\n\n" * 2)[1] == decode(wire, body)[1]


@every_wire
def test_nothing_is_incomplete(wire: str) -> None:
    """A stream without content, also one that says it is done, is no answer."""
    for body in (b"", b"\n\n", b": hello\n\n", b"data: [DONE]\n\n", b"\xef\xbb\xbf"):
        assert decode(wire, body) == ([], Streamed(state="incomplete"))


@every_wire
def test_a_server_that_does_not_stream_is_read(wire: str) -> None:
    """A response given at once is the response; an error body fails with the provider's words."""
    body = json.dumps(BODIES[wire](), ensure_ascii=False, indent=1).encode()
    _, streamed = decode(wire, *cut(body, [10, 100, 333]))
    expected = codec(wire).decode_response(BODIES[wire]())
    assert (streamed.state, streamed.response, streamed.usage) == ("complete", expected, expected.usage)
    assert decode(wire, body[:-3])[1].response is None
    error = {"message": "slow down", "code": 429, "status": "EXHAUSTED"}
    _, refused = decode(wire, json.dumps({"error": error}).encode())
    assert refused.state == "failed"
    assert refused.error is not None
    assert (refused.error.type, refused.error.code, refused.error.message) == ("EXHAUSTED", 429, "slow down")


def test_halves_of_a_character_are_joined() -> None:
    """A sender that cuts escaped characters in two gets them back whole, and never breaks the shown text."""
    halves = [r"\ud83d", r"\ude00 ok \ud83d"]
    frame = 'data: {"choices":[{"index":0,"delta":{"content":"HALF"}}]}\n\n'
    body = "".join(frame.replace("HALF", half) for half in halves)
    deltas, streamed = decode("openai-chat", body.encode())
    assert shown(deltas, "text") == "😀 ok "
    assert streamed.response is not None
    assert streamed.response.message.blocks == (Text(text="😀 ok \ufffd"),)


def test_bytes_that_are_no_text_are_replaced() -> None:
    """One byte that isn't UTF-8 costs one character, not the stream."""
    body = b'data: {"choices":[{"index":0,"delta":{"content":"a\xffb"}}]}\n\ndata: [DONE]\n\n'
    _, streamed = decode("openai-chat", body)
    assert streamed.response is not None
    assert streamed.response.message.blocks == (Text(text="a\ufffdb"),)


def test_an_unknown_wire_is_named() -> None:
    """A wire without a codec raises, as everywhere."""
    with pytest.raises(UnknownWire):
        Decoder("smoke-signals")


def test_one_event_may_be_large() -> None:
    """A single event of many megabytes in small chunks is read."""
    big = "y" * 4_000_000
    event = f'data: {{"choices":[{{"index":0,"delta":{{"content":"{big}"}}}}]}}\n\n'.encode()
    chunks = [event[i : i + 4096] for i in range(0, len(event), 4096)]
    _, streamed = decode("openai-chat", *chunks)
    assert streamed.response is not None
    assert streamed.response.message.blocks == (Text(text=big),)


def test_blocks_of_other_kinds_survive() -> None:
    """What a wire streams that this model has no word for is kept as it came."""
    body = BODIES["anthropic"]()
    body["content"][:2] = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    ]
    _, streamed = decode("anthropic", stream("anthropic", body=body))
    assert streamed.response == codec("anthropic").decode_response(body)
    assert [type(block) for block in streamed.response.message.blocks[:2]] == [Opaque, Opaque]
