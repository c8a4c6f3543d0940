"""Read generateContent requests, each different content once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, cast

import msgspec

from foreword.testing import gemini_forms as forms
from foreword.testing.facts import ModelFacts
from foreword.testing.form import Misform, Table, misforms
from foreword.testing.gemini_request import Content, GeminiRequest, Part
from foreword.testing.measure import UNKNOWN_MEDIA_TOKENS, TokenMeter
from foreword.testing.prefix_cache import Unit
from foreword.testing.wire import compact, mapping, objects, opened, strings, text_of

CONTENT_OVERHEAD = 2
# An image at the default resolution (rulebook 9.3).
IMAGE_TOKENS = 1_080
MEDIA = frozenset({"inlineData", "fileData"})
# Objects inside the body whose members are known.
NESTED: Mapping[str, Mapping[str, Table]] = {
    "generationConfig": {"": forms.GENERATION, "thinkingConfig": forms.THINKING},
    "toolConfig": {"": forms.TOOL_CONFIG, "functionCallingConfig": forms.CALLING},
}


class GeminiReader:
    """Reads requests; a session that grows is read in near-linear time."""

    def __init__(self, meter: TokenMeter, facts: ModelFacts) -> None:
        self._meter = meter
        self._facts = facts
        self._read: dict[bytes, Content] = {}

    def read(self, body: bytes) -> GeminiRequest:
        """Parse a body; raises `UNREADABLE` if it is no JSON object."""
        members, raw = opened(body, "contents")
        members = camel(members, forms.BODY)
        for name, tables in NESTED.items():
            if isinstance(members.get(name), dict):
                outer = camel(mapping(members[name]), tables[""])
                inner = {key: camel(mapping(outer[key]), tables[key]) for key in tables if _has(outer, key)}
                members[name] = {**outer, **inner}
        if isinstance(members.get("tools"), list):
            members["tools"] = [_tool(tool) for tool in members["tools"]]
        contents = tuple(self._cached(content) for content in raw)
        system = members.get("systemInstruction")
        instruction = self.content(system) if isinstance(system, dict) else None
        return GeminiRequest(
            body=members,
            size=len(body),
            facts=self._facts,
            contents=contents,
            system=instruction,
            misforms=tuple(_misforms(members)),
            units=(
                *self._opening(members, instruction),
                *(unit for content in contents for unit in content.units),
            ),
        )

    def content(self, value: object) -> Content:
        """Read one content given as a JSON value."""
        data = camel(mapping(value), forms.CONTENT)
        faults = list(misforms("", data, forms.CONTENT))
        if not isinstance(value, dict):
            faults = [Misform("", "type", "obj")]
        parts: list[Part] = []
        listed = data.get("parts")
        for index, item in enumerate(cast("list[object]", listed) if isinstance(listed, list) else []):
            path = f"parts[{index}]"
            if not isinstance(item, dict):
                faults.append(Misform(path, "type", "obj"))
            part = self._part(mapping(item))
            parts.append(part)
            faults += misforms(path, part.data, forms.PART)
            for kind in part.kinds:
                if kind in forms.INSIDE and isinstance(part.data[kind], dict):
                    faults += misforms(f"{path}.{kind}", part.data[kind], forms.INSIDE[kind])
        role = text_of(data.get("role")) or "user"
        units = (
            Unit(
                digest=blake2b(compact([role, index == 0]) + part.said, digest_size=16).digest(),
                tokens=part.tokens + (CONTENT_OVERHEAD if index == 0 else 0),
            )
            for index, part in enumerate(parts)
        )
        return Content(role=role, data=data, parts=tuple(parts), units=tuple(units), misforms=tuple(faults))

    def tokens(self, texts: Iterable[str]) -> int:
        """Tokens of some texts in the server's measure."""
        return self._meter.tokens(texts)

    def _cached(self, raw: bytes) -> Content:
        key = blake2b(raw, digest_size=16).digest()
        if key not in self._read:
            self._read[key] = self.content(msgspec.json.decode(raw))
        return self._read[key]

    def _part(self, item: dict[str, Any]) -> Part:
        data = camel(item, forms.PART)
        for kind, table in forms.INSIDE.items():
            if isinstance(data.get(kind), dict):
                data[kind] = camel(data[kind], table)
        kinds = tuple(kind for kind in forms.PART_KINDS if data.get(kind) is not None)
        # The server gives calls an id or not, and clients add their own: it is not what was said.
        said = {
            kind: {key: value for key, value in data[kind].items() if key != "id"}
            if isinstance(data[kind], dict)
            else data[kind]
            for kind in kinds
        }
        signature = data.get("thoughtSignature")
        return Part(
            kinds=kinds,
            data=data,
            signature=signature if isinstance(signature, str) else None,
            said=said_digest(said),
            tokens=self._sized(kinds, data),
        )

    def _sized(self, kinds: tuple[str, ...], data: dict[str, Any]) -> int:
        if data.get("thought") is True:
            return 0
        media = [mapping(data[kind]) for kind in kinds if kind in MEDIA]
        texts = [data[kind] for kind in kinds if kind not in MEDIA]
        images = (text_of(item.get("mimeType")).startswith("image/") for item in media)
        sizes = sum(IMAGE_TOKENS if image else UNKNOWN_MEDIA_TOKENS for image in images)
        return sizes + self._meter.tokens(strings(texts))

    def _opening(self, members: Mapping[str, Any], system: Content | None) -> Iterator[Unit]:
        keys = compact([members.get(name) for name in ("model", "cachedContent", "toolConfig")])
        yield Unit(digest=blake2b(keys, digest_size=16).digest(), tokens=0, key=True)
        for tool in objects(members.get("tools")):
            written = compact(tool)
            tokens = self._meter.tokens((written.decode(),))
            yield Unit(digest=blake2b(written, digest_size=16).digest(), tokens=tokens)
        if system:
            yield from system.units


def camel(data: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Return an object with the names of its table, where they came in snake_case."""
    if all(name in table for name in data):
        return dict(data)
    known = {_snake(name): name for name in table}
    return {known.get(name, name): value for name, value in data.items()}


def said_digest(said: object) -> bytes:
    """Digest what a part says; the order of members is no part of it."""
    return blake2b(msgspec.json.encode(said, order="sorted"), digest_size=16).digest()


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _has(data: Mapping[str, Any], key: str) -> bool:
    return bool(key) and isinstance(data.get(key), dict)


def _tool(tool: object) -> object:
    if not isinstance(tool, dict):
        return tool
    data = camel(mapping(tool), forms.TOOL)
    declared = data.get("functionDeclarations")
    if isinstance(declared, list):
        data["functionDeclarations"] = [
            camel(mapping(each), forms.DECLARATION) if isinstance(each, dict) else each
            for each in cast("list[object]", declared)
        ]
    return data


def _misforms(members: dict[str, Any]) -> Iterator[Misform]:
    yield from misforms("", members, forms.BODY)
    for name, tables in NESTED.items():
        if isinstance(members.get(name), dict):
            outer = mapping(members[name])
            yield from misforms(_snake(name), outer, tables[""])
            for key, table in tables.items():
                if _has(outer, key):
                    yield from misforms(f"{_snake(name)}.{_snake(key)}", outer[key], table)
    for path, tool in _items("tools", members.get("tools")):
        yield from _form(path, tool, forms.TOOL)
        declared = mapping(tool).get("functionDeclarations")
        for inner, declaration in _items(f"{path}.function_declarations", declared):
            yield from _form(inner, declaration, forms.DECLARATION)
            for name in ("parameters", "response"):
                yield from _schema(f"{inner}.{name}", mapping(declaration).get(name))


def _schema(path: str, schema: object) -> Iterator[Misform]:
    stack = [(path, schema)]
    while stack:
        at, value = stack.pop()
        if not isinstance(value, dict):
            continue
        data = camel(mapping(value), forms.SCHEMA)
        yield from misforms(at, data, forms.SCHEMA)
        inner = [(f"{at}.properties[{name}]", each) for name, each in mapping(data.get("properties")).items()]
        inner.append((f"{at}.items", data.get("items")))
        inner += _items(f"{at}.any_of", data.get("anyOf"))
        stack.extend(reversed(inner))


def _items(name: str, value: object) -> Iterator[tuple[str, object]]:
    for index, item in enumerate(cast("list[object]", value) if isinstance(value, list) else []):
        yield f"{name}[{index}]", item


def _form(path: str, item: object, table: Table) -> Iterator[Misform]:
    if isinstance(item, dict):
        yield from misforms(path, mapping(item), table)
    else:
        yield Misform(path, "type", "obj")
