"""Responses events: items that grow, terminal events, and gateways that leave things out."""

import random
from typing import Any

import pytest

from foreword.codecs import codec
from foreword.codecs.stream.decoder import Decoder
from foreword.codecs.stream.streamed import MALFORMED, Delta, Failure, Streamed
from foreword.core.block import Text, Thinking, ToolCall
from tests.codecs.stream.streams import SAID, events, responses_body, responses_events

CREATED: dict[str, Any] = {"type": "response.created", "response": {"id": "r", "model": "m", "output": []}}


def run(*payloads: dict[str, Any]) -> tuple[list[Delta], Streamed]:
    """Decode events."""
    decoder = Decoder("openai-responses")
    return decoder.feed(events(iter(payloads), named=True)), decoder.end()


def ended(kind: str = "completed", **members: Any) -> dict[str, Any]:
    """Write a terminal event."""
    head = {"id": "r", "model": "m", "status": kind, "output": []}
    return {"type": f"response.{kind}", "response": head | members}


def added(form: dict[str, Any], index: int = 0, *, done: bool = False) -> dict[str, Any]:
    """Write an item's begin or end."""
    return {
        "type": f"response.output_item.{'done' if done else 'added'}",
        "output_index": index,
        "item": form,
    }


def grown(kind: str, delta: str, index: int = 0, **place: int) -> dict[str, Any]:
    """Write a delta."""
    return {
        "type": f"response.{kind}.delta",
        "output_index": index,
        "item_id": f"i{index}",
        "delta": delta,
        **place,
    }


CALL = {
    "type": "function_call",
    "id": "i0",
    "call_id": "c",
    "name": "f",
    "arguments": "",
    "status": "in_progress",
}


def blocks_of(streamed: Streamed) -> tuple[Any, ...]:
    """Return the blocks that came."""
    assert streamed.response is not None
    return streamed.response.message.blocks


def test_an_empty_terminal_output_is_filled_from_the_items() -> None:
    """A gateway whose last event has no output loses nothing: the items were given before."""
    body = responses_body()
    listed = list(responses_events(body, random.Random(0)))
    for output in ([], None):
        listed[-1] = {"type": "response.completed", "response": body | {"output": output}}
        _, streamed = run(*listed)
        assert streamed.response == codec("openai-responses").decode_response(body)


def test_encrypted_reasoning_is_taken_when_done() -> None:
    """Before `output_item.done` it may be incomplete, so a cut item has none."""
    begun = {"type": "reasoning", "id": "i0", "summary": [], "encrypted_content": "cut"}
    summary = grown("reasoning_summary_text", "hm", summary_index=0)
    text = codec("openai-responses").decode_response
    _, streamed = run(CREATED, added(begun), summary)
    assert "cut" not in repr(streamed.response)
    assert [block.text for block in blocks_of(streamed) if isinstance(block, Thinking)] == ["hm"]
    whole = begun | {"summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "whole"}
    _, streamed = run(CREATED, added(begun), summary, added(whole, done=True))
    assert blocks_of(streamed) == text({"model": "m", "output": [whole]}).message.blocks


@pytest.mark.parametrize("text", ["", '{"path": "x', '{"path": "x"}'])
def test_a_cut_call_is_partial(text: str) -> None:
    """A call that wasn't done is partial, with the text that came."""
    deltas, streamed = run(CREATED, added(CALL), grown("function_call_arguments", text))
    assert [(block.id, block.arguments) for block in blocks_of(streamed)] == [("c", text)]
    assert (streamed.state, streamed.partial) == ("incomplete", (0,))
    assert deltas[0] == Delta(kind="tool_call_start", block=0, id="c", name="f")


def test_a_call_at_the_output_limit_is_partial() -> None:
    """An incomplete response is a whole stream; the call it ended in isn't whole."""
    cut = CALL | {"arguments": '{"a":1}', "status": "incomplete"}
    reason = {"incomplete_details": {"reason": "max_output_tokens"}}
    _, streamed = run(CREATED, added(CALL), ended("incomplete", output=[cut], **reason))
    assert (streamed.state, streamed.partial) == ("complete", (0,))
    assert run(CREATED, ended("incomplete", output=[cut]))[1].partial == (0,)
    whole = cut | {"status": "completed"}
    assert run(CREATED, ended("incomplete", output=[whole], **reason))[1].partial == (0,)
    assert run(CREATED, ended(output=[whole]))[1].partial == ()


def test_a_custom_call_streams_its_input() -> None:
    """The input of a custom tool grows like arguments."""
    custom = {"type": "custom_tool_call", "id": "i0", "call_id": "c", "name": "sh", "input": ""}
    deltas, streamed = run(CREATED, added(custom), grown("custom_tool_call_input", "ls -l"))
    assert [delta.text for delta in deltas if delta.kind == "tool_call_arguments"] == ["ls -l"]
    assert "ls -l" in repr(streamed.response)


@pytest.mark.parametrize(
    "event, failure",
    [
        (
            {"type": "error", "code": "context_length_exceeded", "message": "too long", "param": None},
            Failure(code="context_length_exceeded", message="too long"),
        ),
        (
            {"type": "error", "error": {"type": "server_error", "code": "c", "message": "m"}},
            Failure(type="server_error", code="c", message="m"),
        ),
        (
            ended("failed", error={"code": "server_error", "message": "m"}),
            Failure(code="server_error", message="m"),
        ),
    ],
)
def test_failures_keep_what_came(event: dict[str, Any], failure: Failure) -> None:
    """An error event and a failed response both fail the stream, with the text before it kept."""
    message = {"type": "message", "id": "i0", "role": "assistant", "content": []}
    deltas, streamed = run(CREATED, added(message), grown("output_text", "half", content_index=0), event)
    assert (streamed.state, streamed.error) == ("failed", failure)
    assert deltas[-1] == Delta(kind="error", error=failure)
    assert [block.text for block in blocks_of(streamed)] == ["half"]


def test_a_failed_response_has_its_usage() -> None:
    """What was billed is told also when it failed."""
    usage = {"input_tokens": 5, "output_tokens": 0, "total_tokens": 5}
    _, streamed = run(CREATED, ended("failed", error={"code": "c"}, usage=usage))
    assert streamed.usage is not None
    assert streamed.usage.total_input == 5


def test_gateways_may_leave_out_indexes_items_and_parts() -> None:
    """Items are found by id where there is no index, and text without an item makes a message."""
    call = {key: value for key, value in added(CALL).items() if key != "output_index"}
    more = {"type": "response.function_call_arguments.delta", "item_id": "i0", "delta": "{}"}
    _, streamed = run(CREATED, call, more)
    assert [(block.id, block.arguments) for block in blocks_of(streamed)] == [("c", "{}")]
    _, streamed = run(
        {"type": "response.output_text.delta", "delta": "a"},
        {"type": "response.output_text.delta", "delta": "b"},
    )
    assert [block.text for block in blocks_of(streamed)] == ["ab"]
    _, streamed = run(added(CALL | {"arguments": "{}"}, done=True), ended(output=None))
    assert (streamed.state, streamed.partial) == ("complete", ())
    assert [type(block) for block in blocks_of(streamed)] == [ToolCall]


def test_parts_without_their_item_being_done_are_kept() -> None:
    """A done part keeps its annotations, several parts their order, refusals their kind."""
    message = {"type": "message", "id": "i0", "role": "assistant", "content": []}
    part = {
        "type": "output_text",
        "text": "a",
        "annotations": [{"type": "url_citation", "url": "https://example.com"}],
    }
    done = {"type": "response.content_part.done", "output_index": 0, "content_index": 0, "part": part}
    note = {
        "type": "response.output_text.annotation.added",
        "output_index": 0,
        "content_index": 1,
        "annotation": {"type": "x"},
    }
    _, streamed = run(
        CREATED,
        added(message),
        grown("output_text", "a", content_index=0),
        done,
        grown("output_text", "b", content_index=1),
        note,
        grown("refusal", "no", content_index=2),
    )  # fmt: skip
    content = [
        part,
        {"type": "output_text", "text": "b", "annotations": [{"type": "x"}]},
        {"type": "refusal", "refusal": "no"},
    ]
    expected = codec("openai-responses").decode_response(
        {"model": "m", "output": [message | {"content": content}]}
    )
    assert blocks_of(streamed) == expected.message.blocks


def test_items_of_other_kinds_come_whole() -> None:
    """An item this model has no word for is kept as it was done."""
    item = {
        "type": "web_search_call",
        "id": "i0",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    }
    _, streamed = run(
        CREATED, added(item | {"status": "in_progress"}), added(item, done=True), ended(output=None)
    )
    assert (
        blocks_of(streamed)
        == codec("openai-responses").decode_response({"model": "m", "output": [item]}).message.blocks
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"type": "response.output_item.added", "output_index": 0, "item": {}},
        {"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call"}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": 5},
        {"type": "response.function_call_arguments.delta", "output_index": 9, "delta": "{}"},
        {"type": "response.created", "response": []},
        {"type": "response.completed", "response": {"output": {}}},
        {"type": "response.incomplete", "response": {"incomplete_details": "x"}},
    ],
)
def test_events_of_a_wrong_form_fail_the_stream(bad: dict[str, Any]) -> None:
    """What is known but wrong fails, and what came before stays."""
    _, streamed = run(CREATED, grown("output_text", SAID), bad)
    assert streamed.error is not None
    assert (streamed.state, streamed.error.type) == ("failed", MALFORMED)
    assert [block.text for block in blocks_of(streamed) if isinstance(block, Text)] == [SAID]
