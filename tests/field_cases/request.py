"""A compiled request as its receiver sees it: parts, strings, units and marks, read from the bytes alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from msgspec import Struct

from tests.field_cases.cases import Unsupported

DIRECTIVE = re.compile(r'^<foreword kind="notice" topic="language"[^>]*>\n(.*)\n</foreword>$', re.MULTILINE)
ENGINE_TEXT = re.compile(r"^<foreword kind=")
MISSING = object()
MARK = "cache_control"


class Part(Struct, frozen=True, kw_only=True):
    """A block of a message. ``message``: index in the wire's list; ``kind``: text, thinking, call, result, image,
    server_call, server_result or other."""

    kind: str
    role: str
    message: int
    raw: Any
    text: str = ""
    id: str = ""
    name: str = ""
    arguments: str = ""
    is_error: bool = False
    images: int = 0

    @property
    def by_engine(self) -> bool:
        """Whether the engine wrote this text itself."""
        return self.kind == "text" and ENGINE_TEXT.match(self.text) is not None


class Request:
    """One request. ``data``: its bytes; ``counted``: the product's own count, None: not known.

    ``events``: how many events its session held once it was compiled.
    """

    def __init__(self, wire: str, data: bytes, counted: int | None = None, *, events: int = 0) -> None:
        self.events = events
        self.wire = wire
        self.data = data
        self.counted = counted
        self.body: dict[str, Any] = json.loads(data)

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        """The wire's list of messages, items or contents, whole."""
        return self.body[LISTS.get(self.wire, "messages")]

    @cached_property
    def parts(self) -> list[Part]:
        read = READERS[self.wire]
        return [part for index, message in enumerate(self.messages) for part in read(message, index)]

    @cached_property
    def tools(self) -> list[Any]:
        return self.body.get("tools", [])

    @cached_property
    def system(self) -> list[Any]:
        """The system blocks, or the leading system messages."""
        match self.wire:
            case "anthropic":
                given = self.body.get("system", [])
                return [{"type": "text", "text": given}] if isinstance(given, str) else given
            case "openai-responses":
                given = self.body.get("instructions")
                return [] if given is None else [given]
            case "gemini":
                return self.body.get("systemInstruction", {}).get("parts", [])
            case _:
                return self.messages[: self._leading]

    @property
    def _leading(self) -> int:
        roles = [message.get("role") for message in self.messages]
        return next((i for i, role in enumerate(roles) if role not in ("system", "developer")), len(roles))

    @cached_property
    def said(self) -> list[Part]:
        """The parts of messages, without leading system messages."""
        if self.wire not in ("openai-chat", "deepseek", "openai-responses"):
            return self.parts
        return [part for part in self.parts if part.message >= self._leading]

    @property
    def recorded(self) -> list[Part]:
        """The parts that come from recorded messages."""
        return [part for part in self.said if not part.by_engine]

    @property
    def tail(self) -> list[Part]:
        """The newest message of a user's words, and all after it."""
        words = [part for part in self.recorded if part.role == "user" and part.kind in ("text", "image")]
        if not words:
            return []
        last = words[-1].message
        start = next(index for index, part in enumerate(self.said) if part.message == last and part in words)
        return self.said[start:]

    def calls(self, *, server: bool = False) -> list[Part]:
        kinds = ("call", "server_call") if server else ("call",)
        return [part for part in self.said if part.kind in kinds]

    def results(self, *, server: bool = False) -> list[Part]:
        kinds = ("result", "server_result") if server else ("result",)
        return [part for part in self.said if part.kind in kinds]

    def result(self, id_: str) -> Part | None:
        return next((part for part in self.results() if part.id == id_), None)

    @property
    def images(self) -> int:
        return sum(part.images for part in self.parts)

    @cached_property
    def units(self) -> list[tuple[str, bool]]:
        """Tools, system blocks and message blocks as text, and whether each carries a mark."""
        if self.wire == "anthropic":
            blocks = [
                (f"{message['role']}\0", block) for message in self.messages for block in _blocks(message)
            ]
        elif self.wire == "gemini":
            blocks = [(f"{m.get('role')}\0", part) for m in self.messages for part in m["parts"]]
        else:
            blocks = [("", message) for message in self.messages[self._leading :]]
        listed = [("tool\0", tool) for tool in self.tools] + [("system\0", block) for block in self.system]
        return [(head + text_of(without_marks(unit)), marks_in(unit) > 0) for head, unit in listed + blocks]

    def part(self, name: str) -> Any:
        """Return a named piece of the request as JSON values, without marks. Raises Unsupported."""
        found = self._piece(name)
        return without_marks(found)

    def _piece(self, name: str) -> Any:
        if name.startswith("tool_result:"):
            result = self.result(name.removeprefix("tool_result:"))
            return MISSING if result is None else result.text
        match name:
            case "request":
                return self.body
            case "tools":
                return self.tools
            case "system":
                return self.system
            case "recorded_messages":
                return [part.raw for part in self.recorded]
            case "tail":
                return [part.raw for part in self.tail]
            case "messages" | "input" | "contents":
                return self.messages
            case "directive":
                said = [found for text in strings(self.body) for found in DIRECTIVE.findall(text)]
                return said[-1] if said else MISSING
            case _:
                return self._indexed(name)

    def _indexed(self, name: str) -> Any:
        found = re.fullmatch(r"(messages|input|contents|system|tools)\[(-?\d*)(:?)(-?\d*)\]", name)
        if found is None:
            raise Unsupported(f"part {name}")
        base, first, colon, last = found.groups()
        listed = self._piece(base)
        if colon:
            return listed[int(first) if first else None : int(last) if last else None]
        at = int(first)
        return listed[at] if -len(listed) <= at < len(listed) else MISSING


def text_of(value: Any) -> str:
    """Return a value as JSON text, members in the order they came."""
    return json.dumps(value, ensure_ascii=False)


def strings(value: Any) -> Iterator[str]:
    """Yield every string value in a value, decoded."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from strings(member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


def without_marks(value: Any) -> Any:
    """Return a value without cache marks, at every depth."""
    if isinstance(value, dict):
        return {name: without_marks(member) for name, member in value.items() if name != MARK}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


def marks_in(value: Any) -> int:
    """Count cache marks, at every depth."""
    if isinstance(value, dict):
        return (MARK in value) + sum(marks_in(member) for name, member in value.items() if name != MARK)
    return sum(marks_in(item) for item in value) if isinstance(value, list) else 0


def at_path(value: Any, path: str) -> Any:
    """Return what stands at a dotted path with ``[i]`` and ``[*]``; MISSING: nothing does."""
    steps = re.findall(r"[^.\[\]]+|\[\*\]|\[-?\d+\]", path)
    return _walk(value, steps)


def _walk(value: Any, steps: list[str]) -> Any:
    for index, step in enumerate(steps):
        if step == "[*]":
            if not isinstance(value, list):
                return MISSING
            return [_walk(item, steps[index + 1 :]) for item in value]
        if step.startswith("["):
            at = int(step[1:-1])
            if not isinstance(value, list) or not -len(value) <= at < len(value):
                return MISSING
            value = value[at]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return MISSING
    return value


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def _anthropic(message: dict[str, Any], index: int) -> Iterator[Part]:
    for block in _blocks(message):
        yield _anthropic_part(block, message["role"], index)


def _anthropic_part(block: dict[str, Any], role: str, index: int) -> Part:
    kind = str(block.get("type"))
    place: dict[str, Any] = {"role": role, "message": index, "raw": block}
    match kind:
        case "text":
            return Part(kind="text", text=block["text"], **place)
        case "thinking" | "redacted_thinking":
            return Part(kind="thinking", text=block.get("thinking", ""), **place)
        case "image":
            return Part(kind="image", images=1, **place)
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            named = "call" if kind == "tool_use" else "server_call"
            return Part(
                kind=named, id=block["id"], name=block["name"], arguments=compact(block["input"]), **place
            )
        case _ if "tool_use_id" in block:
            named = "result" if kind == "tool_result" else "server_result"
            inner = _blocks(block) if isinstance(block.get("content"), str | list) else []
            return Part(
                kind=named,
                id=block["tool_use_id"],
                text="\n".join(part["text"] for part in inner if part.get("type") == "text"),
                is_error=block.get("is_error", False),
                images=sum(part.get("type") == "image" for part in inner),
                **place,
            )
        case _:
            return Part(kind="other", **place)


def _chat(message: dict[str, Any], index: int) -> Iterator[Part]:
    role = message["role"]
    place: dict[str, Any] = {"message": index}
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    if role == "tool":
        text = "\n".join(part.get("text", "") for part in parts)
        yield Part(kind="result", role="tool", id=message["tool_call_id"], text=text, raw=message, **place)
        return
    if message.get("reasoning_content") is not None:
        yield Part(kind="thinking", role=role, text=message["reasoning_content"], raw=message, **place)
    for part in parts:
        kind = part.get("type")
        named = {"text": "text", "image_url": "image"}.get(str(kind), "other")
        yield Part(
            kind=named, role=role, text=part.get("text", ""), images=named == "image", raw=part, **place
        )
    for call in message.get("tool_calls") or ():
        inner = call.get("function", {})
        yield Part(
            kind="call",
            role=role,
            id=call["id"],
            name=inner.get("name", ""),
            arguments=inner.get("arguments", ""),
            raw=call,
            **place,
        )


def _responses(item: dict[str, Any], index: int) -> Iterator[Part]:
    kind = item.get("type", "message")
    place: dict[str, Any] = {"message": index}
    if kind == "message":
        content = item.get("content")
        parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content or []
        for part in parts:
            yield _responses_part(part, item["role"], place)
    elif kind == "function_call":
        yield Part(
            kind="call",
            role="assistant",
            id=item["call_id"],
            name=item["name"],
            arguments=item["arguments"],
            raw=item,
            **place,
        )
    elif kind == "function_call_output":
        output = item["output"]
        listed = [{"type": "input_text", "text": output}] if isinstance(output, str) else output
        yield Part(
            kind="result",
            role="user",
            id=item["call_id"],
            text="\n".join(part["text"] for part in listed if "text" in part),
            images=sum(part.get("type") == "input_image" for part in listed),
            raw=item,
            **place,
        )
    else:
        role = "assistant"
        yield Part(kind="thinking" if kind == "reasoning" else "other", role=role, raw=item, **place)


def _responses_part(part: dict[str, Any], role: str, place: dict[str, Any]) -> Part:
    kind = part.get("type")
    if "text" in part:
        return Part(kind="text", role=role, text=part["text"], raw=part, **place)
    image = kind == "input_image"
    return Part(kind="image" if image else "other", role=role, images=int(image), raw=part, **place)


def _gemini(content: dict[str, Any], index: int) -> Iterator[Part]:
    role = "assistant" if content.get("role") == "model" else "user"
    # Calls and results without an id go by name and order; results stand in the content after that of their calls.
    unnamed = Counter[str]()
    for part in content["parts"]:
        place: dict[str, Any] = {"role": role, "message": index, "raw": part}
        if "functionCall" in part:
            inner = part["functionCall"]
            unnamed[inner["name"]] += "id" not in inner
            yield Part(
                kind="call",
                id=inner.get("id", f"{inner['name']} {index}.{unnamed[inner['name']]}"),
                name=inner["name"],
                arguments=compact(inner.get("args", {})),
                **place,
            )
        elif "functionResponse" in part:
            inner = part["functionResponse"]
            text = "\n".join(strings(inner.get("response", {})))
            unnamed[inner["name"]] += "id" not in inner
            id_ = inner.get("id", f"{inner['name']} {index - 1}.{unnamed[inner['name']]}")
            images = len(inner.get("parts", ()))
            yield Part(kind="result", id=id_, name=inner["name"], text=text, images=images, **place)
        elif "text" in part:
            # A signature of what was streamed before may come in a last part of no text.
            seal = not part["text"].strip() and "thoughtSignature" in part
            kind = "other" if seal else "thinking" if part.get("thought") else "text"
            yield Part(kind=kind, text=part["text"], **place)
        else:
            image = "inlineData" in part or "fileData" in part
            yield Part(kind="image" if image else "other", images=int(image), **place)


def compact(value: Any) -> str:
    """Return a value as JSON text without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


READERS: dict[str, Callable[[dict[str, Any], int], Iterator[Part]]] = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "deepseek": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
}
LISTS = {"openai-responses": "input", "gemini": "contents"}
