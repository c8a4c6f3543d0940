"""Recorded requests and responses of the providers: each decodes, and encodes to the same values again."""

import base64
import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anthropic.types.beta
import google.genai.types
import openai.types.chat
import openai.types.responses
import pytest
import yaml

from foreword.codecs import codec
from foreword.core.block import Message, Opaque
from foreword.core.usage import Usage
from tests.codecs.body import body_of

DATA = os.environ.get("FOREWORD_DATA")
WIRES = {
    ("api.anthropic.com", "/v1/messages"): "anthropic",
    ("api.openai.com", "/v1/chat/completions"): "openai-chat",
    ("api.openai.com", "/v1/responses"): "openai-responses",
    ("generativelanguage.googleapis.com", ":generateContent"): "gemini",
}
"""Host and end of the path -> wire."""
OTHERS = {
    "api.anthropic.com": ("/v1/files", "/v1/messages/count_tokens"),
    "api.cohere.com": ("/v2/chat",),
    "api.groq.com": ("/openai/v1/chat/completions",),
    "api.mistral.ai": ("/v1/chat/completions",),
    "bedrock-runtime.us-east-1.amazonaws.com": ("/model",),
    "generativelanguage.googleapis.com": ("/v1beta/cachedContents",),
    "openrouter.ai": ("/api/v1/chat/completions",),
}
"""What else was recorded, host -> starts of paths: other vendors' wires, and no requests of a model's."""
LISTS = {"openai-responses": "input", "gemini": "contents"}
"""Where a wire's messages stand, if not in `messages`."""
pytestmark = pytest.mark.skipif(DATA is None, reason="FOREWORD_DATA names no folder of recordings")


def body_in(half: dict[str, Any]) -> Any:
    """Return the body of a recorded request or response: parsed, or text, base64 and gzip of it."""
    if "parsed_body" in half:
        return half["parsed_body"]
    body = half["body"]
    if isinstance(body, dict):
        body = base64.b64decode(body["base64_string"]) if "base64_string" in body else body["string"]
    raw = body if isinstance(body, bytes) else str(body).encode()
    return json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)


def recordings() -> Iterator[Any]:
    """Yield (wire, request, response) of each exchange with a provider's own host."""
    for path in sorted(Path(DATA, "provider_cassettes").glob("*.yaml")) if DATA else ():
        tape = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for number, exchange in enumerate(tape.get("interactions") or ()):
            place = urlsplit(exchange.get("request", {}).get("uri", ""))
            wires = [
                wire
                for (host, end), wire in WIRES.items()
                if place.netloc == host and place.path.endswith(end)
            ]
            if wires:
                request, response = body_in(exchange["request"]), body_in(exchange["response"])
                yield pytest.param(wires[0], request, response, id=f"{path.stem[:60]}-{number}")
            elif place.netloc and not place.path.startswith(OTHERS.get(place.netloc, ())):
                UNKNOWN.append(f"{path.name}: {place.netloc}{place.path}")


UNKNOWN: list[str] = []
"""Recorded exchanges that are neither of a wire of ours nor named as another's."""
TAPES = list(recordings())


def test_there_are_recordings_of_the_wires() -> None:
    """A move of the recordings can't empty this file unseen, and nothing in them is left unnamed."""
    assert {tape.values[0] for tape in TAPES} == set(WIRES.values())
    assert UNKNOWN == []


@pytest.mark.parametrize("wire, request_body, response_body", TAPES)
def test_a_request_encodes_to_the_values_it_decoded_to(
    wire: str, request_body: dict[str, Any], response_body: dict[str, Any]
) -> None:
    """Blocks, unknown members and parameters survive the way through the values."""
    given = codec(wire).decode_request(json.dumps(request_body).encode())
    again = codec(wire).decode_request(body_of(codec(wire), given))
    assert (again.params, again.tools, again.system) == (given.params, given.tools, given.system)
    assert again.messages == given.messages
    assert codec(wire).decode_messages(request_body[LISTS.get(wire, "messages")])[-1] == given.messages[-1]


def google_response(body: dict[str, Any]) -> Any:
    """Parse a response with the official SDK, less the member that its types don't know yet."""
    usage = {name: value for name, value in body["usageMetadata"].items() if name != "serviceTier"}
    return google.genai.types.GenerateContentResponse.model_validate(body | {"usageMetadata": usage})


PARSERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "anthropic": anthropic.types.beta.BetaMessage.model_validate,
    "openai-chat": openai.types.chat.ChatCompletion.model_validate,
    # As the SDK itself does: an older recording lacks members that are required today.
    "openai-responses": lambda body: openai.types.responses.Response.construct(**body),
    "gemini": google_response,
}
"""Wire -> how its official SDK reads a response."""


def in_any_order(message: Message) -> list[Any]:
    """Take unknown blocks apart: an SDK's object has its members in another order than the recording."""
    return [json.loads(block.raw) if isinstance(block, Opaque) else block for block in message.blocks]


def in_one_form(value: Any) -> Any:
    """Drop null members and cache marks, and write a content string as the block it stands for."""
    if isinstance(value, list):
        return [in_one_form(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = {
        # The provider takes either spelling of this name.
        {"parameters_json_schema": "parametersJsonSchema"}.get(name, name): in_one_form(member)
        for name, member in value.items()
        if member is not None and name != "cache_control" and not (name == "is_error" and member is False)
    }
    if isinstance(plain.get("content"), str):
        plain["content"] = [{"type": "text", "text": plain["content"]}]
    return plain


@pytest.mark.parametrize("wire, request_body, response_body", TAPES)
def test_nothing_of_a_request_is_lost(
    wire: str, request_body: dict[str, Any], response_body: dict[str, Any]
) -> None:
    """The body that is written holds every member of the recorded one, marks and nulls aside."""
    written = json.loads(body_of(codec(wire), codec(wire).decode_request(request_body)))
    expected, written = in_one_form(request_body), in_one_form(written)
    if "systemInstruction" in expected:
        expected["systemInstruction"].pop("role", None)  # the provider ignores it
    if isinstance(request_body.get("system"), str):
        expected["system"] = [{"type": "text", "text": request_body["system"]}]
    assert written == {name: value for name, value in expected.items() if value != []}


@pytest.mark.parametrize("wire, request_body, response_body", TAPES)
def test_a_response_encodes_to_the_values_it_decoded_to(
    wire: str, request_body: dict[str, Any], response_body: dict[str, Any]
) -> None:
    """Content, usage and unknown members survive, and a plain value and an SDK object read the same."""
    given = codec(wire).decode_response(response_body)
    assert codec(wire).decode_response(codec(wire).encode_response(given)) == given
    parsed = PARSERS[wire](response_body)
    assert in_any_order(codec(wire).decode_response(parsed).message) == in_any_order(given.message)


@pytest.mark.parametrize("wire, request_body, response_body", TAPES)
def test_usage_says_what_the_sdk_says(
    wire: str, request_body: dict[str, Any], response_body: dict[str, Any]
) -> None:
    """Each bucket equals the figure that the provider's own type gives."""
    usage = codec(wire).decode_response(response_body).usage
    if wire == "anthropic":
        told = anthropic.types.beta.BetaUsage.model_validate(response_body["usage"])
        split = told.cache_creation
        assert usage == Usage(
            uncached=told.input_tokens,
            cache_read=told.cache_read_input_tokens or 0,
            cache_write_short=split.ephemeral_5m_input_tokens
            if split
            else told.cache_creation_input_tokens or 0,
            cache_write_long=split.ephemeral_1h_input_tokens if split else 0,
            output=told.output_tokens,
            reasoning=told.output_tokens_details and told.output_tokens_details.thinking_tokens,
        )
        return
    if wire == "openai-responses":
        counted = PARSERS[wire](response_body).usage
        inputs = counted.input_tokens_details
        assert usage.total_input == counted.input_tokens
        assert usage.cache_read == inputs.cached_tokens
        assert usage.cache_write_short == (getattr(inputs, "cache_write_tokens", None) or 0)
        assert usage.output == counted.output_tokens
        assert usage.reasoning == counted.output_tokens_details.reasoning_tokens
        return
    if wire == "gemini":
        metadata = PARSERS[wire](response_body).usage_metadata
        assert usage.total_input == metadata.prompt_token_count
        assert usage.cache_read == (metadata.cached_content_token_count or 0)
        assert usage.reasoning == metadata.thoughts_token_count
        assert usage.total_input + usage.output == metadata.total_token_count
        return
    said = openai.types.CompletionUsage.model_validate(response_body["usage"])
    assert usage.total_input == said.prompt_tokens
    assert usage.cache_read == (said.prompt_tokens_details and said.prompt_tokens_details.cached_tokens)
    assert usage.output == said.completion_tokens
    assert usage.reasoning == (
        said.completion_tokens_details and said.completion_tokens_details.reasoning_tokens
    )
