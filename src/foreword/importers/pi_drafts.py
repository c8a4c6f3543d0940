"""The path of a pi conversation to drafts."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET

from foreword.codecs.doubts import UNREADABLE
from foreword.core.block import Message, Text, ToolResult, plain_text
from foreword.core.event import Answered, Body, Called, Draft, ForeignNoted, Said, ToolReturned, Trust
from foreword.core.usage import Usage
from foreword.importers.decode import Unreadable, raw_of
from foreword.importers.imported import ABANDONED, Flaw, plain
from foreword.importers.left_behind import paid
from foreword.importers.pi_blocks import answer_blocks, cost_of, usage_of, wire_of, words
from foreword.importers.pi_entries import Entry, History

FORMAT = "pi"
FAILED = {"error": "api_error", "aborted": "aborted"}
"""Why a call came to nothing -> the code of its note."""
_EXIT = re.compile(r"(?:^|\n)Command exited with code (\d{1,10})\Z")
"""What pi writes behind the output of a command that failed."""
INJECTED: dict[str, Trust] = {"custom": "foreign", "hookMessage": "foreign", "branchSummary": "model"}
"""Roles of text that the tool puts into the context, and whose word it is."""


class Writer:
    """Write the entries of a conversation as drafts.

    `flaws` collects what could not be written, `others` what is no part of the history. `left_behind`: how many of
    the calls written aren't either.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.flaws: list[Flaw] = []
        self.others: Counter[str] = Counter()
        self.left_behind = 0

    def drafts(self, history: History) -> list[Draft]:
        """Return the drafts in file order; [] when the path holds no message."""
        placed = [(entry.line, draft) for entry in history.path for draft in self._drafts_of(entry)]
        said = any(not isinstance(draft.body, ForeignNoted) for _, draft in placed)
        for branch in history.branches:
            placed.append((branch[0].line, self._branch(branch)))
            placed += [(entry.line, call) for entry in branch for call in self._left_behind(entry)]
        placed.sort(key=lambda pair: pair[0])
        return [draft for _, draft in placed] if said else []

    def _drafts_of(self, entry: Entry) -> Iterator[Draft]:
        try:
            match entry.type:
                case "message":
                    yield self._message(entry)
                case "custom_message":
                    yield self._said(entry, words(entry.data.get("content")), "foreign")
                case "branch_summary":
                    yield self._said(entry, words(entry.data.get("summary")), "model")
                case "compaction":
                    kept = entry.data.get("firstKeptEntryId", entry.data.get("firstKeptEntryIndex"))
                    text = f"a summary replaced what came before entry {plain(kept)}"
                    yield self._note(entry, "compaction", text, raw_of(entry.data))
                case _:
                    self.others[plain(entry.type)] += 1
        except Unreadable as error:
            self.flaws.append(Flaw(code="unreadable", where=entry.where, text=f"{error}; kept as a note"))
            yield self._note(entry, "unreadable", str(error), raw_of(entry.data))

    def _left_behind(self, entry: Entry) -> Iterator[Draft]:
        if entry.message.get("role") == "assistant":
            calls = [paid(draft) for draft in self._drafts_of(entry)]
            self.left_behind += sum(isinstance(draft.body, Called) for draft in calls)
            yield from calls

    def _message(self, entry: Entry) -> Draft:
        message = entry.message
        role = message.get("role")
        content = message.get("content")
        if role == "assistant":
            return self._answer(entry, message)
        if role == "user":
            return self._said(entry, words(content), "person")
        if role == "toolResult":
            return self._draft(entry, self._returned(message), "tool")
        if role == "bashExecution":
            return self._bash(entry, message)
        if role == "compactionSummary":
            return self._note(entry, "compaction", "a summary", raw_of(message))
        if isinstance(role, str) and role in INJECTED:
            return self._said(entry, words(message.get("summary", content)), INJECTED[role])
        if role in ("developer", "system"):
            body = Said(message=Message(role=role, blocks=words(content), wire=FORMAT), person=False)
            return self._draft(entry, body, "operator")
        raise Unreadable(f"a message of unknown role {plain(role)}")

    def _answer(self, entry: Entry, message: dict[str, Any]) -> Draft:
        """Write a call of the model; one that failed before anything was counted is a note."""
        stop, model = _string(message.get("stopReason")), _string(message.get("model"))
        usage, doubts = self._usage(entry, message.get("usage"))
        if stop in FAILED and usage is None and not doubts:
            note = ForeignNoted(
                code=FAILED[stop],
                where=entry.where,
                text=_string(message.get("errorMessage")) or stop,
                raw=raw_of(message) if message.get("content") else None,
                model=model,
                recorded_cost_usd=cost_of(message.get("usage")),
            )
            return self._draft(entry, note, "foreign")
        wire = wire_of(message.get("api"))
        blocks = answer_blocks(message.get("content"), wire, f"line-{entry.line}")
        body = Answered(
            message=Message(role="assistant", blocks=blocks, wire=wire),
            model=model,
            stop_reason=stop,
            response_id=_string(message.get("responseId")),
            call=entry.name,
            usage=usage,
            recorded_cost_usd=cost_of(message.get("usage")),
            partial=stop in FAILED,
            doubts=doubts,
        )
        return self._draft(entry, body, "model")

    def _usage(self, entry: Entry, usage: object) -> tuple[Usage | None, tuple[str, ...]]:
        try:
            return usage_of(usage), ()
        except Unreadable as error:
            self.flaws.append(Flaw(code="unreadable_usage", where=entry.where, text=str(error)))
            return None, (UNREADABLE,)

    def _returned(self, message: dict[str, Any]) -> ToolReturned:
        id_ = message.get("toolCallId")
        if not isinstance(id_, str):
            raise Unreadable("a tool result without the id of its call")
        failed = message.get("isError") is True
        result = ToolResult(call_id=id_, content=words(message.get("content")), is_error=failed)
        command = failed and message.get("toolName") == "bash"
        told = _EXIT.search(plain_text(result.content)) if command else None
        return ToolReturned(result=result, exit_code=UNSET if told is None else int(told[1]))

    def _bash(self, entry: Entry, message: dict[str, Any]) -> Draft:
        """Write a command that the person ran: in the context, unless it was kept out of it."""
        command, output, code = (message.get(name) for name in ("command", "output", "exitCode"))
        if not isinstance(command, str):
            raise Unreadable("a shell command without its text")
        if message.get("excludeFromContext") is True:
            return self._note(entry, "not_in_context", f"$ {command}", raw_of(message))
        lines = [f"$ {command}", output if isinstance(output, str) else ""]
        if message.get("cancelled") is True:
            lines.append("(cancelled)")
        elif isinstance(code, int) and code != 0:
            lines.append(f"(exit code {code})")
        return self._said(entry, (Text(text="\n".join(line for line in lines if line)),), "tool")

    def _said(self, entry: Entry, blocks: tuple[Any, ...], trust: Trust) -> Draft:
        message = Message(role="user", blocks=blocks, wire=FORMAT)
        return self._draft(entry, Said(message=message, person=trust == "person"), trust)

    def _branch(self, branch: Sequence[Entry]) -> Draft:
        text = f"{len(branch)} records, up to line {branch[-1].line}, left behind by a rewind"
        raw = "\n".join(raw_of(entry.data) or "" for entry in branch)
        return self._note(branch[0], ABANDONED, text, raw)

    def _note(self, entry: Entry, code: str, text: str, raw: str | None = None) -> Draft:
        return self._draft(entry, ForeignNoted(code=code, where=entry.where, text=text, raw=raw), "foreign")

    def _draft(self, entry: Entry, body: Body, trust: Trust) -> Draft:
        origin = f"{FORMAT}:{self.source}:{entry.line}"
        return Draft(body=body, at=entry.at, actor=FORMAT, origin=origin, trust=trust)


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None
