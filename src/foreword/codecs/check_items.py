"""Is a raw list of input items one that OpenAI Responses takes (SDK types and error texts, 2026-11-30)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foreword.codecs.check_fault import Fault, answer, unanswered
from foreword.codecs.reading import At

PAIRED = ("function_call", "custom_tool_call", "shell_call", "apply_patch_call", "computer_call")
"""Items of calls; that of a result has the same name with `_output`, and the same `call_id`."""
ROLES = ("user", "assistant", "system", "developer")


def items_plain(item: Any, at: At) -> dict[str, Any]:
    """Return an item whose members that the rules read are of their form. Raises: CodecError of `at`."""
    found = at.mapping(item)
    kind = at.text(found, "type") or "message"
    if kind == "message":
        at.string(found, "role")
        if (content := found.get("content")) is not None and not isinstance(content, str):
            found["content"] = list((at / "content").items(content))
    elif kind.removesuffix("_output") in PAIRED:
        at.string(found, "call_id")
    return {**found, "type": kind}


def responses(items: list[dict[str, Any]], complete: bool) -> Iterator[Fault]:
    """Judge a list of items; `complete`: nothing of it is missing at its end."""
    calls: dict[str, dict[str, int]] = {kind: {} for kind in PAIRED}
    answered: dict[str, set[str]] = {kind: set() for kind in PAIRED}
    for index, item in enumerate(items):
        kind = item["type"]
        if kind in PAIRED:
            if any(item["call_id"] in known for known in calls.values()):
                yield Fault(index=index, rule="duplicate-call", text=f"id {item['call_id']} names two calls")
            calls[kind][item["call_id"]] = index
        elif (call := kind.removesuffix("_output")) in PAIRED:
            yield from answer(item["call_id"], index, calls[call], answered[call])
        elif kind == "message":
            if item["role"] not in ROLES:
                yield Fault(index=index, rule="role", text=f"role {item['role']!r} is none of this wire")
            if item.get("content") in (None, []):
                yield Fault(index=index, rule="empty", text="a message without content")
        following = items[index + 1] if index + 1 < len(items) else None
        if kind == "reasoning" and (following is not None or complete) and not _continues(following):
            yield Fault(index=index, rule="orphan-reasoning", text="reasoning without the item it led to")
        if kind == "compaction_trigger" and following is not None:
            yield Fault(index=index, rule="placement", text="a compaction_trigger must be the last item")
    if complete:
        for kind in PAIRED:
            yield from unanswered(calls[kind], answered[kind])


def _continues(item: dict[str, Any] | None) -> bool:
    """Whether an item is the model's, so that it may be what reasoning led to."""
    if item is None:
        return False
    kind = str(item["type"])
    return item["role"] == "assistant" if kind == "message" else kind in MODEL or kind.endswith("_call")


MODEL = ("reasoning", "item_reference", "mcp_approval_request", "mcp_list_tools", "compaction", "program")
