"""Deferred tools: which stand in a request's list outside of its prefix, and which names the model must be told.

See docs/decisions/0011-deferred-tools.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from foreword.core.block import Block, Opaque, ToolSpec
from foreword.core.fold import Epoch
from foreword.core.request import Piece
from foreword.core.target import Target
from foreword.core.tool_reference import referenced
from foreword.core.view import View

FORM = "defer_loading"


def listed(view: View, target: Target, epoch: Epoch) -> list[ToolSpec]:
    """Return the deferred tools that the request's list holds; no prefix does, so they may differ in each request.

    A tool that a search found before stays, whoever withdrew it: the provider refuses a reference to what it is not
    given. [] where the wire or the model has no such form, and where no other tool is offered, which is refused.
    """
    fold = view.fold
    codec = target.codec
    if FORM not in codec.late or offers_none(epoch):
        return []
    found = {codec.name(tool.name): tool for tool in fold.deferred[1] if _native(tool, target)}
    known = _defined(view, target, view.position) if fold.loaded else {}
    for name in fold.loaded:
        tool = found.get(name) or known.get(name) or ToolSpec(name=name, inferred=True)
        found[name] = msgspec.structs.replace(tool, deferred=True)
    taken = used(view, target)
    return [tool for name, tool in found.items() if name not in taken]


def offers_none(epoch: Epoch) -> bool:
    """Whether the base of an epoch holds no tool: then no deferred one can be listed, nor a reference be sent."""
    return not (epoch.tools[1] or epoch.body.read_tool)


def to_tell(view: View, target: Target, offered: Sequence[ToolSpec]) -> tuple[str, ...]:
    """Return the names of deferred tools that the model can learn only from us: none that the provider searches."""
    searched = any(map(target.codec.searches, offered))
    return tuple(tool.name for tool in view.fold.deferred[1] if not (searched and _native(tool, target)))


def with_loaded(view: View, target: Target, piece: Piece, blocks: Iterable[Block], before: int) -> Piece:
    """Count with references the definitions that the provider puts in their place; those set before an event."""
    if FORM not in target.codec.late or not view.fold.loaded:
        return piece
    codec = target.codec
    names = list(referenced(b for b in blocks if isinstance(b, Opaque) and b.wire == codec.wire))
    if not names:
        return piece
    known = _defined(view, target, before)
    texts = [codec.tool(known[name]).text for name in names if name in known]
    return msgspec.structs.replace(piece, text="\n".join((piece.text, *texts)))


def used(view: View, target: Target) -> set[str]:
    """Return the names of tools that requests of this epoch offered, as the wire has them."""
    return set(map(target.codec.name, view.fold.used))


def _defined(view: View, target: Target, before: int) -> dict[str, ToolSpec]:
    defined = view.fold.defined.items()
    return {target.codec.name(name): tool for name, (seq, tool) in defined if seq < before}


def _native(tool: ToolSpec, target: Target) -> bool:
    """Whether it may be sent as deferred: the model is known to take it, or the caller wrote it so himself."""
    own = (tool.extra or {}).get(target.codec.wire)
    return FORM in target.codec.late and (
        target.spec.deferred_tools == FORM or (isinstance(own, dict) and FORM in own)
    )
