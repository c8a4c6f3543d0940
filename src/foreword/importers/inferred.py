"""What a file doesn't hold and usage or calls betray: the tools, the size of the prefix, the real output."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from foreword.core.block import Block, ToolCall, ToolResult, ToolSpec
from foreword.core.catalog import Catalog
from foreword.core.event import (
    Answered,
    Draft,
    InstructionsSet,
    Said,
    ToolReturned,
    ToolsSet,
    UnseenPrefix,
)
from foreword.core.tokens import counter
from foreword.errors import UnknownModel
from foreword.importers.imported import Flaw

LOW_OUTPUT = 0.5
"""A recorded output below this part of the counted answers can't be right."""


def inferred_lead(drafts: Sequence[Draft], format_: str, where: str) -> tuple[list[Draft], list[Flaw]]:
    """Make the events that stand first, all inferred, and say what is doubtful about usage."""
    stubs, prefix = tool_stubs(drafts), unseen_prefix(drafts)
    bodies = [prefix, ToolsSet(tools=stubs) if stubs else None]
    at = drafts[0].at
    lead = [
        Draft(body=body, at=at, actor=format_, origin=f"{format_}:{where}", trust="foreign")
        for body in bodies
        if body is not None
    ]
    doubts = [flaw for flaw in (stubs_flaw(stubs, where), underreported(drafts, where)) if flaw is not None]
    if prefix is None:
        text = "no call records the size of its prompt: system prompt and tools are of unknown size"
        doubts.append(Flaw(code="unseen_unknown", where=where, text=text))
    return lead, doubts


def tool_stubs(drafts: Iterable[Draft]) -> tuple[ToolSpec, ...]:
    """Make a stub of each tool that was called, in order of first use.

    Its schema names the arguments seen, in order of appearance, and no more: a stub costs tokens in every
    request, and types are guesses where a value was seen once.
    """
    tools: dict[str, dict[str, dict[str, Any]]] = {}
    for draft in drafts:
        for block in _blocks(draft):
            if isinstance(block, ToolCall):
                properties = tools.setdefault(block.name, {})
                for name in _arguments(block):
                    properties.setdefault(name, {})
    return tuple(
        ToolSpec(name=name, schema={"type": "object", "properties": properties}, inferred=True)
        for name, properties in tools.items()
    )


def stubs_flaw(stubs: Sequence[ToolSpec], where: str) -> Flaw | None:
    """Say that tools are stubs; None: there are none."""
    if not stubs:
        return None
    text = f"{len(stubs)} tools are known by their calls only: names and arguments seen, no descriptions"
    return Flaw(code="tools_inferred", where=where, text=text)


def unseen_prefix(drafts: Sequence[Draft]) -> UnseenPrefix | None:
    """Infer the size of what stood before the first message: the first call's prompt minus what is visible.

    In the provider's tokens, at least 0. None: no call says how large its prompt was.
    """
    for index, draft in enumerate(drafts):
        body = draft.body
        total = body.usage.total_input if isinstance(body, Answered) and body.usage else None
        if isinstance(body, Answered) and total:
            factor = token_factor(body.model)
            seen = math.ceil(tokens_of(drafts[:index]) * factor)
            basis = (
                f"prompt of the first call with usage ({total:,} tokens, {draft.origin}) minus the text "
                f"before it ({seen:,} tokens: counted, times {factor} for {body.model or 'an unknown model'})"
            )
            return UnseenPrefix(tokens=max(0, total - seen), basis=basis)
    return None


def underreported(drafts: Iterable[Draft], where: str) -> Flaw | None:
    """Compare the output that was recorded with the answers themselves; None: they agree."""
    recorded = 0
    by_model: dict[str | None, list[Draft]] = {}
    for draft in drafts:
        body = draft.body
        if isinstance(body, Answered) and body.usage and body.usage.output is not None:
            recorded += body.usage.output
            by_model.setdefault(body.model, []).append(draft)
    written = sum(math.ceil(tokens_of(group) * token_factor(model)) for model, group in by_model.items())
    if recorded >= written * LOW_OUTPUT:
        return None
    text = f"{recorded:,} output tokens are recorded for answers of about {written:,}; count the text instead"
    return Flaw(code="output_underreported", where=where, text=text)


def token_factor(model: str | None) -> float:
    """Return the model's tokens per counted token, from the catalog; unknown models get its default."""
    try:
        return Catalog.load().model(model or "").token_factor_start
    except UnknownModel:
        return Catalog.load().assumed("", wire="anthropic", window=1).token_factor_start


def tokens_of(drafts: Iterable[Draft]) -> int:
    """Count the text that drafts hold, by the counter (not in the provider's tokens)."""
    return sum(counter().count_many([text for draft in drafts for text in _texts(_blocks(draft))]))


def _blocks(draft: Draft) -> tuple[Block, ...]:
    match draft.body:
        case Said(message=message) | Answered(message=message):
            return message.blocks
        case ToolReturned(result=result):
            return (result,)
        case InstructionsSet(blocks=blocks):
            return blocks
        case _:
            return ()


def _texts(blocks: Iterable[Block]) -> Iterable[str]:
    for block in blocks:
        if isinstance(block, ToolCall):
            yield f"{block.name}\n{block.arguments}"
        elif isinstance(block, ToolResult):
            yield from _texts(block.content)
        elif text := getattr(block, "text", ""):
            yield text


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        return msgspec.json.decode(call.arguments, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {}
