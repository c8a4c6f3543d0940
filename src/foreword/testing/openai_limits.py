"""What both wires of OpenAI limit alike: metadata, the number of tools, images, and answers in JSON.

Metadata: the SDK 3.57.0; all else: texts of public error reports from 2025-08 to 2026-09.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from foreword.testing.rule import Fault, fault
from foreword.testing.wire import mapping, strings

MAX_TOOLS = 128
MAX_PAIRS = 16
LONGEST_KEY = 64
LONGEST_VALUE = 512
# The name without its kind, `image/jpg`, is taken, too (public report, 2025-08).
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"})
URL_SCHEMES = ("http://", "https://", "data:")


def metadata_faults(body: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield what is over the limits of `metadata`: 16 pairs, keys of 64 letters, values of 512 (SDK 3.57.0)."""
    pairs = mapping(body.get("metadata"))
    if len(pairs) > MAX_PAIRS:
        yield fault("metadata", problem=f"at most {MAX_PAIRS} pairs, got {len(pairs)}")
    for key, value in pairs.items():
        if len(key) > LONGEST_KEY:
            yield fault("metadata", problem=f"keys of at most {LONGEST_KEY} characters, got {len(key)}")
        if not isinstance(value, str):
            yield fault(f"metadata.{key}", problem="a string")
        elif len(value) > LONGEST_VALUE:
            yield fault(
                f"metadata.{key}", problem=f"values of at most {LONGEST_VALUE} characters, got {len(value)}"
            )


def many_tools(body: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the list of tools if it holds more than 128 (public reports up to 2026-07; 128 pass)."""
    tools = body.get("tools")
    if isinstance(tools, list) and len(tools) > MAX_TOOLS:
        yield fault("tools", count=len(tools), limit=MAX_TOOLS)


def image_fault(url: str) -> str | None:
    """Say what is wrong with the address of an image; None: nothing that can be seen from here."""
    if not url.startswith(URL_SCHEMES):
        return "Expected a valid URL, but got a value with an invalid format."
    media, _, _ = url.removeprefix("data:").partition(";")
    return None if not url.startswith("data:") or media.lower() in IMAGE_TYPES else _UNSUPPORTED


_UNSUPPORTED = (
    "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
    "['png', 'jpeg', 'gif', 'webp']."
)


def names_json(messages: Iterable[object]) -> bool:
    """Say whether the word JSON stands anywhere in what the model reads."""
    return any("json" in text.lower() for message in messages for text in strings(message))
