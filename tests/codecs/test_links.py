"""Blocks that ask for another one, or answer one that asked."""

from __future__ import annotations

import gc
import weakref

import pytest

from foreword.codecs import codec
from foreword.core.block import Opaque
from foreword.core.request import Link

LINKS = [
    (
        "anthropic",
        Opaque(wire="anthropic", form="server_tool_use", raw='{"id":"s"}'),
        Link(id="s", kind="provider", answers=False, by="provider"),
    ),
    (
        "anthropic",
        Opaque(wire="anthropic", form="web_search_tool_result", raw='{"tool_use_id":"s"}'),
        Link(id="s", kind="provider", answers=True, by="provider"),
    ),
    (
        "anthropic",
        Opaque(wire="anthropic", form="mcp_tool_result", raw='{"tool_use_id":"s"}'),
        Link(id="s", kind="mcp_tool", answers=True, by="provider"),
    ),
    (
        "openai-responses",
        Opaque(wire="openai-responses", form="shell_call_output", raw='{"call_id":"c"}'),
        Link(id="c", kind="shell_call", answers=True, by="client"),
    ),
    (
        "openai-responses",
        Opaque(wire="openai-responses", form="mcp_approval_request", raw='{"id":"a"}'),
        Link(id="a", kind="person", answers=False, by="person"),
    ),
    (
        "anthropic",
        Opaque(wire="anthropic", form="server_tool_use", raw='{"id":"s","name":"tool_search_tool_regex"}'),
        Link(id="s", kind="tool_search", answers=False, by="provider"),
    ),
    (
        "anthropic",
        Opaque(wire="anthropic", form="tool_search_tool_result", raw='{"tool_use_id":"s"}'),
        Link(id="s", kind="tool_search", answers=True, by="provider"),
    ),
    ("anthropic", Opaque(wire="anthropic", form="server_tool_use", raw='{"id":7}'), None),
    ("anthropic", Opaque(wire="anthropic", form="server_tool_use", raw='{"id":"s","n":1e999}'), None),
    ("anthropic", Opaque(wire="anthropic", form="document", raw='{"id":"s"}'), None),
    ("openai-responses", Opaque(wire="anthropic", form="server_tool_use", raw='{"id":"s"}'), None),
]


@pytest.mark.parametrize("wire, block, link", LINKS)
def test_what_a_block_asks_for_or_answers(wire: str, block: Opaque, link: Link | None) -> None:
    """By its own wire, its form and the id it names; the same when asked again."""
    assert codec(wire).link(block) == link
    assert codec(wire).link(block) == link


def test_a_block_is_not_held() -> None:
    """What a block says is remembered for as long as the block is somewhere, and no longer."""
    block = Opaque(wire="anthropic", form="server_tool_use", raw='{"id":"held"}')
    assert codec("anthropic").link(block) is codec("anthropic").link(block)
    seen = weakref.ref(block)
    del block
    gc.collect()
    assert seen() is None
