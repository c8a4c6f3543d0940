"""Compiled requests against the types of the official SDKs."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from pydantic import TypeAdapter


@cache
def _adapter(wire: str) -> TypeAdapter[Any]:
    if wire == "anthropic":
        from anthropic.types import message_create_params

        return TypeAdapter(message_create_params.MessageCreateParamsNonStreaming)
    if wire == "openai-responses":
        from openai.types.responses import response_create_params

        return TypeAdapter(response_create_params.ResponseCreateParamsNonStreaming)
    from openai.types.chat import completion_create_params

    return TypeAdapter(completion_create_params.CompletionCreateParamsNonStreaming)


def validate(wire: str, body: bytes) -> None:
    """Raise when a request isn't of the SDK's type for its wire. DeepSeek is judged as OpenAI Chat is."""
    value = json.loads(body)
    if wire != "gemini":
        consume(_adapter(wire).validate_python(value))
        return
    from google.genai import types

    for content in value["contents"]:
        types.Content.model_validate(content)
    for tool in value.get("tools", ()):
        types.Tool.model_validate(tool)
    if "systemInstruction" in value:
        types.Content.model_validate(value["systemInstruction"])


def consume(value: Any) -> None:
    """Read what pydantic made lazily: an `Iterable` is validated only when somebody walks it."""
    if isinstance(value, dict):
        for member in value.values():
            consume(member)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for member in value:
            consume(member)
