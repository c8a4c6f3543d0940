"""Anthropic Messages: rules on tools and effort that change in the middle of a conversation."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.testing import anthropic_forms as forms
from foreword.testing.anthropic_request import AnthropicRequest, Block
from foreword.testing.form import misforms
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, text_of

CHANGES_BETA = "mid-conversation-tool-changes-2026-07-01"
INLINE_BETA = "inline-tools-2026-09-15"
BUDGET_BETA = "task-budgets-2026-03-13"
CLEARED = (None, "next_user_message", "never")


def _changes(request: AnthropicRequest) -> list[tuple[str, Block]]:
    found = sorted(request.blocks("tool_addition", "tool_removal"), key=lambda entry: entry[:2])
    return [(f"messages.{at}.content.{index}", block) for at, index, block in found]


def _unresolved(request: AnthropicRequest) -> Iterator[Fault]:
    known = {text_of(tool.get("name")) for tool in request.tools}
    for path, block in _changes(request):
        tool = mapping(block.data.get("tool"))
        if tool.get("type") == "tool_definition":
            known.add(text_of(mapping(tool.get("definition")).get("name")))
        elif tool.get("type") == "tool_reference" and text_of(tool.get("name")) not in known:
            yield fault(f"{path}.tool.name", name=tool.get("name"))


def _conflict(request: AnthropicRequest) -> Iterator[Fault]:
    known = {text_of(tool.get("name")) for tool in request.tools}
    for path, block in _changes(request):
        tool = mapping(block.data.get("tool"))
        name = text_of(mapping(tool.get("definition")).get("name"))
        if tool.get("type") == "tool_definition" and name in known:
            yield fault(f"{path}.tool.definition.name", name=name)
        known.add(name)


def _effort(request: AnthropicRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        config = mapping(message.data.get("output_config")) if message.role == "system" else {}
        if "effort" in config and text_of(config["effort"]) not in forms.EFFORTS:
            yield fault(f"messages.{at}.output_config.effort")


def _clear_at(request: AnthropicRequest) -> Iterator[Fault]:
    for at, message in enumerate(request.messages):
        if message.role == "system" and message.data.get("clear_at") not in CLEARED:
            yield fault(f"messages.{at}.clear_at")


def _task_budget(request: AnthropicRequest) -> Iterator[Fault]:
    budget = mapping(request.body.get("output_config")).get("task_budget")
    if budget is not None:
        yield from (
            fault(misform.path)
            for misform in misforms("output_config.task_budget", mapping(budget), forms.TASK_BUDGET)
        )
        if mapping(budget).get("type", "tokens") != "tokens":
            yield fault("output_config.task_budget.type")


def _betas(request: AnthropicRequest) -> Iterator[Fault]:
    if request.betas is None:
        return
    for path, block in _changes(request):
        if CHANGES_BETA not in request.betas:
            yield fault(path)
        elif (
            mapping(block.data.get("tool")).get("type") == "tool_definition"
            and INLINE_BETA not in request.betas
        ):
            yield fault(f"{path}.tool")
    budget = mapping(request.body.get("output_config")).get("task_budget")
    if budget is not None and BUDGET_BETA not in request.betas:
        yield fault("output_config.task_budget")


CHANGE_RULES: tuple[Rule[AnthropicRequest], ...] = (
    Rule(
        code="tool_unresolved",
        text="{path}: no tool named '{name}'",
        section="1.1",
        evidence="T",
        check=_unresolved,
        error_code="tool_reference_unresolved",
    ),
    Rule(
        code="tool_conflict",
        text="{path}: a tool named '{name}' is defined already",
        section="1.1",
        evidence="T",
        check=_conflict,
        error_code="tool_name_conflict",
    ),
    Rule(
        code="late_effort",
        text="{path}: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
        section="1.1",
        evidence="T",
        check=_effort,
    ),
    Rule(
        code="clear_at",
        text="{path}: Input should be 'next_user_message' or 'never'",
        section="1.1",
        evidence="T",
        check=_clear_at,
    ),
    Rule(
        code="task_budget",
        text="{path}: Input should be a budget of type 'tokens' with a `total`",
        section="1.6",
        evidence="T",
        check=_task_budget,
    ),
    Rule(
        code="change_beta",
        text="{path}: Extra inputs are not permitted",
        section="1.0",
        evidence="T",
        check=_betas,
    ),
)
