"""Does a request leave its history with the provider, so that what it holds is not all that the model reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

HELD = ("previous_response_id", "conversation", "previous_interaction_id", "cachedContent", "cached_content")
"""Members that name a history or a prefix at the provider (OpenAI, Gemini)."""


def server_held(body: Mapping[str, Any]) -> str | None:
    """Return the member by which a request names what only the provider holds; None: all of it is here.

    Such a request is to be passed on as it is: nothing of it can be counted, cut or put in order. Also named:
    `thread` (Anthropic) where it continues one, and an `item_reference` (OpenAI) in the input.
    """
    for name in HELD:
        if body.get(name):
            return name
    thread: Any = body.get("thread")
    if isinstance(thread, Mapping) and cast(Mapping[str, Any], thread).get("type") != "create":
        return "thread"
    items: Any = body.get("input")
    if isinstance(items, Sequence) and not isinstance(items, str):
        for item in cast(Sequence[Any], items):
            if isinstance(item, Mapping) and cast(Mapping[str, Any], item).get("type") == "item_reference":
                return "item_reference"
    return None
