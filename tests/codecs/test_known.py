"""The tables of block types say what the official SDKs say."""

from __future__ import annotations

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
)

from foreword.codecs import CODECS, codec
from foreword.codecs.known import KNOWN

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
    assert codec(wire).known == KNOWN[wire]
