"""The schema of a tool as providers take it: an object that lists its properties, and no choice at its top.

Sources, error texts of 2024 to 2026: OpenAI `object schema missing properties`, `array schema missing items` and
`schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level`; Anthropic
`input_schema does not support oneOf, allOf, or anyOf at the top level` and `Property keys should match pattern`.
Servers of tools (MCP) offer all of them, and Gemini's older form writes types in capitals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

CHOICES = ("oneOf", "anyOf", "allOf")
_NOT_AT_THE_TOP = (*CHOICES, "enum", "not")
_TYPES = frozenset({"OBJECT", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "NULL"})
_DATA = frozenset({"default", "const", "enum", "example", "examples"})
"""Members of a schema whose values are no schemas."""
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Members of a schema that hold schemas under names of the caller's, which may be those of members."""


def function_schema(
    schema: Mapping[str, Any], *, full: bool = True, key: re.Pattern[str] | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return (an object's schema as it is sent, what got lost); a fit one is unchanged, in the order of its members.

    A choice at the top gives its branches' properties, none of them required. None given, it takes nothing. A schema
    of no object is returned as it is. ``full``: an object must list its properties, and an array say of what it is.
    ``key``: what a property's name must be; one of another name is left out. None: any.
    """
    if not schema:
        return {"type": "object", "properties": {}}, ()
    fit: dict[str, Any] = _spelled(dict(schema), full=full)
    if fit.get("type") != "object":
        return fit, ()
    gone = [name for name in (_NOT_AT_THE_TOP if full else CHOICES) if name in fit]
    choices = [fit.pop(name) for name in gone]
    if full or gone:
        fit.setdefault("properties", {})
    properties: Any = fit.get("properties")
    for choice in choices:
        for branch in cast("list[Any]", choice) if isinstance(choice, list) else ():
            offered: Any = _meant(branch, fit).get("properties")
            if isinstance(offered, dict) and isinstance(properties, dict):
                properties = fit["properties"] = cast("dict[str, Any]", {**offered, **properties})
    lost = [f"{name} at the top of the tool's schema" for name in gone]
    if key is not None and isinstance(properties, dict):
        named = cast("dict[str, Any]", properties)
        unfit = [name for name in named if not key.fullmatch(name)]
        if unfit:
            fit["properties"] = {name: inner for name, inner in named.items() if name not in unfit}
            required: Any = fit.get("required")
            if isinstance(required, list):
                fit["required"] = [name for name in cast("list[Any]", required) if name not in unfit]
            lost += [f"property {name} of the tool" for name in unfit]
    return fit, tuple(lost)


def _spelled(value: Any, *, full: bool) -> Any:
    if isinstance(value, list):
        return [_spelled(item, full=full) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    found = {name: _member(name, inner, full=full) for name, inner in members.items()}
    kind: Any = found.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        kind = found["type"] = kind.lower()
    if full and (kind == "array" or (isinstance(kind, list) and "array" in kind)):
        found.setdefault("items", {})
    return found


def _member(name: str, value: Any, *, full: bool) -> Any:
    if name in _DATA or name.startswith("x-"):
        return value
    if name in _NAMED and isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        return {each: _spelled(inner, full=full) for each, inner in named.items()}
    return _spelled(value, full=full)


def _meant(branch: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a branch of a choice, or what it refers to in the schema itself; {} for any other."""
    members = cast("dict[str, Any]", branch) if isinstance(branch, dict) else {}
    place = members.get("$ref")
    if not isinstance(place, str) or not place.startswith("#/"):
        return members
    held: Any = schema
    for name in place.removeprefix("#/").split("/"):
        held = cast("dict[str, Any]", held).get(name) if isinstance(held, dict) else None
    return cast("dict[str, Any]", held) if isinstance(held, dict) else {}
