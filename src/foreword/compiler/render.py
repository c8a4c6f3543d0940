"""Render: items of the view to pieces, with the rewrites that stand. Pure, and the same for base and journal.

Rewrites are applied here and nowhere else: a replaced result shows its text, summarised items give way to
their summary where the first of them stood (docs/decisions/0003-epoch-base-journal.md).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from foreword.compiler.blocks import (
    as_known,
    as_known_result,
    block_of,
    kept_before,
    referred,
    referred_result,
    sendable,
    without_search,
    worded,
    worded_result,
)
from foreword.compiler.deferred import offers_none, with_loaded
from foreword.compiler.excerpt import with_excerpt
from foreword.compiler.late import change_pieces, told
from foreword.compiler.late_result import late_pictures
from foreword.compiler.placing import Placed, engine_text
from foreword.compiler.reasoning import keeps_reasoning, strips_reasoning
from foreword.compiler.run_note import with_run
from foreword.compiler.shown import shown_message, shown_result, shown_text
from foreword.core.block import Block, Message, Opaque, Role, Text, Thinking, ToolResult
from foreword.core.event import Noticed, Repaired
from foreword.core.fold import Epoch
from foreword.core.frame import frame
from foreword.core.item import Change, Interaction, Item, Notice, Turn
from foreword.core.request import Category
from foreword.core.target import Target
from foreword.core.view import View
from foreword.errors import CompileError


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
        stripped = strips_reasoning(view, block, target, epoch, True)
    for index in range(start, stop):
        item = items[index]
        base = index < epoch.items
        if start < index == epoch.items:
            yield from _repeat_kept(view, target, block, before=before, epoch=epoch)
        if block is not None and (index < block.covers or item is block):
            continue
        if base:
            stripped = stripped or strips_reasoning(view, item, target, epoch, base)
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
        if not base and strips_reasoning(view, item, target, epoch, base):
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


def _end_turn(target: Target) -> Iterator[Placed]:
    """End the turn in words: until it ends, a provider wants back the reasoning that led to a call."""
    text = frame("note", "The reasoning of the steps above is not repeated here. Go on.")
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
            role = target.notice_channel if is_operators(view, item) else "user"
            pictures = late_pictures(view, item, target, before)
            if pictures:
                yield from engine_text(
                    target, text, name, item.events, "journal", item.topic, pictures=pictures
                )
            else:
                yield from _spoken(target, text, name, item.events, item.topic, role)
        case Interaction():
            yield from _render_interaction(
                view, target, item, category, before=before, base=base, epoch=epoch
            )


def is_operators(view: View, item: Notice) -> bool:
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
    why = "changed after it was sent"
    effort, tools = change_pieces(target, body)
    for piece in effort:
        yield Placed(piece=piece, category="envelope", events=item.events, by="journal", why=why, alone=True)
    for piece in tools:
        yield Placed(piece=piece, category="tools", events=item.events, by="journal", why=why)
    added = {tool.name for tool in body.added}
    gone = [name for name in body.unfindable if name not in added]
    for topic, text in told(target, body.findable, gone, body.language):
        text = frame("notice", text, topic=topic, event=item.seq)
        yield from _spoken(target, text, "notice", item.events, topic, target.notice_channel)


def _render_turn(
    view: View, target: Target, item: Turn, category: Category, base: bool, before: int
) -> Iterator[Placed]:
    message = referred(item.message, item.seq, view, target)
    message = as_known(message, view.fold.events[item.seq], target)
    message = shown_message(worded(message, target), view, target, before)
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
        message = Message(role="user", blocks=(Text(text=shown_text(text, target)),))
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
    thinking = keeps_reasoning(view, item, target, epoch, base)
    opens = base and item.seq == epoch.body.block
    message = referred(item.message, item.seq, view, target)
    message = as_known(message, view.fold.events[item.seq], target)
    bare = offers_none(epoch)
    if bare:
        message = msgspec.structs.replace(message, blocks=without_search(message.blocks))
    message = worded(sendable(message, target, base=base, opens=opens), target)
    message = _trimmed(message) if final else message
    message = shown_message(message, view, target, before)
    pieces = target.codec.message(message, thinking=thinking, params=target.params)
    why = "the provider's summary of what came before" if opens else "the model's words"
    for piece in pieces:
        piece = with_loaded(view, target, piece, message.blocks[piece.source : piece.source + 1], before)
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
        event = view.fold.events[seq]
        known = as_known_result(referred_result(result, seq, view, target), event, target)
        if bare:
            known = msgspec.structs.replace(known, content=without_search(known.content))
        found = view.replacement(seq, before)
        if found is not None and found[0].how != "summarized" and (base or not found[0].epoch):
            rewritten, replacement = found
            known = with_excerpt(known, replacement.text, alone=rewritten.how != "externalized")
            reasons.append((rewritten.how, rewritten.why))
        else:
            reasons.append((by, "a tool's result"))
        results.append(shown_result(worded_result(with_run(known, event), target), view, target, before))
    for piece in target.codec.results(results, item.message):
        seq = item.result_seqs[piece.source]
        piece = with_loaded(view, target, piece, results[piece.source].content, before)
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
    if last is None or not target.prefills or (last.piece.role, last.piece.kind) != ("assistant", "text"):
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
    """Reasoning behind the last text is looked past: a wire that lets a request end in it never comes here."""
    blocks = list(message.blocks)
    for index, block in reversed(list(enumerate(message.blocks))):
        if isinstance(block, Thinking):
            continue
        if not isinstance(block, Text):
            break
        if text := block.text.rstrip():
            blocks[index] = msgspec.structs.replace(block, text=text)
            break
        del blocks[index]
    return msgspec.structs.replace(message, blocks=tuple(blocks))
