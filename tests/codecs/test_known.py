"""The tables of block types say what the official SDKs say."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator
from typing import Annotated, Any, ForwardRef, Literal, Required, Union, get_args, get_origin

import pytest
from anthropic.types.beta import beta_content_block_param, beta_tool_result_block_param
from google.genai.types import Part
from openai.types.chat import chat_completion_assistant_message_param, chat_completion_content_part_param
from openai.types.responses import (
    response_function_call_output_item_param,
    response_input_content_param,
    response_input_item_param,
    response_output_message_param,
    tool_param,
)

from foreword.codecs import CODECS, codec
from foreword.codecs.known import KNOWN, OWNERS, PLACES, TOOLS
from foreword.core.block import Message, Opaque, Role, Text, ToolResult

UNIONS = {
    "anthropic": (
        beta_content_block_param.BetaContentBlockParam,
        beta_tool_result_block_param.Content,
    ),
    "openai-chat": (
        chat_completion_content_part_param.ChatCompletionContentPartParam,
        chat_completion_assistant_message_param.ContentArrayOfContentPart,
    ),
    "openai-responses": (
        response_input_item_param.ResponseInputItemParam,
        response_input_content_param.ResponseInputContentParam,
        response_function_call_output_item_param.ResponseFunctionCallOutputItemParam,
        response_output_message_param.Content,
    ),
}
WRAPPERS = (Annotated, Union, types.UnionType, Required)


def leaves(union: Any) -> Iterator[Any]:
    """Yield the members of a union of unions."""
    origin = get_origin(union)
    if origin not in WRAPPERS:
        yield union
        return
    for member in get_args(union)[: 1 if origin is Annotated else None]:
        yield from leaves(member)


def tags(leaf: Any) -> Iterator[str]:
    """Yield what the member `type` of an SDK's dictionary may say."""
    declared = leaf.__annotations__["type"]
    if isinstance(declared, ForwardRef):
        yield from re.findall(r"'([^']+)'", declared.__forward_arg__)
        return
    for inner in leaves(declared):
        if get_origin(inner) is Literal:
            yield from get_args(inner)


@pytest.mark.parametrize("wire", UNIONS)
def test_the_table_is_the_sdks(wire: str) -> None:
    """Every type of a block, part or item that the SDK takes in a request, and no other."""
    assert {tag for union in UNIONS[wire] for leaf in leaves(union) for tag in tags(leaf)} == KNOWN[wire]


def test_the_table_of_tools_is_the_sdks() -> None:
    """Those that an item of OpenAI Responses may define."""
    assert {tag for leaf in leaves(tool_param.ToolParam) for tag in tags(leaf)} == TOOLS


@pytest.mark.parametrize("known", [True, False])
def test_an_item_is_known_with_the_tools_in_it(known: bool) -> None:
    """A search that found a tool of a type which the API lacks is refused whole."""
    inner = {"type": "function" if known else "function_group", "name": "t", "parameters": {}}
    found = {"type": "tool_search_output", "tools": [{"type": "namespace", "name": "n", "tools": [inner]}]}
    block = Opaque(wire="openai-responses", form="tool_search_output", raw=json.dumps(found))
    assert codec("openai-responses").knows(block) is known


@pytest.mark.parametrize(
    "wire, form", [("openai-responses", "mcp_list_tools"), ("anthropic", "mcp_tool_listing")]
)
def test_a_connectors_list_of_tools_is_known(wire: str, form: str) -> None:
    """Its tools have names and schemas, and no types."""
    block = Opaque(wire=wire, form=form, raw=json.dumps({"type": form, "tools": [{"name": "t"}]}))
    assert codec(wire).knows(block)


@pytest.mark.parametrize("exact", [True, False])
def test_first_hand_only_a_server_that_takes_no_more_lacks_what_another_wire_has(exact: bool) -> None:
    """A part that no wire knows may be newer than the tables."""
    asked = codec("openai-chat", exact=exact)
    known, new = (Opaque(wire="openai-chat", form=form, raw="{}") for form in ("thinking", "hologram"))
    assert (asked.knows(known, own=True), asked.knows(new, own=True)) == (not exact, True)
    assert not asked.knows(known)


@pytest.mark.parametrize("part", [{"type": "input_image", "image_url": None}, {"type": "input_file"}])
def test_a_part_that_holds_nothing_is_told(part: dict[str, Any]) -> None:
    """Files of recorded sessions hold pictures that were taken out."""
    block = Opaque(wire="openai-responses", form=part["type"], raw=json.dumps(part))
    message = Message(role="user", blocks=(block,), wire="openai-responses")
    (piece,) = codec("openai-responses").message(message, thinking=True)
    assert piece.text.startswith(f"[{part['type']} of")


def test_every_part_of_gemini_is_a_member_of_the_sdks() -> None:
    """A part is known by the member it holds."""
    assert KNOWN["gemini"] <= {field.alias for field in Part.model_fields.values()} | {
        "inlineData",
        "fileData",
        *Part.model_fields,
    }


@pytest.mark.parametrize("wire", CODECS)
def test_every_codec_has_its_table(wire: str) -> None:
    """By the name of its wire."""
    assert all(codec(wire).knows(Opaque(wire=wire, form=form, raw="{}")) for form in KNOWN[wire])


def test_places_and_owners_are_of_the_tables() -> None:
    """A place is said of a known type, and a member is a known wire's; one type only an error text tells of."""
    for wire, places in PLACES.items():
        assert set(places) <= KNOWN[wire] | {"input_audio"}
    assert set().union(*OWNERS.values()) <= set(CODECS)


@pytest.mark.parametrize(
    "wire, role, raw, told",
    [
        (
            "anthropic",
            "assistant",
            {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
            "[document of anthropic",
        ),
        ("anthropic", "user", {"type": "tool_reference", "tool_name": "t"}, "[tool_reference of anthropic"),
        ("openai-chat", "assistant", {"type": "file", "file": {"file_id": "f"}}, "[file of openai-chat"),
        ("openai-chat", "user", {"type": "refusal", "refusal": "no"}, "no"),
        ("openai-responses", "assistant", {"type": "input_file", "file_id": "f"}, "[input_file of"),
        ("openai-responses", "user", {"type": "refusal", "refusal": "no"}, "no"),
    ],
)
def test_a_block_where_its_wire_takes_none_is_told(
    wire: str, role: Role, raw: dict[str, Any], told: str
) -> None:
    """In its words, where these are all that it holds; and the manifest lists it."""
    block = Opaque(wire=wire, form=raw["type"], raw=json.dumps(raw))
    (piece,) = codec(wire).message(Message(role=role, blocks=(block,), wire=wire), thinking=True)
    assert piece.text.startswith(told)
    assert piece.lost


@pytest.mark.parametrize("wire", sorted(set(CODECS) - {"openai-chat"}))
def test_members_that_lists_kept_for_another_wire_stay_behind(wire: str) -> None:
    """One that nobody knows is sent, as providers add members; one that is known for another wire's is refused."""
    extra = {"reasoning_content": "r", "tool_calls": [], "new": 1}
    (piece,) = codec(wire).message(
        Message(role="user", blocks=(Text(text="a", extra=extra),), wire=wire), thinking=True
    )
    assert b"reasoning_content" not in piece.data
    assert b"tool_calls" not in piece.data
    assert b'"new":1' in piece.data


def test_only_the_model_cites() -> None:
    """A text with citations is refused in what a user says; the model's keeps its own."""
    text = Text(text="a", extra={"citations": [{"type": "char_location"}]})
    for role, result in (("user", True), ("user", False), ("assistant", False)):
        block = ToolResult(call_id="c", content=(text,)) if result else text
        (piece,) = codec("anthropic").message(
            Message(role=role, blocks=(block,), wire="anthropic"), thinking=True
        )
        assert (b"citations" in piece.data) == (role == "assistant")
        assert bool(piece.lost) == (role == "user")


@pytest.mark.parametrize("id_, kept", [("msg_1", True), ("x", False)])
def test_an_id_of_a_clients_own_is_no_item_of_the_provider(id_: str, kept: bool) -> None:
    """It is refused where it names none; the provider's stays."""
    (message,) = codec("openai-responses").decode_messages([{"role": "user", "content": "a", "id": id_}])
    (piece,) = codec("openai-responses").message(message, thinking=True)
    assert (b'"id"' in piece.data) == kept
