"""diff: what changes how other parts are read, and what no cache reads."""

from __future__ import annotations

import copy

import pytest

from foreword.evals.diff import diff
from tests.evals.test_diff import (
    BODIES,
    OUTPUT,
    SCHEMA,
    A,
    Body,
    C,
    Change,
    R,
    anthropic,
    as_sent,
    grown,
    reordered,
)


def image(data: str) -> Body:
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


def test_pictures_that_go_one_by_one_are_cleared_and_the_last_loses_its_layer() -> None:
    """A picture among others is content; the first and the last change how all messages are read (rulebook 2.1)."""
    body = anthropic()
    body["messages"].append(
        {"role": "user", "content": [image("AA"), image("BB"), {"type": "text", "text": "See."}]}
    )
    one, none = copy.deepcopy(body), copy.deepcopy(body)
    one["messages"][-1]["content"].pop(0)
    none["messages"][-1]["content"] = [{"type": "text", "text": "See."}]
    found = diff(as_sent(body), as_sent(one), "anthropic")
    assert found.first_difference is not None
    assert (found.cause, found.first_difference.path) == ("cleared", "messages[5].content[0].source.data")
    common = diff(as_sent(body), as_sent(one), "anthropic").common_units
    for before, after, cause in ((body, none, "cleared"), (none, body, "layer_key")):
        lost = diff(as_sent(before), as_sent(after), "anthropic")
        assert (lost.cause, lost.layer) == (cause, "messages")
        assert lost.lost_tokens > 0
        assert lost.common_units < common - 5


def test_a_picture_in_a_result_gives_way_to_a_word() -> None:
    """Its text stayed."""
    body = anthropic()
    body["messages"][0]["content"].append(image("AA"))
    body["messages"][2]["content"][0]["content"] = [{"type": "text", "text": OUTPUT}, image("BB")]
    after = copy.deepcopy(body)
    after["messages"][2]["content"][0]["content"][1] = {"type": "text", "text": "[image removed]"}
    assert diff(as_sent(body), as_sent(after), "anthropic").cause == "cleared"


def test_an_argument_named_as_a_picture_member_is_no_form() -> None:
    """Members mean what they mean where they stand."""
    body = anthropic()
    body["messages"][1]["content"][0]["input"]["detail"] = "all"
    after = copy.deepcopy(body)
    after["messages"][1]["content"][0]["input"]["detail"] = "none"
    assert diff(as_sent(body), as_sent(after), "anthropic").cause == "message_edited"


@pytest.mark.parametrize(
    "wire, change, cause, layer",
    [
        (
            A,
            lambda b: b["tools"].append({"name": "late", "input_schema": {}, "defer_loading": True}),
            None,
            "",
        ),
        (A, lambda b: b["tools"][1].update(defer_loading=True), "tool_removed", "tools"),
        (A, lambda b: b.update(cache_control={"type": "ephemeral"}), "mark_only", ""),
        (A, lambda b: reordered(b["thinking"]), None, ""),
        (R, lambda b: b["reasoning"].update(summary="auto"), None, ""),
        (R, lambda b: b.update(reasoning={"summary": "auto"}), "layer_key", "tools"),
        (C, lambda b: reordered(b["response_format"]["json_schema"]), "key_order", "tools"),
    ],
)
def test_what_no_cache_reads_is_no_loss(wire: str, change: Change, cause: str | None, layer: str) -> None:
    """Deferred tools, a mark on the whole, the order of a parameter's members, a summary; a schema's order is read."""
    before = BODIES[wire]()
    before |= {
        A: {"thinking": {"type": "enabled", "budget_tokens": 2_000}},
        R: {"reasoning": {"effort": "high"}},
        C: {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}},
    }[wire]
    after = copy.deepcopy(before)
    grown(wire, after)
    change(after)
    found = diff(as_sent(before), as_sent(after), wire)
    assert (found.cause, found.layer, found.lost_tokens > 0) == (cause, layer, bool(layer))
