"""Anthropic's events: what stands where, what is cut, what fails."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from foreword.codecs.stream.decoder import Decoder
from foreword.codecs.stream.streamed import MALFORMED, Delta, Failure, Streamed
from foreword.core.block import Opaque, Text, Thinking, ToolCall
from foreword.core.usage import Usage
from tests.codecs.stream.streams import events

START: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "id": "m",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": 5, "output_tokens": 1},
    },
}
STOP = {"type": "message_stop"}


def run(*payloads: dict[str, Any], start: dict[str, Any] = START) -> tuple[list[Delta], Streamed]:
    """Decode a start and some events."""
    decoder = Decoder("anthropic")
    return decoder.feed(events(iter([start, *payloads]), named=True)), decoder.end()


def block(
    index: int, form: dict[str, Any], *deltas: dict[str, Any], stop: bool = True
) -> list[dict[str, Any]]:
    """Write the events of a block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": form},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        *([{"type": "content_block_stop", "index": index}] if stop else []),
    ]


def tool(*texts: str, stop: bool = True, given: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Write the events of a tool call."""
    form = {"type": "tool_use", "id": "t", "name": "f", "input": given or {}}
    return block(0, form, *({"type": "input_json_delta", "partial_json": text} for text in texts), stop=stop)


@pytest.mark.parametrize("ids", [{}, {"id": None}])
def test_a_call_without_an_id_is_a_call(ids: dict[str, Any]) -> None:
    """As in a response that came whole."""
    form = {"type": "tool_use", "name": "f", "input": {}, **ids}
    deltas, streamed = run(*block(0, form), amend("tool_use"), STOP)
    assert blocks_of(streamed) == (ToolCall(id="", name="f", arguments="{}"),)
    assert Delta(kind="tool_call_start", block=0, id="", name="f") in deltas


def amend(stop: str | None, **usage: Any) -> dict[str, Any]:
    """Write a `message_delta`."""
    return {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage}


def blocks_of(streamed: Streamed) -> tuple[Any, ...]:
    """Return the blocks that came."""
    assert streamed.response is not None
    return streamed.response.message.blocks


@pytest.mark.parametrize(
    "texts, arguments",
    [
        ((), "{}"),
        (("",), "{}"),
        (('{"b": ', "1.0}"), '{"b":1.0}'),
        (('{"b": 1} x',), '{"b": 1} x'),
        (("[1]",), "[1]"),
    ],
)
def test_arguments_are_read_at_the_end(texts: tuple[str, ...], arguments: str) -> None:
    """Fragments are joined; none means no arguments; what is no JSON object stays the text it is."""
    _, streamed = run(*tool(*texts), amend("tool_use"), STOP)
    assert blocks_of(streamed) == (ToolCall(id="t", name="f", arguments=arguments),)
    assert (streamed.state, streamed.partial) == ("complete", ())


@pytest.mark.parametrize(
    "texts, given",
    [
        ((), {}),
        (('{"query": ', '"a"}'), {"query": "a"}),
        (('{"n": 1e', "999}"), {"arguments": '{"n": 1e999}'}),
        (('{"query": "a',), {"arguments": '{"query": "a'}),
    ],
)
def test_input_of_the_providers_tool_that_is_no_object_keeps_its_text(
    texts: tuple[str, ...], given: dict[str, Any]
) -> None:
    """As the arguments of every other call are sent."""
    form = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    deltas = ({"type": "input_json_delta", "partial_json": text} for text in texts)
    _, streamed = run(*block(0, form, *deltas), amend("pause_turn"), STOP)
    (found,) = blocks_of(streamed)
    assert isinstance(found, Opaque)
    assert json.loads(found.raw) == form | {"input": given}


def test_arguments_given_at_the_start_stand() -> None:
    """A gateway that gives the whole input with the block's start is understood."""
    _, streamed = run(*tool(given={"a": 1}), amend("tool_use"), STOP)
    assert blocks_of(streamed) == (ToolCall(id="t", name="f", arguments='{"a":1}'),)


@pytest.mark.parametrize("texts", [(), ('{"path": "x", "te',), ('{"path": "x"}',)])
def test_a_cut_call_is_named_and_its_text_kept(texts: tuple[str, ...]) -> None:
    """A call whose end never came is partial, also when its text happens to be JSON."""
    _, streamed = run(*block(1, {"type": "text", "text": ""}), *tool(*texts, stop=False))
    assert blocks_of(streamed)[0] == ToolCall(id="t", name="f", arguments="".join(texts))
    assert (streamed.state, streamed.partial) == ("incomplete", (0,))


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_a_call_at_the_output_limit_is_partial(stop: str) -> None:
    """The last call of an answer that ran into a limit may be cut, even if it parses."""
    _, streamed = run(*tool('{"a": 1}'), amend(stop), STOP)
    assert (streamed.state, streamed.partial) == ("complete", (0,))


def test_an_error_after_the_start_fails_and_keeps_the_rest() -> None:
    """An error event gives its words; nothing after it is taken."""
    error = {"type": "overloaded_error", "message": "busy", "details": {"error_code": "c"}}
    deltas, streamed = run(*tool('{"a": ', stop=False), {"type": "error", "error": error}, STOP)
    failure = Failure(type="overloaded_error", code="c", message="busy")
    assert deltas[-1] == Delta(kind="error", error=failure)
    assert (streamed.state, streamed.error, streamed.partial) == ("failed", failure, (0,))
    assert blocks_of(streamed) == (ToolCall(id="t", name="f", arguments='{"a": '),)


def test_an_error_instead_of_a_start_fails() -> None:
    """A stream may begin with its error; there is no response then."""
    _, streamed = run(start={"type": "error", "error": {"type": "api_error", "message": "no"}})
    assert streamed == Streamed(state="failed", error=Failure(type="api_error", message="no"))


def test_usage_is_cumulative_and_keeps_the_split() -> None:
    """Input from the start, output from the last delta; the lifetimes of writes are known from the start only."""
    counts = {"input_tokens": 7, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 900}
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 100}
    start = {
        "type": "message_start",
        "message": {"usage": counts | {"cache_creation": split, "output_tokens": 1}},
    }
    more = {"input_tokens": None, "cache_creation_input_tokens": 130, "output_tokens": 12}
    deltas, streamed = run(amend(None, output_tokens=4), amend("end_turn", **more), STOP, start=start)
    expected = Usage(uncached=7, cache_read=900, cache_write_short=0, cache_write_long=130, output=12)
    assert streamed.usage == expected
    assert [delta.usage.output for delta in deltas if delta.usage] == [None, 4, 12]


def test_what_a_start_says_of_the_output_is_no_count_of_a_cut_answer() -> None:
    """The input is known from the start, the output only from a later event, or from a start alone at the end."""
    used = {"input_tokens": 7, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 900}
    start = {"type": "message_start", "message": {"usage": used | {"output_tokens": 2}}}
    said = block(0, {"type": "text", "text": "Well, "})
    known = Usage(uncached=7, cache_read=900, cache_write_short=0, cache_write_long=0)
    for rest, output in (([], None), ([amend("end_turn", output_tokens=40)], 40), ([STOP], 2)):
        deltas, streamed = run(*said, *rest, start=start)
        assert streamed.response is not None
        assert streamed.usage == streamed.response.usage == replace(known, output=output)
        assert [delta.usage for delta in deltas if delta.usage][-1] == streamed.usage


def test_a_split_that_is_not_its_total_stays_flagged_when_the_total_comes_again() -> None:
    """What the split lacked from the start is of the short lifetime, and only growth follows the one in use."""
    counts = {"input_tokens": 7, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 0}
    start = {
        "type": "message_start",
        "message": {
            "usage": counts | {"cache_creation": {"ephemeral_1h_input_tokens": 40}, "output_tokens": 1}
        },
    }
    _, streamed = run(amend("end_turn", cache_creation_input_tokens=100, output_tokens=2), STOP, start=start)
    assert streamed.response is not None
    used = streamed.response.usage
    assert (used.cache_write_short, used.cache_write_long) == (60, 40)
    assert streamed.response.doubts == ("cache_split_mismatch",)


def test_no_usage_is_unknown() -> None:
    """A stream that never reports usage doesn't look free."""
    _, streamed = run(STOP, start={"type": "message_start", "message": {"model": "m"}})
    assert streamed.state == "complete"
    assert streamed.usage is None


def test_a_compaction_comes_whole() -> None:
    """A compaction block takes its members from its delta and stays opaque."""
    delta = {"type": "compaction_delta", "content": "so far", "encrypted_content": "e"}
    _, streamed = run(*block(0, {"type": "compaction", "content": None}, delta), amend("compaction"), STOP)
    raw = '{"type":"compaction","content":"so far","encrypted_content":"e"}'
    assert blocks_of(streamed) == (Opaque(wire="anthropic", form="compaction", raw=raw),)


def test_members_of_the_end_stand_in_the_response() -> None:
    """What `message_delta` carries beside the usage is kept: stop details, applied edits, transformations."""
    end = amend("end_turn") | {"context_management": {"applied_edits": []}, "input_transformations": [1]}
    end["delta"] |= {"stop_details": {"why": "x"}, "stop_sequence": None}
    _, streamed = run(end, STOP)
    assert streamed.response is not None
    assert streamed.response.extra == {
        "stop_details": {"why": "x"},
        "context_management": {"applied_edits": []},
        "input_transformations": [1],
    }


def test_thinking_cut_before_its_signature_has_none() -> None:
    """A signature stands only where it came whole."""
    form = {"type": "thinking", "thinking": "", "signature": ""}
    _, streamed = run(*block(0, form, {"type": "thinking_delta", "thinking": "hm"}, stop=False))
    assert blocks_of(streamed) == (Thinking(text="hm"),)
    _, streamed = run(*block(0, form, {"type": "signature_delta", "signature": "s"}))
    assert blocks_of(streamed) == (Thinking(text="", signature="s"),)


def test_blocks_may_be_mixed_and_indexes_may_have_gaps() -> None:
    """Deltas go where their index says; the order is that of the indexes."""
    text = {"type": "text_delta"}
    a, b = block(7, {"type": "text", "text": "a"}), block(2, {"type": "text", "text": ""})
    more = [{"type": "content_block_delta", "index": i, "delta": text | {"text": str(i)}} for i in (7, 2, 7)]
    deltas, streamed = run(a[0], b[0], *more, a[1], b[1], amend("end_turn"), STOP)
    assert blocks_of(streamed) == (Text(text="2"), Text(text="a77"))
    assert [(delta.block, delta.text) for delta in deltas if delta.kind == "text"] == [
        (0, "a"),
        (0, "7"),
        (1, "2"),
        (0, "7"),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_delta", "index": [], "delta": {}},
        {"type": "content_block_stop"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": 1}},
        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
        {"type": "message_start", "message": []},
    ],
)
def test_events_of_a_wrong_form_fail_the_stream(bad: dict[str, Any]) -> None:
    """What is known but wrong fails with the place of the fault, and what came before stays."""
    _, streamed = run(*block(1, {"type": "text", "text": "kept"}), bad, STOP)
    assert streamed.state == "failed"
    assert streamed.error is not None
    assert streamed.error.type == MALFORMED
    assert blocks_of(streamed) == (Text(text="kept"),)


def test_unknown_deltas_are_passed_over() -> None:
    """A delta nobody has heard of changes nothing."""
    _, streamed = run(*block(0, {"type": "text", "text": ""}, {"type": "glow_delta", "glow": 1}), STOP)
    assert blocks_of(streamed) == (Text(text=""),)
