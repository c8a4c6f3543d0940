"""For the limits and values of Responses: a request that a rule refuses, and the nearest that it lets pass."""

from __future__ import annotations

from typing import Any

from tests.testing.cases import Pair
from tests.testing.openai_responses_parts import ASK, SAID, TOOL, body, call, output, said, text, tool

IMAGE_AT = "https://example.com/a.png"
AT = {"type": "string"}
CLOSED = {"type": "object", "additionalProperties": False, "properties": {"at": AT}, "required": ["at"]}
JSON = {"format": {"type": "json_object"}}


def pictured(**members: Any) -> dict[str, Any]:
    """A request with an image."""
    return body(said("user", [{"type": "input_image", **members}]))


def numbered(count: int) -> list[dict[str, Any]]:
    """As many tools."""
    return [tool(name=f"look_{index}") for index in range(count)]


def taking(parameters: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A request with a tool of these parameters."""
    return body(tools=[tool(parameters=parameters, **members)])


def answering(schema: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    """A request for an answer of a schema."""
    return body(text={"format": {"type": "json_schema", "name": "place", "schema": schema, "strict": strict}})


LIMIT_PAIRS = [
    Pair(
        "item_id_length",
        body(ASK, call(id="fc_" + "a" * 62), output()),
        body(ASK, call(id="fc_" + "a" * 61), output()),
    ),
    Pair("image", pictured(image_url="AAAA"), pictured(image_url="data:image/webp;base64,AAAA")),
    Pair("image", pictured(image_url="data:image/tiff;base64,AAAA"), pictured(image_url=IMAGE_AT)),
    Pair("image_missing", pictured(detail="low"), pictured(detail="low", file_id="file_1")),
    Pair(
        "detail",
        pictured(image_url=IMAGE_AT, detail="medium"),
        pictured(image_url=IMAGE_AT, detail="original"),
    ),
    Pair("tools_many", body(tools=numbered(129)), body(tools=numbered(128))),
    Pair("metadata", body(metadata={"a": 1}), body(metadata={"a": "1"})),
    Pair("metadata", body(metadata={"a": "v" * 513}), body(metadata={"a": "v" * 512})),
    Pair("include", body(include=["reasoning"]), body(include=["reasoning.encrypted_content"])),
    Pair(
        "compacting",
        body(context_management=[{"type": "compact_20260112"}]),
        body(context_management=[{"type": "compaction", "compact_threshold": 100_000}]),
    ),
    Pair(
        "choice",
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "look"}),
        body(tools=[TOOL], tool_choice={"type": "function", "name": "look"}),
    ),
    # Where it stands counts: the instructions do not.
    Pair(
        "json_word",
        body(instructions="Answer in JSON.", text=JSON),
        body(said("developer", "Answer in JSON."), ASK, text=JSON),
    ),
    Pair("schema_form", taking({"type": "object"}), taking({"type": "object", "properties": {}})),
    Pair(
        "schema_form",
        taking({"type": "object", "properties": {}, "anyOf": [CLOSED]}),
        taking({"type": "object", "properties": {"at": {"anyOf": [AT]}}}),
    ),
    Pair(
        "schema_form",
        taking({"type": "object", "properties": {"all": {"items": {"type": "array"}, "type": "array"}}}),
        taking({"type": "object", "properties": {"all": {"items": {}, "type": "array"}}}),
    ),
    Pair(
        "schema_form",
        taking({"type": "object", "properties": {"at": AT}}, strict=True),
        taking({"type": "object", "properties": {"at": AT}}),
    ),
    Pair("schema_form", taking({**CLOSED, "required": []}, strict=True), taking(CLOSED, strict=True)),
    Pair(
        "answer_schema",
        answering({"type": "object", "properties": {}}, strict=True),
        answering({"type": "object", "properties": {}}, strict=False),
    ),
]


def later(made: dict[str, Any]) -> dict[str, Any]:
    """A request that adds a tool on its way."""
    return body(ASK, {"type": "additional_tools", "role": "developer", "tools": [made]})


VALUES = [
    Pair("tool_name", later(tool(name="fs.read")), later(tool(name="fs_read"))),
    Pair("tool_kind", later({"type": "retrieval"}), later({"type": "web_search"})),
    Pair("schema_form", later(tool(parameters={"type": "object"})), later(TOOL)),
    Pair(
        "item_value",
        body(ASK, {"type": "additional_tools", "role": "user", "tools": [TOOL]}),
        later(TOOL),
    ),
    Pair(
        "item_value",
        body(ASK, {"type": "configuration_update", "reasoning": {"effort": "extreme"}}),
        body(ASK, {"type": "configuration_update", "reasoning": {"effort": "max"}}),
    ),
    Pair("item_value", body(ASK, {**SAID, "phase": "end"}), body(ASK, {**SAID, "phase": "final_answer"})),
    Pair(
        "item_value", body(ASK, call(status="done"), output()), body(ASK, call(status="completed"), output())
    ),
    Pair(
        "breakpoint",
        body(said("user", [text("a", prompt_cache_breakpoint={"mode": "explicit", "ttl": "1h"})])),
        body(said("user", [text("a", prompt_cache_breakpoint={"mode": "explicit", "ttl": "30m"})])),
    ),
    Pair(
        "file_missing",
        body(said("user", [{"type": "input_file", "filename": "a.pdf"}])),
        body(said("user", [{"type": "input_file", "file_url": "https://example.com/a.pdf"}])),
    ),
    Pair("option_value", body(text={"verbosity": "chatty"}), body(text={"verbosity": "low"})),
    Pair("option_range", body(top_p=1.1), body(top_p=1)),
    Pair("background", body(background=True, store=False), body(background=True)),
    Pair("member_unknown", body(reasoning={"max_tokens": 5}), body(reasoning={"effort": "low"})),
]

# Whole messages and parts of other wires, and what only the server says of its items.
FOREIGN = [
    Pair(
        "member_unknown",
        body(
            ASK, {"type": "reasoning", "summary": [], "status": "completed", "encrypted_content": "x"}, SAID
        ),
        body(ASK, {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "x"}, SAID),
        {"accept_foreign_signatures": True},
    ),
    Pair("member_unknown", body(ASK, {**SAID, "tool_calls": []}), body(ASK, SAID)),
    Pair("member_unknown", body({**ASK, "reasoning_content": "Hm."}), body(ASK)),
    Pair("member_unknown", body(async_mode=True), body(image={"context_compression": "auto"})),
    Pair(
        "member_unknown",
        body(tools=[tool(returns={})]),
        body(tools=[tool(output_schema={"type": "object"}, allowed_callers=["direct"])]),
    ),
    Pair(
        "part_kind",
        body(said("user", [{"type": "image_url", "image_url": {"url": IMAGE_AT}}])),
        pictured(image_url=IMAGE_AT),
    ),
    Pair(
        "part_kind",
        body(said("user", [{"type": "image", "source": {"type": "url", "url": IMAGE_AT}}])),
        pictured(image_url=IMAGE_AT),
    ),
    Pair(
        "part_kind",
        body(ASK, said("assistant", [text("a", "summary_text")])),
        body(ASK, said("assistant", [text("a", "output_text")])),
    ),
]

LIMIT_PAIRS += [*VALUES, *FOREIGN]
