"""The fold: what a log comes to, event by event. It decides pairing once.

A result answers the oldest open call of its id, ids are made unique, and an interaction's results stand in call order
whatever order they arrived in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

import msgspec

from foreword.core.block import Message, Opaque, Text, Thinking, ToolCall, ToolResult, ToolSpec
from foreword.core.event import (
    Answered,
    Changed,
    Described,
    EpochStarted,
    Erased,
    Event,
    InputCounted,
    InstructionsSet,
    LanguageDetected,
    Marking,
    MarksSet,
    Noticed,
    Pinned,
    Repaired,
    Replacement,
    RequestSent,
    Revoked,
    Rewritten,
    Said,
    SessionOpened,
    TaskBudgetSet,
    ToolPrinted,
    ToolReturned,
    ToolsSet,
    ToolStarted,
    UnseenPrefix,
)
from foreword.core.item import Change, Interaction, Item, Notice, Turn
from foreword.core.item_ids import item_ids
from foreword.core.tool_reference import referenced
from foreword.core.unreported import written

COMPACTION = "compaction"
"""What every wire that has such a block calls it."""
TASK_BUDGET = "task budget"
"""Topic of the notices that count a task budget down."""
Calls = OrderedDict[tuple[int, int], Interaction]
"""Calls, oldest first: the event of an answer and the position of a call in it -> the interaction."""


class Milestone(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event of the log, and the number of items before it."""

    seq: int
    items: int


class Sent(Milestone, frozen=True, kw_only=True):
    """A request that was handed out."""

    body: RequestSent


class Epoch(Milestone, frozen=True, kw_only=True):
    """An epoch's start; ``number`` counts from 1. ``tools`` and ``instructions``: those of its base, with the seq

    of the event that set them. ``budget``: the task budget that stands, 0: none.
    """

    body: EpochStarted
    number: int
    tools: tuple[int, tuple[ToolSpec, ...]]
    instructions: tuple[int, tuple[Text, ...]]
    budget: int


class Reported(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a request of ours holds: ``estimated`` by the counter, ``actual`` by the provider's usage or count."""

    sent: int
    estimated: int
    actual: int


class Fold:
    """The mutable heart of a view. Only ``View`` changes it.

    ``tools`` and ``deferred``: what is asked for; in this epoch ``offered`` by now, and ``used``, ever; ``findable``:
    names of deferred ones that the model was told; ``loaded``: those that a search found. ``growth``: counted tokens by
    which requests were larger than the one before, and how many were.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self.events: list[Event] = []
        self.opened: SessionOpened | None = None
        self.openings: list[tuple[int, SessionOpened]] = []
        self.instructions: tuple[int, tuple[Text, ...]] = (-1, ())
        self.tools: tuple[int, tuple[ToolSpec, ...]] = (-1, ())
        self.offered: tuple[ToolSpec, ...] = ()
        self.used: set[str] = set()
        self.deferred: tuple[int, tuple[ToolSpec, ...]] = (-1, ())
        self.findable: tuple[str, ...] = ()
        self.defined: dict[str, tuple[int, ToolSpec]] = {}
        self.loaded: dict[str, None] = {}
        self.detected: tuple[int, LanguageDetected] | None = None
        self.language = ""
        self.marks: tuple[Marking, ...] = ()
        self.effort: str | None = None
        self.budget: tuple[int, int] = (-1, 0)
        self.spent = 0
        self.guessed = False
        self.told = -1
        self.unseen = 0
        self.items: list[Item] = []
        self.call_ids: set[str] = set()
        self.compactions: list[Interaction] = []
        self.replacements: dict[int, list[tuple[int, Rewritten, Replacement]]] = {}
        self.repairs: list[tuple[int, Repaired]] = []
        self.rewrites: list[tuple[int, Rewritten]] = []
        self.sent: list[Sent] = []
        self.growth = 0, 0
        self.epochs: list[Epoch] = []
        self.reports: dict[tuple[str, str], list[Reported]] = {}
        self.revoked: dict[int, int] = {}
        self.described: dict[str, tuple[int, str]] = {}
        self.erased: dict[int, str] = {}
        self.orphans: list[int] = []
        self.late: set[int] = set()
        self.mended: set[int] = set()
        self.mangled: list[int] = []
        self.opaque: set[int] = set()
        self.parted: set[tuple[int, int]] = set()
        self.copies: set[int] = set()
        self.rebuild = -1
        self._answers: dict[int, tuple[int, int]] = {}
        self._sent_by_seq: dict[int, RequestSent] = {}
        self._by_seq: dict[int, Item] = {}
        self._open: dict[str, Calls] = {}
        self._awaited: dict[str, Calls] = {}
        self._ended_late: dict[str, tuple[Interaction, int]] = {}
        self._open_by_event: dict[int, Interaction] = {}
        self._item_ids: set[str] = set()
        self._reserve_erased(events)

    def _reserve_erased(self, events: Iterable[Event]) -> None:
        listed = list(events)
        for event in listed:
            if isinstance(event.body, Erased):
                self._note_erased(event.body)
        for event in listed:
            self.apply(event)

    def _note_erased(self, body: Erased) -> None:
        for target in body.targets:
            self.erased[target] = body.reason
        for target, answered, position in body.answers:
            self._answers[target] = (answered, position)

    @property
    def open(self) -> list[Interaction]:
        """Interactions with an unanswered call, oldest first."""
        return [interaction for interaction in self._open_by_event.values() if not interaction.closed]

    def item(self, seq: int) -> Item | None:
        return self._by_seq.get(seq)

    def ref(self, seq: int) -> str:
        """Return the reference of an event, by the alias of the log it was recorded in: a fork changes none."""
        alias = next((body.alias for at, body in reversed(self.openings) if at <= seq), "session")
        return f"{alias}#{seq}"

    def apply(self, event: Event) -> None:
        self.events.append(event)
        if event.original is not None:
            self.mangled.append(event.seq)
        body = event.body
        if body is None:
            self._apply_gone(event)
            return
        match body:
            case Said():
                self._add(Turn(event.seq, body.message, body.person))
                self._note_opaque(event.seq, body.message)
            case Answered():
                self._answer(event.seq, body)
            case ToolReturned():
                self._return(event.seq, body)
            case ToolStarted():
                self._start(body.call_id)
            case ToolPrinted():
                self._print(event.seq, body.call_id)
            case RequestSent():
                self._send(event.seq, body)
            case InputCounted():
                self._report(body.request, body.tokens)
            case Rewritten():
                self.rewrites.append((event.seq, body))
                for replacement in body.replacements:
                    for seq in replacement.events:
                        self.replacements.setdefault(seq, []).append((event.seq, body, replacement))
            case EpochStarted():
                self._begin(event.seq, body)
            case Repaired():
                self._repair(event.seq, body)
            case Noticed():
                self.mended.update(body.about)
                if body.topic == TASK_BUDGET:
                    self.told = self.spent
                self._add(Notice(event.seq, body.topic, body.text, kept=False))
            case Changed():
                self.offered = (
                    *(tool for tool in self.offered if tool.name not in body.removed),
                    *body.added,
                )
                self.used.update(tool.name for tool in body.added)
                self.effort = body.effort or self.effort
                self.findable = (
                    *(name for name in self.findable if name not in body.unfindable),
                    *body.findable,
                )
                self.language = self.language if body.language is None else body.language
                self._add(Change(event.seq, body))
            case LanguageDetected():
                self.detected = (event.seq, body)
            case Described():
                self.described.setdefault(body.picture, (event.seq, body.text))
            case TaskBudgetSet():
                self.budget = (event.seq, body.total)
                self.spent, self.guessed, self.told = 0, False, -1
            case Pinned():
                self._add(Notice(event.seq, "pin", body.text, kept=True))
            case Revoked():
                self.revoked[body.target] = event.seq
                self.rebuild = event.seq
                self._add(Notice(event.seq, "revoked", body.text, kept=False))
            case InstructionsSet():
                self.instructions = (event.seq, body.blocks)
            case ToolsSet():
                self._offer(event.seq, body.tools)
            case MarksSet():
                self.marks = body.marks
            case UnseenPrefix():
                self.unseen = body.tokens
            case Erased():
                self.rebuild = event.seq
            case SessionOpened():
                self.opened = body
                self.openings.append((event.seq, body))
            case _:
                pass

    def _send(self, seq: int, body: RequestSent) -> None:
        grown = body.tokens - self.sent[-1].body.tokens if self.sent else 0
        if grown > 0:
            self.growth = self.growth[0] + grown, self.growth[1] + 1
        self.sent.append(Sent(seq=seq, items=min(body.items, len(self.items)), body=body))
        self._sent_by_seq[seq] = body

    def _begin(self, seq: int, body: EpochStarted) -> None:
        kept = body.tools_kept and self.epochs
        tools = self.epochs[-1].tools if kept else self.tools
        if not kept:
            self.offered = self.tools[1]
        self.used = {tool.name for tool in tools[1]}.union([body.read_tool] if body.read_tool else [])
        self.effort, self.findable, self.language = body.effort, body.findable, body.language
        epoch = Epoch(
            seq=seq,
            items=len(self.items),
            body=body,
            number=len(self.epochs) + 1,
            tools=tools,
            instructions=self.instructions,
            budget=self.budget[1],
        )
        self.epochs.append(epoch)

    def _offer(self, seq: int, tools: tuple[ToolSpec, ...]) -> None:
        offered = tuple(tool for tool in tools if not tool.deferred)
        if offered != self.tools[1]:
            self.tools = (seq, offered)
        deferred = tuple(tool for tool in tools if tool.deferred)
        if deferred != self.deferred[1]:
            self.deferred = (seq, deferred)
        for tool in tools:
            self.defined.setdefault(tool.name, (seq, tool))

    def _note_opaque(self, seq: int, message: Message) -> None:
        if any(isinstance(block, Opaque) for block in message.blocks):
            self.opaque.add(seq)

    def _note_items(self, seq: int, message: Message) -> None:
        ids = item_ids(message)
        if len(ids) > len(set(ids)) or not self._item_ids.isdisjoint(ids):
            self.copies.add(seq)
        self._item_ids.update(ids)

    def _add(self, item: Item) -> None:
        self._by_seq[item.seq] = item
        self.items.append(item)

    def _answer(self, seq: int, body: Answered) -> None:
        blocks = list(body.message.blocks)
        for index, block in enumerate(blocks):
            if isinstance(block, ToolCall):
                unique = self._unique(block.id, seq)
                if unique != block.id:
                    blocks[index] = msgspec.structs.replace(block, id=unique)
        message = msgspec.structs.replace(body.message, blocks=tuple(blocks))
        interaction = Interaction(seq, body.message, message)
        self.loaded.update(dict.fromkeys(referenced(blocks)))
        self._by_seq[seq] = interaction
        place = self._place_of(seq, body)
        self.items.insert(place, interaction)
        self._note_opaque(seq, body.message)
        self._note_items(seq, body.message)
        if any(isinstance(block, Opaque) and block.form == COMPACTION for block in blocks):
            self._compacted(interaction, body, place)
        if self.budget[1]:
            output = body.usage.output if body.usage is not None else None
            self.guessed = self.guessed or output is None
            self.spent += written(body) if output is None else output
        if interaction.calls:
            self._open_by_event[seq] = interaction
            for position, call_id in enumerate(interaction.recorded_ids):
                self._open.setdefault(call_id, Calls())[seq, position] = interaction
        as_sent = interaction.covers < 0 and not body.edits
        if body.usage is not None and as_sent:
            self._report(body.request, body.usage.total_input)

    def _report(self, request: int | None, actual: int | None) -> None:
        sent = self._sent_by_seq.get(request) if request is not None else None
        if request is not None and sent is not None and actual:
            report = Reported(sent=request, estimated=sent.tokens, actual=actual)
            self.reports.setdefault((sent.wire, sent.model), []).append(report)

    def _compacted(self, interaction: Interaction, body: Answered, place: int) -> None:
        """A block stands for what its request showed, however much came before its answer."""
        sent = next((sent for sent in reversed(self.sent) if sent.seq == body.request), None)
        interaction.covers = place if sent is None else sent.items
        self.compactions.append(interaction)

    def _place_of(self, seq: int, body: Answered) -> int:
        """An answer stands right behind what its request showed; a second one comes last, without its reasoning."""
        last = self.sent[-1] if self.sent else None
        if last is None or last.seq != body.request:
            return len(self.items)
        bodies = (self.events[item.seq].body for item in self.items[last.items :])
        if not any(isinstance(each, Answered) and each.request == last.seq for each in bodies):
            return last.items
        self.copies.add(seq)
        return len(self.items)

    def _unique(self, call_id: str, seq: int) -> str:
        unique, attempt = call_id, 0
        while unique in self.call_ids or not unique:
            unique = f"{call_id or 'call'}_{seq}" if attempt == 0 else f"{call_id or 'call'}_{seq}_{attempt}"
            attempt += 1
        self.call_ids.add(unique)
        return unique

    def unfinished(self, call_id: str) -> bool:
        """Whether a call of a recorded id is open, or was answered before its end was known."""
        return any(True for _ in self._unfinished(call_id))

    def _unfinished(self, call_id: str) -> Iterator[tuple[Interaction, int]]:
        """Yield the open calls of an id, oldest first, then those answered before their end was known."""
        for calls in (self._open.get(call_id), self._awaited.get(call_id)):
            for (_, position), interaction in calls.items() if calls else ():
                yield interaction, position
        if call_id in self._ended_late:
            yield self._ended_late[call_id]

    def _start(self, call_id: str) -> None:
        for interaction, position in self._unfinished(call_id):
            if position not in interaction.started:
                interaction.started.add(position)
                return

    def _print(self, seq: int, call_id: str) -> None:
        for interaction, position in self._unfinished(call_id):
            interaction.printed.setdefault(position, []).append(seq)
            return

    def _return(self, seq: int, body: ToolReturned) -> None:
        result = body.result
        found = _oldest(self._open, result.call_id)
        if found is None:
            self.orphans.append(seq)
            self._end_late(seq, result.call_id)
            return
        interaction, position = found
        self._close(seq, interaction, position, result)
        if body.run == "running" or body.exit_code is None:
            self._await(interaction, position)

    def _await(self, interaction: Interaction, position: int) -> None:
        self._awaited.setdefault(interaction.recorded_ids[position], Calls())[interaction.seq, position] = (
            interaction
        )

    def _end_late(self, seq: int, call_id: str) -> None:
        """Of the oldest call whose end is awaited; when there is none more, the newest ended once again."""
        found = _oldest(self._awaited, call_id) or self._ended_late.get(call_id)
        if found is not None:
            self.late.add(seq)
            self._ended_late[call_id] = found
            found[0].ends[found[1]] = seq

    def _no_longer_open(self, interaction: Interaction, position: int) -> bool:
        """Take a call from the open ones; return whether it was one."""
        call_id = interaction.recorded_ids[position]
        calls = self._open.get(call_id, Calls())
        was = calls.pop((interaction.seq, position), None) is not None
        if was and not calls:
            del self._open[call_id]
        return was

    def _close(self, seq: int, interaction: Interaction, position: int, result: ToolResult) -> None:
        wire_id = interaction.calls[position].id
        interaction.results[position] = (
            result if result.call_id == wire_id else msgspec.structs.replace(result, call_id=wire_id)
        )
        interaction.result_seqs[position] = seq
        self.loaded.update(dict.fromkeys(referenced(result.content)))
        self._by_seq[seq] = interaction
        if interaction.closed:
            self._open_by_event.pop(interaction.seq, None)

    def _repair(self, seq: int, body: Repaired) -> None:
        self.repairs.append((seq, body))
        interaction = self._by_seq.get(body.event)
        if body.fault == "open_call" and isinstance(interaction, Interaction):
            call = interaction.calls[body.call]
            if self._no_longer_open(interaction, body.call):
                self._await(interaction, body.call)
            interaction.unknown.add(body.call)
            text = Text(text=body.text)
            self._close(
                seq, interaction, body.call, ToolResult(call_id=call.id, content=(text,), is_error=True)
            )
        elif body.fault == "orphan_result":
            self.mended.add(body.event)
        elif body.fault == "no_user_turn":
            self._add(Notice(seq, "continue", body.text, kept=False))
        elif body.fault == "unpaired":
            self._part(seq, body)

    def _part(self, seq: int, body: Repaired) -> None:
        """Leave half of a pair out, with the reasoning that led to it; was it sent, the base is to be rebuilt."""
        item, said = self._by_seq.get(body.event), self.events[body.event].body
        if isinstance(item, Turn | Interaction) and isinstance(said, Said | Answered):
            left = [n for n in range(len(said.message.blocks)) if (body.event, n) not in self.parted]
            blocks = tuple(
                msgspec.structs.replace(block, signature=None, data=None)
                if isinstance(block, Thinking)
                else block
                for n, block in zip(left, item.message.blocks, strict=True)
                if n != body.call
            )
            self.parted.add((body.event, body.call))
            item.message = msgspec.structs.replace(item.message, blocks=blocks)
            if self._was_sent(item):
                self.rebuild = seq
        if body.text:
            self._add(Notice(seq, "a call without an output", body.text, kept=False))

    def _was_sent(self, item: Item) -> bool:
        """Whether the newest request held it; what came since is short, all before may be long."""
        last = self.sent[-1] if self.sent else None
        return last is not None and item.seq < last.seq and item not in self.items[last.items :]

    def _apply_gone(self, event: Event) -> None:
        """An erased event keeps its place where the wire needs one: a result still answers its call."""
        place = self._answers.get(event.seq)
        if event.kind != "tool_returned" or place is None:
            return
        interaction = self._by_seq.get(place[0])
        if isinstance(interaction, Interaction) and interaction.results[place[1]] is None:
            self._no_longer_open(interaction, place[1])
            reason = self.erased.get(event.seq, "erased")
            content = (Text(text=f"[this result was erased: {reason}]"),)
            interaction.unknown.add(place[1])
            result = ToolResult(call_id=interaction.calls[place[1]].id, content=content)
            self._close(event.seq, interaction, place[1], result)


def _oldest(calls: dict[str, Calls], call_id: str) -> tuple[Interaction, int] | None:
    """Take the oldest call of an id out; None: there is none."""
    if call_id not in calls:
        return None
    (_, position), interaction = calls[call_id].popitem(last=False)
    if not calls[call_id]:
        del calls[call_id]
    return interaction, position
