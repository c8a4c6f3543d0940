"""The invalidation matrix: what each provider forgets when a member of the request changes, row by row of the catalog.

The catalog says which layer is lost; a referee of the wire, which knows nothing of the catalog, must read exactly
what stands before that layer.
"""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from foreword.core.request import Layer
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

CHANGES: dict[tuple[str, str], tuple[dict[str, Any], Layer]] = {
    ("anthropic", "model"): ({"model": "n"}, "tools"),
    ("anthropic", "tools"): (
        {"tools": [{"name": "see", "description": LONG, "input_schema": {"type": "object"}}]}, "tools"
    ),
    ("anthropic", "speed"): ({"speed": "fast"}, "system"),
    ("anthropic", "system"): ({"system": [{"type": "text", "text": f"Now: {LONG}", "cache_control": MARK}]}, "system"),
    ("anthropic", "citations"): ({"messages": anthropic_said(cited=True)}, "system"),
    ("anthropic", "web_search"): ({"tools": [*anthropic()["tools"], SEARCH]}, "system"),
    ("anthropic", "output_config.format"): (
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}, "system"
    ),
    ("anthropic", "output_config.effort"): ({"output_config": {"effort": "low"}}, "messages"),
    ("anthropic", "thinking"): ({"thinking": {"type": "adaptive"}}, "messages"),
    ("anthropic", "tool_choice"): ({"tool_choice": {"type": "none"}}, "messages"),
    ("anthropic", "images"): ({"messages": anthropic_said({"type": "image", "source": PNG})}, "messages"),
    ("openai-chat", "model"): ({"model": "n"}, "tools"),
    ("openai-chat", "tools"): ({"tools": [chat_tool("see")]}, "tools"),
    ("openai-chat", "prompt_cache_key"): ({"prompt_cache_key": "k"}, "tools"),
    ("openai-chat", "service_tier"): ({"service_tier": "flex"}, "tools"),
    ("openai-chat", "reasoning_effort"): ({"reasoning_effort": "low"}, "tools"),
    ("openai-chat", "response_format"): ({"response_format": FORMAT}, "tools"),
    ("openai-chat", "verbosity"): ({"verbosity": "low"}, "tools"),
    ("openai-responses", "model"): ({"model": "n"}, "tools"),
    ("openai-responses", "tools"): ({"tools": [responses_tool("see")]}, "tools"),
    ("openai-responses", "prompt_cache_key"): ({"prompt_cache_key": "k"}, "tools"),
    ("openai-responses", "service_tier"): ({"service_tier": "flex"}, "tools"),
    ("openai-responses", "reasoning.effort"): ({"reasoning": {"effort": "low"}}, "tools"),
    ("openai-responses", "text.format"): ({"text": {"format": TEXT}}, "tools"),
    ("openai-responses", "text.verbosity"): ({"text": {"verbosity": "low"}}, "tools"),
    ("openai-responses", "instructions"): ({"instructions": f"Now: {LONG}"}, "system"),
    ("deepseek", "model"): ({"model": "n"}, "tools"),
    ("deepseek", "tools"): ({"tools": [chat_tool("see")]}, "tools"),
    ("gemini", "model"): ({"model": "n"}, "tools"),
    ("gemini", "tools"): ({"tools": []}, "tools"),
    ("gemini", "systemInstruction"): ({"systemInstruction": {"parts": [{"text": f"Now: {LONG}"}]}}, "system"),
}  # fmt: skip
"""(wire, member) -> what changes it, and the first layer that is lost then, by the providers' documentation."""


@pytest.mark.parametrize("wire, member", CHANGES, ids=[f"{wire} {member}" for wire, member in CHANGES])
def test_a_change_loses_its_layer_and_all_behind(wire: Any, member: str) -> None:
    """The same request again is read whole; the changed one as far as its layer's beginning, to the token."""
    make, request, tools_end, system_end = REFEREES[wire]
    changed, layer = CHANGES[wire, member]
    spy = Spy(MarkedCache(0) if wire == "anthropic" else AutomaticCache(0, step=1))
    more = {"facts": msgspec.structs.replace(CLAUDE, binds_thinking=False)} if wire == "anthropic" else {}
    referee = make(cache=spy, **more)
    for body in (request(), request(), request(**changed)):
        assert referee.judge(json.dumps(body).encode()).violations == ()
    first = spy.units[0]
    assert spy.uses[1].read == sum(unit.tokens for unit in first)
    kept = {"tools": 0, "system": tools_end, "messages": system_end}[layer]
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
