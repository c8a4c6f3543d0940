"""Anthropic Messages: rules on deferred tools and on what a tool search found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from foreword.testing.anthropic_request import AnthropicRequest, Block
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, text_of

FOUND = ("tool_search_tool_result", "tool_result")
"""Blocks that may hold references to tools; the definitions stand in their place when the model reads."""


def loaded(block: Block) -> Iterator[str]:
    """Yield the names of the tools that a block loads, in order."""
    if block.kind in FOUND:
        yield from _names(block.data.get("content"))


def _names(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _names(item)
    members: dict[str, Any] = mapping(value)
    if members.get("type") == "tool_reference":
        yield text_of(members.get("tool_name"))
    yield from (name for inner in members.values() for name in _names(inner))


def _all_deferred(request: AnthropicRequest) -> Iterator[Fault]:
    if request.tools and all(tool.get("defer_loading") is True for tool in request.tools):
        yield fault("tools")


def _marked(request: AnthropicRequest) -> Iterator[Fault]:
    for index, tool in enumerate(request.tools):
        if tool.get("defer_loading") is True and tool.get("cache_control") is not None:
            yield fault(f"tools.{index}", name=tool.get("name"))


def _undefined(request: AnthropicRequest) -> Iterator[Fault]:
    known = {text_of(tool.get("name")) for tool in request.tools}
    for _, _, block in request.blocks("tool_addition"):
        known.add(text_of(mapping(mapping(block.data.get("tool")).get("definition")).get("name")))
    for at, index, block in request.blocks(*FOUND):
        for name in loaded(block):
            if name not in known:
                yield fault(f"messages.{at}.content.{index}", name=name)


DEFERRED_RULES: tuple[Rule[AnthropicRequest], ...] = (
    Rule(
        code="tools_all_deferred",
        text="All tools have defer_loading set. At least one tool must be non-deferred.",
        section="1.6",
        evidence="D",
        check=_all_deferred,
    ),
    Rule(
        code="deferred_marked",
        text="Tool '{name}' cannot have both defer_loading=true and cache_control set. Tools with defer_loading "
        "cannot use prompt caching.",
        section="1.6",
        evidence="F",
        check=_marked,
    ),
    Rule(
        code="reference_undefined",
        text="Tool reference '{name}' has no corresponding tool definition",
        section="1.6",
        evidence="D",
        check=_undefined,
    ),
)
