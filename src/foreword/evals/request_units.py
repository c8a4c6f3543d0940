"""The units of a request as it was sent, by any client: what a cache compares, in render order, with its place.

Read from the plain JSON and nowhere re-encoded, since what a codec would make equal is what is looked for here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from foreword.codecs import anthropic, gemini, openai_chat, openai_responses
from foreword.codecs.deepseek import DeepSeekCodec
from foreword.core.canonical import canonical, compact
from foreword.core.request import LAYERS, Layer
from foreword.errors import MalformedRequest, UnknownWire

MARKS = frozenset({"cache_control", "prompt_cache_breakpoint"})
"""Members that are cache marks and nothing else."""

MEDIA_TOKENS = 1_500
"""What data that no tokenizer reads (a picture, a document) is counted as."""
_MEDIA = frozenset(
    {"data", "file_data", "image_url", "url", "signature", "thoughtSignature", "encrypted_content"}
)
_LONG = 1_000
IMAGES = "images"
_RENDERED = frozenset(
    {
        "functions",
        "response_format",
        "output_config",
        "output_format",
        "text",
        "generationConfig",
        "mcp_servers",
    }
)
"""Keys that hold a schema or a tool, which the model reads in the order of its members."""
_UNREAD = {"openai-responses": {"reasoning": frozenset({"summary", "generate_summary"})}}
"""Wire -> key -> its members that ask for an output only: the provider names none of them as a miss (2026-11-30)."""

Keys = Mapping[str, Layer]
Section = tuple[str, Layer, list["RequestUnit"]]
Marks = tuple[tuple[str, bytes], ...]
"""Where marks stand, and what they say."""


class RequestUnit(Struct, frozen=True, kw_only=True):
    """One unit. ``path``: where it stands in the body. ``value``: without marks. ``marks``: those it had, with place.

    ``role`` is "" outside messages; ``message`` is the index of its message, -1 outside. ``ordered``: the order of its
    members is read.
    """

    path: str
    value: Any
    role: str = ""
    message: int = -1
    marks: Marks = ()
    ordered: bool = True

    @property
    def data(self) -> bytes:
        """What is compared: role and value, the members in their order unless that is not ``ordered``."""
        return self.role.encode() + b"\0" + (compact if self.ordered else canonical)(self.value)


class Wire(Struct, frozen=True, kw_only=True):
    """How a wire names what is cached. ``parts``: the member of a message whose items are units; "": a message is one.

    ``system``: the member with the system text; "": leading messages of the system's roles.
    """

    keys: Keys
    messages: str
    parts: str = ""
    system: str = ""
    functions: str = ""
    derived: Mapping[str, Layer] = {}
    """What messages hold -> the layer that is lost when they come to hold it, or hold none any more."""


WIRES: Mapping[str, Wire] = {
    "anthropic": Wire(
        keys={"model": "tools", **anthropic.KEY_LAYERS},
        messages="messages",
        parts="content",
        system="system",
        derived={"citations": "system", IMAGES: "messages"},
    ),
    "openai-chat": Wire(keys={"model": "tools", **openai_chat.KEY_LAYERS}, messages="messages"),
    "openai-responses": Wire(
        keys={"model": "tools", **openai_responses.KEY_LAYERS}, messages="input", system="instructions"
    ),
    "deepseek": Wire(keys={"model": "tools", **DeepSeekCodec.key_layers}, messages="messages"),
    "gemini": Wire(
        keys={"model": "tools", **gemini.KEY_LAYERS},
        messages="contents",
        parts="parts",
        system="systemInstruction",
        functions="functionDeclarations",
    ),
}
_SYSTEM_ROLES = frozenset({"system", "developer"})


def sections(body: Mapping[str, Any], wire: str) -> list[Section]:
    """Return (kind, layer, units) in render order; kinds: ``key``, ``tool``, ``system``, ``message``.

    Raises: UnknownWire; MalformedRequest where what should be a list or an object is none.
    """
    if wire not in WIRES:
        raise UnknownWire(wire, tuple(WIRES))
    form = WIRES[wire]
    listed = _messages(body, wire, form)
    leading = 0
    if not form.system:
        while leading < len(listed) and listed[leading].get("role") in _SYSTEM_ROLES:
            leading += 1
    system = (
        _system(body, wire, form)
        if form.system
        else [_whole(each, form.messages, index) for index, each in enumerate(listed[:leading])]
    )
    messages = [
        unit
        for index, message in enumerate(listed[leading:], leading)
        for unit in _units_of(message, wire, form, index)
    ]
    content = {"tools": ("tool", _tools(body, wire, form)), "system": ("system", system)}
    content["messages"] = ("message", messages)
    found: list[Section] = []
    held = _held([unit for unit in messages if form.derived], form)
    for layer in LAYERS:
        keys = [*_keys(body, wire, form, layer), *held.get(layer, ())]
        found.append(("key", layer, sorted(keys, key=lambda unit: unit.path)))
        found.append((content[layer][0], layer, content[layer][1]))
    return found


def text_of(unit: RequestUnit) -> tuple[str, int]:
    """Return (what a tokenizer would see of a unit, tokens of what it can't read)."""
    texts: list[str] = []
    media = 0
    pending: list[tuple[str, Any]] = [("", unit.value)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, str):
            if name in _MEDIA and len(value) > _LONG:
                media += MEDIA_TOKENS if "igna" not in name and "encr" not in name else 0
            else:
                texts.append(value)
        elif isinstance(value, Mapping):
            members = cast("Mapping[str, Any]", value)
            for key in reversed(list(members)):
                pending.append((key, members[key]))
                if key not in ("type", "text", "role", "content", "parts"):
                    texts.append(key)
        elif isinstance(value, list):
            pending += [(name, item) for item in reversed(cast("list[Any]", value))]
        elif value is not None:
            texts.append(str(value))
    return "\n".join(texts), media


def _keys(body: Mapping[str, Any], wire: str, form: Wire, layer: Layer) -> Iterator[RequestUnit]:
    """Yield the keys of a layer, by name: their order in the body means nothing, nor does that of their members."""
    unread = _UNREAD.get(wire, {})
    for name in sorted(body):
        value: Any = body[name]
        if form.keys.get(name) != layer or value is None:
            continue
        if name in unread and isinstance(value, Mapping):
            members = cast("Mapping[str, Any]", value)
            value = {member: members[member] for member in members if member not in unread[name]}
            if not value:
                continue
        yield RequestUnit(path=name, value=value, ordered=name in _RENDERED)


def _held(messages: Sequence[RequestUnit], form: Wire) -> dict[Layer, list[RequestUnit]]:
    """Return what messages hold that changes how others are read, as keys of their layers: once, however often."""
    found: dict[str, RequestUnit] = {}
    for unit in messages:
        for name in _named(unit.value):
            found.setdefault(
                name, RequestUnit(path=f"{form.messages}[*].{form.parts}[*]: {name}", value=True)
            )
    made: dict[Layer, list[RequestUnit]] = {}
    for name, layer in form.derived.items():
        if name in found:
            made.setdefault(layer, []).append(found[name])
    return made


def _named(block: Any) -> Iterator[str]:
    """Yield `images` and `citations` where a block, or a part of a result, is or has such."""
    members = cast("Mapping[str, Any]", block) if isinstance(block, Mapping) else {}
    if members.get("type") == "image":
        yield IMAGES
    cited: Any = members.get("citations") if members.get("type") == "document" else None
    if isinstance(cited, Mapping) and cast("Mapping[str, Any]", cited).get("enabled") is True:
        yield "citations"
    content: Any = members.get("content")
    for part in cast("list[Any]", content) if isinstance(content, list) else ():
        yield from _named(part)


def _tools(body: Mapping[str, Any], wire: str, form: Wire) -> list[RequestUnit]:
    units: list[RequestUnit] = []
    for index, tool in enumerate(_list(body.get("tools") or [], wire, "tools")):
        path = f"tools[{index}]"
        members = _object(tool, wire, path)
        if wire == "anthropic" and members.get("defer_loading") is True:
            continue  # not in the rendered prefix, nor what a tool search finds of it before it does
        functions = members.get(form.functions) if form.functions else None
        if isinstance(functions, list):
            for number, one in enumerate(cast("list[Any]", functions)):
                units.append(_unit(one, f"{path}.{form.functions}[{number}]"))
        else:
            units.append(_unit(members, path))
    return units


def _system(body: Mapping[str, Any], wire: str, form: Wire) -> list[RequestUnit]:
    given = body.get(form.system)
    if isinstance(given, Mapping):
        path = f"{form.system}.{form.parts}"
        parts = _list(cast("Mapping[str, Any]", given).get(form.parts) or [], wire, path)
        return [_unit(part, f"{path}[{index}]") for index, part in enumerate(parts)]
    if given is None or isinstance(given, str):
        return [RequestUnit(path=form.system, value=given)] if given else []
    blocks = _list(given, wire, form.system)
    return [_unit(block, f"{form.system}[{index}]") for index, block in enumerate(blocks)]


def _messages(body: Mapping[str, Any], wire: str, form: Wire) -> list[Mapping[str, Any]]:
    given = body.get(form.messages)
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    listed = _list(given, wire, form.messages)
    return [_object(each, wire, f"{form.messages}[{index}]") for index, each in enumerate(listed)]


def _units_of(message: Mapping[str, Any], wire: str, form: Wire, index: int) -> Iterator[RequestUnit]:
    """Yield the units of a message; members beside its parts belong to the first."""
    parts = message.get(form.parts) if form.parts else None
    if not isinstance(parts, list) or not parts:
        yield _whole(message, form.messages, index)
        return
    rest = {name: value for name, value in message.items() if name not in ("role", form.parts)}
    for number, part in enumerate(cast("list[Any]", parts)):
        path = f"{form.messages}[{index}].{form.parts}[{number}]"
        value = {**_object(part, wire, path), **(rest if number == 0 else {})}
        yield _unit(value, path, role=str(message.get("role", "")), message=index)


def _whole(message: Mapping[str, Any], member: str, index: int) -> RequestUnit:
    value = {name: value for name, value in message.items() if name != "role"}
    return _unit(value, f"{member}[{index}]", role=str(message.get("role", "")), message=index)


def _unit(value: Any, path: str, *, role: str = "", message: int = -1) -> RequestUnit:
    marks: list[tuple[str, bytes]] = []
    return RequestUnit(
        path=path, value=_unmarked(value, path, marks), role=role, message=message, marks=tuple(marks)
    )


def _unmarked(value: Any, path: str, marks: list[tuple[str, bytes]]) -> Any:
    """Return a value without its marks, as deep as parts lie: a block, its content, a part of that."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        marks += [(f"{path}.{name}", compact(members[name])) for name in members if name in MARKS]
        return {
            name: _unmarked(member, f"{path}.{name}", marks)
            if name in ("content", "function", "parts")
            else member
            for name, member in members.items()
            if name not in MARKS
        }
    if isinstance(value, list):
        return [
            _unmarked(item, f"{path}[{index}]", marks) for index, item in enumerate(cast("list[Any]", value))
        ]
    return value


def read_body(data: bytes, wire: str) -> dict[str, Any]:
    """Read a body as plain values. Raises: MalformedRequest when it is no JSON object."""
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedRequest(
            wire, "$", f"no JSON object: {error}; give the whole body as it was sent"
        ) from error


def _list(value: Any, wire: str, path: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise MalformedRequest(wire, path, f"expected a list, got {_word(value)}; is it of another wire?")
    return cast("list[Any]", value)


def _object(value: Any, wire: str, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedRequest(wire, path, f"expected an object, got {_word(value)}")
    return cast("Mapping[str, Any]", value)


def _word(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
