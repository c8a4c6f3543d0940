"""How one list of tools differs from the one before, in words."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.core.block import ToolSpec


def tools_change(before: Sequence[ToolSpec], after: Sequence[ToolSpec]) -> str:
    """Return the names that were added, removed and changed, as `added a, b; removed c`; "" after no tools at all."""
    old, new = ({tool.name: tool for tool in tools} for tools in (before, after))
    names = {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and new[name] != old[name]],
    }
    parts = [f"{word} {', '.join(listed)}" for word, listed in names.items() if listed]
    return "; ".join(parts) if before else ""
