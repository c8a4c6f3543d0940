"""The tool by which an agent reads back what was left out, where it has no other way."""

from __future__ import annotations

from foreword.core.block import ToolSpec
from foreword.core.view import View

READ_TOOL = ToolSpec(
    name="read",
    description=(
        "Read back what was left out here: ref as given in a <foreword> note, e.g. k3f9qz#128; a summary's [#N] is "
        "ALIAS#N. Lines from offset (1-based), at most limit; tail: the last ones; grep: those with a literal text."
    ),
    schema={
        "type": "object",
        "properties": {
            "ref": {"type": "string"},
            "offset": {"type": "integer"},
            "limit": {"type": "integer"},
            "tail": {"type": "integer"},
            "start": {"type": "integer"},
            "grep": {"type": "string"},
        },
        "required": ["ref"],
    },
)


def read_tool_name(view: View) -> str:
    """Return the read tool's name: ``read``, or ``foreword_read`` when the agent has a tool of that name.

    A name that requests already say is kept while it is free: texts that tell it stay as they were recorded.
    """
    fold = view.fold
    taken = {tool.name for tool in (*fold.tools[1], *fold.deferred[1])}
    told = fold.epochs[-1].body.read_tool if fold.epochs else None
    if told is not None and told not in taken:
        return told
    return "foreword_read" if "read" in taken else "read"
