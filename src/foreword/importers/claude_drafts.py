"""The history of a Claude Code conversation to drafts."""

from collections.abc import Container, Iterator, Sequence
from itertools import groupby
from typing import Any

from foreword.codecs.billing import billing_of
from foreword.codecs.doubts import UNREADABLE
from foreword.core.block import ToolResult
from foreword.core.event import Answered, Body, Called, Draft, ForeignNoted, Said, ToolReturned, Trust
from foreword.core.usage import Usage
from foreword.importers.claude_people import by_author, written_by_person
from foreword.importers.claude_records import Record
from foreword.importers.claude_tree import History
from foreword.importers.decode import Unreadable, bare, decode, decode_usage, raw_of
from foreword.importers.imported import ABANDONED, Flaw
from foreword.importers.left_behind import paid

FORMAT = "claude-code"
WIRE = "anthropic"
REASONING = ("thinking", "redacted_thinking")


class Writer:
    """Write the records of one conversation as drafts; `flaws` collects what could not be written.

    `side`: it is a sidechain, whose user records are the main agent's words. `left_behind`: how many of the calls
    written are not history.
    """

    def __init__(self, source: str, *, side: bool) -> None:
        self.source = source
        self.side = side
        self.flaws: list[Flaw] = []
        self.left_behind = 0

    def drafts(self, history: History) -> list[Draft]:
        """Return the drafts in file order; [] when the conversation holds no message.

        An answer stands where its first record stands, with the blocks of all its records.
        """
        calls: dict[tuple[str, str], list[Record]] = {}
        for record in history.kept:
            if record.kind == "answer":
                calls.setdefault(record.call, []).append(record)
        self._hold_back_unfinished(calls, history.kept)
        placed: list[tuple[int, list[Draft]]] = []
        line = 0
        for record in history.kept:
            line = max(line, record.line)  # a record may stand in the file before its parent
            if record.kind != "answer":
                placed.append((line, list(self._drafts_of(record))))
            elif record.call in calls and calls[record.call][0] is record:
                placed.append((line, list(self._answer(calls[record.call]))))
        said = any(not isinstance(draft.body, ForeignNoted) for _, drafts in placed for draft in drafts)
        for branch in history.branches:
            placed.append((branch[0].line, [self._branch(branch)]))
        placed += self._left_behind(history, calls)
        placed.sort(key=lambda pair: pair[0])
        return [draft for _, drafts in placed for draft in drafts] if said else []

    def _hold_back_unfinished(
        self, calls: dict[tuple[str, str], list[Record]], kept: Sequence[Record]
    ) -> None:
        """Take out a last answer of reasoning alone: the file was read while it was written."""
        records = calls.get(kept[-1].call, []) if kept and kept[-1].kind == "answer" else []
        blocks = [block for record in records for block in record.message["content"]]
        reasoning = [block for block in blocks if isinstance(block, dict) and block.get("type") in REASONING]
        if reasoning and len(reasoning) == len(blocks) and not records[-1].message.get("stop_reason"):
            del calls[records[0].call]
            text = "the last answer holds reasoning only so far; it is read when the file has grown"
            self.flaws.append(Flaw(code="unfinished_answer", where=records[0].where, text=text))

    def _left_behind(
        self, history: History, kept: Container[tuple[str, str]]
    ) -> Iterator[tuple[int, list[Draft]]]:
        """Write the calls whose answers are no history; one that lost some of its records only is none."""
        calls: dict[tuple[str, str], list[Record]] = {}
        for record in (*history.retracted, *(record for branch in history.branches for record in branch)):
            if record.kind == "answer" and record.call not in kept:
                calls.setdefault(record.call, []).append(record)
        for records in calls.values():
            drafts = [paid(draft) for draft in self._answer(records)]
            self.left_behind += sum(isinstance(draft.body, Called) for draft in drafts)
            yield records[0].line, drafts

    def _drafts_of(self, record: Record) -> Iterator[Draft]:
        match record.kind:
            case "said":
                yield from self._said(record)
            case "queued":
                yield from self._queued(record)
            case "compaction":
                code = record.data.get("subtype", "compact_summary")
                yield self._note(record, "compaction", str(code), raw_of(record.data))
            case "error":
                yield self._note(record, "api_error", _text_of(record.message["content"]))
            case _:
                pass

    def _answer(self, records: Sequence[Record]) -> Iterator[Draft]:
        first, last = records[0], next(filter(_is_counted, reversed(records)), records[-1])
        content = _each_call_once([block for record in records for block in _blocks(record, self.flaws)])
        try:
            message = decode(WIRE, {"role": "assistant", "content": content})
        except Unreadable as error:
            yield self._unreadable(first, error)
            return
        stops = [record.message.get("stop_reason") for record in records]
        bill = billing_of(WIRE, {"usage": last.message.get("usage")})
        usage, unreadable = self._usage(last)
        body = Answered(
            message=message,
            model=_string(first.message.get("model")),
            stop_reason=next((stop for stop in reversed(stops) if isinstance(stop, str)), None),
            response_id=_string(first.message.get("id")),
            call="/".join(first.call) if all(first.call) else None,
            usage=usage,
            partial=any(record.data.get("isAbortedMidStream") is True for record in records),
            terms=bill.terms,
            compactions=bill.compactions,
            doubts=(*bill.doubts, *unreadable),
        )
        for code in bill.doubts:
            text = "the counts of its usage do not add up; no token was left out"
            self.flaws.append(Flaw(code=code, where=last.where, text=text))
        yield self._draft(first, body, "model")

    def _usage(self, record: Record) -> tuple[Usage | None, tuple[str, ...]]:
        try:
            return decode_usage(WIRE, record.message.get("usage")), ()
        except Unreadable as error:
            self.flaws.append(Flaw(code="unreadable_usage", where=record.where, text=str(error)))
            return None, (UNREADABLE,)

    def _said(self, record: Record) -> Iterator[Draft]:
        content = _blocks(record, self.flaws)
        human = not self.side and written_by_person(record.data)
        for is_result, group in groupby(content, _is_result):
            if is_result:
                yield from self._results(record, list(group))
                continue
            for trust, run in by_author(list(group), human=human):
                yield from self._words(record, run, "model" if self.side and trust == "foreign" else trust)

    def _queued(self, record: Record) -> Iterator[Draft]:
        """Write what was said while the agent worked: only the attachment holds it."""
        attachment: dict[str, Any] = record.data["attachment"]
        prompt = attachment.get("prompt")
        content = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else prompt
        if not isinstance(content, list):
            yield self._note(record, "unreadable", "a queued command without a prompt")
            return
        human = written_by_person(attachment) and attachment.get("commandMode", "prompt") == "prompt"
        for trust, run in by_author(content, human=human and not self.side):
            yield from self._words(record, run, trust)

    def _words(self, record: Record, blocks: list[Any], trust: Trust) -> Iterator[Draft]:
        try:
            message = decode(WIRE, {"role": "user", "content": blocks})
        except Unreadable as error:
            yield self._unreadable(record, error)
            return
        yield self._draft(record, Said(message=message, person=trust == "person"), trust)

    def _results(self, record: Record, blocks: list[Any]) -> Iterator[Draft]:
        for block in blocks:
            try:
                message = decode(WIRE, {"role": "user", "content": [block]})
            except Unreadable as error:
                yield self._unreadable(record, error)
                continue
            for result in message.blocks:
                if isinstance(result, ToolResult):
                    yield self._draft(record, ToolReturned(result=bare(result, WIRE)), "tool")

    def _branch(self, branch: Sequence[Record]) -> Draft:
        text = f"{len(branch)} records, up to line {branch[-1].line}, left behind by a rewind"
        raw = "\n".join(raw_of(record.data) or "" for record in branch)
        return self._note(branch[0], ABANDONED, text, raw)

    def _unreadable(self, record: Record, error: Unreadable) -> Draft:
        self.flaws.append(Flaw(code="unreadable", where=record.where, text=f"{error}; kept as a note"))
        return self._note(record, "unreadable", str(error), raw_of(record.data))

    def _note(self, record: Record, code: str, text: str, raw: str | None = None) -> Draft:
        return self._draft(record, ForeignNoted(code=code, where=record.where, text=text, raw=raw), "foreign")

    def _draft(self, record: Record, body: Body, trust: Trust) -> Draft:
        origin = f"{FORMAT}:{self.source}:{record.line}"
        return Draft(body=body, at=record.at, actor=FORMAT, origin=origin, trust=trust)


def _blocks(record: Record, flaws: list[Flaw]) -> list[Any]:
    """Return the content as blocks, with the ids that some versions leave out or keep beside the message."""
    content = record.message["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks: list[Any] = []
    for index, block in enumerate(content):
        member = _ID_MEMBERS.get(str(block.get("type"))) if isinstance(block, dict) else None
        if member is not None and not isinstance(block.get(member), str):
            named = record.data.get("sourceToolUseID") if member == "tool_use_id" else None
            id_ = named if isinstance(named, str) else f"line-{record.line}-{index}"
            text = f"a {block['type']} block without {member}; {id_} was taken"
            flaws.append(Flaw(code="no_call_id", where=record.where, text=text))
            block = {**block, member: id_}
        blocks.append(block)
    return blocks


def _each_call_once(blocks: Sequence[Any]) -> list[Any]:
    """Drop second copies of a tool call, which records that repeat a whole answer hold."""
    calls: set[str] = set()
    kept: list[Any] = []
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            if block["id"] in calls:
                continue
            calls.add(block["id"])
        kept.append(block)
    return kept


def _is_counted(record: Record) -> bool:
    """Whether a record says what its call used; other lines of the call may say nothing, or zeros."""
    try:
        return decode_usage(WIRE, record.message.get("usage")) is not None
    except Unreadable:
        return False


_ID_MEMBERS = {"tool_use": "id", "tool_result": "tool_use_id"}


def _is_result(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _text_of(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
