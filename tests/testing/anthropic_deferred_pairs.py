"""For every rule on deferred tools: a request that it refuses, and the nearest that it lets pass."""

from __future__ import annotations

from typing import Any

from tests.testing.anthropic_parts import ASK, MARK, TOOL, assistant, body, call, result, user
from tests.testing.cases import Pair

SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
LATER = {**TOOL, "name": "later", "defer_loading": True}


def searched(name: str) -> dict[str, Any]:
    """Return an answer in which the provider's own search found a tool."""
    asked = {"type": "server_tool_use", "id": "srvtoolu_1", "name": SEARCH["name"], "input": {"query": "a"}}
    found = {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": name}],
    }
    return assistant(
        asked, {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}
    )


def returned(name: str) -> dict[str, Any]:
    """Return the result of a caller's own search that found a tool."""
    return user(result("t1", content=[{"type": "tool_reference", "tool_name": name}]))


TOOLS = [SEARCH, TOOL, LATER]
DEFERRED_PAIRS = [
    Pair("tools_all_deferred", body(tools=[LATER]), body(tools=[SEARCH, LATER])),
    Pair(
        "deferred_marked",
        body(tools=[TOOL, {**LATER, "cache_control": MARK}]),
        body(tools=[{**TOOL, "cache_control": MARK}, LATER]),
    ),
    Pair(
        "reference_undefined",
        body(ASK, searched("nobody"), ASK, tools=TOOLS),
        body(ASK, searched("later"), ASK, tools=TOOLS),
    ),
    Pair(
        "reference_undefined",
        body(ASK, assistant(call("t1")), returned("nobody"), tools=TOOLS),
        body(ASK, assistant(call("t1")), returned("later"), tools=TOOLS),
    ),
]
