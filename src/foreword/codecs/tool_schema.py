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
_DATA = frozenset({"default", "const", "enum", "examples"})
"""Members of a schema whose values are no schemas."""


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
    gone = [name for name in _NOT_AT_THE_TOP if name in fit]
    choices = [fit.pop(name) for name in gone]
    if full or gone:
        fit.setdefault("properties", {})
    properties: Any = fit.get("properties")
    for choice in choices:
        for branch in cast("list[Any]", choice) if isinstance(choice, list) else ():
            offered: Any = (
                cast("dict[str, Any]", branch).get("properties") if isinstance(branch, dict) else None
            )
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
    found = {name: inner if name in _DATA else _spelled(inner, full=full) for name, inner in members.items()}
    kind: Any = found.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        kind = found["type"] = kind.lower()
    if full and (kind == "array" or (isinstance(kind, list) and "array" in kind)):
        found.setdefault("items", {})
    return found
