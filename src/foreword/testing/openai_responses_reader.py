"""Read Responses requests, each different item once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, cast

import msgspec

from foreword.testing import openai_responses_forms as forms
from foreword.testing.facts import ModelFacts
from foreword.testing.form import Misform, Misplaced, misforms
from foreword.testing.measure import (
    UNKNOWN_MEDIA_TOKENS,
    TokenMeter,
    decoded,
    image_size,
    openai_image_tokens,
)
from foreword.testing.openai_responses_request import Item, ResponsesRequest
from foreword.testing.prefix_cache import Unit
from foreword.testing.wire import compact, mapping, objects, opened, strings, text_of

ITEM_OVERHEAD = 4
REPLY_PRIMING = 3
MEDIA = frozenset({"input_image", "input_file", "input_audio"})
# Said about an item rather than to the model.
UNREAD = frozenset({"id", "status", "phase", "annotations", "logprobs", "prompt_cache_breakpoint"})
# Results of hosted tools: the server has them, and tells them only to those who ask.
TOLD = frozenset({"outputs", "results"})

# Parameters whose change is a miss of the whole prompt (rulebook 2.2).
KEYS = ("model", "prompt_cache_key", "service_tier")
NESTED_KEYS = (("reasoning", "effort"), ("text", "format"), ("text", "verbosity"))


class ResponsesReader:
    """Reads requests; a session that grows is read in near-linear time."""

    def __init__(self, meter: TokenMeter, facts: ModelFacts) -> None:
        self._meter = meter
        self._facts = facts
        self._read: dict[bytes, Item] = {}

    def read(self, body: bytes) -> ResponsesRequest:
        """Parse a body; raises `UNREADABLE` if it is no JSON object."""
        members, raw = opened(body, "input")
        said = members.get("input")
        if isinstance(said, str):
            items = (self.item({"role": "user", "content": said}),)
        else:
            items = tuple(self._cached(item) for item in raw)
        return ResponsesRequest(
            body=members,
            facts=self._facts,
            items=items,
            misforms=(
                *misforms("", members, forms.BODY),
                *_option_misforms(members),
                *_tool_misforms(members.get("tools")),
            ),
            opening=tuple(self._opening(members)),
        )

    def item(self, value: object) -> Item:
        """Read one item given as a JSON value."""
        data = mapping(value)
        kind = _kind(data)
        role = text_of(data.get("role")) if kind == "message" else ""
        faults: list[Misform] = []
        misplaced: list[Misplaced] = []
        if not isinstance(value, dict):
            faults.append(Misform("", "type", "obj"))
        elif kind in forms.ITEMS:
            faults += _item_misforms("", data, forms.ITEMS[kind], is_open=kind in forms.OPEN_ITEMS)
        else:
            misplaced.append(Misplaced("", kind, False))
        for member, allowed in forms.PART_LISTS.get(kind, {}).items():
            allowed = forms.ROLE_PARTS.get(role) if allowed is None else allowed
            for index, part in enumerate(_listed(data.get(member))):
                path = f"{member}[{index}]"
                found = text_of(mapping(part).get("type"))
                if not isinstance(part, dict):
                    faults.append(Misform(path, "type", "obj"))
                elif not found:
                    faults.append(Misform(f"{path}.type", "missing", "str"))
                elif found not in forms.PARTS or (allowed is not None and found not in allowed):
                    misplaced.append(Misplaced(f"{path}.type", found, found in forms.PARTS))
                else:
                    faults += _item_misforms(path, mapping(part), forms.PARTS[found], is_open=False)
        return Item(
            kind=kind if kind in forms.ITEMS else "",
            role=role,
            data=data,
            call=_call(kind, data),
            digest=_digest(kind, data),
            units=tuple(self._units(kind, data)),
            misforms=tuple(faults),
            misplaced=tuple(misplaced),
        )

    def tokens(self, texts: Iterable[str]) -> int:
        """Tokens of some texts in the server's measure."""
        return self._meter.tokens(texts)

    def _cached(self, raw: bytes) -> Item:
        key = blake2b(raw, digest_size=16).digest()
        if key not in self._read:
            self._read[key] = self.item(msgspec.json.decode(raw))
        return self._read[key]

    def _opening(self, members: Mapping[str, Any]) -> Iterator[Unit]:
        keys: list[object] = [members.get(name) for name in KEYS]
        keys += [mapping(members.get(outer)).get(inner) for outer, inner in NESTED_KEYS]
        yield Unit(digest=_hashed(keys), tokens=REPLY_PRIMING, key=True)
        for tool in objects(members.get("tools")):
            if tool.get("defer_loading") is True:  # 5.2: its name and description are rendered all the same
                tool = {name: member for name, member in tool.items() if name != "parameters"}
            yield Unit(digest=_hashed(tool), tokens=self._meter.tokens((compact(tool).decode(),)))
        instructions = members.get("instructions")
        if isinstance(instructions, str):
            yield Unit(
                digest=_hashed(["instructions", instructions]),
                tokens=ITEM_OVERHEAD + self._meter.tokens((instructions,)),
            )

    def _units(self, kind: str, data: dict[str, Any]) -> Iterator[Unit]:
        parts = objects(data.get("content")) if kind == "message" else []
        if not parts:
            content = data.get("output") if kind in forms.OUTPUTS else None
            media = [part for part in objects(content) if text_of(part.get("type")) in MEDIA]
            unread = {"output"} if media else set[str]()
            rest = {name: value for name, value in data.items() if name not in {"call_id", *UNREAD, *unread}}
            texts = [part for part in objects(content) if part not in media] if media else None
            tokens = self._meter.tokens(strings([rest, texts])) + sum(_media_tokens(part) for part in media)
            yield Unit(digest=_digest(kind, data), tokens=ITEM_OVERHEAD + tokens)
        for index, part in enumerate(parts):
            is_media = text_of(part.get("type")) in MEDIA
            tokens = _media_tokens(part) if is_media else self._meter.tokens(strings(_read_by_model(part)))
            yield Unit(
                digest=_hashed([data.get("role"), index, _read_by_model(part)]),
                tokens=tokens + (ITEM_OVERHEAD if index == 0 else 0),
                mark=_mark(part),
            )


def _kind(data: Mapping[str, Any]) -> str:
    kind = text_of(data.get("type"))
    if kind or data.get("type") is not None:
        return kind
    return "item_reference" if "id" in data and "role" not in data else "message"


def _call(kind: str, data: Mapping[str, Any]) -> str:
    if kind not in forms.ANSWERS and kind not in forms.OUTPUTS:
        return ""
    return text_of(data.get("call_id")) or (text_of(data.get("id")) if kind.startswith("local_shell") else "")


def _read_by_model(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in sorted(value) if name not in UNREAD}


def _digest(kind: str, data: Mapping[str, Any]) -> bytes:
    read = {name: value for name, value in _read_by_model(data).items() if name not in TOLD}
    if kind == "message":
        content = data.get("content")
        part = "output_text" if data.get("role") == "assistant" else "input_text"
        parts = [{"text": content, "type": part}] if isinstance(content, str) else objects(content)
        read = {"role": data.get("role"), "content": [_read_by_model(each) for each in parts]}
    return _hashed([kind, read])


def _hashed(value: object) -> bytes:
    return blake2b(compact(value), digest_size=16).digest()


def _mark(part: Mapping[str, Any]) -> str | None:
    mark = mapping(part.get("prompt_cache_breakpoint"))
    return ("1h" if mark.get("ttl") == "12h" else "5m") if mark else None


def _media_tokens(part: Mapping[str, Any]) -> int:
    _, found, data = text_of(part.get("image_url")).partition(";base64,")
    raw = decoded(data) if found else None
    if raw is None:
        return UNKNOWN_MEDIA_TOKENS
    return openai_image_tokens(image_size(raw), text_of(part.get("detail")) or None)


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _item_misforms(
    path: str, data: Mapping[str, Any], table: Mapping[str, str], *, is_open: bool
) -> list[Misform]:
    found = list(misforms(path, data, table))
    # The server names what is missing before it looks at what is unknown.
    strict = not is_open and all(misform.problem != "missing" for misform in found)
    return [misform for misform in found if strict or misform.problem != "extra"]


def _option_misforms(members: Mapping[str, Any]) -> Iterator[Misform]:
    for name, table in forms.OPTIONS.items():
        if isinstance(members.get(name), dict):
            yield from misforms(name, mapping(members[name]), table)


def _tool_misforms(tools: object) -> Iterator[Misform]:
    for index, tool in enumerate(_listed(tools)):
        path = f"tools[{index}]"
        kind = mapping(tool).get("type")
        if not isinstance(tool, dict):
            yield Misform(path, "type", "obj")
        elif not isinstance(kind, str):
            yield Misform(f"{path}.type", "missing" if kind is None else "type", "str")
        elif kind in forms.TOOLS:
            yield from _item_misforms(path, mapping(tool), forms.TOOLS[kind], is_open=False)
