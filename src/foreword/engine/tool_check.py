"""What a list of tools must be, so that a service doesn't refuse every request that offers it."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.codecs.parts import tool_name
from foreword.core.block import ToolSpec
from foreword.errors import InvalidArgument, InvalidValue

_KIND = "tools_set"
_TOOLS = "ToolSpec(name=..., description=..., schema={...}) of foreword.core.block"


def check_tools(tools: Sequence[ToolSpec]) -> None:
    """Raise InvalidValue for what is no tool, a name that stands twice on the wire, or a schema that is no object's;

    InvalidArgument for what is no list of any.

    The provider's own tools, which only the wire's members describe, may share a name: that of their kind. Gemini
    writes types in capitals. Source: ``tool_names_unique`` and ``tool_schema`` of the referees.
    """
    if not isinstance(tools, Sequence):
        raise InvalidArgument("Session.offer", "tools", tools, f"a list of {_TOOLS}")
    named: dict[str, int] = {}
    for index, tool in enumerate(tools):
        place = f"tools[{index}]"
        if not isinstance(tool, ToolSpec):
            fault = f"Expected `ToolSpec`, got `{type(tool).__name__}`"
            raise InvalidValue(_KIND, place, fault, f"give {_TOOLS}")
        if tool.extra and not tool.schema and not tool.description:
            continue
        first = named.setdefault(tool_name(tool.name), index)
        if first != index:
            fault = f"{tool.name!r} is the name of tools[{first}] already"
            raise InvalidValue(_KIND, f"{place}.name", fault, "give each tool a name of its own")
        kind = tool.schema.get("type") if isinstance(tool.schema, dict) else type(tool.schema).__name__
        if tool.schema and str(kind).lower() != "object":
            raise InvalidValue(
                _KIND,
                f"{place}.schema",
                f"that of {tool.name!r} has the type {kind!r}, not 'object'",
                'give {"type": "object", "properties": {...}}',
            )
