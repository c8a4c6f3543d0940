"""The invalidation matrix: what each provider forgets when a member of the request changes, row by row of the catalog.

The catalog says which layer is lost; a referee of the wire, which knows nothing of the catalog, must read exactly
what stands before that layer.
"""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from foreword.core.cache_model import invalidated
from foreword.core.catalog import Catalog
from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.deepseek_referee import DeepSeekReferee
from foreword.testing.facts import CLAUDE
from foreword.testing.gemini_referee import GeminiReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.openai_responses_referee import OpenAIResponsesReferee
from foreword.testing.prefix_cache import AutomaticCache, CachePolicy, CacheUse, MarkedCache, Unit

LONG = "The harbour lies in the north, behind the long wall. " * 40
MARK = {"type": "ephemeral"}
EMPTY = {"type": "object", "properties": {}}
SCHEMA = {
    "type": "object",
    "properties": {"where": {"type": "string"}},
    "required": ["where"],
    "additionalProperties": False,
}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
PNG = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
PLAIN = {"type": "text", "media_type": "text/plain", "data": LONG}


class Spy:
    """Keeps the units and uses that pass through a cache."""

    def __init__(self, cache: CachePolicy) -> None:
        self._cache = cache
        self.units: list[Sequence[Unit]] = []
        self.uses: list[CacheUse] = []

    def use(self, units: Sequence[Unit]) -> CacheUse:
        self.units.append(units)
        self.uses.append(self._cache.use(units))
        return self.uses[-1]


def anthropic(**members: Any) -> dict[str, Any]:
    tool = {"name": "look", "description": LONG, "input_schema": {"type": "object"}, "cache_control": MARK}
    document = {"type": "document", "source": PLAIN, "citations": {"enabled": False}}
    content = [document, {"type": "text", "text": LONG, "cache_control": MARK}]
    return {
        "model": "m", "max_tokens": 100, "tools": [tool], "tool_choice": {"type": "auto"},
        "system": [{"type": "text", "text": LONG, "cache_control": MARK}],
        "messages": [{"role": "user", "content": content}],
        **members,
    }  # fmt: skip


def anthropic_said(*more: Any, cited: bool = False) -> list[Any]:
    document = {"type": "document", "source": PLAIN, "citations": {"enabled": cited}}
    return [
        {"role": "user", "content": [document, {"type": "text", "text": LONG, "cache_control": MARK}, *more]}
    ]


def chat_tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": LONG, "parameters": EMPTY}}


def chat(**members: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "tools": [chat_tool("look")],
        "messages": [{"role": "user", "content": LONG}],
        **members,
    }


def responses_tool(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": LONG, "parameters": EMPTY}


def responses(**members: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": LONG}]
    return {"model": "m", "tools": [responses_tool("look")], "instructions": LONG, "input": said, **members}


def gemini(**members: Any) -> dict[str, Any]:
    tools = [{"functionDeclarations": [{"name": "look", "description": LONG}]}]
    instruction = {"parts": [{"text": LONG}]}
    contents = [{"role": "user", "parts": [{"text": LONG}]}]
    return {"model": "m", "tools": tools, "systemInstruction": instruction, "contents": contents, **members}


FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA, "strict": True}}
TEXT = {"type": "json_schema", "name": "place", "schema": SCHEMA, "strict": True}
REFEREES: dict[str, tuple[Any, Any, int, int]] = {
    "anthropic": (AnthropicReferee, anthropic, 2, 4),
    "openai-chat": (OpenAIChatReferee, chat, 2, 2),
    "openai-responses": (OpenAIResponsesReferee, responses, 2, 3),
    "deepseek": (DeepSeekReferee, chat, 2, 2),
    "gemini": (GeminiReferee, gemini, 2, 3),
}
"""Wire -> its referee, a request, and the number of units up to the end of the tools and of the system layer."""

CHANGES: dict[tuple[str, str], dict[str, Any]] = {
    ("anthropic", "model"): {"model": "n"},
    ("anthropic", "tools"): {"tools": [{"name": "see", "description": LONG, "input_schema": {"type": "object"}}]},
    ("anthropic", "speed"): {"speed": "fast"},
    ("anthropic", "system"): {"system": [{"type": "text", "text": f"Now: {LONG}", "cache_control": MARK}]},
    ("anthropic", "citations"): {"messages": anthropic_said(cited=True)},
    ("anthropic", "web_search"): {"tools": [*anthropic()["tools"], SEARCH]},
    ("anthropic", "output_config.format"): {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    ("anthropic", "output_config.effort"): {"output_config": {"effort": "low"}},
    ("anthropic", "thinking"): {"thinking": {"type": "adaptive"}},
    ("anthropic", "tool_choice"): {"tool_choice": {"type": "none"}},
    ("anthropic", "images"): {"messages": anthropic_said({"type": "image", "source": PNG})},
    ("openai-chat", "model"): {"model": "n"},
    ("openai-chat", "tools"): {"tools": [chat_tool("see")]},
    ("openai-chat", "prompt_cache_key"): {"prompt_cache_key": "k"},
    ("openai-chat", "service_tier"): {"service_tier": "flex"},
    ("openai-chat", "reasoning_effort"): {"reasoning_effort": "low"},
    ("openai-chat", "response_format"): {"response_format": FORMAT},
    ("openai-chat", "verbosity"): {"verbosity": "low"},
    ("openai-responses", "model"): {"model": "n"},
    ("openai-responses", "tools"): {"tools": [responses_tool("see")]},
    ("openai-responses", "prompt_cache_key"): {"prompt_cache_key": "k"},
    ("openai-responses", "service_tier"): {"service_tier": "flex"},
    ("openai-responses", "reasoning.effort"): {"reasoning": {"effort": "low"}},
    ("openai-responses", "text.format"): {"text": {"format": TEXT}},
    ("openai-responses", "text.verbosity"): {"text": {"verbosity": "low"}},
    ("openai-responses", "instructions"): {"instructions": f"Now: {LONG}"},
    ("deepseek", "model"): {"model": "n"},
    ("deepseek", "tools"): {"tools": [chat_tool("see")]},
    ("gemini", "model"): {"model": "n"},
    ("gemini", "tools"): {"tools": []},
    ("gemini", "systemInstruction"): {"systemInstruction": {"parts": [{"text": f"Now: {LONG}"}]}},
}  # fmt: skip
"""(wire, member) of the catalog -> the members that change it."""


def test_every_row_of_the_catalog_is_tried() -> None:
    """A new row needs a change here, and a referee that knows it."""
    rows = {(wire, member) for wire in REFEREES for member in Catalog.load().invalidates(wire)}
    assert rows == CHANGES.keys()


@pytest.mark.parametrize("wire, member", CHANGES, ids=[f"{wire} {member}" for wire, member in CHANGES])
def test_a_change_loses_its_layer_and_all_behind(wire: Any, member: str) -> None:
    """The same request again is read whole; the changed one as far as its layer's beginning, to the token."""
    make, request, tools_end, system_end = REFEREES[wire]
    spy = Spy(MarkedCache(0) if wire == "anthropic" else AutomaticCache(0, step=1))
    more = {"facts": msgspec.structs.replace(CLAUDE, binds_thinking=False)} if wire == "anthropic" else {}
    referee = make(cache=spy, **more)
    for body in (request(), request(), request(**CHANGES[wire, member])):
        assert referee.judge(json.dumps(body).encode()).violations == ()
    first = spy.units[0]
    assert spy.uses[1].read == sum(unit.tokens for unit in first)
    layer = invalidated(Catalog.load(), wire, [member])
    kept = {"tools": 0, "system": tools_end, "messages": system_end}[str(layer)]
    if member == "tools" and wire != "anthropic":
        kept = 1  # the other keys stand before the tools, and this cache reads whatever is the same
    assert spy.uses[2].read == sum(unit.tokens for unit in first[:kept])


def test_what_no_row_names_keeps_the_cache() -> None:
    """A limit for the output, a temperature, a user's id: nothing is lost."""
    for wire, members in {
        "anthropic": {"max_tokens": 50, "metadata": {"user_id": "u"}},
        "openai-chat": {"max_completion_tokens": 50, "user": "u"},
        "openai-responses": {"max_output_tokens": 50, "user": "u"},
        "deepseek": {"max_tokens": 50, "temperature": 0.5},
        "gemini": {"generationConfig": {"maxOutputTokens": 50}},
    }.items():
        make, request, _, _ = REFEREES[wire]
        spy = Spy(MarkedCache(0) if wire == "anthropic" else AutomaticCache(0, step=1))
        referee = make(cache=spy)
        for body in (request(), request(**members)):
            assert referee.judge(json.dumps(body).encode()).violations == ()
        assert spy.uses[1].uncached == 0
        assert invalidated(Catalog.load(), wire, members) is None
