"""Render: items of the view to units, with the rewrites that stand. Pure, and the same for base and journal.

Rewrites are applied here and nowhere else: a replaced result shows its text, summarised items give way to
their summary where the first of them stood (docs/decisions/0003-epoch-base-journal.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from foreword.compiler.blocks import as_known, as_known_result, block_of, kept_before, sendable
from foreword.compiler.deferred import with_loaded
from foreword.compiler.late import told
from foreword.compiler.placing import Placed, engine_text, settle
from foreword.compiler.run_note import with_run
from foreword.compiler.shown import shown_message, shown_result
from foreword.core.block import Block, Message, Opaque, Role, Text, Thinking, ToolResult, ToolSpec
from foreword.core.canonical import digest
from foreword.core.event import OWN_ORIGINS, Answered, Noticed, Repaired, RequestSent
from foreword.core.frame import frame
from foreword.core.request import Category, Piece, Unit, unit_digest_input
from foreword.core.target import Target
from foreword.core.view import Change, Epoch, Interaction, Item, Notice, Turn, View
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


def read_tool_name(view: View) -> str:
    """Return the read tool's name: ``read``, or ``foreword_read`` when the agent has a tool of that name."""
    fold = view.fold
    taken = any(tool.name == "read" for tool in (*fold.tools[1], *fold.deferred[1]))
    return "foreword_read" if taken else "read"


def render_head(target: Target, epoch: Epoch) -> list[Placed]:
    """Return keys, tools and system blocks in render order, as they stood when the epoch began."""
    codec = target.codec
    tools_seq, tools = epoch.tools
    system_seq, blocks = epoch.instructions
    asked = target.with_effort(epoch.body.effort).with_budget(epoch.budget, epoch.body.remaining)
    keys = codec.keys(asked.params)
    placed = [_key(piece) for piece in keys if piece.layer == "tools"]
    for tool in tools:
        why = "stub inferred from recorded calls" if tool.inferred else "declared"
        placed.append(
            Placed(piece=codec.tool(tool), category="tools", events=(tools_seq,), by="base", why=why)
        )
    if epoch.body.read_tool is not None:
        own = msgspec.structs.replace(READ_TOOL, name=epoch.body.read_tool)
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
    for topic, text in told(target, epoch.body.findable, (), epoch.body.language or None):
        piece = codec.system(Text(text=frame("notice", text, topic=topic)))
        placed.append(Placed(piece=piece, category="notice", events=(epoch.seq,), by="base", why=topic))
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
    block = block_of(view, epoch)
    stripped = False
    if block is not None and start == 0:
        yield from _render(view, target, block, before=before, base=True, epoch=epoch)
        stripped = _strips_thinking(view, block, target, epoch, True)
    for index in range(start, stop):
        item = items[index]
        base = index < epoch.items
        if start < index == epoch.items:
            yield from _repeat_kept(view, target, block, before=before, epoch=epoch)
        if block is not None and (index < block.covers or item is block):
            continue
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
                yield from engine_text(
                    target, found[1].text, "summary", found[1].events, "summarize_stages", found[0].why
                )
            continue
        placed = list(_render(view, target, item, before=before, base=base, epoch=epoch))
        if isinstance(item, Turn) and placed and placed[-1].piece.role == "user":
            stripped = False
        yield from placed
        if not base and _strips_thinking(view, item, target, epoch, base):
            yield from _end_turn(target)
    if start < stop == epoch.items:
        yield from _repeat_kept(view, target, block, before=before, epoch=epoch)
        if stripped:
            yield from _end_turn(target)


def _repeat_kept(
    view: View, target: Target, block: Interaction | None, *, before: int, epoch: Epoch
) -> Iterator[Placed]:
    """Say again, word for word, what must stay verbatim of all that a compaction block stands for.

    What the block's own response repeats already (a provider may give the user's turns back) is left out.
    """
    if block is None:
        return
    kept = kept_before(view, block, epoch)
    if not kept:
        return
    text = frame("note", "Said before the record above was summarised; word for word:")
    yield from engine_text(target, text, "notice", (), "base", "a summary does not keep words")
    for item in kept:
        yield from _render(view, target, item, before=before, base=True, epoch=epoch)


def _strips_thinking(view: View, item: Item, target: Target, epoch: Epoch, base: bool) -> bool:
    """Whether calls of our own are shown without the reasoning that led to them."""
    return (
        isinstance(item, Interaction)
        and bool(item.calls)
        and view.fold.events[item.seq].origin in OWN_ORIGINS
        and any(isinstance(b, Thinking) and (b.signature or b.data) for b in item.message.blocks)
        and not _own(view, item, target, epoch, base)
    )


def _end_turn(target: Target) -> Iterator[Placed]:
    """End the turn in words: until it ends, a provider wants back the reasoning that led to a call."""
    text = frame(
        "note", "The record above was rebuilt to fit; the reasoning of its steps is not repeated. Go on."
    )
    yield from engine_text(
        target, text, "notice", (), "base", "bound reasoning can't stand under a new prefix"
    )


def open_with_user(placed: list[Placed], target: Target) -> None:
    """Put a note before the first message when it is the assistant's: every wire wants the user's first."""
    first = next((n for n, item in enumerate(placed) if item.piece.section == "message"), None)
    if first is not None and placed[first].piece.role == "assistant":
        text = frame("note", "The record begins with the assistant's words.")
        placed[first:first] = engine_text(
            target, text, "envelope", (), "repair_pairs", "the user comes first"
        )


def _render(
    view: View, target: Target, item: Item, *, before: int, base: bool, epoch: Epoch
) -> Iterator[Placed]:
    category: Category = "history" if base else "recent"
    match item:
        case Turn():
            yield from _render_turn(view, target, item, category, base, before)
        case Change():
            if not base:
                yield from _render_change(target, item)
        case Notice():
            kind = "pin" if item.kept else "notice"
            text = frame(kind, item.text, topic=item.topic, event=item.seq)
            name: Category = "pins" if item.kept else "notice"
            role = target.notice_channel if _is_operators(view, item) else "user"
            yield from _spoken(target, text, name, item.events, item.topic, role)
        case Interaction():
            yield from _render_interaction(
                view, target, item, category, before=before, base=base, epoch=epoch
            )


def _is_operators(view: View, item: Notice) -> bool:
    """Whether a notice may be said as the operator's: neither it nor what it tells came from anyone else.

    The word that only lets a request end with the user's turn is the user's.
    """
    events = view.fold.events
    body = events[item.seq].body
    told = body.about if isinstance(body, Noticed) else ()
    trusted = all(events[seq].trust in ("operator", "engine") for seq in (item.seq, *told))
    return trusted and not isinstance(body, Repaired)


def _spoken(
    target: Target, text: str, category: Category, events: tuple[int, ...], why: str, role: Role
) -> Iterator[Placed]:
    """Yield a notice for the channel of ``role``, with its form for the user's where it may have to go there."""
    mine = list(engine_text(target, text, category, events, "journal", why))
    if role == "user":
        yield from mine
        return
    for item, instead in zip(
        engine_text(target, text, category, events, "journal", why, role=role), mine, strict=True
    ):
        yield msgspec.structs.replace(item, instead=instead.piece)


def _render_change(target: Target, item: Change) -> Iterator[Placed]:
    body = item.body
    codec = target.codec
    why = "changed after it was sent"
    for piece in codec.late_effort(body.effort) if body.effort is not None else ():
        yield Placed(piece=piece, category="envelope", events=item.events, by="journal", why=why, alone=True)
    for piece in codec.late_tools(body.added, body.removed):
        yield Placed(piece=piece, category="tools", events=item.events, by="journal", why=why)
    added = {tool.name for tool in body.added}
    gone = [name for name in body.unfindable if name not in added]
    for topic, text in told(target, body.findable, gone, body.language):
        text = frame("notice", text, topic=topic, event=item.seq)
        yield from _spoken(target, text, "notice", item.events, topic, target.spec.notice_channel)


def _render_turn(
    view: View, target: Target, item: Turn, category: Category, base: bool, before: int
) -> Iterator[Placed]:
    message = as_known(item.message, view.fold.events[item.seq], target)
    message = shown_message(message, item.seq, view, target, before)
    by = "journal"
    why = "a person's words" if item.person else "said to the model"
    if message.role in ("system", "developer") and not target.codec.system_anywhere:
        text = frame(
            "notice", "\n".join(b.text for b in message.blocks if isinstance(b, Text)), role=message.role
        )
        operators = target.notice_channel == "system" and _trusted(view, item)
        if operators and any(_changes_tools(block, target) for block in message.blocks):
            for piece in target.codec.message(message, thinking=False, params=target.params):
                why = "a change that the caller said himself"
                yield Placed(piece=piece, category="notice", events=item.events, by=by, why=why)
            return
        if operators:
            yield from _spoken(target, text, "notice", item.events, f"a {message.role} message", "system")
            return
        message = Message(role="user", blocks=(Text(text=text),))
        why = f"a {item.message.role} message, framed: this wire takes none just anywhere"
    if base:
        by = "base"
        if item.person:
            category = "pins"
    for piece in target.codec.message(message, thinking=False, params=target.params):
        yield Placed(piece=piece, category=category, events=item.events, by=by, why=why)


def _changes_tools(block: Block, target: Target) -> bool:
    return isinstance(block, Opaque) and block.wire == target.codec.wire and block.form in target.codec.late


def _trusted(view: View, item: Turn) -> bool:
    return view.fold.events[item.seq].trust in ("operator", "engine")


def _render_interaction(
    view: View,
    target: Target,
    item: Interaction,
    category: Category,
    *,
    before: int,
    base: bool,
    epoch: Epoch,
    final: bool = False,
) -> Iterator[Placed]:
    by = "base" if base else "journal"
    thinking = _own(view, item, target, epoch, base)
    opens = base and item.seq == epoch.body.block
    message = as_known(item.message, view.fold.events[item.seq], target)
    message = sendable(message, target, base=base, opens=opens)
    message = _trimmed(message) if final else message
    message = shown_message(message, item.seq, view, target, before)
    pieces = target.codec.message(message, thinking=thinking, params=target.params)
    why = "the provider's summary of what came before" if opens else "the model's words"
    for piece in pieces:
        piece = with_loaded(view, target, piece, message.blocks[piece.source : piece.source + 1])
        yield Placed(piece=piece, category=category, events=(item.seq,), by=by, why=why)
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
            shown = (Text(text=replacement.text),)
            standing = ToolResult(call_id=result.call_id, content=shown, is_error=result.is_error)
            results.append(with_run(standing, view.fold.events[seq]))
            reasons.append((rewritten.how, rewritten.why))
        else:
            known = as_known_result(with_run(result, view.fold.events[seq]), view.fold.events[seq], target)
            results.append(shown_result(known, seq, view, target, before))
            reasons.append((by, "a tool's result"))
    for piece in target.codec.results(results, item.message):
        seq = item.result_seqs[piece.source]
        piece = with_loaded(view, target, piece, results[piece.source].content)
        pass_name, why = reasons[piece.source]
        yield Placed(
            piece=piece, category=category, events=(seq,) if seq is not None else (), by=pass_name, why=why
        )


def end_in_words(placed: list[Placed], view: View, target: Target, *, before: int, epoch: Epoch) -> None:
    """Take white space from the end of the text that a request ends with: a provider refuses one that ends so.

    Only there, where a model that takes such a prefill goes on from it: a text that something follows keeps its
    bytes. What was sent so stays so, since it is taken as it was sent.
    """
    last = placed[-1] if placed else None
    if last is None or not target.spec.prefill or (last.piece.role, last.piece.kind) != ("assistant", "text"):
        return
    item = view.fold.item(last.events[0]) if last.events else None
    if isinstance(item, Interaction):
        start = len(placed)
        while start and placed[start - 1].events == last.events:
            start -= 1
        placed[start:] = _render_interaction(
            view, target, item, last.category, before=before, base=last.by == "base", epoch=epoch, final=True
        )


def _trimmed(message: Message) -> Message:
    blocks = list(message.blocks)
    while blocks and isinstance(last := blocks[-1], Text) and last.text != last.text.rstrip():
        blocks.pop()
        if last.text.strip():
            blocks.append(msgspec.structs.replace(last, text=last.text.rstrip()))
    return msgspec.structs.replace(message, blocks=tuple(blocks))


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
    if not target.binds_thinking:
        return True
    if base:
        return item.seq == epoch.body.block and _head_stood(view, request, epoch)
    return request > epoch.seq


def _head_stood(view: View, request: int, epoch: Epoch) -> bool:
    """Whether the base has the head of the request: what was answered behind a compaction block is bound to these."""
    asked = next(each for each in reversed(view.fold.epochs) if each.seq < request)
    return _head(asked) == _head(epoch)


def _head(epoch: Epoch) -> tuple[object, ...]:
    body = epoch.body
    return body.head, epoch.tools, epoch.instructions, body.findable, body.language


def to_units(placed: Sequence[Placed], target: Target, previous: Unit | None) -> list[Unit]:
    """Place, count and digest pieces, in one batch. ``previous`` is the unit before them (None: there is none)."""
    placed = settle(placed, target, previous)
    counts = target.counter.count_many([p.piece.text for p in placed])
    units: list[Unit] = []
    before: Unit | Piece | None = previous
    exact = target.counter.exact
    overhead = target.codec.message_tokens
    first_tool = previous is None
    for item, count in zip(placed, counts, strict=True):
        piece = item.piece
        tokens = count + piece.media_tokens
        if target.codec.opens(before, piece):
            tokens += overhead
        before = piece
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
                betas=piece.betas,
            )
        )
    return units
