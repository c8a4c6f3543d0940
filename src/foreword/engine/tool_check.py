"""What a list of tools must be, so that a service doesn't refuse every request that offers it."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.codecs.parts import tool_name
from foreword.core.block import ToolSpec
from foreword.errors import InvalidValue

_KIND = "tools_set"


def check_tools(tools: Sequence[ToolSpec]) -> None:
    """Raise InvalidValue for what is no tool, a name that stands twice on the wire, or a schema that is no object's.

    The provider's own tools, which only the wire's members describe, may share a name: that of their kind. Gemini
    writes types in capitals. Source: ``tool_names_unique`` and ``tool_schema`` of the referees.
    """
    named: dict[str, int] = {}
    for index, tool in enumerate(tools):
        place = f"tools[{index}]"
        if not isinstance(tool, ToolSpec):
            raise InvalidValue(_KIND, place, f"Expected `ToolSpec`, got `{type(tool).__name__}`")
        if tool.extra and not tool.schema and not tool.description:
            continue
        first = named.setdefault(tool_name(tool.name), index)
        if first != index:
            raise InvalidValue(_KIND, f"{place}.name", f"{tool.name!r} is the name of tools[{first}] already")
        kind = tool.schema.get("type") if isinstance(tool.schema, dict) else type(tool.schema).__name__
        if tool.schema and str(kind).lower() != "object":
            raise InvalidValue(
                _KIND, f"{place}.schema", f"that of {tool.name!r} has the type {kind!r}, not 'object'"
            )
