"""For every rule on late changes: a request that it refuses, and the nearest that it lets pass."""

from __future__ import annotations

from typing import Any

from tests.testing.anthropic_parts import ASK, TOOL, body, system
from tests.testing.cases import Pair

OTHER = {**TOOL, "name": "other"}


def betas(*names: str) -> dict[str, str]:
    """Return the header that names betas."""
    return {"anthropic-beta": ",".join(names)}


CHANGES = "mid-conversation-tool-changes-2026-07-01"
ALL = betas(CHANGES, "inline-tools-2026-09-15")


def added(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a system message that adds a tool by its definition."""
    block = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool}}
    return system([block])


def removed(name: str) -> dict[str, Any]:
    """Return a system message that takes a tool away."""
    return system([{"type": "tool_removal", "tool": {"type": "tool_reference", "name": name}}])


def effort(value: str) -> dict[str, Any]:
    """Return a system message that changes the effort."""
    return system([], output_config={"effort": value})


def budgeted(**members: Any) -> dict[str, Any]:
    """Return a request with a task budget."""
    return body(output_config={"task_budget": members})


BUDGET = {"task_budget": {"type": "tokens", "total": 20_000}}

CHANGE_PAIRS = [
    Pair(
        "tool_unresolved",
        body(ASK, removed("nobody"), tools=[TOOL]),
        body(ASK, removed("look"), tools=[TOOL]),
    ),
    Pair("tool_conflict", body(ASK, added(TOOL), tools=[TOOL]), body(ASK, added(OTHER), tools=[TOOL])),
    Pair("late_effort", body(ASK, effort("extreme")), body(ASK, effort("low"))),
    Pair("clear_at", body(ASK, system("a", clear_at="later")), body(ASK, system("a", clear_at="never"))),
    Pair("task_budget", budgeted(type="tokens"), budgeted(type="tokens", total=9, remaining=None)),
    Pair("task_budget", budgeted(type="dollars", total=9), budgeted(type="tokens", total=9)),
    Pair(
        "change_beta",
        body(ASK, removed("look"), tools=[TOOL]),
        body(ASK, removed("look"), tools=[TOOL]),
        headers={},
        legal_headers=betas(CHANGES),
    ),
    Pair(
        "change_beta",
        body(ASK, added(OTHER)),
        body(ASK, added(OTHER)),
        headers=betas(CHANGES),
        legal_headers=ALL,
    ),
    Pair(
        "change_beta",
        body(output_config=BUDGET),
        body(output_config=BUDGET),
        headers={},
        legal_headers=betas("task-budgets-2026-03-13"),
    ),
]
