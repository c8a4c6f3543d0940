"""The manifest: for each byte of a request why it is there, and for all left out how to get it back.

Made on demand from a compiled request; nothing here is stored. Its form is part of the command-line contract.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from foreword.compiler.blocks import block_of
from foreword.compiler.compile import Compiled
from foreword.compiler.late_result import excerpts
from foreword.core.block import Thinking, plain_text
from foreword.core.canonical import digest
from foreword.core.event import Answered, EpochStarted, Rewritten
from foreword.core.item import Change, Interaction, Notice, Turn
from foreword.core.reference import recall
from foreword.core.request import CATEGORIES
from foreword.core.tokens import Counter
from foreword.core.view import View

_HOW = {
    "externalized": "artifact",
    "cleared": "cleared",
    "summarized": "summary",
    "deduplicated": "duplicate",
    "reset": "dropped",
}
_COUNTED: dict[tuple[Counter, bytes], int] = {}
"""Tokens of texts, by digest."""
_MOST_COUNTED = 16_384


class Sketch:
    """What the next manifest needs of an earlier request: its unit digests and tokens, and where its log stood."""

    def __init__(self, compiled: Compiled) -> None:
        units = compiled.units
        self.digests = [unit.digest for unit in units]
        self.layers = [unit.layer for unit in units]
        self.position = compiled.view.position
        self.epoch = compiled.epoch.number


def manifest(
    compiled: Compiled,
    *,
    session: str,
    provider: str,
    step: int,
    previous: Sketch | None,
    violations: Sequence[str],
    view: View | None = None,
) -> dict[str, Any]:
    """Return the manifest of ``compiled`` as JSON values.

    ``previous``: the request made before it in this session, None for the first. ``step`` counts from 1.
    ``view``: a view that has gone on only by the event of this request; reading it saves folding the log again.
    Token figures are the counter's; ``unseen`` is in the model's own tokens.
    """
    view = view or compiled.view
    units = compiled.units
    kept = _kept(units, previous)
    by_category = dict.fromkeys(CATEGORIES, 0)
    for unit in units:
        by_category[unit.category] += unit.tokens
    by_category["unseen"] = compiled.budget.unseen
    total = sum(by_category.values())
    budget = compiled.budget
    squeezed = min(budget.reserve_tool_result, max(0, compiled.least - budget.available))
    return {
        "step": step,
        "session": session,
        "log_position": compiled.view.position,
        "provider": provider,
        "model": compiled.target.params.model,
        "epoch": compiled.epoch.number,
        "bytes": len(compiled.body),
        "units": [{"layer": unit.layer, "digest": unit.digest.hex()} for unit in units],
        "tokens": {
            "total": total,
            "exact": _exact(compiled),
            "by_category": by_category,
            "predicted": compiled.least,
        },
        "budget": {
            "window": budget.window,
            "working_limit": budget.working_limit,
            "reserve_output": budget.reserve_output,
            "reserve_tool_result": budget.reserve_tool_result - squeezed,
            "reserve_compaction": 0,  # no model writes our summaries, so there is no call to keep room for
            "available": budget.available + squeezed,
        },
        "segments": _segments(compiled, kept),
        "omitted": _omitted(compiled, view),
        "rewrites": _rewrites(compiled, previous, view, kept),
        "prefix": _prefix(compiled, previous, kept),
        "breakpoints": list(compiled.breakpoints),
        "pins": _pins(compiled, view),
        "betas": list(compiled.betas),
        "warnings": [
            {"code": one.code, "text": one.text, "numbers": dict(one.numbers)} for one in compiled.warnings
        ],
        "violations": list(violations),
    }


def _exact(compiled: Compiled) -> bool:
    """Whether the counts are the model's own: counted exactly, with the vocabulary that the model has."""
    own = compiled.target.spec.token_factor_start == 1.0
    return own and compiled.budget.unseen == 0 and all(unit.exact for unit in compiled.units)


def _kept(units: Sequence[Any], previous: Sketch | None) -> int:
    if previous is None:
        return 0
    kept = 0
    for unit, before in zip(units, previous.digests, strict=False):
        if unit.digest != before:
            break
        kept += 1
    return kept


def _segments(compiled: Compiled, kept: int) -> list[dict[str, Any]]:
    """Cut the body at the end of each unit; what joins a unit to the one before belongs to it."""
    segments: list[dict[str, Any]] = []
    marks = compiled.breakpoints
    cached_to = max(marks, default=-1) if compiled.target.spec.max_marks else compiled.size - 1
    total = max(1, compiled.counted)
    start, before = 0, 0
    units = compiled.units
    for index, part in enumerate(compiled.parts):
        end = start + len(part)
        if compiled.deferred and index == compiled.last_tool:
            end -= len(compiled.deferred)
        if index == len(units):
            segments.append(
                _segment("envelope", (), 0, start, end, 1.0, "none", "base", "closes the request")
            )
            break
        unit = units[index]
        cache = "read" if index < kept and index <= cached_to else "write" if index <= cached_to else "none"
        depth = round(before / total, 4)
        segments.append(
            _segment(unit.category, unit.events, unit.tokens, start, end, depth, cache, unit.by, unit.why)
        )
        before += unit.tokens
        if compiled.deferred and index == compiled.last_tool:
            start, end = end, start + len(part)
            why = "deferred: no prefix holds them"
            segments.append(_segment("tools", (), 0, start, end, depth, "none", "base", why))
        start = end
    return segments


def _segment(
    kind: str,
    events: Sequence[int],
    tokens: int,
    start: int,
    end: int,
    depth: float,
    cache: str,
    by: str,
    why: str,
) -> dict[str, Any]:
    return {
        "kind": kind,
        "events": list(events),
        "tokens": tokens,
        "start": start,
        "end": end,
        "depth": depth,
        "cache": cache,
        "pass": by,
        "why": why,
    }


def _omitted(compiled: Compiled, view: View) -> list[dict[str, Any]]:
    fold = view.fold
    epoch = compiled.epoch
    read_tool = epoch.body.read_tool
    omitted: list[dict[str, Any]] = []

    def add(seq: int, tokens: int, how: str, why: str, *, readable: bool = True) -> None:
        read = readable and seq not in fold.erased
        call = recall(compiled.target.reader, read_tool, fold.ref(seq)) if read else None
        omitted.append({"events": [seq], "tokens": tokens, "how": how, "why": why, "recover": call})

    block = block_of(view, epoch)
    for index, item in enumerate(fold.items):
        base = index < epoch.items
        if block is not None and index < block.covers and item is not block:
            if not item.kept and not isinstance(item, Change):
                for seq in item.events:
                    add(seq, 0, "summary", f"summarised by the provider, event {block.seq}")
            continue
        if base and fold.revoked.get(item.seq, epoch.seq) < epoch.seq:
            add(item.seq, 0, "dropped", "revoked")
            continue
        found = view.replacement(item.seq, view.position)
        if found is not None and found[0].how == "summarized" and base:
            for seq in item.events:
                add(seq, _removed(view, seq, base=base), "summary", found[0].why)
            continue
        if isinstance(item, Interaction):
            thoughts = [block.text for block in item.message.blocks if isinstance(block, Thinking)]
            if thoughts and not _thinking_sent(view, item):
                why = "reasoning that was not returned to us is never sent as reasoning"
                tokens = sum(_tokens(compiled.target.counter, text) for text in thoughts)
                add(item.seq, tokens, "dropped", why, readable=not compiled.target.reader.startswith("path:"))
            for seq in item.result_seqs:
                replaced = view.replacement(seq, view.position) if seq is not None else None
                if seq is not None and replaced is not None and (base or not replaced[0].epoch):
                    rewritten, _ = replaced
                    add(seq, _removed(view, seq, base=base), _HOW[rewritten.how], rewritten.why)
    for unit in compiled.units:
        lost = ", ".join(word for word in unit.lost if word != "reasoning")
        if lost and unit.events:
            add(unit.events[0], 0, "dropped", f"{compiled.target.codec.wire} can't say: {lost}")
    for seq in fold.orphans:
        if fold.events[seq].body is not None and seq not in fold.late:
            add(seq, 0, "dropped", "a result without a call")
        elif seq not in fold.mended:
            add(seq, 0, "dropped", "told once the provider has nothing under way")
    for seq, whole, shown in excerpts(view):
        removed = _tokens(compiled.target.counter, whole) - _tokens(compiled.target.counter, shown)
        add(seq, max(0, removed), _HOW["externalized"], "arrival")
    for seq, index in sorted(fold.parted):
        add(seq, 0, "dropped", f"block {index}, half of a call and its output")
    for seq, reason in sorted(fold.erased.items()):
        add(seq, 0, "erased", reason, readable=False)
    return omitted


def _removed(view: View, seq: int, *, base: bool) -> int:
    """Return what all rewrites of an event took out, each from what the one before had left."""
    removed = 0
    for at, rewritten, replacement in view.fold.replacements.get(seq, ()):
        if at < view.position and (base or not rewritten.epoch):
            share, rest = divmod(replacement.tokens_removed, len(replacement.events))
            removed += share + (rest if seq == replacement.events[0] else 0)
    return removed


def _tokens(counter: Counter, text: str) -> int:
    """Count a text that is left out of every request: the same ones come again at each step, and none is held."""
    key = counter, digest(text.encode("utf-8", "surrogatepass"))
    tokens = _COUNTED.get(key)
    if tokens is None:
        if len(_COUNTED) >= _MOST_COUNTED:
            _COUNTED.clear()
        tokens = _COUNTED[key] = counter.count(text)
    return tokens


def _thinking_sent(view: View, item: Interaction) -> bool:
    body = view.fold.events[item.seq].body
    return isinstance(body, Answered) and body.request is not None


def _rewrites(compiled: Compiled, previous: Sketch | None, view: View, kept: int) -> list[dict[str, Any]]:
    """List what was rewritten since the last request: as predicted, and for the epoch that stands, as it came."""
    written = sum(unit.tokens for unit in compiled.units[kept:]) if previous is not None else None
    since = previous.position if previous is not None else 0
    rewrites: list[dict[str, Any]] = []
    for event in view.fold.events[since : compiled.view.position]:
        body = event.body
        if isinstance(body, Rewritten):
            rewrites.append(
                {
                    "event": event.seq,
                    "kind": body.how,
                    "why": body.why,
                    "epoch": body.epoch,
                    "tokens_removed": sum(one.tokens_removed for one in body.replacements),
                    "suffix_rewritten": body.suffix_rewritten if body.epoch else 0,
                    "price_delta_usd": body.price_delta_usd,
                }
            )
        elif isinstance(body, EpochStarted) and body.why != "start":
            rewrites.append(
                {
                    "event": event.seq,
                    "kind": "epoch",
                    "why": body.why,
                    "epoch": True,
                    "tokens_removed": 0,
                    "suffix_rewritten": written if event.seq == compiled.epoch.seq else None,
                    "price_delta_usd": None,
                }
            )
    return rewrites


def _prefix(compiled: Compiled, previous: Sketch | None, kept: int) -> dict[str, Any]:
    units = compiled.units
    kept_tokens = sum(unit.tokens for unit in units[:kept])
    if previous is None:
        return {"kept_units": 0, "previous_units": 0, "kept_tokens": 0, "broke": None}
    broke = None
    if kept < len(previous.digests):
        epoch = compiled.epoch
        explained = epoch.seq >= previous.position
        broke = {
            "unit": kept,
            "layer": previous.layers[kept],
            "cause": epoch.body.why if explained else "unexplained",
            "event": epoch.seq if explained else None,
        }
    return {
        "kept_units": kept,
        "previous_units": len(previous.digests),
        "kept_tokens": kept_tokens,
        "broke": broke,
    }


def _pins(compiled: Compiled, view: View) -> list[dict[str, Any]]:
    """List what stands verbatim: a person's messages and texts set by the API, unless revoked."""
    fold = view.fold
    pins: list[dict[str, Any]] = []
    for index, item in enumerate(fold.items):
        if not item.kept or item.seq in fold.revoked:
            continue
        text = pin_text(view, item.seq)
        where = "base" if index < compiled.epoch.items else "said"
        pins.append({"event": item.seq, "text_sha256": _sha256(text), "where": where})
    return pins


def pin_text(view: View, seq: int) -> str:
    """Return the text of a kept item: of its text blocks, joined by newlines."""
    item = view.fold.item(seq)
    if isinstance(item, Turn):
        return plain_text(item.message.blocks)
    return item.text if isinstance(item, Notice) else ""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
