"""Why two requests part where they do: a table of detectors, the most telling first, and what to do about each."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from foreword.core.canonical import canonical, compact
from foreword.engine.shortened import is_shortened
from foreword.evals.plain_form import parsed, plainest
from foreword.evals.request_units import RequestUnit
from foreword.evals.volatile import is_identifier, is_time

FIXES: Mapping[str, str] = {
    "timestamp": "take the time out of what was sent already: record it once, or say it in a message at the end",
    "identifier": "keep the identifier that was sent first; make none anew when a request is built",
    "key_order": "keep the bytes that were sent first, or sort keys always: never encode a stored object again",
    "tool_added": "offer all tools from the start; add one by a late change if the wire has it, else at an epoch",
    "tool_removed": "keep the tool and refuse its call, or remove it at an epoch",
    "tool_order": "keep the order in which tools were first offered, or sort them by name",
    "tool_changed": "fix a tool's description and schema for the session; change them at an epoch",
    "layer_key": "keep this member the same for the session; a change of it forgets its layer and all behind it",
    "model": "stay with one model in a session: no other can read what this one cached",
    "system_text": "move what changes out of the system text, to a message at the end",
    "message_edited": "never change what was sent; say the correction in a new message",
    "message_removed": "leave messages where they are until an epoch, then take out many at once",
    "injection_removed": "keep a reminder where it was said, or don't say it: taken out again it breaks the prefix",
    "cleared": "clear rarely and much at once, at a cut that pays for what must be written again",
    "summarized": "expected after a compaction; make it rare, and keep what stands before it unchanged",
    "mark_only": "nothing to do: marks change no content; an entry is read only near a mark, so look at those alone",
    "form": "write the same content in the same form each time: string or blocks, with or without empty members",
    "whitespace": "keep white space as it was first sent; trim before the first time, not at a later one",
    "unicode": "keep the text's Unicode form as it was first sent; normalise before recording, not when sending",
    "unknown": "look at both texts: no known habit explains this",
}

_SUMMARY = re.compile(
    r"\A\s{0,20}(?:<foreword kind=\"summary\"|<summary>|(?:conversation )?summary\b|"
    r"this session is being continued from a previous|another language model started to solve this)",
    re.IGNORECASE,
)
_INJECTED = re.compile(r"\A\s{0,20}(?:<[a-z][a-z_-]{0,40}[ >]|\[[a-z][a-z _-]{0,40}[\]:])", re.IGNORECASE)
_CLEARED = re.compile(r"\A\s{0,20}<foreword kind=\"(?:cleared|excerpt)\"", re.IGNORECASE)
_ID_MEMBERS = frozenset({"id", "call_id", "tool_use_id", "tool_call_id", "item_id", "response_id"})


class Parting(Struct, frozen=True, kw_only=True):
    """Where two requests part. ``a`` and ``b``: the units there, None: that request has none.

    ``kind``: ``key``, ``tool``, ``system`` or ``message``. ``rest_a``, ``rest_b``: units of the section from there on.
    ``leaf``: the members inside where the values differ; ``leaf_a``, ``leaf_b``: what stands there.
    """

    kind: str
    a: RequestUnit | None
    b: RequestUnit | None
    before: RequestUnit | None
    rest_a: Sequence[RequestUnit]
    rest_b: Sequence[RequestUnit]
    leaf: tuple[str | int, ...]
    leaf_a: Any
    leaf_b: Any

    @property
    def texts(self) -> tuple[str, str] | None:
        """Both texts, where the values differ in a text."""
        if isinstance(self.leaf_a, str) and isinstance(self.leaf_b, str):
            return self.leaf_a, self.leaf_b
        return None


Detector = Callable[[Parting], bool]


def cause_of(parting: Parting) -> str:
    """Return the first cause whose detector recognises it."""
    return next(
        (cause for cause, kinds, found in DETECTORS if parting.kind in kinds and found(parting)), "unknown"
    )


def _is_model(p: Parting) -> bool:
    return (p.a or p.b or _NOWHERE).path == "model"


def _always(p: Parting) -> bool:
    return True


def _both(p: Parting) -> bool:
    return p.a is not None and p.b is not None and p.a.role == p.b.role


def _key_order(p: Parting) -> bool:
    if not _both(p) or p.a is None or p.b is None:
        return False
    one, other = parsed(p.a.value), parsed(p.b.value)
    return canonical(one) == canonical(other) and compact(one) != compact(other)


def _whitespace(p: Parting) -> bool:
    if p.texts is None:
        return False
    one, other = p.texts
    return one != other and "".join(one.split()) == "".join(other.split())


def _unicode(p: Parting) -> bool:
    if p.texts is None:
        return False
    one, other = (unicodedata.normalize("NFKC", text) for text in p.texts)
    return p.leaf_a != p.leaf_b and one == other


def _form(p: Parting) -> bool:
    """The same content written otherwise: string or parts, one text or two, with empty members or without."""
    if not _both(p) or p.a is None or p.b is None:
        return False
    if plainest(parsed(p.a.value)) == plainest(parsed(p.b.value)):
        return True
    return _same_text_otherwise_split(p)


def _form_beside(p: Parting) -> bool:
    """An empty text in between, or a role that was left out: the same content on both sides."""
    if p.a is None or p.b is None:
        return False
    if "" in (p.a.role, p.b.role) and p.a.role != p.b.role:
        return p.a.value == p.b.value
    one, other = (next(iter(rest[1:]), None) for rest in (p.rest_a, p.rest_b))
    added = _text_in(p.b.value) == "" and other is not None and other.data == p.a.data
    return added or (_text_in(p.a.value) == "" and one is not None and one.data == p.b.data)


def _text_in(value: Any) -> str | None:
    """Return what a text says; None: it is something else."""
    text: Any = value.get("text") if isinstance(value, Mapping) else value
    return text if isinstance(text, str) else None


def _same_text_otherwise_split(p: Parting) -> bool:
    one, other = (_text_of_message(rest) for rest in (p.rest_a, p.rest_b))
    return bool(one) and one == other


def _text_of_message(rest: Sequence[RequestUnit]) -> str:
    """Join the texts of a section's or a message's units from here on; "" when something else is among them."""
    texts: list[str] = []
    for unit in rest:
        if unit.message != rest[0].message:
            break
        text = _text_in(unit.value)
        if text is None:
            return ""
        texts.append(text)
    return "".join("".join(texts).split())


def _timestamp(p: Parting) -> bool:
    return p.texts is not None and is_time(*p.texts)


def _identifier(p: Parting) -> bool:
    named = bool(p.leaf) and p.leaf[-1] in _ID_MEMBERS and p.leaf_a is not None and p.leaf_b is not None
    return named or (p.texts is not None and is_identifier(*p.texts))


def _tool_order(p: Parting) -> bool:
    one, other = Counter(map(_name, p.rest_a)), Counter(map(_name, p.rest_b))
    return one == other and p.a is not None and p.b is not None and _name(p.a) != _name(p.b)


def _tool_removed(p: Parting) -> bool:
    return p.a is not None and _name(p.a) not in set(map(_name, p.rest_b))


def _tool_added(p: Parting) -> bool:
    return p.b is not None and _name(p.b) not in set(map(_name, p.rest_a))


def _summarized(p: Parting) -> bool:
    if p.b is None or (p.a is not None and _says(p.a, _SUMMARY)):
        return False
    value: Any = p.b.value
    kind: Any = value.get("type") if isinstance(value, Mapping) else None
    return kind in ("compaction", "compaction_summary") or _says(p.b, _SUMMARY)


def _cleared(p: Parting) -> bool:
    """A result gave way to less of itself, or to a word that it is gone."""
    if not _both(p) or p.a is None or p.b is None or not (_is_result(p.a) and _is_result(p.b)):
        return False
    one, other = "\n".join(_texts(p.a.value)), "\n".join(_texts(p.b.value))
    gone = bool(one) and not other
    return gone or _CLEARED.match(other) is not None or is_shortened(one, other)


def _picture_removed(p: Parting) -> bool:
    """A picture is gone, or a word that it is stands in its place; what follows it stayed."""
    if p.a is None:
        return False
    if _is_picture(p.a.value):
        stayed = next((unit for unit in p.rest_a if not _is_picture(unit.value)), None)
        after = stayed.data if stayed is not None else None
        behind = [unit.data for unit in p.rest_b[:2]]
        told = p.b is not None and p.b.role == p.a.role and _text_in(p.b.value) is not None
        one_less = len(p.rest_a) > 1 and p.rest_a[1].data in behind[:1]
        return one_less or after in (behind or [None])[: 1 + told]
    if p.b is None or p.a.role != p.b.role:
        return False
    one, other = _parts(p.a.value), _parts(p.b.value)
    kept = [compact(part) for part in other]
    return len(other) <= len(one) and any(map(_is_picture, one)) and all(
        compact(part) in kept for part in one if not _is_picture(part)
    ) and sum(map(_is_picture, one)) > sum(map(_is_picture, other))  # fmt: skip


def _is_picture(part: Any) -> bool:
    if not isinstance(part, Mapping):
        return False
    members = cast("Mapping[str, Any]", part)
    data: Any = members.get("inlineData", members.get("fileData"))
    kind = str(cast("Mapping[str, Any]", data).get("mimeType")) if isinstance(data, Mapping) else ""
    return members.get("type") in ("image", "image_url", "input_image") or kind.startswith("image/")


def _parts(value: Any) -> list[Any]:
    """Return the parts of a message or a result."""
    members = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
    content: Any = members.get("content", members.get("output"))
    return cast("list[Any]", content) if isinstance(content, list) else []


def _injection_removed(p: Parting) -> bool:
    """A text that stood at the end of a user's turn, or in it, and is not there any more."""
    if p.a is None or p.a.role not in ("user", "system", "developer"):
        return False
    if p.texts is not None and _both(p):
        one, other = p.texts
        if one.startswith(other) and _INJECTED.match(one[len(other) :]):
            return True
        if one.endswith(other) and _INJECTED.match(one):
            return True
    injected = _says(p.a, _INJECTED)
    second = p.before is not None and p.before.message == p.a.message and p.before.role == p.a.role
    gone = p.b is None or p.b.data != p.a.data
    follows = len(p.rest_a) == 1 or (p.b is not None and p.rest_a[1].data == p.b.data)
    return gone and follows and (injected or (second and not _is_result(p.a)))


def _message_inserted(p: Parting) -> bool:
    return p.a is not None and any(unit.data == p.a.data for unit in p.rest_b[1:])


def _message_removed(p: Parting) -> bool:
    if p.a is None:
        return False
    if p.b is None:
        return True
    wanted = p.b.data
    return any(unit.data == wanted for unit in p.rest_a[1:])


_NOWHERE = RequestUnit(path="", value=None)
_KEY, _TOOL, _SYSTEM, _MESSAGE = ("key",), ("tool",), ("system",), ("message",)
_CONTENT = ("tool", "system", "message")

DETECTORS: tuple[tuple[str, tuple[str, ...], Detector], ...] = (
    ("model", _KEY, _is_model),
    ("key_order", _KEY, _key_order),
    ("layer_key", _KEY, _always),
    ("tool_order", _TOOL, _tool_order),
    ("tool_removed", _TOOL, _tool_removed),
    ("tool_added", _TOOL, _tool_added),
    ("key_order", _CONTENT, _key_order),
    ("unicode", _CONTENT, _unicode),
    ("whitespace", _CONTENT, _whitespace),
    ("form", _CONTENT, _form),
    ("form", _MESSAGE, _form_beside),
    ("summarized", _MESSAGE, _summarized),
    ("cleared", _MESSAGE, _cleared),
    ("cleared", _MESSAGE, _picture_removed),
    ("injection_removed", _MESSAGE, _injection_removed),
    ("message_removed", _MESSAGE, _message_removed),
    ("timestamp", _CONTENT, _timestamp),
    ("identifier", _CONTENT, _identifier),
    ("tool_changed", _TOOL, _always),
    ("system_text", _SYSTEM, _always),
    ("message_edited", _MESSAGE, _both),
    ("message_edited", _MESSAGE, _message_inserted),
)
"""Cause, the kinds of unit where it can be, and what recognises it; the first that does is the cause."""


def _name(unit: RequestUnit) -> str:
    value: Any = unit.value
    if not isinstance(value, Mapping):
        return ""
    members = cast("Mapping[str, Any]", value)
    function: Any = members.get("function")
    inner: Any = cast("Mapping[str, Any]", function).get("name") if isinstance(function, Mapping) else None
    return str(members.get("name") or inner or members.get("type") or "")


def _is_result(unit: RequestUnit) -> bool:
    value: Any = unit.value
    if unit.role == "tool":
        return True
    if not isinstance(value, Mapping):
        return False
    members = cast("Mapping[str, Any]", value)
    kind = str(members.get("type", ""))
    return kind.endswith(("tool_result", "_output")) or "functionResponse" in members


def _texts(value: Any) -> list[str]:
    """Return the texts of a result's content, in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in cast("list[Any]", value) for text in _texts(item)]
    if not isinstance(value, Mapping):
        return []
    members = cast("Mapping[str, Any]", value)
    inner = [
        members[name]
        for name in ("text", "content", "output", "response", "functionResponse")
        if name in members
    ]
    return [text for member in inner for text in _texts(member)] or [
        text for name, member in members.items() if name not in ("type", "id", "name", *_ID_MEMBERS)
        and not inner for text in _texts(member)
    ]  # fmt: skip


def _says(unit: RequestUnit, pattern: re.Pattern[str]) -> bool:
    return any(pattern.match(text[:200]) for text in _texts(unit.value)[:1])
