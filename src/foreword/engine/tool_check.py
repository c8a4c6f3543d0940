"""What tools, and the parameters about them, must be, so that a service doesn't refuse every request with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

from foreword.codecs.parts import tool_name
from foreword.compiler.compile import Compiled
from foreword.core.block import ToolSpec
from foreword.core.canonical import compact
from foreword.core.key_limits import MIXING, named_tools, with_tools
from foreword.core.target import key_at
from foreword.errors import InvalidArgument, InvalidValue

_COMPILE = "Session.compile"
_KIND = "tools_set"
_LATE = frozenset({"late_tools", "tool_addition", "opaque"})
"""Kinds of units by which tools are offered later."""
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


def _spelled(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield a path in both spellings that Gemini reads, `toolConfig` and `tool_config`, step by step."""
    return product(*((name, re.sub("[A-Z]", lambda found: "_" + found[0].lower(), name)) for name in path))


def check_tool_use(compiled: Compiled) -> None:
    """Raise InvalidArgument for tools that the model does not take so, and for parameters that want others.

    More than it takes, or those of the provider beside functions unless that is asked for; a parameter about tools
    where there are none, or one that makes the model call a tool which it isn't offered.
    Source: ``tools_many``, ``tools_mixed``, ``choice_alone``, ``parallel_alone`` and ``choice_name`` of the referees.
    """
    target = compiled.target
    wire, keys = target.codec.wire, target.params.keys
    head = (compiled.unit(index) for index in range(compiled.head))
    tools = [unit for unit in head if unit.section == "tool"]
    own = compiled.epoch.body.read_tool
    ours = f"; one is {own!r}, by which left-out content is read: another reader needs none" if own else ""
    most = target.spec.max_tools
    if most is not None and len(tools) > most:
        takes = f"at most {most:,} ({target.spec.id}): offer fewer by Session.offer{ours}"
        raise InvalidArgument(_COMPILE, "len(tools)", len(tools), takes)
    path = MIXING.get(wire, ())
    if (
        path
        and len({unit.kind for unit in tools}) > 1
        and not any(key_at(keys, each) is True for each in _spelled(path))
    ):
        takes = f"True: functions stand beside tools of the provider's own{ours}"
        raise InvalidArgument(_COMPILE, f"keys.{'.'.join(path)}", key_at(keys, path), takes)
    alone, named = [*with_tools(wire, keys)], [*named_tools(wire, keys)]
    if not named and (tools or not alone):
        return
    later = (unit.data for _, unit in compiled.since(compiled.head) if unit.kind in _LATE)
    offered = [*(unit.data for unit in tools), compiled.deferred, *later]
    for member, value in () if any(offered) else alone:
        if member == "parallel_tool_calls" and not target.codec.exact:
            continue  # only the vendor is known to refuse it
        raise InvalidArgument(
            _COMPILE, f"keys.{member}", value, "it only beside tools, offered by Session.offer"
        )
    for member, name in named:
        if not any(compact({"name": name})[1:-1] in data for data in offered):
            takes = "the name of a tool that is offered, as it stands in the request"
            raise InvalidArgument(_COMPILE, f"keys.{member}", name, takes)
