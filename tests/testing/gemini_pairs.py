"""For every rule of Gemini: a request that it refuses, and the nearest that it lets pass."""

from collections.abc import Callable
from typing import Any

import msgspec

from foreword.testing.facts import ModelFacts
from foreword.testing.gemini_signatures import PLACEHOLDER
from foreword.testing.referee import Referee
from foreword.testing.script import Answer, Call
from tests.testing.cases import Pair

TEXT = {"text": "Where is the harbour?"}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
ASK = {"role": "user", "parts": [TEXT]}
SAID = {"role": "model", "parts": [{"text": "In the north."}]}
LOOK = {"name": "look", "description": "Look.", "parametersJsonSchema": {"type": "object"}}
TOOLS = [{"functionDeclarations": [LOOK]}]
SMALL = {"facts": ModelFacts(window=500, min_cache_tokens=4096)}
LOOPING = {
    "script": [Answer(text="Let me see.", calls=(Call(name="look"), Call(name="listen"))), Answer(text="A")]
}


def body(*contents: Any, **members: Any) -> dict[str, Any]:
    """Build a request; one plain question if no content is given."""
    return {"contents": list(contents) or [ASK], **members}


def user(*parts: Any) -> dict[str, Any]:
    """A user's content."""
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    """A model's content."""
    return {"role": "model", "parts": list(parts)}


def call(name: str = "look", **members: Any) -> dict[str, Any]:
    """A call from a history that comes from elsewhere."""
    return {"functionCall": {"name": name, "args": {}}, "thoughtSignature": PLACEHOLDER, **members}


def named(name: str, id_: str) -> dict[str, Any]:
    """A call with an id."""
    return call(functionCall={"id": id_, "name": name, "args": {}})


def unsigned(name: str = "look") -> dict[str, Any]:
    """A call without a signature."""
    return {"functionCall": {"name": name, "args": {}}}


def response(name: str = "look", **members: Any) -> dict[str, Any]:
    """The response to a call."""
    return {"functionResponse": {"name": name, "response": {"output": "seen"}, **members}}


def declared(**members: Any) -> dict[str, Any]:
    """A request that declares a function with other members."""
    return body(tools=[{"functionDeclarations": [{**LOOK, **members}]}])


def generating(**members: Any) -> dict[str, Any]:
    """A request with generation options."""
    return body(generationConfig=members)


def calling(**members: Any) -> dict[str, Any]:
    """A request with a tool and options of function calling."""
    return body(tools=TOOLS, toolConfig={"functionCallingConfig": members})


def pictured(media: str) -> dict[str, Any]:
    """A part with data of a media type."""
    return {"inlineData": {"mimeType": media, "data": "AAAA"}}


def taking(schema: dict[str, Any]) -> dict[str, Any]:
    """A request that declares a function with one parameter."""
    declaration = {"name": "look", "parameters": {"type": "OBJECT", "properties": {"at": schema}}}
    return body(tools=[{"functionDeclarations": [declaration]}])


def looped(change: Callable[[list[dict[str, Any]]], Any], *after: Any) -> Any:
    """Send back an answer of a text and two calls, the first one signed, with its parts changed."""

    def build(referee: Referee[Any]) -> dict[str, Any]:
        status, answer = referee.respond(msgspec.json.encode(body()))
        assert status == 200, answer
        parts = answer["candidates"][0]["content"]["parts"]
        change(parts)
        names = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        return body(ASK, model(*parts), user(*map(response, names)), *after)

    return build


def kept(parts: list[dict[str, Any]]) -> None:
    """Change nothing."""


def url_alphabet(parts: list[dict[str, Any]]) -> None:
    """Write the signature in the other alphabet of base64, as some clients do."""
    parts[1]["thoughtSignature"] = parts[1]["thoughtSignature"].translate(str.maketrans("+/", "-_"))


def renamed(parts: list[dict[str, Any]]) -> None:
    """Give the call another id."""
    parts[1]["functionCall"]["id"] = "own"


def moved(parts: list[dict[str, Any]]) -> None:
    """Put the signature of the first call on the text as well."""
    parts[0]["thoughtSignature"] = parts[1]["thoughtSignature"]


def edited(parts: list[dict[str, Any]]) -> None:
    """Change the arguments under the signature."""
    parts[1]["functionCall"]["args"] = {"at": "sea"}


def first_dropped(parts: list[dict[str, Any]]) -> None:
    """Drop the first call, and its signature with it."""
    del parts[1]


def second_dropped(parts: list[dict[str, Any]]) -> None:
    """Drop the second call."""
    del parts[2]


def tampered(parts: list[dict[str, Any]]) -> None:
    """Change one letter of the signature."""
    signature = parts[1]["thoughtSignature"]
    parts[1]["thoughtSignature"] = ("A" if signature[0] != "A" else "B") + signature[1:]


MEMBERS = [
    Pair("member_missing", {"tools": TOOLS}, body(tools=TOOLS)),
    Pair("member_kind", body("hello"), body(ASK)),
    Pair("member_kind", {"contents": "hello"}, body()),
    Pair("member_kind", body(user({"text": 5})), body(user(TEXT))),
    Pair("member_kind", body(systemInstruction="hi"), body(systemInstruction={"parts": [TEXT]})),
    Pair("member_unknown", body(system="hi"), body(system_instruction={"parts": [TEXT]})),
    Pair("member_unknown", body({**ASK, "name": "Ann"}), body(ASK)),
    Pair("member_unknown", body(user({**TEXT, "cacheControl": {}})), body(user({**TEXT, "thought": False}))),
    Pair(
        "member_unknown",
        body(ASK, model(call()), user(response(isError=True))),
        body(ASK, model(call()), user({"function_response": {"name": "look", "response": {}}})),
    ),
    Pair("member_unknown", body(tools=[{"name": "look"}]), body(tools=[{"function_declarations": [LOOK]}])),
    Pair("member_unknown", declared(input_schema={}), declared(response={"type": "OBJECT"})),
    Pair("member_unknown", generating(max_tokens=5), generating(max_output_tokens=5)),
    Pair(
        "member_unknown",
        generating(thinkingConfig={"effort": "LOW"}),
        generating(thinkingConfig={"thinkingLevel": "LOW"}),
    ),
    Pair("no_contents", {"contents": []}, body()),
    Pair("role", body(ASK, {"role": "assistant", "parts": [TEXT]}), body(ASK, SAID)),
    Pair("role", body({"role": "system", "parts": [TEXT]}, ASK), body({"parts": [TEXT]}, SAID, ASK)),
    Pair("first_user", body(SAID, ASK), body(ASK, SAID, ASK)),
    Pair("no_parts", body(ASK, model(), ASK), body(ASK, SAID, ASK)),
    Pair("no_parts", body({"role": "user"}), body(ASK)),
    Pair("part_empty", body(user({})), body(user(TEXT))),
    Pair("part_empty", body(user({"text": ""})), body(user({"text": " "}))),
    Pair(
        "part_empty",
        body(ASK, model({"thought": True}), ASK),
        body(ASK, model({"text": "a", "thought": True}), ASK),
    ),
    Pair("part_one", body(user({**TEXT, **IMAGE})), body(user(TEXT, IMAGE))),
    Pair("part_role", body(ASK, SAID, user(unsigned())), body(ASK, model(call()), user(response()))),
    Pair("part_role", body(ASK, model(response())), body(ASK, model(call()), user(response()))),
    Pair(
        "system_text", body(systemInstruction={"parts": [IMAGE]}), body(systemInstruction={"parts": [TEXT]})
    ),
    Pair(
        "part_name",
        body(ASK, model(call("")), user(response())),
        body(ASK, model(call()), user(response())),
    ),
    Pair(
        "part_name",
        body(ASK, model(call()), user({"functionResponse": {"response": {}}})),
        body(ASK, model(call()), user({"functionResponse": {"name": "look"}})),
    ),
]

TURNS = [
    Pair(
        "call_after",
        body(ASK, SAID, model(call()), user(response())),
        body(ASK, SAID, ASK, model(call()), user(response())),
    ),
    Pair(
        "call_after",
        body(ASK, model(call()), model(call()), user(response())),
        body(ASK, model(call()), user(response()), model(call()), user(response())),
    ),
    Pair("response_count", body(ASK, model(call())), body(ASK, model(call()), user(response()))),
    Pair("response_count", body(ASK, model(call()), ASK), body(ASK, model(call()), user(response(), TEXT))),
    Pair(
        "response_count",
        body(ASK, model(call(), unsigned()), user(response())),
        body(ASK, model(call(), unsigned()), user(response(), response())),
    ),
    Pair(
        "response_match",
        body(ASK, model(call("look")), user(response("listen"))),
        body(ASK, model(call("look")), user(response("look"))),
    ),
    # Each response takes a call; calls of one turn are answered in any order.
    Pair(
        "response_match",
        body(ASK, model(call("look"), unsigned("listen")), user(response("look"), response("look"))),
        body(ASK, model(call("look"), unsigned("listen")), user(response("listen"), response("look"))),
    ),
    Pair(
        "response_match",
        body(ASK, model(named("look", "a")), user(response(id="b"))),
        body(ASK, model(named("look", "a")), user(response(id="a"))),
    ),
    # One that names no id takes what those that do leave.
    Pair(
        "response_match",
        body(ASK, model(named("look", "a"), unsigned()), user(response(id="a"), response(id="a"))),
        body(ASK, model(named("look", "a"), unsigned()), user(response(), response(id="a"))),
    ),
    Pair(
        "response_match",
        body(
            ASK, model(named("look", "a"), unsigned("listen")), user(response(), response("listen", id="a"))
        ),
        body(ASK, model(named("look", "a"), unsigned("listen")), user(response(id="a"), response("listen"))),
    ),
    Pair(
        "call_cut",
        body(ASK, model(call()), SAID, ASK),
        body(ASK, model(call()), user(response()), SAID, ASK),
    ),
    Pair("response_after", body(user(TEXT, response())), body(user(TEXT))),
    Pair(
        "response_after",
        body(ASK, model(call()), user(response()), user(response())),
        body(ASK, model(call()), user(response()), ASK),
    ),
]

SIGNATURES = [
    Pair(
        "signature_missing",
        body(ASK, model(unsigned()), user(response())),
        body(ASK, model(call()), user(response())),
    ),
    # Every step of the current turn, and the first call of it.
    Pair(
        "signature_missing",
        body(ASK, model(call()), user(response()), model(unsigned()), user(response())),
        body(ASK, model(call()), user(response()), model(call()), user(response())),
    ),
    Pair(
        "signature_missing",
        body(ASK, model(unsigned(), call()), user(response(), response())),
        body(ASK, model(call(), unsigned()), user(response(), response())),
    ),
    Pair(
        "signature_missing",
        body(ASK, model(unsigned()), user(response()), SAID, user(IMAGE)),
        body(ASK, model(unsigned()), user(response()), SAID, user(IMAGE), SAID, ASK),
    ),
    Pair("signature_missing", looped(first_dropped), looped(second_dropped), LOOPING),
    Pair("signature_corrupted", looped(tampered), looped(url_alphabet), LOOPING),
    Pair(
        "signature_corrupted",
        body(ASK, model(call(thoughtSignature="AAAA")), user(response())),
        body(ASK, model(call(thoughtSignature="AAAA")), user(response()), SAID, ASK),
    ),
    Pair(
        "signature_corrupted",
        body(ASK, model(call(thoughtSignature="no base64!")), user(response())),
        body(ASK, model(call(thoughtSignature="AAAA")), user(response())),
        {"accept_foreign_signatures": True},
    ),
    Pair(
        "signature_corrupted",
        body(ASK, model(call(thoughtSignature="AAAA")), user(response())),
        body(
            ASK,
            model(call(thoughtSignature="c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")),
            user(response()),
        ),
    ),
    Pair("signature_moved", looped(moved), looped(kept), LOOPING),
    Pair("signature_moved", looped(edited), looped(renamed), LOOPING),
    Pair("signature_moved", looped(edited), looped(edited, SAID, ASK), LOOPING),
]

OPTIONS = [
    Pair("tool_name", declared(name="look up"), declared(name="look.up")),
    Pair("tool_name", body(tools=[{"functionDeclarations": [{"description": "a"}]}]), body(tools=TOOLS)),
    Pair("tool_names_unique", body(tools=[*TOOLS, *TOOLS]), body(tools=TOOLS)),
    Pair("schema_one", declared(parameters={"type": "OBJECT"}), declared()),
    Pair("calling_mode", calling(mode="REQUIRED"), calling(mode="VALIDATED")),
    Pair(
        "allowed_mode",
        calling(mode="AUTO", allowedFunctionNames=["look"]),
        calling(mode="ANY", allowedFunctionNames=["look"]),
    ),
    Pair(
        "allowed_names",
        calling(mode="ANY", allowedFunctionNames=["listen"]),
        calling(mode="ANY", allowedFunctionNames=["look"]),
    ),
    Pair(
        "cached_alone",
        body(cachedContent="cachedContents/a", tools=TOOLS),
        body(cachedContent="cachedContents/a"),
    ),
    Pair(
        "thinking_level",
        generating(thinkingConfig={"thinkingLevel": "MAX"}),
        generating(thinkingConfig={"thinkingLevel": "XHIGH"}),
    ),
    Pair(
        "thinking_one",
        generating(thinkingConfig={"thinkingLevel": "LOW", "thinkingBudget": 100}),
        generating(thinkingConfig={"thinkingBudget": 100}),
    ),
    Pair("output_positive", generating(maxOutputTokens=0), generating(maxOutputTokens=1)),
    Pair(
        "size",
        body(user({"text": "word " * 100})),
        body(user({"text": "word " * 10})),
        {"facts": ModelFacts(max_body_bytes=300)},
    ),
    Pair("window", body(user({"text": "word " * 900})), body(user({"text": "word " * 100})), SMALL),
]

OLDER = {"facts": ModelFacts(signs_calls=False)}
SEARCH = {"googleSearch": {}}
JSON = {"responseMimeType": "application/json"}

LIMITS = [
    Pair("media_type", body(user(pictured("image/gif"))), body(user(pictured("image/heic")))),
    Pair("media_type", body(user({"inlineData": {"data": "AAAA"}})), body(user(pictured("application/pdf")))),
    Pair(
        "media_type",
        body(user({"fileData": {"mimeType": "image/gif", "fileUri": "files/a"}})),
        body(user({"fileData": {"fileUri": "files/a"}})),
    ),
    Pair("tools_mixed", body(tools=[*TOOLS, SEARCH]), body(tools=TOOLS)),
    Pair("tools_mixed", body(tools=[*TOOLS, SEARCH]), body(tools=[SEARCH])),
    Pair(
        "tools_mixed",
        body(tools=[*TOOLS, SEARCH]),
        body(tools=[*TOOLS, SEARCH], toolConfig={"includeServerSideToolInvocations": True}),
    ),
    Pair("array_items", taking({"type": "ARRAY"}), taking({"type": "ARRAY", "items": {"type": "STRING"}})),
    Pair(
        "member_unknown",
        taking({"type": "STRING", "const": "a"}),
        taking({"type": "STRING", "enum": ["a"], "any_of": [{"type": "STRING", "max_length": "1"}]}),
    ),
    Pair(
        "member_unknown",
        taking({"type": "ARRAY", "items": {"oneOf": []}}),
        declared(parametersJsonSchema={"type": "object", "oneOf": [], "$schema": "x"}),
    ),
    Pair(
        "json_tools",
        body(tools=TOOLS, generationConfig=JSON),
        body(generationConfig=JSON),
        OLDER,
    ),
    Pair("option_range", generating(temperature=2.5), generating(temperature=2)),
    Pair(
        "schema_media",
        generating(responseSchema={"type": "STRING"}),
        generating(responseSchema={"type": "STRING"}, **JSON),
    ),
    Pair("stops", generating(stopSequences=list("abcdef")), generating(stopSequences=list("abcde"))),
    # Blocks and parts of other wires.
    Pair(
        "member_unknown",
        body(user({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}, **TEXT})),
        body(user(TEXT)),
    ),
    Pair("member_unknown", body(ASK, {**SAID, "reasoning_content": "Hm."}, ASK), body(ASK, SAID, ASK)),
    Pair("member_unknown", body(ASK, {**SAID, "content": "In the north."}, ASK), body(ASK, SAID, ASK)),
]

PAIRS = [*MEMBERS, *TURNS, *SIGNATURES, *OPTIONS, *LIMITS]
