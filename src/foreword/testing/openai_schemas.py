"""What both wires of OpenAI refuse in the schema of a function or of an answer.

The texts are those of public error reports (2025-03 to 2026-09), all with the code `invalid_function_parameters`
for a function: rulebook 5.1 and 5.2 name only the types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from foreword.testing.schema_nodes import Context, is_type, nodes
from foreword.testing.wire import mapping

NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "not")


def function_fault(parameters: object, *, strict: bool) -> str | None:
    """Say what is wrong inside the parameters of a function, the first fault alone; None: nothing.

    A schema of another type than object is for a rule of its own.
    """
    schema = mapping(parameters)
    return next(_function_faults(schema, strict=strict), None) if schema.get("type") == "object" else None


def strict_fault(schema: object) -> str | None:
    """Say where a schema breaks the strict subset: all members required, no others allowed. None: nowhere."""
    return next((fault for context, node in nodes(schema) for fault in _strict(context, node)), None)


def _function_faults(schema: dict[str, Any], *, strict: bool) -> Iterator[str]:
    if any(name in schema for name in NOT_AT_THE_TOP):
        named = "/".join(f"'{name}'" for name in NOT_AT_THE_TOP)
        yield f"schema must have type 'object' and not have {named} at the top level."
    if "properties" not in schema:
        yield "In context=(), object schema missing properties."
    for context, node in nodes(schema):
        if is_type(node, "array") and "items" not in node:
            yield f"In context={context}, array schema missing items."
        if strict:
            yield from _strict(context, node)


def _strict(context: Context, node: Mapping[str, Any]) -> Iterator[str]:
    if not is_type(node, "object"):
        return
    if node.get("additionalProperties") is not False:
        yield f"In context={context}, 'additionalProperties' is required to be supplied and to be false."
    required = node.get("required")
    listed = cast("list[object]", required) if isinstance(required, list) else []
    missing = next((name for name in mapping(node.get("properties")) if name not in listed), None)
    if missing is not None:
        yield (
            f"In context={context}, 'required' is required to be supplied and to be an array including every "
            f"key in properties. Missing '{missing}'."
        )
