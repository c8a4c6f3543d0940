"""Read Anthropic Messages requests.

Reading never fails on form; what is malformed is noted for the rules and otherwise left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, cast

import msgspec

from foreword.testing import anthropic_forms as forms
from foreword.testing.anthropic_request import (
    AnthropicRequest,
    Blank,
    Block,
    Image,
    Mark,
    Message,
    blank_text,
)
from foreword.testing.anthropic_units import message_units
from foreword.testing.facts import ModelFacts
from foreword.testing.form import Misform, Misplaced, Table, misforms
from foreword.testing.measure import (
    UNKNOWN_MEDIA_TOKENS,
    TokenMeter,
    claude_image_tokens,
    decoded,
    image_size,
    image_type,
)
from foreword.testing.wire import compact, digest, mapping, objects, opened, strings, text_of

LATEST_VERSION = "2026-10-21"
MEDIA = frozenset({"image", "document"})


class AnthropicReader:
    """Reads requests, each different message once: a session that grows is read in near-linear time."""

    def __init__(self, meter: TokenMeter, facts: ModelFacts, *, strict_alternation: bool) -> None:
        self._meter = meter
        self._facts = facts
        self._strict = strict_alternation
        self._read: dict[bytes, Message] = {}

    def read(self, body: bytes, headers: Mapping[str, str] | None, *, counting: bool) -> AnthropicRequest:
        """Parse a body and the headers that matter; raises `UNREADABLE` if the body is no JSON object."""
        members, raw = opened(body)
        named = {name.lower(): value for name, value in (headers or {}).items()}
        betas = frozenset(beta.strip() for beta in named.get("anthropic-beta", "").split(",") if beta.strip())
        system, faults = self._system(members.get("system"))
        table = forms.COUNT_BODY if counting else forms.BODY
        messages = tuple(self._message(message) for message in raw)
        return AnthropicRequest(
            body=members,
            size=len(body),
            facts=self._facts,
            version=named.get("anthropic-version", LATEST_VERSION),
            betas=None if headers is None else betas,
            counting=counting,
            strict_alternation=self._strict,
            messages=messages,
            system=system,
            misforms=(
                *misforms("", members, table),
                *_option_misforms(members),
                *faults,
                *_tool_misforms(members.get("tools")),
            ),
            tool_digests=tuple(
                digest(tool, without="cache_control") for tool in objects(members.get("tools"))
            ),
            by_kind=_by_kind(messages),
            marks=tuple(_marks(members, system, messages)),
        )

    def tool_tokens(self, tool: Mapping[str, Any]) -> int:
        """Tokens of one tool definition, as compact JSON."""
        bare = {name: value for name, value in tool.items() if name != "cache_control"}
        return self._meter.tokens((compact(bare).decode(),))

    def answer_tokens(self, blocks: list[dict[str, Any]]) -> int:
        """Tokens of the content of an answer."""
        return sum(self._tokens(text_of(block.get("type")), block) for block in blocks)

    def as_blocks(self, content: list[dict[str, Any]]) -> tuple[Block, ...]:
        """Read the content of an answer like that of a message."""
        return tuple(self._block(block) for block in content)

    def _system(self, system: object) -> tuple[tuple[Block, ...], list[Misform]]:
        if isinstance(system, str):
            return ((self._block({"type": "text", "text": system}),) if system else ()), []
        faults = list(_list_misforms("system", system, {"text": forms.BLOCKS["text"]}))
        return tuple(self._block(item) for item in objects(system)), faults

    def _message(self, raw: bytes) -> Message:
        key = blake2b(raw, digest_size=16).digest()
        if key not in self._read:
            self._read[key] = self._parsed(msgspec.json.decode(raw))
        return self._read[key]

    def _parsed(self, message: object) -> Message:
        data = mapping(message)
        role, content = text_of(data.get("role")), data.get("content")
        items: list[object] = cast("list[object]", content) if isinstance(content, list) else []
        string = isinstance(content, str)
        if string and content:
            items = [{"type": "text", "text": content}]
        blocks = tuple(self._block(mapping(item)) for item in items)
        faults: list[Misform] = []
        if not isinstance(message, dict):
            faults.append(Misform("", "type", "obj"))
        else:
            faults += misforms("", data, forms.SYSTEM_MESSAGE if role == "system" else forms.MESSAGE)
        misplaced: list[Misplaced] = []
        for index, (item, block) in enumerate(zip(items, blocks, strict=True)):
            path = f"content.{index}"
            faults += _block_misforms(path, item)
            if block.kind and block.kind not in forms.BLOCKS:
                misplaced.append(Misplaced(path, block.kind, known=False))
            elif block.kind and block.kind not in forms.ROLE_BLOCKS.get(role, forms.BLOCKS):
                misplaced.append(Misplaced(path, block.kind, known=True))
            if block.kind == "tool_result":
                misplaced += [
                    Misplaced(f"{path}.content.{inner}", text_of(part.get("type")), known=False)
                    for inner, part in enumerate(objects(block.data.get("content")))
                    if text_of(part.get("type")) not in forms.RESULT_BLOCKS and part.get("type")
                ]
        return Message(
            role=role,
            string=string,
            data=data,
            blocks=blocks,
            units=message_units(role, blocks, string=string),
            blanks=tuple(_blanks(blocks)),
            marks=tuple(_block_marks(blocks)),
            images=tuple(_images(blocks)),
            misforms=tuple(faults),
            misplaced=tuple(misplaced),
        )

    def _block(self, data: dict[str, Any]) -> Block:
        kind = text_of(data.get("type"))
        return Block(
            kind=kind,
            data=data,
            digest=digest(data, without="cache_control"),
            tokens=self._tokens(kind, data),
        )

    def _tokens(self, kind: str, data: dict[str, Any]) -> int:
        if kind in MEDIA:
            return self._media_tokens(kind, mapping(data.get("source")))
        if kind in {"tool_use", *forms.SERVER_CALLS}:
            return self._meter.tokens((text_of(data.get("name")), compact(data.get("input")).decode()))
        parts = objects(data.get("content"))
        media = [part for part in parts if text_of(part.get("type")) in MEDIA]
        if not media:
            return self._meter.tokens(strings(data))
        sizes = sum(self._media_tokens(part["type"], mapping(part.get("source"))) for part in media)
        rest = [part for part in parts if text_of(part.get("type")) not in MEDIA]
        return sizes + self._meter.tokens(strings(rest))

    def _media_tokens(self, kind: str, source: dict[str, Any]) -> int:
        if text_of(source.get("type")) in {"text", "content"}:
            return self._meter.tokens((text_of(source.get("data")), *strings(source.get("content"))))
        data = decoded(text_of(source.get("data"))) if kind == "image" else None
        if data is None:
            return UNKNOWN_MEDIA_TOKENS
        return claude_image_tokens(image_size(data), self._facts.image_max_edge, self._facts.image_max_tokens)


def _by_kind(messages: tuple[Message, ...]) -> dict[str, list[tuple[int, int, Block]]]:
    found: dict[str, list[tuple[int, int, Block]]] = {}
    for at, message in enumerate(messages):
        for index, block in enumerate(message.blocks):
            found.setdefault(block.kind, []).append((at, index, block))
    return found


def _blanks(blocks: tuple[Block, ...]) -> Iterator[Blank]:
    for index, block in enumerate(blocks):
        yield from blank_text(f"content.{index}", block.data)
        for inner, part in enumerate(objects(block.data.get("content"))):
            if block.kind == "tool_result":
                yield from blank_text(f"content.{index}.content.{inner}", part)


def _images(blocks: tuple[Block, ...]) -> Iterator[Image]:
    for index, block in enumerate(blocks):
        if block.kind in MEDIA:
            yield _image(f"content.{index}.{block.kind}", block.kind, block.data)
        for inner, part in enumerate(objects(block.data.get("content"))):
            kind = text_of(part.get("type"))
            if block.kind == "tool_result" and kind in MEDIA:
                yield _image(f"content.{index}.tool_result.content.{inner}.{kind}", kind, part)


def _image(path: str, kind: str, data: Mapping[str, Any]) -> Image:
    source = mapping(data.get("source"))
    if source.get("type") != "base64":
        return Image(path, kind == "document", "", True, None, None, 0)
    place, media = f"{path}.source.base64", text_of(source.get("media_type"))
    if kind == "document":
        return Image(place, True, media, True, None, None, 0)
    letters = text_of(source.get("data"))
    raw = decoded(letters) or b""
    return Image(place, False, media, bool(raw), image_type(raw), image_size(raw), len(letters))


def _marks(
    body: Mapping[str, Any], system: tuple[Block, ...], messages: tuple[Message, ...]
) -> Iterator[Mark]:
    """Yield every cache mark in render order: tools, system, messages, top level."""
    for index, tool in enumerate(objects(body.get("tools"))):
        yield from _mark(f"tools.{index}", "tool", tool)
    for index, block in enumerate(system):
        yield from _mark(f"system.{index}", block.kind, block.data)
    for at, message in enumerate(messages):
        yield from (mark._replace(path=f"messages.{at}.{mark.path}") for mark in message.marks)
    yield from _mark("", "automatic", body)


def _block_marks(blocks: tuple[Block, ...]) -> Iterator[Mark]:
    for index, block in enumerate(blocks):
        for inner, part in enumerate(objects(block.data.get("content"))):
            yield from _mark(f"content.{index}.content.{inner}", text_of(part.get("type")), part)
        yield from _mark(f"content.{index}", block.kind, block.data)


def _mark(path: str, kind: str, carrier: Mapping[str, Any]) -> Iterator[Mark]:
    if carrier.get("cache_control") is not None:
        yield Mark(path, carrier["cache_control"], kind, carrier)


def _option_misforms(members: Mapping[str, Any]) -> Iterator[Misform]:
    for name, table in forms.OPTIONS.items():
        if isinstance(members.get(name), dict):
            yield from misforms(name, mapping(members[name]), table)
    edits = mapping(members.get("context_management")).get("edits")
    for index, edit in enumerate(objects(edits)):
        kind = text_of(edit.get("type"))
        if kind in forms.EDITS:
            yield from misforms(f"context_management.edits.{index}.{kind}", edit, forms.EDITS[kind])
    for name, tables in forms.OPTION_KINDS.items():
        option = mapping(members.get(name))
        kind = text_of(option.get("type"))
        # A kind that is unknown is another rule's.
        if kind in tables:
            yield from misforms(f"{name}.{kind}", option, tables[kind])


def _tool_misforms(tools: object) -> Iterator[Misform]:
    for index, tool in enumerate(cast("list[object]", tools) if isinstance(tools, list) else []):
        if not isinstance(tool, dict):
            yield Misform(f"tools.{index}", "type", "obj")
        elif mapping(tool).get("type") in (None, "custom"):
            yield from misforms(f"tools.{index}", mapping(tool), forms.CUSTOM_TOOL)


def _list_misforms(path: str, value: object, tables: Mapping[str, Table]) -> Iterator[Misform]:
    for index, item in enumerate(cast("list[object]", value) if isinstance(value, list) else []):
        yield from _block_misforms(f"{path}.{index}", item, tables)


def _block_misforms(path: str, item: object, tables: Mapping[str, Table] = forms.BLOCKS) -> Iterator[Misform]:
    if not isinstance(item, dict):
        yield Misform(path, "type", "obj")
        return
    data = mapping(item)
    kind = text_of(data.get("type"))
    table = tables.get(kind)
    if not kind:
        yield Misform(f"{path}.type", "missing", "str")
    if table is None:
        if kind in forms.BLOCKS:
            yield Misform(path, "type", "|".join(tables))
        return
    yield from (
        misform
        for misform in misforms(path, data, table)
        if not (misform.problem == "extra" and kind in forms.OPEN_BLOCKS)
    )
    source = mapping(data.get("source"))
    sources = forms.SOURCES.get(kind, {})
    if source and sources:
        form = sources.get(text_of(source.get("type")))
        if form is None:
            yield Misform(f"{path}.source.type", "type", "|".join(sources))
        else:
            yield from misforms(f"{path}.source", source, form)
    if kind == "tool_result":
        yield from _list_misforms(f"{path}.content", data.get("content"), forms.BLOCKS)
    if kind == "search_result":
        yield from _list_misforms(f"{path}.content", data.get("content"), {"text": forms.BLOCKS["text"]})
