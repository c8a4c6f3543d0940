"""Blocks that only their own wire understands: which may be sent.

A provider's compaction blocks: which may open a base, what stands for what, and which may be sent where (see
docs/decisions/0008-provider-features.md). Others: what another tool recorded is sent where the API knows its type.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from foreword.compiler.policy import Policy
from foreword.core.block import Block, Image, Message, Opaque, Text, ToolResult
from foreword.core.canonical import compact
from foreword.core.event import OWN_ORIGINS, Answered, Event, RequestSent
from foreword.core.fold import Epoch
from foreword.core.item import Interaction, Item, Turn
from foreword.core.opaque_words import in_words
from foreword.core.request import Compaction
from foreword.core.target import Target
from foreword.core.tool_reference import of_search
from foreword.core.view import View


def compaction_in(interaction: Interaction, target: Target) -> Compaction | None:
    """Return what is known of the newest block of a response that stands for what came before; None: none does."""
    for block in reversed(interaction.message.blocks):
        found = target.codec.compaction(block) if isinstance(block, Opaque) else None
        if found is not None and found.place != "nowhere":
            return found
    return None


def opening_block(view: View, policy: Policy, target: Target) -> Interaction | None:
    """Return the newest response whose compaction block may open a base; None: the base comes from the record.

    This model gave it to us on this wire, and nothing was revoked or erased since it was asked for: what it
    stands for can't be read, so nothing can be taken out of it. One that a caller's own list began with stands for
    what was never recorded: it opens the base under every policy.
    """
    fold = view.fold
    for interaction in reversed(fold.compactions):
        since = _asked_at(view, target, interaction)
        if since is None or fold.rebuild >= since or compaction_in(interaction, target) is None:
            continue
        if policy.layout == "provider" or since == interaction.seq:
            return interaction
    return None


def _asked_at(view: View, target: Target, interaction: Interaction) -> int | None:
    """Return the seq of the request that a block answers, or its own when a caller brought it; None: not ours."""
    fold = view.fold
    event = fold.events[interaction.seq]
    body = event.body
    if not isinstance(body, Answered) or event.origin not in OWN_ORIGINS:
        return None
    asked = (target.codec.wire, target.params.model)
    if body.request is None:
        begun = next((epoch.body for epoch in fold.epochs if epoch.seq > interaction.seq), None)
        known = begun is None or (begun.wire, begun.model) == asked
        first = interaction.covers == 0 and body.message.wire == target.codec.wire
        return interaction.seq if known and first else None
    sent = fold.events[body.request].body
    same = isinstance(sent, RequestSent) and (sent.wire, sent.model) == asked
    return body.request if same else None


def block_of(view: View, epoch: Epoch) -> Interaction | None:
    """Return the response whose compaction block opens the base; None: the base is made from the record."""
    item = view.fold.item(epoch.body.block) if epoch.body.block is not None else None
    return item if isinstance(item, Interaction) else None


def kept_before(view: View, block: Interaction, epoch: Epoch) -> list[Item]:
    """List what must stay verbatim of all that a block stands for and its own response doesn't give back."""
    fold = view.fold
    return [
        item
        for item in fold.items[: block.covers]
        if item.kept and fold.revoked.get(item.seq, epoch.seq) >= epoch.seq and not repeats(block, item)
    ]


def repeats(block: Interaction, item: Item) -> bool:
    """Whether a response with a compaction block gives all that a turn says back, word for word."""
    given = b"\n".join(part.raw.encode() for part in block.message.blocks if isinstance(part, Opaque))
    if not isinstance(item, Turn):
        return False
    texts = [block.text for block in item.message.blocks if isinstance(block, Text) and block.text.strip()]
    whole = len(texts) == len(item.message.blocks)
    return whole and all(compact(text) in given for text in texts)


def sendable(message: Message, target: Target, *, base: bool, opens: bool) -> Message:
    """Leave out compaction blocks that may not stand here: one that must be first, one that failed, and in a base

    any but the one that opens it, since the provider would read nothing of what stands before.
    """
    if not any(isinstance(block, Opaque) for block in message.blocks):
        return message

    blocks: list[Block] = []
    for block in message.blocks:
        found = target.codec.compaction(block) if isinstance(block, Opaque) else None
        stands = opens if base else found is not None and found.place == "anywhere"
        if found is None or (stands and found.place != "nowhere"):
            if found is not None and opens and not found.whole:
                blocks.clear()
            blocks.append(block)
    return msgspec.structs.replace(message, blocks=tuple(blocks))


def as_known(message: Message, event: Event, target: Target) -> Message:
    """Give blocks that another tool recorded under this wire's name, and that its API doesn't know, another name.

    A codec tells what is of another wire in words, and that it did. What came first-hand stays as it is, since a
    provider may have a type that is newer than the table; but for a server that refuses what its API doesn't have.
    """
    return msgspec.structs.replace(message, blocks=_renamed(message.blocks, event, target))


def as_known_result(result: ToolResult, event: Event, target: Target) -> ToolResult:
    """Do the same to a tool's result."""
    return msgspec.structs.replace(result, content=_renamed(result.content, event, target))


AnyBlock = TypeVar("AnyBlock", bound=Block)


def without_search(blocks: tuple[AnyBlock, ...]) -> tuple[AnyBlock, ...]:
    """Give blocks of a tool search another wire's name, so that a codec tells them in words."""
    return tuple(
        msgspec.structs.replace(block, wire=f"{block.wire}, for tools no longer offered")
        if isinstance(block, Opaque) and of_search(block)
        else block
        for block in blocks
    )


def worded(message: Message, target: Target) -> Message:
    """Give what another wire's blocks say in words, where these are all that they hold."""
    return msgspec.structs.replace(message, blocks=_worded(message.blocks, target))


def worded_result(result: ToolResult, target: Target) -> ToolResult:
    """Do the same to a tool's result."""
    return msgspec.structs.replace(result, content=_worded(result.content, target))


def referred(message: Message, seq: int, view: View, target: Target) -> Message:
    """Give blocks that a codec may not be able to show the references of event ``seq`` by which they are read back.

    Without a reader there are none.
    """
    return msgspec.structs.replace(message, blocks=_referred(message.blocks, seq, view, target))


def referred_result(result: ToolResult, seq: int, view: View, target: Target) -> ToolResult:
    """Do the same to a tool's result."""
    return msgspec.structs.replace(result, content=_referred(result.content, seq, view, target))


def _referred(blocks: tuple[AnyBlock, ...], seq: int, view: View, target: Target) -> tuple[AnyBlock, ...]:
    if view.fold.opened is None or target.reader == "none":
        return blocks
    ref = view.fold.ref(seq)
    return tuple(_with_ref(block, f"{ref}.{n}") for n, block in enumerate(blocks))


def _worded(blocks: tuple[AnyBlock, ...], target: Target) -> tuple[AnyBlock | Text, ...]:
    return tuple(
        (in_words(block) or block) if isinstance(block, Opaque) and block.wire != target.codec.wire else block
        for block in blocks
    )


def _with_ref(block: AnyBlock, ref: str) -> AnyBlock:
    match block:
        case Image() | Opaque():
            return msgspec.structs.replace(block, ref=ref)
        case ToolResult(content=content):
            return msgspec.structs.replace(block, content=tuple(_with_ref(part, ref) for part in content))
        case _:
            return block


def _renamed(blocks: tuple[AnyBlock, ...], event: Event, target: Target) -> tuple[AnyBlock, ...]:
    codec, own = target.codec, event.origin in OWN_ORIGINS
    return tuple(
        msgspec.structs.replace(block, wire=f"{block.wire} as {event.actor} records it")
        if isinstance(block, Opaque) and block.wire == codec.wire and not codec.knows(block, own=own)
        else block
        for block in blocks
    )
