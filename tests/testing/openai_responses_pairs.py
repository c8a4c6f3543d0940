"""For every rule of Responses: a request that it refuses, and the nearest that it lets pass."""

from typing import Any

import msgspec

from foreword.testing.facts import ModelFacts
from foreword.testing.referee import Referee
from foreword.testing.script import Answer, Call
from tests.testing.cases import Pair
from tests.testing.openai_responses_limit_pairs import LIMIT_PAIRS
from tests.testing.openai_responses_parts import (
    ASK,
    SAID,
    TOOL,
    body,
    cached,
    call,
    output,
    said,
    text,
    tool,
    without,
)

SMALL = {"facts": ModelFacts(window=2_000, max_output=None)}
NARROW = {"facts": ModelFacts(window=2_000, max_input=500, max_output=None)}
THOUGHTFUL = {
    "script": [
        Answer(thinking="Hm.", text="Let me see.", calls=(Call(name="look"), Call(name="listen"))),
        Answer(thinking="Well.", text="A ship."),
    ]
}
SILENT = {"script": [Answer(thinking="Hm.", calls=(Call(name="look"),))]}
SUMMARY = {"script": [Answer(text="They asked for the harbour.")]}


def answered(referee: Referee[Any], request: dict[str, Any]) -> dict[str, Any]:
    """What the referee answers."""
    status, answer = referee.respond(msgspec.json.encode(request))
    assert status == 200, answer
    return answer


def thought(referee: Referee[Any]) -> tuple[Any, ...]:
    """Reasoning, message and two calls of an answer that was not stored."""
    return tuple(answered(referee, body(store=False))["output"])


def looped(*kept: str, change: dict[str, Any] | None = None) -> Any:
    """Send back the items named of a loop of reasoning, message and calls; `change` the reasoning."""

    def build(referee: Referee[Any]) -> dict[str, Any]:
        reasoning, message, look, listen = thought(referee)
        items = {
            "reasoning": {**reasoning, **(change or {})},
            "message": message,
            "look": look,
            "listen": listen,
            "bare look": without(look, "id"),
        }
        made = [items[name] for name in kept]
        answers = [output(item["call_id"]) for item in made if item["type"] == "function_call"]
        return body(ASK, *made, *answers)

    return build


def patched(referee: Referee[Any]) -> dict[str, Any]:
    """Leave out what the referee said, and use the id of its call for a patch."""
    used = {"call_id": thought(referee)[2]["call_id"]}
    asks = {"type": "apply_patch_call", **used, "operation": {"type": "delete_file"}}
    return body(ASK, asks, {"type": "apply_patch_call_output", **used, "status": "completed"})


def silent(*after: dict[str, Any], called: bool) -> Any:
    """Send back reasoning that led straight to a call: with the call, or with other items instead."""

    def build(referee: Referee[Any]) -> dict[str, Any]:
        reasoning, look = thought(referee)
        return body(ASK, reasoning, *([look, output(look["call_id"])] if called else []), *after)

    return build


def compacted(change: str = "", *, split: bool = False) -> Any:
    """Go on from a compaction item, with its content changed or between a call and its output."""

    def build(referee: Referee[Any]) -> dict[str, Any]:
        item = answered(referee, body(ASK, SAID, {"type": "compaction_trigger"}))["output"][0]
        item = {**item, "encrypted_content": item["encrypted_content"] + change}
        return body(call(), item, output()) if split else body(item, call(), output())

    return build


def chained(identity: str | None = None, *items: Any, store: bool = True, **members: Any) -> Any:
    """Go on by the id of a response that was stored, or by another id."""

    def build(referee: Referee[Any]) -> dict[str, Any]:
        answer = answered(referee, body(store=store))
        made = [output(item["call_id"]) for item in answer["output"] if item["type"] == "function_call"]
        own = list(items) if items else made
        return body(*own, previous_response_id=identity or answer["id"], **members)

    return build


def referred(*, store: bool) -> Any:
    """Refer to the message of an answer by its id."""

    def build(referee: Referee[Any]) -> dict[str, Any]:
        answer = answered(referee, body(store=store))
        return body(ASK, {"type": "item_reference", "id": answer["output"][0]["id"]}, ASK)

    return build


PLAIN = {"script": [Answer(text="In the north.")]}

MEMBERS = [
    Pair("member_missing", without(body(), "model"), body()),
    Pair("member_missing", body(said("user", [{"type": "input_text"}])), body(said("user", [text("hi")]))),
    Pair("member_missing", body({"role": "user"}), body(ASK)),
    Pair("member_missing", body(ASK, without(call(), "arguments"), output()), body(ASK, call(), output())),
    Pair("member_missing", body(ASK, call(), output(), without(output(), "call_id")), body()),
    Pair(
        "member_missing",
        body(tools=[{"type": "function", "function": {"name": "look", "parameters": {}}}]),
        body(tools=[TOOL]),
    ),
    Pair("member_missing", body(said("user", [{"text": "hi"}])), body(said("user", [text("hi")]))),
    Pair("member_kind", body(max_output_tokens="50"), body(max_output_tokens=50)),
    Pair("member_kind", body("hello"), body(ASK)),
    Pair("member_kind", {**body(), "input": 5}, {**body(), "input": "hello"}),
    Pair("member_kind", body(said("user", ["hi"])), body(said("user", [text("hi")]))),
    Pair("member_kind", body(ASK, call(arguments={}), output()), body(ASK, call(), output())),
    Pair("member_kind", body(ASK, call(), output(said={"a": 1})), body(ASK, call(), output())),
    Pair("member_unknown", body(max_tokens=50), body(max_output_tokens=50)),
    Pair("member_unknown", body(messages=[ASK]), body()),
    Pair("member_unknown", body({**ASK, "name": "Ann"}), body({**ASK, "type": "message"})),
    Pair("member_unknown", body(ASK, call(), output(is_error=True)), body(ASK, call(), output())),
    Pair(
        "member_unknown",
        body(said("user", [text("hi", cache_control={"type": "ephemeral"})])),
        body(said("user", [text("hi", prompt_cache_breakpoint={"mode": "explicit"})])),
    ),
    Pair("member_unknown", body(tools=[tool(input_schema={})]), body(tools=[tool(strict=False)])),
    Pair("item_kind", body(ASK, {"type": "tool_result", "content": "seen"}), body(ASK, call(), output())),
    Pair("part_kind", body(said("user", [text("a", "output_text")])), body(said("user", [text("a")]))),
    Pair(
        "part_kind",
        body(ASK, said("assistant", [text("a")])),
        body(ASK, said("assistant", [text("a", "output_text")])),
    ),
    Pair("part_kind", body(said("user", [text("a", "text")])), body(said("user", [text("a")]))),
    Pair(
        "part_kind",
        body(ASK, call(), output(said=[text("seen", "output_text")])),
        body(ASK, call(), output(said=[text("seen")])),
    ),
    Pair("role", body(ASK, said("tool", "a")), body(said("developer", "a"), ASK)),
    Pair("no_input", {**body(), "input": []}, body()),
    Pair("no_input", without(body(), "input"), body()),
    Pair("empty_call_id", body(ASK, call("")), body(ASK, call(), output())),
    Pair(
        "call_id_length", body(ASK, call("c" * 65), output("c" * 65)), body(call("c" * 64), output("c" * 64))
    ),
    Pair("call_name", body(ASK, call(name="fs.read"), output()), body(ASK, call(name="fs_read"), output())),
    Pair(
        "item_id",
        body(ASK, call(id="toolu_1"), output()),
        body(ASK, call(id="fc_1"), output()),
    ),
    Pair(
        "item_duplicate",
        body(ASK, said("assistant", "a", id="msg_1"), said("assistant", "b", id="msg_1")),
        body(ASK, said("assistant", "a", id="msg_1"), said("assistant", "b", id="msg_2")),
    ),
    Pair(
        "trigger_last",
        body(ASK, {"type": "compaction_trigger"}, ASK),
        body(ASK, {"type": "compaction_trigger"}),
    ),
    Pair("cache_options", cached(mode="none"), cached(mode="implicit")),
    Pair("cache_options", cached(ttl="5m"), cached(ttl="12h")),
    Pair("cache_options", body(prompt_cache_retention="1h"), body(prompt_cache_retention="in_memory")),
    Pair(
        "breakpoint",
        body(said("user", [text("a", prompt_cache_breakpoint={"mode": "auto"})])),
        body(said("user", [text("a", prompt_cache_breakpoint={"mode": "explicit"})])),
    ),
]

PAIRING = [
    Pair("call_unanswered", body(ASK, call()), body(ASK, call(), output())),
    Pair(
        "call_unanswered",
        body(ASK, call("c1"), call("c2"), output("c2"), ASK),
        body(ASK, call("c1"), call("c2"), output("c2"), output("c1"), ASK),
    ),
    Pair(
        "call_unanswered",
        body(ASK, {"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "ls"}),
        body(
            ASK,
            {"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "ls"},
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "a"},
        ),
    ),
    Pair(
        "call_unanswered",
        body(ASK, {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}),
        body(
            ASK,
            {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
            {"type": "shell_call_output", "call_id": "c1", "output": []},
        ),
    ),
    Pair(
        "call_unanswered",
        body(ASK, {"type": "computer_call", "call_id": "c1"}),
        body(
            ASK,
            {"type": "computer_call", "call_id": "c1"},
            {"type": "computer_call_output", "call_id": "c1", "output": {"type": "computer_screenshot"}},
        ),
    ),
    Pair(
        "call_unanswered",
        body(ASK, {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file"}}),
        body(
            ASK,
            {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file"}},
            {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed"},
        ),
    ),
    Pair("call_unanswered", chained(None, ASK), chained(), THOUGHTFUL),
    Pair("output_orphan", body(ASK, output()), body(ASK, call(), output())),
    Pair("output_orphan", body(ASK, output(), call("c2"), output("c2")), body(call("c2"), output("c2"))),
    Pair(
        "output_orphan",
        body(ASK, call(), output(), {"type": "custom_tool_call_output", "call_id": "c2", "output": "a"}),
        body(ASK, call(), output()),
    ),
    Pair(
        "call_duplicate",
        body(ASK, call(), call(), output()),
        body(ASK, call(), output(), call("c2"), output("c2")),
    ),
    Pair("output_duplicate", body(ASK, call(), output(), output()), body(ASK, call(), output())),
    Pair("compaction_mid_pair", compacted(split=True), compacted(), SUMMARY),
    Pair("reasoning_alone", looped("reasoning"), looped("reasoning", "message", "look"), THOUGHTFUL),
    Pair("reasoning_alone", looped("reasoning", "look"), looped("reasoning", "message"), THOUGHTFUL),
    Pair(
        "reasoning_alone",
        body(ASK, {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}, ASK),
        body(ASK, {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}, SAID),
        {"accept_foreign_signatures": True},
    ),
    Pair("reasoning_alone", silent(SAID, called=False), silent(SAID, called=True), SILENT),
    Pair("reasoning_missing", looped("look"), looped("reasoning", "message", "look"), THOUGHTFUL),
    Pair("reasoning_missing", looped("bare look"), looped("reasoning", "message", "bare look"), THOUGHTFUL),
    # A call of another kind is another call, though it has the same id.
    Pair("reasoning_missing", looped("look"), patched, THOUGHTFUL),
    Pair("reasoning_missing", looped("message"), looped("reasoning", "message"), THOUGHTFUL),
    Pair(
        "sealed_forged",
        looped("reasoning", "message", change={"encrypted_content": "gAAAAAforged"}),
        looped("reasoning", "message", change={"content": None}),
        THOUGHTFUL,
    ),
    Pair(
        "sealed_forged",
        body(ASK, {"type": "reasoning", "summary": [], "encrypted_content": "x"}, SAID),
        looped("reasoning", "message"),
        THOUGHTFUL,
    ),
    Pair("sealed_forged", compacted(" "), compacted(), SUMMARY),
    Pair("item_unknown", referred(store=False), referred(store=True), PLAIN),
    Pair(
        "item_unknown",
        looped("reasoning", "message", change={"encrypted_content": None}),
        looped("reasoning", "message"),
        THOUGHTFUL,
    ),
    Pair(
        "history_exclusive",
        chained(None, ASK, conversation="conv_1"),
        chained(None, ASK),
        {**PLAIN, "conversations": frozenset({"conv_1"})},
    ),
    Pair("previous_unknown", chained("resp_9", ASK), chained(None, ASK), PLAIN),
    Pair("previous_unknown", chained(None, ASK, store=False), chained(None, ASK), PLAIN),
    Pair(
        "conversation_unknown",
        body(conversation="conv_2"),
        body(conversation={"id": "conv_1"}),
        {"conversations": frozenset({"conv_1"})},
    ),
]

OPTIONS = [
    Pair("tool_kind", body(tools=[{"type": "retrieval"}]), body(tools=[{"type": "web_search"}])),
    Pair("tool_name", body(tools=[tool(name="fs.read")]), body(tools=[tool(name="fs_read")])),
    Pair("tool_names_unique", body(tools=[TOOL, TOOL]), body(tools=[TOOL, tool(name="listen")])),
    Pair(
        "tool_schema", body(tools=[tool(parameters={"type": "array"})]), body(tools=[tool(parameters=None)])
    ),
    Pair("choice", body(tools=[TOOL], tool_choice="any"), body(tools=[TOOL], tool_choice="required")),
    Pair(
        "choice_name",
        body(tools=[TOOL], tool_choice={"type": "function", "name": "listen"}),
        body(tools=[TOOL], tool_choice={"type": "function", "name": "look"}),
    ),
    Pair("output_least", body(max_output_tokens=15), body(max_output_tokens=16)),
    Pair("output_model", body(max_output_tokens=128_001), body(max_output_tokens=128_000)),
    Pair("effort", body(reasoning={"effort": "extreme"}), body(reasoning={"effort": "xhigh"})),
    Pair("reasoning_context", body(reasoning={"context": "none"}), body(reasoning={"context": "all_turns"})),
    Pair("truncation", body(truncation="oldest"), body(truncation="auto")),
    Pair("sampling", body(temperature=0.5), body(temperature=1), {"facts": ModelFacts(sampling=False)}),
    Pair(
        "stream_options",
        body(stream_options={"include_obfuscation": False}),
        body(stream_options={"include_obfuscation": False}, stream=True),
    ),
    Pair("window", body(said("user", "word " * 3_000)), body(), SMALL),
    Pair("window", body(said("user", "word " * 3_000)), body(ASK, truncation="auto"), SMALL),
    Pair("window", body(max_output_tokens=1_999), body(max_output_tokens=1_900), SMALL),
    Pair("window", body(said("user", "word " * 900)), body(said("user", "word " * 100)), NARROW),
]

PAIRS = [*MEMBERS, *PAIRING, *OPTIONS, *LIMIT_PAIRS]
