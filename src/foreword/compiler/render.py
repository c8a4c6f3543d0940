"""Render: items of the view to units, with the rewrites that stand. Pure, and the same for base and journal.

Rewrites are applied here and nowhere else: a replaced result shows its text, summarised items give way to
their summary where the first of them stood (docs/decisions/0003-epoch-base-journal.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from foreword.core.block import Message, Text, Thinking, ToolResult, ToolSpec
from foreword.core.canonical import digest
from foreword.core.event import OWN_ORIGINS, Answered, RequestSent
from foreword.core.frame import frame
from foreword.core.request import Category, Piece, Unit, unit_digest_input
from foreword.core.target import Target
from foreword.core.view import Epoch, Interaction, Item, Notice, Turn, View
from foreword.errors import CompileError

READ_TOOL = ToolSpec(
    name="read",
    description=(
        "Read back what was left out here: ref as given in a <foreword> note, e.g. k3f9qz#128; a summary's [#N] is "
        "ALIAS#N. Lines from offset (1-based), at most limit; tail: the last ones; grep: those with a literal text."
    ),
    schema={
        "type": "object",
        "properties": {
            "ref": {"type": "string"},
            "offset": {"type": "integer"},
            "limit": {"type": "integer"},
            "tail": {"type": "integer"},
            "start": {"type": "integer"},
            "grep": {"type": "string"},
        },
        "required": ["ref"],
    },
)


class Placed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A piece with its provenance, before it is counted."""

    piece: Piece
    category: Category
    events: tuple[int, ...]
    by: str
    why: str


def read_tool_name(tools: Sequence[ToolSpec]) -> str:
    """Return the read tool's name: ``read``, or ``foreword_read`` when the agent has a tool of that name."""
    return "foreword_read" if any(tool.name == "read" for tool in tools) else "read"


def render_head(view: View, target: Target) -> list[Placed]:
    """Return keys, tools and system blocks in render order, as they stand now in the view."""
    fold = view.fold
    codec = target.codec
    tools_seq, tools = fold.tools
    system_seq, blocks = fold.instructions
    keys = codec.keys(target.params)
    placed = [_key(piece) for piece in keys if piece.layer == "tools"]
    for tool in tools:
        why = "stub inferred from recorded calls" if tool.inferred else "declared"
        placed.append(
            Placed(piece=codec.tool(tool), category="tools", events=(tools_seq,), by="base", why=why)
        )
    if target.reader == "tool":
        own = msgspec.structs.replace(READ_TOOL, name=read_tool_name(tools))
        placed.append(
            Placed(
                piece=codec.tool(own),
                category="tools",
                events=(),
                by="base",
                why="reads left-out content back",
            )
        )
    placed += [_key(piece) for piece in keys if piece.layer == "system"]
    for block in blocks:
        if block.text.strip():
            placed.append(
                Placed(
                    piece=codec.system(block),
                    category="instructions",
                    events=(system_seq,),
                    by="base",
                    why="instructions of the agent",
                )
            )
    placed += [_key(piece) for piece in keys if piece.layer == "messages"]
    return placed


def _key(piece: Piece) -> Placed:
    return Placed(piece=piece, category="envelope", events=(), by="base", why=f"invalidates {piece.layer}")


def render_items(
    view: View, target: Target, start: int, stop: int, *, before: int, epoch: Epoch
) -> Iterator[Placed]:
    """Yield the pieces of items ``start`` to ``stop``, with rewrites appended before event ``before``.

    Items before ``epoch.items`` are base: every rewrite counts. Later ones are journal: a rewrite that needs an
    epoch waits for it. The base is always rendered in one go, so a summary is placed once.
    """
    fold = view.fold
    shown: set[int] = set()
    items = fold.items
    stripped = False
    for index in range(start, stop):
        item = items[index]
        base = index < epoch.items
        if base:
            stripped = stripped or _strips_thinking(view, item, target, epoch, base)
        elif index == epoch.items and stripped:
            yield from _end_turn(target)
        if base and item.seq in fold.revoked and fold.revoked[item.seq] < epoch.seq:
            continue
        found = view.replacement(item.seq, before)
        if found is not None and found[0].how == "summarized" and base:
            key = id(found[1])
            if key not in shown:
                shown.add(key)
                yield from _engine_text(
                    target, found[1].text, "summary", found[1].events, "summarize_stages", found[0].why
                )
            continue
        placed = list(_render(view, target, item, before=before, base=base, epoch=epoch))
        if isinstance(item, Turn) and placed:
            stripped = False
        yield from placed
        if not base and _strips_thinking(view, item, target, epoch, base):
            yield from _end_turn(target)
    if stripped and stop == epoch.items:
        yield from _end_turn(target)


def _strips_thinking(view: View, item: Item, target: Target, epoch: Epoch, base: bool) -> bool:
    """Whether calls of our own are shown without the reasoning that led to them."""
    return (
        isinstance(item, Interaction)
        and bool(item.calls)
        and view.fold.events[item.seq].origin in OWN_ORIGINS
        and any(isinstance(block, Thinking) and block.signature for block in item.message.blocks)
        and not _own(view, item, target, epoch, base)
    )


def _end_turn(target: Target) -> Iterator[Placed]:
    """End the turn in words: until it ends, a provider wants back the reasoning that led to a call."""
    text = frame(
        "note", "The record above was rebuilt to fit; the reasoning of its steps is not repeated. Go on."
    )
    yield from _engine_text(
        target, text, "notice", (), "base", "bound reasoning can't stand under a new prefix"
    )


def open_with_user(placed: list[Placed], target: Target) -> None:
    """Put a note before the first message when it is the assistant's: every wire wants the user's first."""
    first = next((n for n, item in enumerate(placed) if item.piece.section == "message"), None)
    if first is not None and placed[first].piece.role == "assistant":
        text = frame("note", "The record begins with the assistant's words.")
        placed[first:first] = _engine_text(
            target, text, "envelope", (), "repair_pairs", "the user comes first"
        )


def _render(
    view: View, target: Target, item: Item, *, before: int, base: bool, epoch: Epoch
) -> Iterator[Placed]:
    category: Category = "history" if base else "recent"
    match item:
        case Turn():
            yield from _render_turn(target, item, category, base)
        case Notice():
            kind = "pin" if item.kept else "notice"
            text = frame(kind, item.text, topic=item.topic, event=item.seq)
            name: Category = "pins" if item.kept else "notice"
            yield from _engine_text(target, text, name, item.events, "journal", item.topic)
        case Interaction():
            yield from _render_interaction(
                view, target, item, category, before=before, base=base, epoch=epoch
            )


def _engine_text(
    target: Target, text: str, category: Category, events: tuple[int, ...], by: str, why: str
) -> Iterator[Placed]:
    message = Message(role="user", blocks=(Text(text=text),))
    for piece in target.codec.message(message, thinking=False, params=target.params):
        named = msgspec.structs.replace(piece, kind=category)
        yield Placed(piece=named, category=category, events=events, by=by, why=why)


def _render_turn(target: Target, item: Turn, category: Category, base: bool) -> Iterator[Placed]:
    message = item.message
    by = "journal"
    why = "a person's words" if item.person else "said to the model"
    if message.role in ("system", "developer") and not target.codec.system_anywhere:
        text = frame(
            "notice", "\n".join(b.text for b in message.blocks if isinstance(b, Text)), role=message.role
        )
        message = Message(role="user", blocks=(Text(text=text),))
        why = f"a {item.message.role} message, framed: this wire takes none just anywhere"
    if base:
        by = "base"
        if item.person:
            category = "pins"
    for piece in target.codec.message(message, thinking=False, params=target.params):
        yield Placed(piece=piece, category=category, events=item.events, by=by, why=why)


def _render_interaction(
    view: View,
    target: Target,
    item: Interaction,
    category: Category,
    *,
    before: int,
    base: bool,
    epoch: Epoch,
) -> Iterator[Placed]:
    by = "base" if base else "journal"
    thinking = _own(view, item, target, epoch, base)
    pieces = target.codec.message(item.message, thinking=thinking, params=target.params)
    for piece in pieces:
        yield Placed(piece=piece, category=category, events=(item.seq,), by=by, why="the model's words")
    if not item.calls:
        return
    results: list[ToolResult] = []
    reasons: list[tuple[str, str]] = []
    for position, result in enumerate(item.results):
        seq = item.result_seqs[position]
        if result is None or seq is None:
            raise CompileError(
                f"event {item.seq} has an open call {item.calls[position].id!r}: append its result, or the repair "
                f"that propose() names"
            )
        found = view.replacement(seq, before)
        if found is not None and found[0].how != "summarized" and (base or not found[0].epoch):
            rewritten, replacement = found
            results.append(
                ToolResult(
                    call_id=result.call_id, content=(Text(text=replacement.text),), is_error=result.is_error
                )
            )
            reasons.append((rewritten.how, rewritten.why))
        else:
            results.append(result)
            reasons.append((by, "a tool's result"))
    for piece in target.codec.results(results, item.message):
        seq = item.result_seqs[piece.source]
        pass_name, why = reasons[piece.source]
        yield Placed(
            piece=piece, category=category, events=(seq,) if seq is not None else (), by=pass_name, why=why
        )


def _own(view: View, item: Interaction, target: Target, epoch: Epoch, base: bool) -> bool:
    """Whether the reasoning of this message may be sent: it was returned to us, by this model, on this wire,

    and, where the model binds it to its prefix, that prefix still stands (the same epoch).
    """
    event = view.fold.events[item.seq]
    body = event.body
    if not isinstance(body, Answered) or body.request is None or event.origin not in OWN_ORIGINS:
        return False
    sent = view.fold.events[body.request].body
    if not isinstance(sent, RequestSent) or (sent.wire, sent.model) != (
        target.codec.wire,
        target.params.model,
    ):
        return False
    request = body.request
    return not target.spec.binds_thinking or (not base and request > epoch.seq)


def to_units(placed: Sequence[Placed], target: Target, previous: Unit | None) -> list[Unit]:
    """Count and digest pieces, in one batch. ``previous`` is the unit before them (None: there is none)."""
    counts = target.counter.count_many([p.piece.text for p in placed])
    units: list[Unit] = []
    role = previous.role if previous is not None and previous.section == "message" else ""
    exact = target.counter.exact
    overhead = target.codec.message_tokens
    first_tool = previous is None
    for item, count in zip(placed, counts, strict=True):
        piece = item.piece
        opens = piece.section == "message" and not (target.codec.merges and piece.role == role)
        if piece.section == "message":
            role = piece.role
        tokens = count + piece.media_tokens
        if opens or (piece.section == "system" and not target.codec.merges):
            tokens += overhead
        if piece.section == "tool" and first_tool:
            tokens += target.codec.tools_tokens
            first_tool = False
        units.append(
            Unit(
                section=piece.section,
                layer=piece.layer,
                role=piece.role,
                kind=piece.kind,
                data=piece.data,
                digest=digest(unit_digest_input(piece)),
                tokens=tokens,
                exact=exact and piece.media_tokens == 0,
                markable=piece.markable,
                category=item.category,
                events=item.events,
                by=item.by,
                why=item.why,
                lost=piece.lost,
            )
        )
    return units
