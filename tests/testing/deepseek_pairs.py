"""For every rule of DeepSeek: a request that it refuses, and the nearest that it lets pass."""

from typing import Any

from foreword.testing.facts import ModelFacts
from tests.testing import openai_chat_pairs as chat
from tests.testing.cases import Pair
from tests.testing.openai_chat_pairs import ASK, SAID, TOOL, body, call, result, said, text, tool

SMALL = {"facts": ModelFacts(window=2_000, max_output=None, sampling=True)}
OFF = {"type": "disabled"}


def calls(*made: Any, **members: Any) -> dict[str, Any]:
    """An assistant message that thought and called."""
    return {
        "role": "assistant",
        "content": "",
        "reasoning_content": "Hm.",
        "tool_calls": list(made),
        **members,
    }


def bare(*made: Any, **members: Any) -> dict[str, Any]:
    """An assistant message that called, without what it thought."""
    return {name: value for name, value in calls(*made, **members).items() if name != "reasoning_content"}


def named_choice(name: str) -> dict[str, Any]:
    """The choice of one function."""
    return {"type": "function", "function": {"name": name}}


LOOP = [ASK, calls(call("c1")), result("c1")]

OWN = [
    Pair(
        "thinking_choice",
        body(tools=[TOOL], tool_choice="required"),
        body(tools=[TOOL], tool_choice="required", thinking=OFF),
    ),
    Pair(
        "thinking_choice",
        body(tools=[TOOL], tool_choice=named_choice("look"), thinking={"type": "enabled"}),
        body(tools=[TOOL], tool_choice="auto", thinking={"type": "enabled"}),
    ),
    Pair("thinking_type", body(thinking={"type": "adaptive"}), body(thinking={"type": "enabled"})),
    Pair("reasoning_missing", body(ASK, bare(call("c1")), result("c1")), body(*LOOP)),
    Pair(
        "reasoning_missing",
        body(ASK, bare(call("c1")), result("c1"), thinking={"type": "enabled"}),
        body(ASK, bare(call("c1")), result("c1"), thinking=OFF),
    ),
    # In all turns, not only in the last one.
    Pair("reasoning_missing", body(ASK, bare(call("c1")), result("c1"), SAID, ASK), body(*LOOP, SAID, ASK)),
    Pair(
        "reasoning_missing",
        body(ASK, calls(call("c1"), reasoning_content=None), result("c1")),
        body(ASK, calls(call("c1"), reasoning_content=""), result("c1")),
    ),
]

SHARED = [
    Pair("member_missing", {"messages": [ASK]}, body()),
    Pair("member_missing", body(ASK, calls({"type": "function", "id": "c1"}), result("c1")), body(*LOOP)),
    Pair("member_kind", body(max_tokens="5"), body(max_tokens=5)),
    Pair("member_kind", body(ASK, calls(call("c1")), result("c1", {"a": 1})), body(*LOOP)),
    Pair("member_unknown", body(max_completion_tokens=5), body(max_tokens=5)),
    Pair("member_unknown", body(prompt_cache_key="k"), body(reasoning_effort="max")),
    Pair(
        "member_unknown",
        body(ASK, {**SAID, "thinking": "Hm."}),
        body(ASK, {**SAID, "reasoning_content": "Hm."}),
    ),
    Pair(
        "member_unknown",
        body(said("user", [text("a", prompt_cache_breakpoint={"mode": "explicit"})])),
        body(said("user", [text("a")])),
    ),
    Pair("part_kind", body(said("user", [{"type": "file", "file": {}}])), body(said("user", [chat.IMAGE]))),
    Pair("part_role", body(ASK, said("assistant", [chat.IMAGE])), body(ASK, said("assistant", [text("a")]))),
    Pair("no_messages", {**body(), "messages": []}, body()),
    Pair("role", body(said("developer", "a"), ASK), body(said("system", "a"), ASK)),
    Pair("empty_parts", body(said("user", [])), body(said("user", ""))),
    Pair("null_content", body(ASK, said("assistant", None)), body(ASK, said("assistant", ""))),
    Pair("no_calls", body(ASK, {**SAID, "tool_calls": []}), body(ASK, SAID)),
    Pair("empty_call_id", body(ASK, calls(call("")), result("")), body(*LOOP)),
    Pair("call_unanswered", body(ASK, calls(call("c1"))), body(*LOOP)),
    Pair(
        "call_unanswered",
        body(ASK, calls(call("c1"), call("c2")), result("c2"), ASK),
        body(ASK, calls(call("c1"), call("c2")), result("c2"), result("c1"), ASK),
    ),
    Pair("result_orphan", body(ASK, result("c1")), body(*LOOP)),
    Pair("no_tools", body(tools=[]), body(tools=[TOOL])),
    Pair("tool_kind", body(tools=[{"type": "custom", "custom": {}}]), body(tools=[TOOL])),
    Pair("tool_name", body(tools=[tool(name="fs.read")]), body(tools=[tool(name="fs_read")])),
    Pair("tool_names_unique", body(tools=[TOOL, TOOL]), body(tools=[TOOL, tool(name="listen")])),
    Pair("tool_schema", body(tools=[tool(parameters={"type": "array"})]), body(tools=[tool(parameters={})])),
    Pair("choice", body(tools=[TOOL], tool_choice="any"), body(tools=[TOOL], tool_choice="none")),
    Pair(
        "choice_name",
        body(tools=[TOOL], tool_choice=named_choice("listen"), thinking=OFF),
        body(tools=[TOOL], tool_choice=named_choice("look"), thinking=OFF),
    ),
    Pair("tools_many", body(tools=chat.numbered(129)), body(tools=chat.numbered(128))),
    Pair(
        "json_word",
        body(response_format={"type": "json_object"}),
        body(said("system", "Answer in JSON."), ASK, response_format={"type": "json_object"}),
    ),
    Pair(
        "call_name",
        body(ASK, calls(call("c1", function={"name": "fs.read", "arguments": "{}"})), result("c1")),
        body(*LOOP),
    ),
    Pair(
        "detail",
        chat.pictured(chat.IMAGE_AT, detail="medium"),
        chat.pictured(chat.IMAGE_AT, detail="low"),
    ),
    Pair("choice_alone", body(tool_choice="auto"), body(tools=[TOOL], tool_choice="auto")),
    Pair("output_positive", body(max_tokens=0), body(max_tokens=1)),
    Pair("output_model", body(max_tokens=393_217), body(max_tokens=393_216)),
    Pair("effort", body(reasoning_effort="none"), body(reasoning_effort="ultra")),
    Pair("stops", body(stop=["a"] * 17), body(stop=["a"] * 16)),
    Pair(
        "option_value",
        body(response_format={"type": "json_schema", "json_schema": {"name": "a"}}),
        body(response_format={"type": "text"}),
    ),
    Pair("option_range", body(temperature=2.5), body(temperature=2)),
    Pair(
        "stream_options",
        body(stream_options={"include_usage": True}),
        body(stream_options={"include_usage": True}, stream=True),
    ),
    Pair("window", body(said("user", "word " * 3_000)), body(), SMALL),
    Pair("window", body(max_tokens=1_999), body(max_tokens=1_900), SMALL),
]

PAIRS = [*OWN, *SHARED]
