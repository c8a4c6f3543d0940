"""Explicit cache breakpoints of the two OpenAI wires: a member of the last part of a user's message.

Source: SDK types openai 3.57.0 (`prompt_cache_breakpoint` on text, image, file and audio parts), 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from foreword.core.canonical import compact

MEMBER = "prompt_cache_breakpoint"
PARTS = frozenset({
    "text", "image_url", "file", "input_audio", "input_text", "input_image", "input_file",
})  # fmt: skip
TTLS = ("30m", "12h")
_END = b"}]}"


def takes_mark(value: Mapping[str, Any]) -> bool:
    """Say whether a breakpoint can be put on a message without another form: its parts come last in its bytes.

    Only on a user's message; one that has a breakpoint of its caller keeps that.
    """
    if value.get("role") != "user" or not value or list(value)[-1] != "content":
        return False
    content: Any = value["content"]
    if not isinstance(content, list) or not content:
        return False
    parts = cast("list[Any]", content)
    if not all(isinstance(part, Mapping) and MEMBER not in part for part in parts):
        return False
    return cast("Mapping[str, Any]", parts[-1]).get("type") in PARTS


def part_marked(data: bytes, ttl: str | None) -> bytes:
    """Put a breakpoint on the last part of a message's bytes; bytes of another form are returned unchanged.

    Of a lifetime that only another wire has, the default stays.
    """
    if not data.endswith(_END):
        return data
    mark = {"mode": "explicit", "ttl": ttl} if ttl in TTLS else {"mode": "explicit"}
    return data[: -len(_END)] + b',"' + MEMBER.encode() + b'":' + compact(mark) + _END
