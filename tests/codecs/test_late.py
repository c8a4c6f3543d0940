"""Late changes, compaction blocks and betas: each wire's own forms, and nothing on wires without them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from foreword.codecs import CODECS, codec
from foreword.codecs.late import context_edits
from foreword.core.block import Opaque, ToolSpec
from foreword.core.catalog import Catalog
from foreword.core.request import Params

TOOL = ToolSpec(name="look", description="looks", schema={"type": "object", "properties": {}})


def params(**keys: Any) -> Params:
    return Params(model="m", max_output=1, keys=keys)


def block(wire: str, **members: Any) -> Opaque:
    raw = json.dumps({"type": "compaction", **members})
    return Opaque(wire=wire, form="compaction", raw=raw)


@pytest.mark.parametrize("name", Catalog.load().names)
def test_every_form_of_the_catalog_is_one_that_a_wire_writes(name: str) -> None:
    """A row names no form that none of its wires knows, and a system message where the wire takes one."""
    spec = Catalog.load().model(name)
    codecs = [codec(wire) for wire in spec.wires]
    known = {form for each in codecs for form in each.late}
    assert {spec.late_tools, spec.late_removal, spec.late_effort} - {None} <= known
    if spec.late_tools == "tool_addition" or spec.late_effort == "output_config":
        assert spec.mid_system
        assert spec.notice_channel == "system"
    if spec.task_budget:
        assert any(each.task_budget for each in codecs)


@pytest.mark.parametrize("wire", CODECS)
def test_a_form_is_written_exactly_where_it_is_named(wire: str) -> None:
    """A codec that names no form writes none; one that does gives pieces of the message layer."""
    made = codec(wire)
    added, removed = made.late_tools([TOOL], []), made.late_tools([], ["look"])
    effort = made.late_effort("low")
    assert bool(added) == bool(made.late & {"tool_addition", "additional_tools"})
    assert bool(removed) == ("tool_removal" in made.late)
    assert bool(effort) == bool(made.late & {"output_config", "configuration_update"})
    for piece in (*added, *removed, *effort):
        assert (piece.section, piece.layer) == ("message", "messages")
        assert piece.role in ("system", "developer")
        assert piece.text
    assert made.late_tools([], []) == []


def test_a_late_tool_is_the_tool_of_the_head() -> None:
    """Its definition is that of a `tools` entry, byte for byte."""
    for wire, path in (("anthropic", ("tool", "definition")), ("openai-responses", ("tools", 0))):
        made = codec(wire)
        value: Any = json.loads(made.late_tools([TOOL], [])[0].data)
        for step in path:
            value = value[step]
        assert value == json.loads(made.tool(TOOL).data)


@pytest.mark.parametrize(
    "keys, betas",
    [
        ({}, ()),
        ({"context_management": {"edits": []}}, ()),
        ({"context_management": None, "compaction": None}, ()),
        ({"compaction": {"type": "summarize"}}, ("compact-2026-09-04",)),
        ({"context_management": {"edits": [{"type": "compact_20260112"}]}}, ("compact-2026-01-12",)),
        (
            {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}, "odd", {"type": ["x"]}]}},
            ("context-management-2025-06-27",),
        ),
        (
            {
                "output_config": {"task_budget": {"type": "tokens", "total": 1}},
                "thinking": {"block_binding": {}},
            },
            ("task-budgets-2026-03-13", "thinking-binding-controls-2026-08-01"),
        ),
        ({"output_config": {"effort": "low"}, "metadata": {"compaction": 1}}, ()),
    ],
)
def test_betas_of_members(keys: dict[str, Any], betas: tuple[str, ...]) -> None:
    """A member that is null or elsewhere needs none; what is odd is no reason to fail."""
    assert codec("anthropic").betas(params(**keys)) == betas
    assert codec("openai-responses").betas(params(**keys)) == ()


@pytest.mark.parametrize(
    "members, place, tools",
    [
        ({"content": "all", "signature": "s"}, "first", False),
        ({"content": "all", "signature": "s", "tool_changes": [{}]}, "first", True),
        ({"content": "all"}, "anywhere", False),
        ({"content": None, "signature": "s"}, "nowhere", False),
        ({"content": ""}, "nowhere", False),
    ],
)
def test_where_a_block_may_stand(members: dict[str, Any], place: str, tools: bool) -> None:
    """Signed: first; plain: where it came; failed: nowhere."""
    found = codec("anthropic").compaction(block("anthropic", **members))
    assert found is not None
    assert (found.place, found.tools) == (place, tools)


def test_no_block_of_another_wire() -> None:
    """Only a wire's own block means anything to it."""
    item = block("openai-responses", encrypted_content="x")
    for wire in CODECS:
        found = codec(wire).compaction(item)
        assert (found is not None) == (wire == "openai-responses")
    assert codec("anthropic").compaction(Opaque(wire="anthropic", form="compaction", raw="[1]")) is None
    assert codec("anthropic").compaction(Opaque(wire="anthropic", form="document", raw="{}")) is None


@pytest.mark.parametrize(
    "extra, edits",
    [
        (None, None),
        ({}, None),
        ({"context_management": None}, None),
        ({"context_management": {"applied_edits": []}, "input_transformations": []}, None),
        ({"context_management": "odd"}, None),
        ({"context_management": {"applied_edits": [{"a": 1}]}}, {"applied_edits": [{"a": 1}]}),
        ({"input_transformations": [{"b": 1}], "x": 1}, {"input_transformations": [{"b": 1}]}),
    ],
)
def test_edits_of_a_response(extra: Any, edits: Any) -> None:
    """Only what was really done to the context counts."""
    assert context_edits(extra) == edits


def test_the_output_of_the_compact_endpoint_is_read_and_sent_as_it_is() -> None:
    """It has no model; the user's messages in it stay the user's."""
    made = codec("openai-responses")
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
    item = {"id": "cmp_1", "type": "compaction", "encrypted_content": "x"}
    body = {"object": "response.compaction", "id": "r", "output": [said, item], "usage": {}}
    response = made.decode_response(body)
    assert response.model == ""
    for thinking in (True, False):
        pieces = made.message(response.message, thinking=thinking)
        assert [msgspec.json.decode(piece.data) for piece in pieces][-1] == item
        assert msgspec.json.decode(pieces[0].data)["role"] == "user"
    assert msgspec.json.decode(made.message(response.message, thinking=True)[0].data) == said
