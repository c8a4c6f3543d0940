"""A Chat Completions request as its server sees it: messages with parts, calls, digests and sizes.

Reading never fails on form; what is malformed is noted for the rules and otherwise left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Protocol, cast

import msgspec

from foreword.testing import openai_chat_forms
from foreword.testing.facts import ModelFacts
from foreword.testing.form import Misform, Misplaced, Table, misforms
from foreword.testing.measure import (
    UNKNOWN_MEDIA_TOKENS,
    TokenMeter,
    decoded,
    image_size,
    openai_image_tokens,
)
from foreword.testing.option_values import Ranges, Values
from foreword.testing.prefix_cache import Unit
from foreword.testing.wire import compact, digest, mapping, objects, opened, strings, text_of

MESSAGE_OVERHEAD = 3
NAME_OVERHEAD = 1
REPLY_PRIMING = 3
TEXTS = frozenset({"text", "refusal"})

# Parameters whose change is a miss of the whole prompt (rulebook 2.2).
KEYS = ("model", "prompt_cache_key", "reasoning_effort", "verbosity", "response_format", "service_tier")


class ChatForms(Protocol):
    """The tables of one provider of this wire: a module like `openai_chat_forms`."""

    BODY: Table
    MESSAGES: Mapping[str, Table]
    PARTS: Mapping[str, Table]
    ROLE_PARTS: Mapping[str, frozenset[str]]
    PART_BODIES: Mapping[str, Table]
    DETAILS: frozenset[str]
    CALLS: Mapping[str, Table]
    CALL_BODIES: Mapping[str, Table]
    TOOLS: Mapping[str, Table]
    TOOL_BODIES: Mapping[str, Table]
    EFFORTS: frozenset[str]
    CHOICES: frozenset[str]
    CHOICE_TYPES: frozenset[str]
    MOST_STOPS: int
    VALUES: Values
    RANGES: Ranges
    JSON_SCHEMA: Table


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message. `calls` are the ids of its tool calls; paths of faults are relative to the message."""

    role: str
    data: dict[str, Any]
    calls: tuple[str, ...]
    digest: bytes
    tokens: int
    misforms: tuple[Misform, ...]
    misplaced: tuple[Misplaced, ...]


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the rules look at."""

    body: dict[str, Any]
    facts: ModelFacts
    forms: ChatForms
    strict_alternation: bool
    messages: tuple[ChatMessage, ...]
    misforms: tuple[Misform, ...]
    units: tuple[Unit, ...]

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tool definitions that are objects."""
        return objects(self.body.get("tools"))

    @property
    def input_tokens(self) -> int:
        """The whole prompt in the server's measure."""
        return sum(unit.tokens for unit in self.units)

    @property
    def output_limit(self) -> tuple[str, int] | None:
        """The member that limits the output, and its value; None if there is no limit."""
        for name in ("max_completion_tokens", "max_tokens"):
            value = self.body.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return name, value
        return None


class ChatReader:
    """Reads requests, each different message once: a session that grows is read in near-linear time."""

    def __init__(
        self,
        meter: TokenMeter,
        facts: ModelFacts,
        *,
        strict_alternation: bool = False,
        forms: ChatForms = openai_chat_forms,
    ) -> None:
        self._meter = meter
        self._facts = facts
        self._forms = forms
        self._strict = strict_alternation
        self._read: dict[bytes, ChatMessage] = {}

    def read(self, body: bytes) -> ChatRequest:
        """Parse a body; raises `UNREADABLE` if it is no JSON object."""
        members, raw = opened(body)
        messages = tuple(self._cached(message) for message in raw)
        return ChatRequest(
            body=members,
            facts=self._facts,
            forms=self._forms,
            strict_alternation=self._strict,
            messages=messages,
            misforms=(
                *misforms("", members, self._forms.BODY),
                *_tool_misforms(members.get("tools"), self._forms),
                *_answer_misforms(members.get("response_format"), self._forms),
            ),
            units=(*self._opening(members), *(Unit(digest=m.digest, tokens=m.tokens) for m in messages)),
        )

    def answer_tokens(self, texts: list[str]) -> int:
        """Tokens of the texts of an answer."""
        return self._meter.tokens(texts)

    def _opening(self, members: Mapping[str, Any]) -> Iterator[Unit]:
        keys = compact({name: members.get(name) for name in KEYS})
        yield Unit(digest=blake2b(keys, digest_size=16).digest(), tokens=REPLY_PRIMING, key=True)
        for tool in objects(members.get("tools")):
            tokens = self._meter.tokens((compact(tool).decode(),))
            yield Unit(digest=digest(tool, without="prompt_cache_breakpoint"), tokens=tokens)

    def _cached(self, raw: bytes) -> ChatMessage:
        key = blake2b(raw, digest_size=16).digest()
        if key not in self._read:
            self._read[key] = self.message(msgspec.json.decode(raw))
        return self._read[key]

    def message(self, message: object) -> ChatMessage:
        """Read one message given as a JSON value."""
        forms = self._forms
        data = mapping(message)
        role = text_of(data.get("role"))
        faults: list[Misform] = []
        misplaced: list[Misplaced] = []
        table = forms.MESSAGES.get(role)
        if not isinstance(message, dict):
            faults.append(Misform("", "type", "obj"))
        elif not role:
            faults.append(Misform("role", "missing", "str"))
        elif table is not None:
            faults += misforms("", data, table)
        for path, item in _items("content", data.get("content")):
            faults += _nested(path, item, forms.PARTS, forms.PART_BODIES)
            kind = text_of(mapping(item).get("type"))
            if kind and (kind not in forms.PARTS or kind not in forms.ROLE_PARTS.get(role, forms.PARTS)):
                misplaced.append(Misplaced(path, kind, kind in forms.PARTS))
        for path, item in _items("tool_calls", data.get("tool_calls")):
            faults += _nested(path, item, forms.CALLS, forms.CALL_BODIES)
            kind = text_of(mapping(item).get("type"))
            if kind and kind not in forms.CALLS:
                misplaced.append(Misplaced(path, kind, False))
        return ChatMessage(
            role=role,
            data=data,
            calls=tuple(text_of(call.get("id")) for call in objects(data.get("tool_calls"))),
            digest=digest(self._rendered(data), without="prompt_cache_breakpoint"),
            tokens=MESSAGE_OVERHEAD
            + (NAME_OVERHEAD if "name" in data else 0)
            + self._tokens(self._rendered(data)),
            misforms=tuple(faults),
            misplaced=tuple(misplaced),
        )

    def _rendered(self, data: dict[str, Any]) -> dict[str, Any]:
        """What the model reads of a message."""
        return data

    def _tokens(self, data: dict[str, Any]) -> int:
        parts = objects(data.get("content"))
        media = sum(_media_tokens(part) for part in parts if text_of(part.get("type")) not in TEXTS)
        texts = [part for part in parts if text_of(part.get("type")) in TEXTS]
        said = data.get("content") if isinstance(data.get("content"), str) else None
        calls = [[call.get("function"), call.get("custom")] for call in objects(data.get("tool_calls"))]
        members = ("refusal", "function_call", "name", "reasoning_content")
        rest = [texts, said, [data.get(member) for member in members], calls]
        return media + self._meter.tokens(strings(rest))


def _media_tokens(part: dict[str, Any]) -> int:
    image = mapping(part.get("image_url"))
    _, found, data = text_of(image.get("url")).partition(";base64,")
    raw = decoded(data) if found else None
    if raw is None:
        return UNKNOWN_MEDIA_TOKENS
    return openai_image_tokens(image_size(raw), text_of(image.get("detail")) or None)


def _items(name: str, value: object) -> Iterator[tuple[str, object]]:
    for index, item in enumerate(cast("list[object]", value) if isinstance(value, list) else []):
        yield f"{name}[{index}]", item


def _form(path: str, item: object, tables: Mapping[str, Table]) -> Iterator[Misform]:
    if not isinstance(item, dict):
        yield Misform(path, "type", "obj")
        return
    data = mapping(item)
    kind = text_of(data.get("type"))
    if not kind:
        yield Misform(f"{path}.type", "missing", "str")
    elif kind in tables:
        yield from misforms(path, data, tables[kind])


def _nested(
    path: str, item: object, tables: Mapping[str, Table], bodies: Mapping[str, Table]
) -> Iterator[Misform]:
    yield from _form(path, item, tables)
    kind = text_of(mapping(item).get("type"))
    body = mapping(item).get(kind)
    if kind in bodies and isinstance(body, dict):
        yield from misforms(f"{path}.{kind}", mapping(body), bodies[kind])


def _answer_misforms(asked: object, forms: ChatForms) -> Iterator[Misform]:
    if mapping(asked).get("type") == "json_schema":
        place, schema = "response_format.json_schema", mapping(asked).get("json_schema")
        yield from (
            misforms(place, mapping(schema), forms.JSON_SCHEMA)
            if isinstance(schema, dict)
            else [Misform(place, "missing", "obj")]
        )


def _tool_misforms(tools: object, forms: ChatForms) -> Iterator[Misform]:
    for path, tool in _items("tools", tools):
        yield from _nested(path, tool, forms.TOOLS, forms.TOOL_BODIES)
