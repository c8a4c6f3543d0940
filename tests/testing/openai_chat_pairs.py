"""For every rule of Chat Completions: a request that it refuses, and the nearest that it lets pass."""

from typing import Any

from foreword.testing.facts import ModelFacts
from tests.testing.cases import Pair

ASK = {"role": "user", "content": "Where is the harbour?"}
SAID = {"role": "assistant", "content": "In the north."}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
IMAGE_AT = "https://example.com/a.png"
IMAGE = {"type": "image_url", "image_url": {"url": IMAGE_AT}}
SMALL = {"facts": ModelFacts(window=2_000, max_output=None)}
NARROW = {"facts": ModelFacts(window=2_000, max_input=500, max_output=None)}


def body(*messages: Any, **members: Any) -> dict[str, Any]:
    """Build a request; one plain question if no message is given."""
    return {"model": "m", "messages": list(messages) or [ASK], **members}


def cached(**options: Any) -> dict[str, Any]:
    """A request with options of the prompt cache."""
    return body(prompt_cache_options=options)


def call(identity: str, **members: Any) -> dict[str, Any]:
    """A tool call."""
    return {"id": identity, "type": "function", "function": {"name": "look", "arguments": "{}"}, **members}


def calls(*made: Any, **members: Any) -> dict[str, Any]:
    """An assistant message that only calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(made), **members}


def result(identity: str, content: Any = "seen", **members: Any) -> dict[str, Any]:
    """A tool message."""
    return {"role": "tool", "tool_call_id": identity, "content": content, **members}


def text(value: str, **members: Any) -> dict[str, Any]:
    """A text part."""
    return {"type": "text", "text": value, **members}


def tool(**members: Any) -> dict[str, Any]:
    """A function tool with other members."""
    return {"type": "function", "function": {**TOOL["function"], **members}}


def said(role: str, content: Any) -> dict[str, Any]:
    """A message of a role."""
    return {"role": role, "content": content}


def named_call(name: str) -> dict[str, Any]:
    """A request in which a function of this name was called."""
    return body(ASK, calls(call("c1", function={"name": name, "arguments": "{}"})), result("c1"))


def pictured(url: str, **members: Any) -> dict[str, Any]:
    """A request with an image at an address."""
    return body(said("user", [{"type": "image_url", "image_url": {"url": url, **members}}]))


def numbered(count: int) -> list[dict[str, Any]]:
    """As many tools."""
    return [tool(name=f"look_{index}") for index in range(count)]


def taking(parameters: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A request with a tool of these parameters."""
    return body(tools=[tool(parameters=parameters, **members)])


def answering(schema: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    """A request for an answer of a schema."""
    asked = {"name": "place", "schema": schema, "strict": strict}
    return body(response_format={"type": "json_schema", "json_schema": asked})


MEMBERS = [
    Pair("member_missing", {"messages": [ASK]}, body()),
    Pair("member_missing", {"model": "m"}, body()),
    Pair("member_missing", body({"role": "user"}), body(ASK)),
    Pair("member_missing", body({"content": "hi"}), body(ASK)),
    Pair("member_missing", body(said("user", [{"text": "hi"}])), body(said("user", [text("hi")]))),
    Pair(
        "member_missing",
        body(ASK, calls(call("c1", function={"name": "look"})), result("c1")),
        body(ASK, calls(call("c1")), result("c1")),
    ),
    Pair(
        "member_missing",
        body(ASK, calls(call("c1")), result("c1"), {"role": "tool", "content": "x"}),
        body(ASK, calls(call("c1")), result("c1")),
    ),
    Pair("member_missing", body(tools=[{"type": "function", "function": {}}]), body(tools=[TOOL])),
    Pair("member_kind", body(max_completion_tokens="5"), body(max_completion_tokens=5)),
    Pair("member_kind", body("hello"), body(ASK)),
    Pair("member_kind", body(said("user", None)), body(ASK)),
    Pair("member_kind", body(ASK, calls(call("c1")), result("c1", {"a": 1})), body()),
    Pair(
        "member_kind",
        body(
            ASK,
            calls({"id": "c1", "type": "function", "function": {"name": "look", "arguments": {}}}),
            result("c1"),
        ),
        body(ASK, calls(call("c1")), result("c1")),
    ),
    Pair("member_unknown", body(max_output_tokens=5), body()),
    Pair("member_unknown", body(ASK, {**SAID, "reasoning_content": "Hm."}, ASK), body(ASK, SAID, ASK)),
    Pair(
        "member_unknown",
        body(said("user", [text("hi", cache_control={"type": "ephemeral"})])),
        body(said("user", [text("hi", prompt_cache_breakpoint={"mode": "explicit"})])),
    ),
    Pair("member_unknown", body(tools=[{**TOOL, "name": "look"}]), body(tools=[TOOL])),
    Pair("part_kind", body(said("user", [{"type": "video"}])), body(said("user", [IMAGE]))),
    Pair(
        "part_kind",
        body(ASK, calls(call("c1", type="mcp")), result("c1")),
        body(ASK, calls(call("c1")), result("c1")),
    ),
    Pair("part_role", body(ASK, said("assistant", [IMAGE])), body(ASK, said("assistant", [text("a")]))),
    Pair("part_role", body(said("system", [IMAGE]), ASK), body(said("developer", [text("a")]), ASK)),
    Pair(
        "part_role",
        body(ASK, calls(call("c1")), result("c1", [IMAGE])),
        body(ASK, calls(call("c1")), result("c1", [text("seen")])),
    ),
]

MESSAGES = [
    Pair("no_messages", {**body(), "messages": []}, body()),
    Pair("role", body(ASK, said("model", "a")), body(ASK, SAID)),
    Pair("empty_parts", body(said("user", [])), body(said("user", ""))),
    Pair("null_content", body(ASK, said("assistant", None)), body(ASK, calls(call("c1")), result("c1"))),
    Pair("null_content", body(ASK, {"role": "assistant"}), body(ASK, said("assistant", ""))),
    Pair("no_calls", body(ASK, {**SAID, "tool_calls": []}), body(ASK, SAID)),
    Pair(
        "empty_call_id",
        body(ASK, calls(call("")), result("")),
        body(ASK, calls(call("c1")), result("c1")),
    ),
    Pair("call_unanswered", body(ASK, calls(call("c1"))), body(ASK, calls(call("c1")), result("c1"))),
    Pair(
        "call_unanswered",
        body(ASK, calls(call("c1"), call("c2")), result("c1"), ASK),
        body(ASK, calls(call("c1"), call("c2")), result("c2"), result("c1"), ASK),
    ),
    Pair("result_orphan", body(ASK, result("c1")), body(ASK, calls(call("c1")), result("c1"))),
    Pair(
        "result_orphan",
        body(ASK, calls(call("c1")), result("c1"), ASK, result("c1")),
        body(ASK, calls(call("c1")), result("c1"), ASK),
    ),
    Pair(
        "alternation", body(ASK, ASK), body(said("system", "a"), ASK, SAID, ASK), {"strict_alternation": True}
    ),
    Pair(
        "system_first",
        body(ASK, SAID, said("developer", "a"), ASK),
        body(said("developer", "a"), ASK, SAID, ASK),
        {"strict_alternation": True},
    ),
    Pair(
        "system_first",
        body(said("system", "a"), said("system", "b"), ASK),
        body(said("system", "a"), ASK),
        {"strict_alternation": True},
    ),
]

OPTIONS = [
    Pair("no_tools", body(tools=[]), body(tools=[TOOL])),
    Pair("tool_kind", body(tools=[{"type": "web_search"}]), body(tools=[TOOL])),
    Pair("tool_name", body(tools=[tool(name="fs.read")]), body(tools=[tool(name="fs_read")])),
    Pair("tool_name", body(tools=[tool(name="a" * 65)]), body(tools=[tool(name="a" * 64)])),
    Pair("tool_names_unique", body(tools=[TOOL, TOOL]), body(tools=[TOOL, tool(name="listen")])),
    Pair("tool_schema", body(tools=[tool(parameters={"type": "array"})]), body(tools=[tool(parameters={})])),
    Pair("choice", body(tools=[TOOL], tool_choice="any"), body(tools=[TOOL], tool_choice="required")),
    Pair(
        "choice_name",
        body(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "listen"}}),
        body(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "look"}}),
    ),
    Pair("choice_alone", body(tool_choice="auto"), body(tools=[TOOL], tool_choice="auto")),
    Pair("output_positive", body(max_completion_tokens=0), body(max_completion_tokens=1)),
    Pair("output_model", body(max_tokens=128_001), body(max_tokens=128_000)),
    Pair("effort", body(reasoning_effort="extreme"), body(reasoning_effort="xhigh")),
    Pair("sampling", body(temperature=0.5), body(temperature=1), {"facts": ModelFacts(sampling=False)}),
    Pair("stops", body(stop=["a", "b", "c", "d", "e"]), body(stop=["a", "b", "c", "d"])),
    Pair(
        "stream_options",
        body(stream_options={"include_usage": True}),
        body(stream_options={"include_usage": True}, stream=True),
    ),
    Pair(
        "breakpoint",
        body(said("user", [text("a", prompt_cache_breakpoint={"mode": "auto"})])),
        body(said("user", [text("a", prompt_cache_breakpoint={"mode": "explicit"})])),
    ),
    Pair("cache_options", cached(mode="none"), cached(mode="explicit")),
    Pair("cache_options", cached(ttl="12h"), cached(ttl="30m")),
    Pair("cache_options", body(prompt_cache_retention="1h"), body(prompt_cache_retention="24h")),
    Pair("window", body(said("user", "word " * 3_000)), body(), SMALL),
    Pair("window", body(max_completion_tokens=1_999), body(max_completion_tokens=1_900), SMALL),
    Pair("window", body(said("user", "word " * 900)), body(said("user", "word " * 100)), NARROW),
]

LIMITS = [
    Pair(
        "call_id_length",
        body(ASK, calls(call("c" * 65)), result("c" * 65)),
        body(ASK, calls(call("c" * 64)), result("c" * 64)),
    ),
    Pair("call_name", named_call("fs.read"), named_call("fs_read")),
    Pair("call_name", named_call("a" * 65), named_call("a" * 64)),
    Pair("speaker", body({**ASK, "name": "Ann B"}), body({**ASK, "name": "Ann-B"})),
    Pair("image", pictured("AAAA"), pictured("data:image/png;base64,AAAA")),
    Pair("image", pictured("data:application/pdf;base64,AAAA"), pictured("https://example.com/a")),
    Pair("detail", pictured(IMAGE_AT, detail="medium"), pictured(IMAGE_AT, detail="original")),
    Pair("tools_many", body(tools=numbered(129)), body(tools=numbered(128))),
    Pair("metadata", body(metadata={"a": 1}), body(metadata={"a": "1"})),
    Pair("metadata", body(metadata={"a": "v" * 513}), body(metadata={"a": "v" * 512})),
    Pair("metadata", body(metadata={"k" * 65: "v"}), body(metadata={"k" * 64: "v"})),
    Pair(
        "metadata",
        body(metadata={str(index): "" for index in range(17)}),
        body(metadata={str(index): "" for index in range(16)}),
    ),
    Pair("parallel_alone", body(parallel_tool_calls=True), body(parallel_tool_calls=True, tools=[TOOL])),
    Pair("output_twice", body(max_tokens=5, max_completion_tokens=5), body(max_completion_tokens=5)),
    Pair(
        "choice",
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "look"}),
        body(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "look"}}),
    ),
    Pair(
        "json_word",
        body(response_format={"type": "json_object"}),
        body(said("system", "Answer in JSON."), ASK, response_format={"type": "json_object"}),
    ),
]

VALUES = [
    Pair("option_value", body(verbosity="chatty"), body(verbosity="low")),
    Pair("option_value", body(response_format={"type": "json"}), body(response_format={"type": "text"})),
    Pair("option_range", body(temperature=2.1), body(temperature=2)),
    Pair("option_range", body(frequency_penalty=-2.5), body(frequency_penalty=-2)),
    Pair(
        "output_name",
        body(max_tokens=5),
        body(max_completion_tokens=5),
        {"facts": ModelFacts(sampling=False)},
    ),
    Pair(
        "breakpoint",
        body(said("user", [text("a", prompt_cache_breakpoint={"mode": "explicit", "ttl": "5m"})])),
        body(said("user", [text("a", prompt_cache_breakpoint={"mode": "explicit", "ttl": "12h"})])),
    ),
    Pair(
        "member_missing",
        body(response_format={"type": "json_schema", "json_schema": {"schema": {}}}),
        body(response_format={"type": "json_schema", "json_schema": {"name": "place", "schema": {}}}),
    ),
]

AT = {"type": "string"}
CLOSED = {"type": "object", "additionalProperties": False, "properties": {"at": AT}, "required": ["at"]}
SCHEMAS = [
    Pair("schema_form", taking({"type": "object"}), taking({"type": "object", "properties": {}})),
    Pair(
        "schema_form",
        taking({"type": "object", "properties": {}, "oneOf": [CLOSED]}),
        taking({"type": "object", "properties": {"at": {"oneOf": [AT]}}}),
    ),
    Pair(
        "schema_form",
        taking({"type": "object", "properties": {"all": {"type": "array"}}}),
        taking({"type": "object", "properties": {"all": {"type": "array", "items": {}}}}),
    ),
    Pair(
        "schema_form",
        taking({"type": "object", "properties": {"at": AT}}, strict=True),
        taking({"type": "object", "properties": {"at": AT}}),
    ),
    Pair(
        "schema_form",
        taking({**CLOSED, "required": []}, strict=True),
        taking(CLOSED, strict=True),
    ),
    Pair(
        "schema_form",
        taking({**CLOSED, "properties": {"at": {"type": ["object", "null"]}}}, strict=True),
        taking({**CLOSED, "properties": {"at": {"type": ["string", "null"]}}}, strict=True),
    ),
    Pair(
        "answer_schema",
        answering({**CLOSED, "required": []}, strict=True),
        answering({**CLOSED, "required": []}, strict=False),
    ),
]

# What other wires say of reasoning and parts is unknown here.
FOREIGN = [
    Pair("member_unknown", body(ASK, {**SAID, "reasoning": "Hm."}, ASK), body(ASK, SAID, ASK)),
    Pair("member_unknown", body(ASK, {**SAID, "reasoning_details": []}, ASK), body(ASK, SAID, ASK)),
    Pair(
        "member_unknown",
        body(ASK, calls(call("c1", index=0)), result("c1")),
        body(ASK, calls(call("c1")), result("c1")),
    ),
    Pair(
        "member_unknown",
        body(said("user", [{"type": "file", "file": {"data": "AAAA"}}])),
        body(said("user", [{"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}}])),
    ),
    Pair(
        "part_kind",
        body(said("user", [{"type": "image", "source": {"type": "url", "url": IMAGE_AT}}])),
        body(said("user", [IMAGE])),
    ),
    Pair("part_kind", body(said("user", [text("a", type="input_text")])), body(said("user", [text("a")]))),
    Pair(
        "part_kind",
        body(ASK, said("assistant", [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, text("a")])),
        body(ASK, said("assistant", [text("a")])),
    ),
]

PAIRS = [*MEMBERS, *MESSAGES, *OPTIONS, *LIMITS, *VALUES, *SCHEMAS, *FOREIGN]
