"""Blocks that ask for another one, or answer one that asked."""

from __future__ import annotations

import gc
import json
import re
import weakref

import pytest

from foreword.codecs import codec
from foreword.core.block import Message, Opaque
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


@pytest.mark.parametrize(
    "call, result, id_, fit",
    [
        ("server_tool_use", "web_search_tool_result", "srvtoolu_1", True),
        ("server_tool_use", "web_search_tool_result", "call_1", False),
        ("server_tool_use", "code_execution_tool_result", "srvtoolu_a-b", False),
        ("mcp_tool_use", "mcp_tool_result", "call_1", True),
        ("mcp_tool_use", "mcp_tool_result", "a.b", False),
    ],
)
def test_a_call_of_the_provider_s_has_an_id_that_it_takes(
    call: str, result: str, id_: str, fit: bool
) -> None:
    """Another vendor's gateway gives ids of its own; a call and its result stay a pair, and nothing else changes."""
    asks = f'{{"type":"{call}","id":"{id_}","name":"n","input":{{"x": 1.50}}}}'
    answers = f'{{"type":"{result}","tool_use_id":"{id_}","content":[]}}'
    blocks = tuple(
        Opaque(wire="anthropic", form=form, raw=raw) for form, raw in ((call, asks), (result, answers))
    )
    message = Message(role="assistant", blocks=blocks, wire="anthropic")
    sent = [piece.data.decode() for piece in codec("anthropic").message(message, thinking=True)]
    assert (sent == [asks, answers]) == fit
    asked, answered = (json.loads(each) for each in sent)
    assert asked["id"] == answered["tool_use_id"]
    assert re.fullmatch("[a-zA-Z0-9_-]+" if call == "mcp_tool_use" else "srvtoolu_[a-zA-Z0-9_]+", asked["id"])
    assert "1.50" in sent[0]
