"""What a history may say of itself beyond messages: late changes, compaction blocks, and the betas they need.

`NothingLate` is a wire that has none of it. Source of the forms: SDK types anthropic 2.14.0 and openai 3.57.0;
of the beta names: the provider's pages of each feature; both read 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

import msgspec

from foreword.codecs.decoded import Mark
from foreword.codecs.known import KNOWN, known, named
from foreword.codecs.parts import json_object, tool_name
from foreword.codecs.reading import others
from foreword.core.block import Opaque, ToolSpec
from foreword.core.canonical import compact
from foreword.core.fold import COMPACTION
from foreword.core.request import Compaction, Link, Params, Piece

ANTHROPIC_BETAS: Mapping[str, str] = {
    "compaction": "compact-2026-09-04",
    "context_management.edits.compact_20260112": "compact-2026-01-12",
    "context_management.edits.clear_tool_uses_20250919": "context-management-2025-06-27",
    "context_management.edits.clear_thinking_20251015": "context-management-2025-06-27",
    "diagnostics": "cache-diagnosis-2026-04-07",
    "fallbacks": "server-side-fallback-2026-07-01",
    "mcp_servers": "mcp-client-2026-09-15",
    "output_config.task_budget": "task-budgets-2026-03-13",
    "thinking.block_binding": "thinking-binding-controls-2026-08-01",
}
"""Member of a request -> the beta header that it needs. An item of a list goes by its `type`."""
SIGNED_COMPACTION = "compact-2026-09-04"
PLAIN_COMPACTION = "compact-2026-01-12"
TOOL_CHANGES = "mid-conversation-tool-changes-2026-07-01"
INLINE_TOOLS = "inline-tools-2026-09-15"
LATE_EFFORT = "mid-conversation-output-config-2026-07-01"


class NothingLate:
    """A wire whose history holds messages only, and whose requests hold no cache marks."""

    wire: str
    marks_end: bool = False
    reasoning_blocks: bool = False
    refuses_moved: bool = False
    exact: bool = False
    least_output: int = 1
    turns: Literal["", "alternate"] = ""
    late: frozenset[str] = frozenset()
    effort: tuple[str, ...] = ()
    task_budget: tuple[str, ...] = ()

    name = staticmethod(tool_name)

    def knows(self, block: Opaque, *, own: bool = False) -> bool:
        if own and (block.form in KNOWN[self.wire] or not (self.exact and named(block.form))):
            return True
        return known(block, self.wire)

    def searches(self, tool: ToolSpec) -> bool:
        return False

    def late_tools(self, added: Sequence[ToolSpec], removed: Sequence[str]) -> list[Piece]:
        return []

    def late_effort(self, effort: str) -> list[Piece]:
        return []

    def decode_marks(
        self, messages: Sequence[Any], system: Any, tools: Sequence[Any] | None
    ) -> tuple[Mark, ...]:
        return ()

    def compaction(self, block: Opaque) -> Compaction | None:
        return None

    def link(self, block: Opaque) -> Link | None:
        return None

    def reasoning_member(self, params: Params) -> str:
        return ""

    def thinks_first(self, params: Params) -> bool:
        return False

    def wants_json(self, params: Params) -> bool:
        return False

    def betas(self, params: Params) -> tuple[str, ...]:
        return ()


def named_betas(keys: Mapping[str, Any], table: Mapping[str, str]) -> tuple[str, ...]:
    """Return the betas of a table that members need, sorted, each once."""
    return tuple(sorted({table[path] for path in _paths(keys) if path in table}))


def _paths(value: Any, at: str = "") -> Iterator[str]:
    """Yield the paths of members that are not null; three names deep is as deep as a table goes."""
    if isinstance(value, Mapping):
        for name, member in cast("Mapping[str, Any]", value).items():
            if member is not None:
                path = f"{at}.{name}" if at else name
                yield path
                if path.count(".") < 2:
                    yield from _paths(member, path)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            if isinstance(item, Mapping):
                yield f"{at}.{cast('Mapping[str, Any]', item).get('type')}"


def late_piece(
    value: Any, role: str, kind: str, *, betas: tuple[str, ...] = (), markable: bool = False
) -> Piece:
    """Return a change as a unit of the messages; a tokenizer reads all of it."""
    data = compact(value)
    return Piece(
        section="message",
        layer="messages",
        role=role,
        kind=kind,
        data=data,
        text=data.decode(),
        markable=markable,
        betas=betas,
    )


def compaction_members(block: Opaque, wire: str) -> dict[str, Any] | None:
    """Return the members of a compaction block of this wire; None: it is none."""
    if block.wire != wire or block.form != COMPACTION:
        return None
    return msgspec.json.decode(block.raw) if json_object(block.raw) else None


def context_edits(extra: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the members of a response by which the provider says that it changed the context; None: none.

    Anthropic: `applied_edits` of `context_management`; Anthropic and OpenAI: `input_transformations`.
    """
    if not extra:
        return None
    management: Any = extra.get("context_management")
    applied: Any = (
        cast("Mapping[str, Any]", management).get("applied_edits")
        if isinstance(management, Mapping)
        else None
    )
    found = {"applied_edits": applied, "input_transformations": extra.get("input_transformations")}
    return others({name: value for name, value in found.items() if value})
