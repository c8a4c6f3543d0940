"""Lists of messages, as frameworks and benchmarks store them, to sessions.

The list is one of messages, an object with `messages`, or a result row of tau-bench (`traj`); the wire whose
messages they are is the only difference between the formats. Where a `response` stands beside `messages`, as in the
logs of calls that OpenHands writes, it is the answer to them.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from foreword.codecs.doubts import UNREADABLE
from foreword.core.block import Block, Message, Text, ToolResult, plain_text
from foreword.core.event import (
    Answered,
    Body,
    Draft,
    ForeignNoted,
    InstructionsSet,
    Said,
    ToolReturned,
    ToolsSet,
    Trust,
)
from foreword.core.usage import Usage
from foreword.errors import ImportFailed
from foreword.importers.decode import (
    Unreadable,
    bare,
    bare_texts,
    decode,
    decode_setting,
    decode_usage,
    raw_of,
)
from foreword.importers.detect import messages_of, shape_of
from foreword.importers.imported import Flaw, Imported, plain, session_id
from foreword.importers.inferred import stubs_flaw, tool_stubs, unseen_prefix
from foreword.importers.pi_blocks import cost_of
from foreword.importers.source import DETECT, Row, Source

RESPONSES = (("response",), ("extra", "response"), ())
"""Where tools keep the response that a message came from, as paths in the message; (): beside its members."""
READ = frozenset({"response", "response_cost", "usage", "model", "id", "stop_reason", "type"})
"""Members that are read for what they say of the call, and so not missed."""
# fmt: off
MEMBERS = {
    "anthropic": frozenset({"role", "content"}),
    "openai-chat": frozenset({
        "role", "content", "name", "tool_calls", "tool_call_id", "refusal", "function_call",
        "reasoning", "reasoning_content", "reasoning_details",
    }),
}
# fmt: on
"""Members of a message that its wire takes in a request."""
SAID = ("role", "content", "tool_calls")
"""Members by which two messages are the same."""
SYSTEM_ROLES = frozenset({"system", "developer"})


def sessions(rows: Iterable[Row], source: Source, format_: str) -> list[Imported]:
    """Read each conversation of a file. Raises ImportFailed when it holds no message."""
    found: list[Imported] = []
    loose: list[Row] = []
    others: list[Row] = []
    for row in rows:
        shape = shape_of(row.value)
        if shape == "message":
            loose.append(row)
        elif shape in ("document", "result"):
            places = _places(row.value)
            found.append(Conversation(source, format_, row.value, places, f"{row.where}, ").imported())
        else:
            others.append(row)
    if loose and found:
        raise ImportFailed(
            source.path, f"{loose[0].where}: a message beside whole conversations", "split the file"
        )
    if loose:
        found.append(Conversation(source, format_, {}, loose, "").imported())
    found = [one for one in found if one.drafts]
    if not found:
        raise ImportFailed(source.path, "no message in it", DETECT)
    flaws = [*source.flaws, *(_not_a_message(row) for row in others)]
    found[0] = msgspec.structs.replace(found[0], flaws=(*flaws, *found[0].flaws))
    return _with_ids_of_their_own(found)


class Conversation:
    """One conversation being read: its setting (`tools`, `system`, `model`), and its messages in order."""

    def __init__(
        self, source: Source, format_: str, setting: dict[str, Any], rows: Sequence[Row], within: str
    ) -> None:
        self.source = source
        self.format = format_
        self.setting = setting
        self.rows = rows
        self.within = within
        self.flaws: list[Flaw] = []
        self.left_out: Counter[str] = Counter()

    def imported(self) -> Imported:
        """Return the session; without drafts when no message of it can be read."""
        setting = list(self._setting())
        drafts: list[Draft] = []
        leading = True
        for row in self.rows:
            made = list(self._drafts_of(row, leading=leading))
            leading = leading and all(_is_instruction(draft) for draft in made)
            drafts += made
        lead = _joined([draft for draft in [*setting, *drafts] if _is_instruction(draft)])
        lead += [draft for draft in setting if not _is_instruction(draft)]
        drafts = [draft for draft in drafts if not _is_instruction(draft)]
        for name, count in sorted(self.left_out.items()):
            text = f"member {plain(name)} of {count} messages is not part of what is sent and was left out"
            self.flaws.append(Flaw(code="left_out", where=self._place(), text=text))
        if self.setting.get("response") is not None and _answer_of(self.setting) is None:
            text = "the response beside the messages holds no message and was left out"
            self.flaws.append(Flaw(code="left_out", where=f"{self.within}response 1", text=text))
        said = any(not isinstance(draft.body, ForeignNoted) for draft in drafts)
        return Imported(
            session=self._session([*lead, *drafts]),
            format=self.format,
            source=self.source.name,
            drafts=tuple([*self._inferred(lead, drafts), *lead, *drafts] if said else []),
            flaws=tuple(self.flaws),
        )

    def _setting(self) -> Iterator[Draft]:
        """Yield the system text and the tools that stand beside the messages."""
        given = {name: self.setting[name] for name in ("system", "tools") if self.setting.get(name)}
        if self.format != "anthropic" and isinstance(system := given.pop("system", None), str):
            yield self._draft("system", InstructionsSet(blocks=(Text(text=system),)), "operator")
        try:
            system, tools = decode_setting(self.format, given)
        except Unreadable as error:
            yield self._unreadable("the system text or tools", error, given)
            return
        if system:
            yield self._draft("system", InstructionsSet(blocks=system), "operator")
        if tools:
            yield self._draft("tools", ToolsSet(tools=tools), "operator")

    def _drafts_of(self, row: Row, *, leading: bool) -> Iterator[Draft]:
        where = f"{self.within}{row.where}"
        try:
            if not isinstance(row.value, dict):
                raise Unreadable("not an object")
            message = decode(self.format, self._sent(row.value))
        except Unreadable as error:
            yield self._unreadable(where, error, row.value)
            return
        if message.role == "assistant":
            yield self._draft(where, self._answer(where, row.value, message), "model")
        elif message.role in SYSTEM_ROLES:
            if leading:
                blocks = bare_texts(message.blocks, self.format)
                yield self._draft(where, InstructionsSet(blocks=blocks), "operator")
            else:
                yield self._draft(where, Said(message=message, person=False), "operator")
        else:
            yield from self._from_user(where, message)

    def _sent(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return a message with the members that a request may hold; what tools keep beside them goes."""
        kept = {name: value[name] for name in value if name in MEMBERS[self.format]}
        self.left_out.update(value.keys() - kept.keys() - READ)
        return kept

    def _from_user(self, where: str, message: Message) -> Iterator[Draft]:
        for is_result, group in groupby(message.blocks, lambda block: isinstance(block, ToolResult)):
            blocks: tuple[Block, ...] = tuple(group)
            if not is_result:
                words = msgspec.structs.replace(message, blocks=blocks)
                yield self._draft(where, Said(message=words), "person")
            for block in blocks:
                if isinstance(block, ToolResult):
                    yield self._draft(where, ToolReturned(result=bare(block, self.format)), "tool")

    def _answer(self, where: str, value: dict[str, Any], message: Message) -> Answered:
        response = next((r for path in RESPONSES if "usage" in (r := _at(value, path))), {})
        model = response.get("model", self.setting.get("model"))
        choices = response.get("choices")
        stop = _at(choices[0], ()).get("finish_reason") if isinstance(choices, list) and choices else None
        stop = stop or response.get("stop_reason")
        id_ = response.get("id")
        usage, doubts = self._usage(where, response.get("usage"))
        return Answered(
            message=message,
            model=model if isinstance(model, str) and model else None,
            stop_reason=stop if isinstance(stop, str) else None,
            response_id=id_ if isinstance(id_, str) else None,
            recorded_cost_usd=cost_of({"cost": {"total": value.get("response_cost")}}),
            usage=usage,
            doubts=doubts,
        )

    def _usage(self, where: str, usage: object) -> tuple[Usage | None, tuple[str, ...]]:
        try:
            return decode_usage(self.format, usage), ()
        except Unreadable as error:
            self.flaws.append(Flaw(code="unreadable_usage", where=where, text=str(error)))
            return None, (UNREADABLE,)

    def _inferred(self, lead: Sequence[Draft], drafts: Sequence[Draft]) -> Iterator[Draft]:
        if any(isinstance(draft.body, ToolsSet) for draft in lead):
            return
        stubs = tool_stubs(drafts)
        if (flaw := stubs_flaw(stubs, self._place())) is not None:
            self.flaws.append(flaw)
        if (prefix := unseen_prefix([*lead, *drafts])) is not None:
            yield self._draft("usage", prefix, "foreign")
        if stubs:
            yield self._draft("calls", ToolsSet(tools=stubs), "foreign")

    def _place(self) -> str:
        return self.within.removesuffix(", ") or self.source.name

    def _session(self, drafts: Sequence[Draft]) -> str:
        task = self.setting.get("task_id")
        if shape_of(self.setting) == "result" and isinstance(task, str | int):
            trial = self.setting.get("trial", 0)
            return session_id(self.source.stem, task, trial if isinstance(trial, str | int) else 0)
        digest = hashlib.sha256()
        for draft in drafts:
            match draft.body:
                case InstructionsSet(blocks=blocks):
                    digest.update(plain_text(blocks).encode() + b"\0")
                case Said(message=message):
                    digest.update(msgspec.json.encode(message.blocks))
                    break
                case _:
                    pass
        return session_id(self.source.stem, digest.hexdigest()[:8])

    def _unreadable(self, where: str, error: Unreadable, value: object) -> Draft:
        self.flaws.append(Flaw(code="unreadable", where=where, text=f"{error}; kept as a note"))
        raw = raw_of(value)
        return self._draft(
            where, ForeignNoted(code="unreadable", where=where, text=str(error), raw=raw), "foreign"
        )

    def _draft(self, where: str, body: Body, trust: Trust) -> Draft:
        return Draft(
            body=body, actor=self.format, origin=f"{self.format}:{self.source.name}:{where}", trust=trust
        )


def _places(document: dict[str, Any]) -> list[Row]:
    """Return the messages of a conversation and the answer beside them, which some tools append to the list as well."""
    places = [Row("message", number, m) for number, m in enumerate(messages_of(document), 1)]
    answer = _answer_of(document)
    if answer is None:
        return places
    last = _at(places[-1].value, ()) if places else {}
    if all((last.get(name) or None) == (answer.get(name) or None) for name in SAID):
        places[-1] = Row("message", len(places), {**answer, **last})
    else:
        places.append(Row("response", 1, answer))
    return places


def _answer_of(document: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message of a logged response, with the response and its cost beside it; None: it holds none."""
    response = document.get("response")
    if isinstance(response, str) and response:
        return {"role": "assistant", "content": response, "response_cost": document.get("cost")}
    message = _at(response, ())
    if (choices := message.get("choices")) is not None:
        message = _at(choices[0], ("message",)) if isinstance(choices, list) and choices else {}
    if "role" not in message:
        return None
    return {"response_cost": document.get("cost"), **message, "response": response}


def _joined(instructions: Sequence[Draft]) -> list[Draft]:
    """Make one draft of all system texts at the start: each would replace the one before."""
    blocks = tuple(
        block
        for draft in instructions
        if isinstance(draft.body, InstructionsSet)
        for block in draft.body.blocks
    )
    return [msgspec.structs.replace(instructions[0], body=InstructionsSet(blocks=blocks))] if blocks else []


def _is_instruction(draft: Draft) -> bool:
    return isinstance(draft.body, InstructionsSet)


def _at(value: object, path: Sequence[str]) -> dict[str, Any]:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _not_a_message(row: Row) -> Flaw:
    return Flaw(code="not_a_message", where=row.where, text="no message and no conversation; skipped")


def _with_ids_of_their_own(sessions_: Sequence[Imported]) -> list[Imported]:
    """Number the sessions of a file that would share an id, in order."""
    seen: dict[str, int] = {}
    result: list[Imported] = []
    for one in sessions_:
        count = seen[one.session] = seen.get(one.session, 0) + 1
        id_ = one.session if count == 1 else f"{one.session}-{count}"
        result.append(msgspec.structs.replace(one, session=id_))
    return result
