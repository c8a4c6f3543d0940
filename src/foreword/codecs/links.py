"""Blocks that only one wire knows and that come in twos: a call and its result, a question and its answer.

Source: SDK types anthropic 2.14.0 and openai 3.57.0, 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, cast

import msgspec

from foreword.codecs.parts import json_object
from foreword.core.block import Opaque
from foreword.core.request import Link

By = Literal["provider", "client", "person"]

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


@lru_cache(maxsize=4_096)
def link_of(block: Opaque, wire: str) -> Link | None:
    """Return what a block of a wire asks for or answers; None: neither, or it names no id."""
    known = _LINKS[wire].get(block.form) if block.wire == wire else None
    if known is None:
        return None
    member, answers, by = known
    found: Any = msgspec.json.decode(block.raw) if json_object(block.raw) else None
    id_: Any = cast("dict[str, Any]", found).get(member) if isinstance(found, dict) else None
    if not isinstance(id_, str) or not id_:
        return None
    kind = block.form.removesuffix("_output") if by == "client" else by
    return Link(id=id_, kind=kind, answers=answers, by=by)
