"""Blocks that only one wire knows and that come in twos: a call and its result, a question and its answer.

Source: SDK types anthropic 2.14.0 and openai 3.57.0, 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

import msgspec

from foreword.codecs.parts import json_object
from foreword.core.block import Opaque
from foreword.core.request import Link
from foreword.core.tool_reference import of_search

By = Literal["provider", "client", "person"]
MCP = "mcp_tool"
"""The kind of calls of connectors."""

# fmt: off
_LINKS: Mapping[str, Mapping[str, tuple[str, bool, By]]] = {
    "anthropic": {
        "server_tool_use": ("id", False, "provider"),
        "mcp_tool_use": ("id", False, "provider"),
        **{
            f"{tool}_tool_result": ("tool_use_id", True, "provider")
            for tool in (
                "web_search", "web_fetch", "advisor", "code_execution", "bash_code_execution",
                "text_editor_code_execution", "tool_search", "mcp",
            )
        },
    },
    "openai-responses": {
        **{
            kind: ("call_id", kind.endswith("_output"), "client")
            for call in ("shell_call", "apply_patch_call", "computer_call")
            for kind in (call, f"{call}_output")
        },
        "local_shell_call": ("call_id", False, "client"),
        "local_shell_call_output": ("id", True, "client"),
        "mcp_approval_request": ("id", False, "person"),
        "mcp_approval_response": ("approval_request_id", True, "person"),
    },
}
# fmt: on
"""Wire -> type -> (member with the id, whether it is the answer, who answers)."""


_FOUND: WeakKeyDictionary[Opaque, Link | None] = WeakKeyDictionary()
"""What was read of a block, for as long as the block is held by someone else."""


def link_of(block: Opaque, wire: str) -> Link | None:
    """Return what a block of a wire asks for or answers; None: neither, or it names no id."""
    if block.wire != wire or block.form not in _LINKS[wire]:
        return None
    try:
        return _FOUND[block]
    except KeyError:
        found = _FOUND[block] = _read(block, *_LINKS[wire][block.form])
        return found


def _read(block: Opaque, member: str, answers: bool, by: By) -> Link | None:
    found: Any = msgspec.json.decode(block.raw) if json_object(block.raw) else None
    id_: Any = cast("dict[str, Any]", found).get(member) if isinstance(found, dict) else None
    if not isinstance(id_, str) or not id_:
        return None
    return Link(id=id_, kind=_kind(block, by), answers=answers, by=by)


def _kind(block: Opaque, by: By) -> str:
    """Return what no call of another kind shares: a connector's result answers no search, though it has its id."""
    if by == "client":
        return block.form.removesuffix("_output")
    if block.form.startswith(MCP):
        return MCP
    return "tool_search" if of_search(block) else by
