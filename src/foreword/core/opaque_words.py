"""What blocks that only their wire knows say in words, where words are all that they hold.

Source of the forms: SDK types anthropic 2.14.0 and openai 3.57.0, 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from foreword.core.block import Opaque, Text
from foreword.core.frame import frame

_HELD: Mapping[str, tuple[str, str]] = {
    "refusal": ("refusal", ""),
    "message": ("content", ""),
    "document": ("source", "document"),
    "search_result": ("content", "document"),
    "local_shell_call_output": ("output", "output"),
    "shell_call_output": ("output", "output"),
    "apply_patch_call_output": ("output", "output"),
}
"""Form -> the member with the words, and the kind of the frame that quotes them; "": they are the model's own."""


def in_words(block: Opaque) -> Text | None:
    """Return the words of a block, quoted unless they are the model's own; None: it holds none, or not words alone."""
    if block.form not in _HELD:
        return None
    try:
        found: Any = msgspec.json.decode(block.raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    members = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if members.get("role") not in (None, "assistant"):
        return None  # a summary's response gives the user's messages back
    member, kind = _HELD[block.form]
    texts = _texts(members.get(member))
    words = "\n".join(text for text in texts or () if text.strip())
    if not words:
        return None
    if not kind:
        return Text(text=words)
    named = {
        name: members[name] for name in ("title", "source", "context") if isinstance(members.get(name), str)
    }
    return Text(text=frame(kind, words, type=block.form, **named, **_ended(members)))


def _ended(members: Mapping[str, Any]) -> dict[str, str]:
    """Return how a run went that did not go well: its words alone would pass for a success."""
    status, output = members.get("status"), members.get("output")
    runs = cast("list[Any]", output) if isinstance(output, list) else []
    outcomes = [_outcome(run["outcome"]) for run in runs if isinstance(run, dict) and "outcome" in run]
    found = {} if status in (None, "completed") else {"status": str(status)}
    return found | ({"outcome": ", ".join(outcomes)} if set(outcomes) - {"exit 0"} else {})


def _outcome(value: Any) -> str:
    members = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return " ".join(str(members[name]) for name in ("type", "exit_code") if name in members)


def _texts(value: Any) -> list[str] | None:
    match value:
        case str():
            return [value]
        case {"type": "text", "data": str(text)} | {"text": str(text)} | {"refusal": str(text)}:
            return [text]
        case {"type": "content", "content": inner}:
            return _texts(inner)
        case {"stdout": str(out), "stderr": str(err)}:
            return [out, err]
        case list():
            each = [_texts(item) for item in cast("list[Any]", value)]
            return None if None in each else [text for texts in each for text in texts or ()]
        case _:
            return None
