"""The rows of a Codex thread to drafts, in the order of the file.

Codex records items, not calls: what the model wrote between two inputs is one answer, and the next row of
token counts ends it, which stands after the results of its tools.
"""

import hashlib
from typing import Any

import msgspec

from foreword.codecs.doubts import UNREADABLE
from foreword.core.block import Block, Message, Text, Thinking
from foreword.core.event import (
    Answered,
    Body,
    Called,
    Draft,
    ForeignNoted,
    InstructionsSet,
    Said,
    Trust,
)
from foreword.core.usage import Usage
from foreword.importers.claude_records import microseconds
from foreword.importers.codex_items import (
    COMPACTIONS,
    HOSTED_RESULTS,
    RESULTS,
    WIRE,
    answer_blocks,
    content_blocks,
    is_answer,
    kind_of,
    opaque,
    result_of,
)
from foreword.importers.codex_people import by_author
from foreword.importers.codex_runs import returned
from foreword.importers.codex_usage import NOTHING, Meter, Tokens
from foreword.importers.decode import Unreadable, raw_of
from foreword.importers.imported import ABANDONED, Flaw, plain
from foreword.importers.left_behind import paid
from foreword.importers.source import Row

FORMAT = "codex"
INSTRUCTIONS = ("base", "user", "developer")
"""The parts of the system text, in the order in which they are sent."""


class _Answer:
    """A call of the model being gathered. `said_before`: somebody spoke since the call before it.

    `turn`: the turn's id, None: not told. `total`: what the thread had spent after it, None: not told.
    """

    def __init__(self, draft: Draft, turn: str | None, nth: int, *, said_before: bool) -> None:
        self.header = draft
        self.turn = turn
        self.nth = nth
        self.said_before = said_before
        self.total: Tokens | None = None
        self.model: str | None = None
        self.blocks: list[Block] = []
        self.usage: Usage | None = None
        self.doubts: tuple[str, ...] = ()
        self.partial = False

    def draft(self, thread: str) -> Draft:
        message = Message(role="assistant", blocks=tuple(self.blocks), wire=WIRE)
        body = Answered(
            message=message,
            model=self.model,
            usage=self.usage,
            partial=self.partial,
            doubts=self.doubts,
            call=self._name(thread),
        )
        return Draft(
            body=body, at=self.header.at, actor=FORMAT, origin=self.header.origin, trust=self.header.trust
        )

    def _name(self, thread: str) -> str | None:
        """Name the call alike in every copy: a fork repeats the rows with other times, and leaves some out."""
        if self.turn is None and not thread:
            return None
        # A turn's id and what was spent by then are one call's alone; without either, its words tell it apart.
        words = None if self.turn and self.total else self.blocks
        nth = () if self.total else (self.nth,)
        told = msgspec.json.encode((self.turn or thread, self.total, words, *nth), order="deterministic")
        return hashlib.blake2b(told, digest_size=16).hexdigest()


class Thread:
    """A thread being read. `side`: another agent started it, so that nobody in it is a person.

    `root`: id of the thread that the first rows come from, which is another's in a fork; "" without. `left_behind`:
    how many of the calls written are not history.
    """

    def __init__(self, source: str, root: str, *, side: bool) -> None:
        self.source = source
        self.side = side
        self.flaws: list[Flaw] = []
        self.left_behind = 0
        self._root = root
        self._turn: str | None = None
        self._answers = 0
        self._written: list[Draft | _Answer] = []
        self._turns: list[int] = []
        self._answer: _Answer | None = None
        self._unbilled: list[_Answer] = []
        self._said = False
        self._ended = False
        self._compacted = False
        self._model: str | None = None
        self._meter = Meter()
        self._given: dict[str, str] = {}
        self._set: dict[str, str] = {}
        self._injected: list[str] = []

    def drafts(self) -> list[Draft]:
        """Return what was read so far; [] when it holds no message.

        A last answer of reasoning alone is left out: the file was read while it was written.
        """
        written = self._written
        last = written[-1] if written else None
        if (
            isinstance(last, _Answer)
            and not self._ended
            and last.usage is None
            and all(isinstance(block, Thinking) for block in last.blocks)
        ):
            text = "the last answer holds reasoning only so far; it is read when the file has grown"
            self.flaws.append(Flaw(code="unfinished_answer", where=_where(last.header), text=text))
            written = written[:-1]
        drafts = [entry.draft(self._root) if isinstance(entry, _Answer) else entry for entry in written]
        said = any(not isinstance(draft.body, ForeignNoted | InstructionsSet) for draft in drafts)
        return drafts if said else []

    def unbilled(self) -> int:
        """Count the answers whose tokens no row says."""
        return sum(isinstance(entry, _Answer) and entry.usage is None for entry in self._written)

    def instruct(self, **texts: object) -> None:
        """Take parts of the system text, `INSTRUCTIONS`; what is no text is passed over."""
        self._given |= {name: text for name, text in texts.items() if isinstance(text, str) and text.strip()}

    def turn(self, context: dict[str, Any]) -> None:
        """Take the settings of the calls that follow."""
        if isinstance(model := context.get("model"), str):
            self._model = model
        self.begun(context)
        mode = context.get("collaboration_mode")
        settings = mode.get("settings") if isinstance(mode, dict) else None
        self.instruct(
            base=context.get("base_instructions"),
            user=context.get("user_instructions"),
            developer=context.get("developer_instructions")
            or (settings.get("developer_instructions") if isinstance(settings, dict) else None),
        )

    def begun(self, payload: dict[str, Any]) -> None:
        """Take the id of the turn that a row names, as the start of one does."""
        if isinstance(id_ := payload.get("turn_id"), str) and id_:
            self._turn = id_

    def item(self, row: Row, item: dict[str, Any]) -> bool:
        """Take an item of the history; False: it is none."""
        kind = kind_of(item)
        if kind == "ghost_snapshot":
            return False
        try:
            if is_answer(item):
                blocks = answer_blocks(item, f"line-{row.number}")
                self._answered(row, blocks)
            elif kind in HOSTED_RESULTS and self._unbilled:
                # Its call is no call of a tool that we know, so it stands beside that call, not as a result.
                self._unbilled[-1].blocks.append(opaque(item))
                self._close()
            elif kind in RESULTS:
                result = result_of(item, f"line-{row.number}")
                self._close()
                self._write(row, returned(result), "tool")
            elif kind in COMPACTIONS:
                self.compacted(row, "an opaque summary of what came before", item)
            elif kind in ("message", "agent_message"):
                self._message(row, item)
            else:
                raise Unreadable(f"an item of unknown type {plain(kind or None)}")
        except Unreadable as error:
            self.flaws.append(Flaw(code="unreadable", where=row.where, text=f"{error}; kept as a note"))
            self._close()
            self._note(row, "unreadable", str(error), raw_of(item))
        return True

    def compacted(self, row: Row, text: str, payload: dict[str, Any]) -> None:
        """Note a compaction of the original tool, once however many rows tell of it."""
        if not self._compacted:
            self._close()
            self._note(row, "compaction", text, raw_of(payload))
        self._compacted = True

    def counted(self, row: Row, payload: dict[str, Any]) -> None:
        """Give the newest answer the tokens of a row."""
        try:
            billed = self._meter.read(payload)
        except Unreadable as error:
            self.flaws.append(Flaw(code="unreadable_usage", where=row.where, text=str(error)))
            if self._unbilled:
                self._unbilled[-1].doubts = (UNREADABLE,)
            return
        if billed is None or billed.last == NOTHING:
            return
        calls, self._unbilled = self._unbilled, []
        self._close()
        if len(calls) > 1 and billed.rest == NOTHING and not any(call.said_before for call in calls[1:]):
            self._merge(calls)
            calls = calls[:1]
        if calls:
            calls[-1].usage, calls[-1].total, calls[-1].doubts = billed.last.usage, billed.total, ()
        if len(calls) == 2 and billed.rest.input:
            calls[0].usage, calls[0].partial = billed.rest.usage, False
            calls[0].total = billed.total - billed.last
        else:
            self._unclaimed(row, billed.rest)
        if not calls:
            self._unclaimed(row, billed.last)

    def ended(self, row: Row, *, aborted: bool) -> None:
        """Take the end of a turn."""
        if aborted and self._unbilled:
            self._unbilled[-1].partial = True
        self._close()
        self._ended = True

    def rolled_back(self, row: Row, turns: object) -> None:
        """Drop the newest turns, which the person took back."""
        if isinstance(turns, bool) or not isinstance(turns, int) or turns < 1 or not self._turns:
            return
        self._close()
        start = self._turns[max(0, len(self._turns) - turns)]
        gone = self._written[start:]
        del self._written[start:], self._turns[max(0, len(self._turns) - turns) :]
        answers = {entry for entry in gone if isinstance(entry, _Answer)}
        self._unbilled = [answer for answer in self._unbilled if answer not in answers]
        self._written += [
            paid(entry.draft(self._root)) if isinstance(entry, _Answer) else entry
            for entry in gone
            if isinstance(entry, _Answer) or isinstance(entry.body, Called)
        ]
        self.left_behind += len(answers)
        text = f"{turns} turns with {len(answers)} model calls, taken back by a rollback"
        drafts = [entry.draft(self._root) if isinstance(entry, _Answer) else entry for entry in gone]
        raw = "\n".join(raw_of(msgspec.to_builtins(draft.body)) or "" for draft in drafts)
        self._note(row, ABANDONED, text, raw)
        self.flaws.append(
            Flaw(code="abandoned_branch", where=row.where, text=f"{text}; they are not history")
        )

    def _answered(self, row: Row, blocks: tuple[Block, ...]) -> None:
        self._instructed(row)
        if self._answer is None:
            draft = self._draft(row, Answered(message=Message(role="assistant", blocks=())), "model")
            self._answer = _Answer(draft, self._turn, self._answers, said_before=self._said)
            self._answers += 1
            self._answer.model = self._model
            self._written.append(self._answer)
            self._unbilled.append(self._answer)
        self._answer.blocks += blocks
        self._said = self._ended = self._compacted = False

    def _message(self, row: Row, item: dict[str, Any]) -> None:
        blocks = content_blocks(item.get("content"))
        role = item.get("role", "user")
        self._close()
        if role not in ("user", "developer", "system"):
            raise Unreadable(f"a message of unknown role {plain(role)}")
        default: Trust = "person" if role == "user" else "operator"
        if role == "user" and (self.side or item["type"] == "agent_message"):
            default = "model"
        begun = False
        for trust, run in _runs(role, blocks, default):
            if trust in ("person", "model"):
                self._instructed(row)
                if not begun:
                    self._turns.append(len(self._written))
                begun = True
            else:
                self._injected += [block.text for block in run if isinstance(block, Text)]
            message = Message(role=role, blocks=run, wire=WIRE)
            self._write(row, Said(message=message, person=trust == "person"), trust)
        self._said = True

    def _instructed(self, row: Row) -> None:
        """Write the system text before the first word that follows it, unless a message holds it already."""
        told = {name: text for name, text in self._given.items() if self._set.get(name) != text}
        if not told:
            return
        self._set |= told
        parts = [self._set[name] for name in INSTRUCTIONS if name in self._set]
        blocks = tuple(
            Text(text=text) for text in parts if not any(text.strip() in said for said in self._injected)
        )
        written = (entry.body for entry in reversed(self._written) if isinstance(entry, Draft))
        before = next((body.blocks for body in written if isinstance(body, InstructionsSet)), ())
        if blocks != before:
            self._write(row, InstructionsSet(blocks=blocks), "operator")

    def _merge(self, calls: list[_Answer]) -> None:
        """Make one answer of several that share one row: results of early calls came between their items."""
        for call in calls[1:]:
            calls[0].blocks += call.blocks
        for call in reversed(calls[1:]):
            at = len(self._written) - 1
            while (
                self._written[at] is not call
            ):  # near the end: a look from the start would cost the whole file
                at -= 1
            del self._written[at]
            for turn in range(len(self._turns) - 1, -1, -1):
                if self._turns[turn] <= at:
                    break
                self._turns[turn] -= 1

    def _unclaimed(self, row: Row, tokens: Tokens) -> None:
        if tokens != NOTHING:
            told = ("?" if count is None else f"{count:,}" for count in (tokens.input, tokens.output))
            text = "{} input and {} output tokens belong to no answer of the file".format(*told)
            self.flaws.append(Flaw(code="usage_without_answer", where=row.where, text=text))

    def _close(self) -> None:
        self._answer = None

    def _note(self, row: Row, code: str, text: str, raw: str | None = None) -> None:
        self._write(row, ForeignNoted(code=code, where=row.where, text=text, raw=raw), "foreign")

    def _write(self, row: Row, body: Body, trust: Trust) -> None:
        self._written.append(self._draft(row, body, trust))

    def _draft(self, row: Row, body: Body, trust: Trust) -> Draft:
        timestamp = row.value.get("timestamp")
        at = microseconds(timestamp) if isinstance(timestamp, str) else None
        return Draft(
            body=body, at=at, actor=FORMAT, origin=f"{FORMAT}:{self.source}:{row.number}", trust=trust
        )


def _runs(role: object, blocks: tuple[Block, ...], default: Trust) -> list[tuple[Trust, tuple[Block, ...]]]:
    return by_author(blocks, default) if role == "user" else [(default, blocks)]


def _where(draft: Draft) -> str:
    return f"line {draft.origin.rpartition(':')[2]}"
