"""Messages in the form of each wire: what `$turns`, `$grow` and short forms of cases stand for."""

from __future__ import annotations

import json
from typing import Any

from tests.field_cases.cases import Unsupported, known

Message = dict[str, Any]

GROWN = ("$grow", "steps", "per_step", "step_text", "tool_output", "image_per_step", "items_per_step")
"""Members of a `$grow` rule."""


def user(wire: str, text: str) -> Message:
    """Return a user's message."""
    match wire:
        case "anthropic":
            return {"role": "user", "content": [{"type": "text", "text": text}]}
        case "openai-responses":
            content = [{"type": "input_text", "text": text}]
            return {"type": "message", "role": "user", "content": content}
        case "gemini":
            return {"role": "user", "parts": [{"text": text}]}
        case _:
            return {"role": "user", "content": text}


def pictures(wire: str, images: list[dict[str, str]]) -> Message:
    """Return a user's message of images, each {media_type, data}."""
    urls = [f"data:{image['media_type']};base64,{image['data']}" for image in images]
    match wire:
        case "anthropic":
            blocks = [{"type": "image", "source": {"type": "base64", **image}} for image in images]
            return {"role": "user", "content": blocks}
        case "openai-responses":
            content = [{"type": "input_image", "image_url": url} for url in urls]
            return {"type": "message", "role": "user", "content": content}
        case "gemini":
            return {"role": "user", "parts": list(map(_gemini_image, images))}
        case _:
            content = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
            return {"role": "user", "content": content}


def _gemini_image(image: dict[str, str]) -> dict[str, Any]:
    return {"inlineData": {"mimeType": image["media_type"], "data": image["data"]}}


def assistant(wire: str, text: str) -> Message:
    """Return an assistant's message."""
    match wire:
        case "anthropic":
            return {"role": "assistant", "content": [{"type": "text", "text": text}]}
        case "openai-responses":
            content = [{"type": "output_text", "text": text, "annotations": []}]
            return {"type": "message", "role": "assistant", "content": content}
        case "gemini":
            return {"role": "model", "parts": [{"text": text}]}
        case _:
            return {"role": "assistant", "content": text}


def calls(wire: str, made: list[tuple[str, str, str]], text: str = "") -> list[Message]:
    """Return an assistant's message of calls (id, name, arguments as JSON text), after a text if there is one."""
    match wire:
        case "anthropic":
            words = [{"type": "text", "text": text}] if text else []
            blocks = [
                {"type": "tool_use", "id": id_, "name": name, "input": json.loads(arguments)}
                for id_, name, arguments in made
            ]
            return [{"role": "assistant", "content": [*words, *blocks]}]
        case "openai-responses":
            items = [
                {"type": "function_call", "call_id": id_, "name": name, "arguments": arguments}
                for id_, name, arguments in made
            ]
            return [*([assistant(wire, text)] if text else []), *items]
        case "gemini":
            words = [{"text": text}] if text else []
            parts = [
                {"functionCall": {"id": id_, "name": name, "args": json.loads(arguments)}}
                for id_, name, arguments in made
            ]
            return [{"role": "model", "parts": [*words, *parts]}]
        case _:
            asked = [
                {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
                for id_, name, arguments in made
            ]
            return [{"role": "assistant", "content": text or None, "tool_calls": asked}]


def results(wire: str, given: list[tuple[str, str, Any]]) -> list[Message]:
    """Return the results of calls: (id, tool's name, text or an image as {media_type, data})."""
    match wire:
        case "anthropic":
            blocks = [
                {"type": "tool_result", "tool_use_id": id_, "content": _anthropic_content(content)}
                for id_, _, content in given
            ]
            return [{"role": "user", "content": blocks}]
        case "openai-responses":
            return [
                {"type": "function_call_output", "call_id": id_, "output": _responses_output(content)}
                for id_, _, content in given
            ]
        case "gemini":
            parts = [
                {"functionResponse": {"id": id_, "name": name, **_gemini_response(content)}}
                for id_, name, content in given
            ]
            return [{"role": "user", "parts": parts}]
        case _:
            return [
                {"role": "tool", "tool_call_id": id_, "content": _text(content)} for id_, _, content in given
            ]


def _anthropic_content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [{"type": "image", "source": {"type": "base64", **content}}]


def _gemini_response(content: Any) -> dict[str, Any]:
    if isinstance(content, str):
        return {"response": {"output": content}}
    return {"response": {"output": ""}, "parts": [_gemini_image(content)]}


def _responses_output(content: Any) -> Any:
    if isinstance(content, str):
        return content
    url = f"data:{content['media_type']};base64,{content['data']}"
    return [{"type": "input_image", "image_url": url}]


def _text(content: Any) -> str:
    if not isinstance(content, str):
        raise Unsupported("an image in a result on this wire")
    return content


def turns(wire: str, rule: dict[str, Any]) -> list[Message]:
    """Return the messages of a `$turns` rule."""
    known("$turns with", rule, ("$turns", "user", "assistant"))
    made: list[Message] = []
    for i in range(rule["$turns"]):
        made.append(user(wire, rule["user"].replace("{i}", str(i))))
        made.append(assistant(wire, rule["assistant"].replace("{i}", str(i))))
    return made


def grown(wire: str, steps: int, rule: dict[str, Any]) -> list[list[Message]]:
    """Return, for each request of a growing session, the messages that it adds to the one before."""
    known("a growing session with", rule, GROWN)
    requests: list[list[Message]] = []
    for k in range(steps):
        finished = _finished(wire, k - 1, rule) if k else []
        requests.append([*finished, user(wire, f"Step {k}.")])
    return requests


def _finished(wire: str, k: int, rule: dict[str, Any]) -> list[Message]:
    """Return what the agent did in step ``k``, after the user's words."""
    call = (f"step_{k}", "work", json.dumps({"step": k}))
    done = assistant(wire, "Done.")
    if "tool_output" in rule:
        return [*calls(wire, [call]), *results(wire, [(call[0], call[1], rule["tool_output"])]), done]
    if "image_per_step" in rule:
        image = {"media_type": "image/png", "data": rule["image_per_step"]}
        return [*calls(wire, [call]), *results(wire, [(call[0], call[1], image)]), done]
    if rule.get("items_per_step") == ["reasoning", "message"]:
        reasoning = {"type": "reasoning", "id": f"rs_{k}", "summary": [], "encrypted_content": f"sealed {k}"}
        return [reasoning, {**assistant(wire, f"Answer {k}."), "id": f"msg_{k}"}]
    match rule.get("per_step"):
        case "tool_call_and_result":
            return [*calls(wire, [call]), *results(wire, [(call[0], call[1], f"result {k}")]), done]
        case "user_assistant":
            return [assistant(wire, rule.get("step_text", f"Answer {k}."))]
        case other:
            raise Unsupported(f"a step of kind {other}")
