"""Schemas of tools go out as providers take them: servers of tools offer others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreword.codecs import CODECS, codec
from foreword.codecs.tool_schema import function_schema
from foreword.core.block import ToolSpec
from foreword.engine.session import Session
from tests.histories import referee_for, target_of

CHOICE = {
    "type": "object",
    "anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"required": ["b"]}],
    "properties": {"b": {"type": "integer"}},
}


@pytest.mark.parametrize(
    "schema, fit, lost",
    [
        ({}, {"type": "object", "properties": {}}, ()),
        ({"type": "object"}, {"type": "object", "properties": {}}, ()),
        (
            CHOICE,
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
            ("anyOf at the top of the tool's schema",),
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": ["array", "null"]}, "b": {"enum": [{"type": "array"}]}},
            },
            {
                "type": "object",
                "properties": {
                    "a": {"type": ["array", "null"], "items": {}},
                    "b": {"enum": [{"type": "array"}]},
                },
            },
            (),
        ),
        (
            {"type": "OBJECT", "properties": {"type": {"type": "STRING", "default": "STRING"}}},
            {"type": "object", "properties": {"type": {"type": "string", "default": "STRING"}}},
            (),
        ),
        ({"type": "string"}, {"type": "string"}, ()),
        (
            {
                "type": "object",
                "anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "https://example.com/other"}],
                "$defs": {"A": {"properties": {"a": {"type": "string"}}}},
            },
            {
                "type": "object",
                "$defs": {"A": {"properties": {"a": {"type": "string"}}}},
                "properties": {"a": {"type": "string"}},
            },
            ("anyOf at the top of the tool's schema",),
        ),
        (
            {"type": "object", "properties": {"default": {"type": "array"}, "x-a": {"type": "array"}}},
            {
                "type": "object",
                "properties": {
                    "default": {"type": "array", "items": {}},
                    "x-a": {"type": "array", "items": {}},
                },
            },
            (),
        ),
        (
            {"type": "object", "properties": {}, "example": {"type": "ARRAY"}, "x-own": {"type": "ARRAY"}},
            {"type": "object", "properties": {}, "example": {"type": "ARRAY"}, "x-own": {"type": "ARRAY"}},
            (),
        ),
    ],
)
def test_a_schema_is_made_fit(schema: dict[str, Any], fit: dict[str, Any], lost: tuple[str, ...]) -> None:
    """What providers refuse is said otherwise, and what can't be said is told."""
    before = json.dumps(schema)
    assert function_schema(schema) == (fit, lost)
    assert json.dumps(schema) == before


def test_a_fit_schema_keeps_its_order() -> None:
    """A provider's cache depends on it; and where a bare object is taken, it stays bare."""
    schema = {"properties": {"b": {"type": "string"}, "a": {"type": "array", "items": {}}}, "type": "object"}
    assert json.dumps(function_schema(schema)[0]) == json.dumps(schema)
    bare = {"type": "object", "additionalProperties": {"type": "array"}}
    assert function_schema(bare, full=False) == (bare, ())


@pytest.mark.parametrize("wire", CODECS)
def test_no_provider_refuses_a_tool_for_its_schema(wire: str) -> None:
    """An object without properties, an array of anything and a choice at the top are offered to every model."""
    schemas = [
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        CHOICE,
    ]
    session = Session.open(None, "s", target=target_of(wire))
    session.offer([ToolSpec(name=f"t{n}", schema=schema) for n, schema in enumerate(schemas)])
    session.say("go")
    assert referee_for(session.target).judge(session.compile().body).violations == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("wire", sorted(set(CODECS) - {"gemini"}))
def test_what_a_schema_lost_is_told(wire: str) -> None:
    """The manifest lists it with the tool."""
    assert codec(wire).tool(ToolSpec(name="t", schema=CHOICE)).lost


def test_a_property_that_anthropic_takes_by_no_name_is_left_out() -> None:
    """Every request would be refused for it; the others stay, and what is gone is told."""
    schema = {
        "type": "object",
        "properties": {"$filter": {"type": "string"}, "a": {"type": "string"}},
        "required": ["$filter", "a"],
    }
    piece = codec("anthropic").tool(ToolSpec(name="t", schema=schema))
    assert json.loads(piece.data)["input_schema"] == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
    }
    assert piece.lost == ("property $filter of the tool",)
