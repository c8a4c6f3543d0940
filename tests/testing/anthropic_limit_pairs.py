"""For the rules on limits, schemas and options that clash: a request that is refused, and the nearest that passes."""

from __future__ import annotations

from typing import Any

from foreword.testing.facts import ModelFacts
from tests.testing.anthropic_parts import (
    ASK,
    BUDGETED,
    HIDDEN,
    OLD,
    PNG,
    SAID,
    TOOL,
    assistant,
    body,
    budget,
    call,
    edits,
    found,
    result,
    server_call,
    server_result,
    text,
    user,
)
from tests.testing.cases import Pair

AT = {"type": "string"}
CLOSED = {"type": "object", "additionalProperties": False, "properties": {"at": AT}}
OPEN = {"type": "object", "properties": {"at": AT}}
FOREIGN = {**BUDGETED, "accept_foreign_signatures": True}
SAMPLED = {"facts": ModelFacts(sampling=True)}
THINKS: dict[str, Any] = {"type": "adaptive"}
CLEARS = edits("clear_thinking_20251015")


def taking(schema: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A request with a tool of this schema."""
    return body(tools=[{**TOOL, "input_schema": schema, **members}])


def answering(schema: dict[str, Any]) -> dict[str, Any]:
    """A request for an answer of a schema."""
    return body(output_config={"format": {"type": "json_schema", "schema": schema}})


def named_call(name: str) -> dict[str, Any]:
    """A request in which a tool of this name was called."""
    return body(ASK, assistant(call("t1", name=name)), user(result("t1")))


FELL_BACK = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
"""What a server puts before an answer that another model gave."""


def looped(*first: dict[str, Any], thinking: dict[str, Any] | None = None) -> dict[str, Any]:
    """A request in the middle of a turn that began with some blocks."""
    turn = (assistant(*first, call("t1")), user(result("t1")), assistant(call("t2")), user(result("t2")))
    return body(ASK, *turn, thinking=thinking or budget(2000), max_tokens=4000)


def searched(identity: str) -> dict[str, Any]:
    """A request with a search under an id."""
    answer = {**server_result("1"), "tool_use_id": identity}
    return body(ASK, assistant({**server_call("1"), "id": identity}, answer, text("a")), ASK)


SCHEMAS = [
    Pair("schema_top", taking({**OPEN, "oneOf": [OPEN]}), taking(OPEN)),
    Pair(
        "schema_top",
        taking({"type": "object", "anyOf": [{"required": ["at"]}]}),
        taking({"type": "object", "properties": {"at": {"anyOf": [AT]}}}),
    ),
    Pair(
        "schema_keys",
        taking({"type": "object", "properties": {"at place": AT}}),
        taking({"type": "object", "properties": {"at.place-1_b": AT}}),
    ),
    Pair(
        "schema_keys",
        taking({"type": "object", "properties": {"a" * 65: AT}}),
        taking({"type": "object", "properties": {"a" * 64: AT}}),
    ),
    Pair("schema_open", taking(OPEN, strict=True), taking(CLOSED, strict=True)),
    Pair("schema_open", taking(OPEN, strict=True), taking(OPEN, strict=False)),
    Pair("schema_open", answering(OPEN), answering(CLOSED)),
    Pair(
        "schema_open",
        answering({**CLOSED, "properties": {"all": {"type": "array", "items": OPEN}}}),
        answering({**CLOSED, "properties": {"all": {"type": "array", "items": CLOSED}}}),
    ),
]

NAMES = [
    Pair(
        "server_pair",
        body(
            ASK,
            assistant(server_call("1"), {**server_result("1"), "type": "web_fetch_tool_result"}, text("a")),
            ASK,
        ),
        body(ASK, assistant(server_call("1"), server_result("1"), text("a")), ASK),
    ),
    Pair("call_name", named_call("a" * 201), named_call("a" * 200)),
    Pair("call_name", named_call(""), named_call("gone.from the tools")),
    Pair("server_id", searched("toolu_1"), searched("srvtoolu_vrtx_1")),
    Pair("server_id", searched("srvtoolu-1"), searched("srvtoolu_1")),
    Pair("stop_blank", body(stop_sequences=["\n\n"]), body(stop_sequences=["\n\nEnd"])),
]

MEMBERS = [
    Pair("member_unknown", body(metadata={"session": "a"}), body(metadata={"user_id": "a"})),
    Pair(
        "member_unknown",
        body(thinking={"type": "adaptive", "budget_tokens": 2000}),
        body(thinking={"type": "adaptive", "display": "omitted"}),
    ),
    Pair(
        "member_unknown",
        body(thinking={"type": "disabled", "display": "omitted"}),
        body(thinking={"type": "disabled"}),
    ),
    Pair(
        "member_unknown",
        body(tools=[TOOL], tool_choice={"type": "auto", "name": "look"}),
        body(tools=[TOOL], tool_choice={"type": "auto", "disable_parallel_tool_use": True}),
    ),
    Pair(
        "member_missing",
        body(compaction={"instructions": "Keep names."}),
        body(compaction={"type": "summarize", "instructions": "Keep names."}),
    ),
    # Parts and members of other wires.
    Pair(
        "block_kind",
        body(user({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}})),
        body(user({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}})),
    ),
    Pair("block_kind", body(user({"type": "input_text", "text": "a"})), body(user(text("a")))),
    Pair(
        "block_kind",
        body(ASK, assistant({"type": "output_text", "text": "a"}), ASK),
        body(ASK, assistant(text("a")), ASK),
    ),
    Pair("member_unknown", body(ASK, {**SAID, "reasoning_content": "Hm."}, ASK), body(ASK, SAID, ASK)),
    Pair("member_unknown", body(ASK, {**SAID, "tool_calls": []}, ASK), body(ASK, SAID, ASK)),
    Pair("role", body({"role": "developer", "content": "Be brief."}, ASK), body(ASK, system="Be brief.")),
]

CLASHES = [
    Pair(
        "choice_alone", body(tool_choice={"type": "auto"}), body(tool_choice={"type": "auto"}, tools=[TOOL])
    ),
    Pair("choice_alone", body(tool_choice={"type": "any"}), body(tool_choice={"type": "none"})),
    Pair(
        "thinking_forced",
        body(tools=[TOOL], tool_choice={"type": "any"}, thinking=THINKS),
        body(tools=[TOOL], tool_choice={"type": "auto"}, thinking=THINKS),
    ),
    Pair(
        "thinking_forced",
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "look"}, thinking=THINKS),
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "look"}, thinking={"type": "disabled"}),
    ),
    Pair(
        "thinking_sampling",
        body(temperature=0.5, thinking=THINKS),
        body(temperature=1, thinking=THINKS),
        SAMPLED,
        headers=OLD,
        legal_headers=OLD,
    ),
    Pair(
        "thinking_sampling",
        body(top_k=5, thinking=THINKS),
        body(top_k=5),
        SAMPLED,
        headers=OLD,
        legal_headers=OLD,
    ),
    Pair(
        "thinking_sampling",
        body(top_p=0.9, thinking=THINKS),
        body(top_p=0.95, thinking=THINKS),
        SAMPLED,
        headers=OLD,
        legal_headers=OLD,
    ),
    Pair("thinking_first", looped(), looped(HIDDEN), FOREIGN),
    Pair("thinking_first", looped(text("So.")), looped(HIDDEN, text("So.")), FOREIGN),
    Pair("thinking_first", looped(), looped(thinking={"type": "disabled"}), FOREIGN),
    Pair("thinking_first", looped(text("So.")), looped(FELL_BACK, HIDDEN), FOREIGN),
    Pair(
        "clear_thinking",
        body(context_management=CLEARS, thinking={"type": "disabled"}),
        body(context_management=CLEARS),
    ),
    Pair(
        "clear_thinking",
        body(context_management=CLEARS),
        body(context_management=CLEARS, thinking=budget(1024), max_tokens=4000),
        BUDGETED,
    ),
]


def managed(**members: Any) -> dict[str, Any]:
    """A request with one edit of the context."""
    return body(context_management={"edits": [members]})


def folding(least: int) -> dict[str, Any]:
    """A request that is summed up from so many tokens on."""
    return managed(type="compact_20260112", trigger={"type": "input_tokens", "value": least})


def bound(behavior: str) -> dict[str, Any]:
    """A request with a wish for thinking whose prefix changed."""
    return body(thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": behavior}})


CLEAR_TOOLS = "clear_tool_uses_20250919"
VALUES = [
    Pair("option_value", bound("ignore"), bound("drop_block")),
    Pair("option_value", body(service_tier="gold"), body(service_tier="standard_only")),
    Pair("option_value", body(thread={"type": "new"}), body(thread={"type": "create"})),
    Pair(
        "option_range",
        body(temperature=1.5),
        body(temperature=0.5),
        SAMPLED,
        headers=OLD,
        legal_headers=OLD,
    ),
    Pair(
        "thread_continued",
        body(thread={"type": "continue"}),
        body(thread={"type": "continue", "previous_message_id": "msg_1"}),
    ),
    Pair(
        "member_unknown",
        managed(type=CLEAR_TOOLS, keep_last=3),
        managed(type=CLEAR_TOOLS, keep={"type": "tool_uses", "value": 3}, exclude_tools=["look"]),
    ),
    Pair(
        "edit_count",
        managed(type=CLEAR_TOOLS, trigger={"type": "tokens", "value": 1}),
        managed(type=CLEAR_TOOLS, trigger={"type": "tool_uses", "value": 1}),
    ),
    Pair("compact_early", folding(49_999), folding(50_000)),
    Pair(
        "member_kind",
        body(user(found([{"type": "image", "source": PNG}]))),
        body(user(found([text("a")]))),
    ),
]

LIMIT_PAIRS = [*VALUES, *SCHEMAS, *NAMES, *MEMBERS, *CLASHES]
