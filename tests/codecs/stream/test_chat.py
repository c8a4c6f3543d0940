"""Chat chunks, as the wire says them and as gateways do."""

import json
from typing import Any

import pytest

from foreword.codecs import codec
from foreword.codecs.stream.decoder import Decoder
from foreword.codecs.stream.streamed import MALFORMED, Failure, Streamed
from foreword.core.block import Opaque, Text, ToolCall
from tests.codecs.stream.streams import events


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Write a chunk with one choice."""
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def fragment(
    arguments: Any = "", *, index: Any = 0, id: str | None = None, name: str | None = None
) -> dict[str, Any]:
    """Write a fragment of a call; absent members are left out."""
    inner = {key: value for key, value in {"name": name, "arguments": arguments}.items() if value is not None}
    raw = {"index": index, "id": id, "function": inner}
    return {key: value for key, value in raw.items() if value is not None}


def run(*chunks: dict[str, Any], done: bool = True, wire: str = "openai-chat") -> Streamed:
    """Decode chunks."""
    decoder = Decoder(wire)
    decoder.feed(events(iter(chunks), named=False) + (b"data: [DONE]\n\n" if done else b""))
    return decoder.end()


def calls(*fragments: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Decode a chunk a fragment; return (id, name, arguments) of the calls, with the shown ones held equal."""
    decoder = Decoder("openai-chat")
    chunks = [chunk({"tool_calls": [one]}) for one in fragments]
    deltas = decoder.feed(events(iter([*chunks, chunk(finish="tool_calls")]), named=False))
    response = decoder.end().response
    assert response is not None
    found = [block for block in response.message.blocks if isinstance(block, ToolCall)]
    starts = [delta for delta in deltas if delta.kind == "tool_call_start"]
    for start, call in zip(starts, found, strict=True):
        shown = [d.text for d in deltas if d.kind == "tool_call_arguments" and d.block == start.block]
        assert (start.name, "".join(shown)) == (call.name, call.arguments)
    return [(call.id, call.name, call.arguments) for call in found]


BOTH = [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]
Fragment = tuple[int | None, str | None, str | None, Any]
FRAGMENTS: dict[str, list[Fragment]] = {
    "as-the-wire-says": [
        (0, "a", "f", '{"x"'),
        (0, None, None, ":1}"),
        (1, "b", "g", '{"y"'),
        (1, None, None, ":2}"),
    ],
    "mixed": [
        (0, "a", "f", ""),
        (1, "b", "g", ""),
        (1, None, None, '{"y":'),
        (0, None, None, '{"x":1}'),
        (1, None, None, "2}"),
    ],
    "id-and-name-repeated": [
        (0, "a", "f", '{"x"'),
        (0, "a", "f", ":1}"),
        (1, "b", "g", '{"y"'),
        (1, "b", "g", ":2}"),
    ],
    "id-and-name-empty-later": [(0, "a", "f", '{"x"'), (0, "", "", ":1}"), (1, "b", "g", '{"y":2}')],
    "all-of-index-0": [(0, "a", "f", '{"x":1}'), (0, "b", "g", '{"y":2}')],
    "all-of-index-0-in-fragments": [
        (0, "a", "f", '{"x":'),
        (0, None, None, "1}"),
        (0, "b", "g", ""),
        (0, None, None, '{"y":2}'),
    ],
    "no-index": [
        (None, "a", "f", '{"x":'),
        (None, None, None, "1}"),
        (None, "b", "g", '{"y":'),
        (None, None, None, "2}"),
    ],
    "by-id-alone": [
        (None, "a", "f", '{"x"'),
        (None, "b", "g", '{"y"'),
        (None, "a", None, ":1}"),
        (None, "b", None, ":2}"),
    ],
    "an-id-for-each-fragment": [
        (0, "a", "f", '{"x"'),
        (0, "a7", None, ":1"),
        (0, "a8", None, "}"),
        (1, "b", "g", '{"y":2}'),
    ],
    "index-counts-fragments": [
        (0, "a", "f", '{"x"'),
        (1, "a", None, ":1}"),
        (2, "b", "g", '{"y"'),
        (3, "b", None, ":2}"),
    ],
    "arguments-as-objects": [(0, "a", "f", {"x": 1}), (0, "b", "g", {"y": 2})],
}


@pytest.mark.parametrize("way", FRAGMENTS)
def test_fragments_find_their_call(way: str) -> None:
    """However fragments are named, each goes to its own call, and names are set once."""
    listed = FRAGMENTS[way]
    assert (
        calls(*(fragment(text, index=index, id=call, name=name) for index, call, name, text in listed))
        == BOTH
    )


def test_calls_without_ids_are_kept_apart() -> None:
    """A server that gives neither ids nor other indexes begins a call with a name after a closed object."""
    found = calls(
        fragment('{"x":1}', name="f"), fragment('{"x":1}', name="f"), fragment("{}", index=1, name="g")
    )
    assert found == [("", "f", '{"x":1}'), ("", "f", '{"x":1}'), ("", "g", "{}")]


def test_one_id_for_two_calls_gives_two_calls() -> None:
    """A repeated id under an index of its own is another call."""
    found = calls(
        fragment('{"x":1}', id="a", name="f"),
        fragment('{"x"', index=1, id="a", name="f"),
        fragment(":2}", index=1),
    )
    assert found == [("a", "f", '{"x":1}'), ("a", "f", '{"x":2}')]


def test_a_custom_tool_streams_its_input() -> None:
    """A custom call's input is text, JSON or not."""
    head = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls "}}
    more = {"index": 0, "custom": {"input": "-l"}}
    streamed = run(chunk({"tool_calls": [head]}), chunk({"tool_calls": [more]}), chunk(finish="tool_calls"))
    assert streamed.response is not None
    assert streamed.response.message.blocks == (
        ToolCall(id="a", name="sh", arguments="ls -l", extra={"type": "custom"}),
    )


def test_usage_is_the_last_that_says_something() -> None:
    """Zeros and null beside chunks are passed over; a chunk without choices counts; no usage is unknown."""
    zero = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    real = {"prompt_tokens": 12, "completion_tokens": 2, "total_tokens": 14}
    parts = [chunk({"content": "a"}, usage=zero), chunk({"content": "b"}, usage=None)]
    for end in ([chunk(finish="stop", usage=real)], [chunk(finish="stop"), {"choices": [], "usage": real}]):
        usage = run(*parts, *end, {"choices": [], "usage": zero}).usage
        assert usage is not None
        assert (usage.total_input, usage.output) == (12, 2)
    assert run(*parts, chunk(finish="stop")).usage is None


def test_usage_may_stand_in_the_last_choice() -> None:
    """Moonshot has it there, and at the top only where a stream was asked for it; then that one counts."""
    early = {"prompt_tokens": 12, "completion_tokens": 2, "cached_tokens": 10}
    last = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": early}
    other = last | {"index": 1, "usage": early | {"completion_tokens": 9}}
    top = {"choices": [], "usage": early | {"completion_tokens": 3}}
    for chunks, output in (([], 2), ([{"choices": [other]}], 2), ([top], 3)):
        streamed = run(chunk({"content": "a"}), {"choices": [last], "usage": None}, *chunks)
        assert streamed.usage is not None
        assert streamed.response is not None
        assert streamed.usage == streamed.response.usage
        assert (streamed.usage.cache_read, streamed.usage.output) == (10, output)


@pytest.mark.parametrize(
    "done, finish, state",
    [(True, None, "complete"), (False, "stop", "complete"), (False, None, "incomplete")],
)
def test_the_end_is_done_or_a_finish_reason(done: bool, finish: str | None, state: str) -> None:
    """A gateway may leave out either of the two; without both the stream was cut."""
    streamed = run(chunk({"content": "half"}), chunk({}, finish), done=done)
    assert streamed.state == state
    assert streamed.response is not None
    assert streamed.response.message.blocks == (Text(text="half"),)


def test_the_last_call_at_the_limit_is_partial() -> None:
    """Of an answer that ended by length the last call may be cut, even if it parses."""
    listed = [fragment("{}", id="a", name="f"), fragment("{}", id="b", name="g", index=1)]
    assert run(chunk({"tool_calls": listed}), chunk(finish="length")).partial == (1,)
    assert run(chunk({"tool_calls": listed}), chunk(finish="tool_calls")).partial == ()


def test_a_cut_call_is_partial_unless_it_is_closed() -> None:
    """Without an end, a call is whole only when its object is closed."""
    listed = [fragment("{}", id="a", name="f"), fragment('{"b"', id="b", name="g", index=1)]
    streamed = run(chunk({"content": "x", "tool_calls": listed}), done=False)
    assert (streamed.state, streamed.partial) == ("incomplete", (2,))


@pytest.mark.parametrize(
    "error, failure",
    [
        (
            {"choices": [], "error": {"code": 502, "message": "limit"}},
            Failure(code=502, message="limit"),
        ),
        (
            {"error": {"message": "m", "type": "server_error", "param": None, "code": "c"}},
            Failure(type="server_error", code="c", message="m"),
        ),
        ({"error": "plain"}, Failure(message="plain")),
        (
            {"object": "error", "message": "m", "type": "BadRequestError", "code": 400},
            Failure(type="BadRequestError", code=400, message="m"),
        ),
    ],
)
def test_an_error_in_any_chunk_fails(error: dict[str, Any], failure: Failure) -> None:
    """An error object fails the stream, wherever it stands; what came before is kept."""
    streamed = run(chunk({"content": "half"}), error, chunk({"content": "lost"}))
    assert (streamed.state, streamed.error) == ("failed", failure)
    assert streamed.response is not None
    assert streamed.response.message.blocks == (Text(text="half"),)
    assert run(error) == Streamed(state="failed", error=failure)


def test_an_event_named_error_fails() -> None:
    """Some servers name the event and give the error bare."""
    decoder = Decoder("openai-chat")
    decoder.feed(b'event: error\ndata: {"message": "m", "code": "c"}\n\n')
    assert decoder.end() == Streamed(state="failed", error=Failure(code="c", message="m"))


def test_further_choices_and_unknown_members_are_kept() -> None:
    """Other choices, log probabilities and members of gateways are put together beside the message."""
    delta = {"reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "a"}], "content": "x"}
    probability = {"content": [{"token": "x"}]}
    first = {"index": 0, "delta": delta, "logprobs": probability}
    streamed = run(
        {"id": "", "model": "", "choices": [], "prompt_filter_results": [1]},
        {"id": "i", "model": "m", "choices": [first, {"index": 1, "delta": {"content": "y"}}]},
        {"id": "i", "model": "m", "choices": [first | {"finish_reason": "stop"}]},
    )
    response = streamed.response
    assert response is not None
    assert (response.response_id, response.model) == ("i", "m")
    assert response.message.blocks == (Text(text="xx"),)
    assert response.message.extra == {
        "reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "aa"}]
    }
    assert response.extra is not None
    assert response.extra["prompt_filter_results"] == [1]
    assert response.extra["choice"] == {"logprobs": {"content": [{"token": "x"}] * 2}}
    assert response.extra["choices"][0]["message"]["content"] == "y"


def test_content_as_parts_is_kept() -> None:
    """A server that streams parts gives them in the order in which they came, and their text is shown."""
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    contents = [[{"type": "text", "text": "Let "}], "me ", [], [part], "so", [{"type": "text", "text": "!"}]]
    decoder = Decoder("openai-chat")
    chunks = [chunk({"content": content}) for content in contents]
    deltas = decoder.feed(events(iter([*chunks, chunk(finish="stop")]), named=False))
    response = decoder.end().response
    assert response is not None
    raw = json.dumps(part, separators=(",", ":"))
    opaque = Opaque(wire="openai-chat", form="thinking", raw=raw)
    assert response.message.blocks == (Text(text="Let me "), opaque, Text(text="so!"))
    shown = [(delta.block, delta.text) for delta in deltas if delta.kind == "text"]
    assert shown == [(0, "Let "), (0, "me "), (1, "so"), (1, "!")]


def test_a_function_call_of_old_is_a_tool_call() -> None:
    """Streamed and whole: one call, under the id that its result will have."""
    parts = [{"name": "get", "arguments": '{"a"'}, {"arguments": ":1}"}]
    decoder = Decoder("openai-chat")
    chunks = [chunk({"function_call": part}) for part in parts]
    deltas = decoder.feed(events(iter([*chunks, chunk(finish="function_call")]), named=False))
    streamed = decoder.end()
    assert streamed.response is not None
    expected = (ToolCall(id="function-get", name="get", arguments='{"a":1}'),)
    assert (streamed.response.message.blocks, streamed.partial) == (expected, ())
    assert [delta.id for delta in deltas if delta.kind == "tool_call_start"] == ["function-get"]
    message = {"content": None, "function_call": {"name": "get", "arguments": '{"a":1}'}}
    whole = codec("openai-chat").decode_response({"model": "", "choices": [{"message": message}]})
    assert whole.message.blocks == expected


def test_a_refusal_is_text_that_is_shown_and_kept_apart() -> None:
    """A refusal is streamed like text and stays a block of its own."""
    streamed = run(chunk({"refusal": "I ca"}), chunk({"refusal": "n't"}), chunk(finish="stop"))
    assert streamed.response is not None
    raw = json.dumps({"type": "refusal", "refusal": "I can't"}, separators=(",", ":"))
    assert streamed.response.message.blocks == (Opaque(wire="openai-chat", form="refusal", raw=raw),)


@pytest.mark.parametrize(
    "bad",
    [
        [],
        None,
        {"choices": {}},
        {"choices": [1]},
        {"choices": [{"index": -1}]},
        {"choices": [{"index": 0, "delta": [], "finish_reason": None}]},
        {"choices": [{"index": 0, "finish_reason": 5}]},
        chunk({"tool_calls": [{"index": "0"}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": 5}}]}),
        chunk({"content": 5}),
    ],
)
def test_chunks_of_a_wrong_form_fail_the_stream(bad: Any) -> None:
    """What is known but wrong fails, and what came before stays."""
    streamed = run(chunk({"content": "kept"}), bad)
    assert streamed.error is not None
    assert (streamed.state, streamed.error.type) == ("failed", MALFORMED)
    assert streamed.response is not None
    assert streamed.response.message.blocks == (Text(text="kept"),)
