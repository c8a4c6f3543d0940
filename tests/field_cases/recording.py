"""Making the engine's own record of the messages of a case, request by request as it would have happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

import msgspec

from foreword.core.block import Message, Text, ToolCall, ToolResult, ToolSpec
from foreword.core.event import Answered, Draft, Said, ToolReturned, Trust
from foreword.core.item import Interaction
from foreword.core.stamp import stamped
from foreword.engine.session import Session
from foreword.errors import EmptyRequest, OverBudget
from foreword.importers.decode import bare
from foreword.testing.referee import Referee
from tests.field_cases.cases import Unsupported, known

FACTS = frozenset({"recorded_at", "origin", "pixels", "finish_reason", "cache_control"})
"""Members of a message that are facts for the record (or marks), and never sent."""
MADE = frozenset({"reasoning", "compaction", "mcp_list_tools", "mcp_approval_request"})
"""Types of items of the Responses wire that a model or its server made, beside messages and calls."""
EMPTY_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
SCHEMAS = ("input_schema", "parameters", "schema")
"""What the parameters of a tool are called, on the wires and in a neutral form."""
MOST_TOOLS = 10_000


class Recorder:
    """Appends messages in a wire's form to a session, and tells the referee what its server answered."""

    def __init__(
        self, session: Session, referee: Referee[Any] | None = None, *, stamp: tzinfo | None = None
    ) -> None:
        self.session = session
        self.referee = referee
        self.stamp = stamp

    def add(self, messages: Sequence[dict[str, Any]]) -> None:
        """Append messages; an assistant's answers the request that the record before it compiles to."""
        for group in _grouped(messages):
            facts = group[0]
            at = facts.get("recorded_at")
            person = facts.get("origin") != "engine"
            for message in self.session.codec.decode_messages([_sent(member) for member in group]):
                if message.role == "assistant":
                    self._answer(message, group)
                elif message.role == "user":
                    self._said(message, person=person, at=at)
                elif not self.session.view.fold.items:
                    self._instruct(message)
                else:
                    self._append(Said(message=message, person=False), "operator", at)

    def _answer(self, message: Message, group: Sequence[dict[str, Any]]) -> None:
        request: int | None = None
        if self._waits_for_answer():
            try:
                compiled = self.session.compile()
            except (EmptyRequest, OverBudget):
                pass  # a record that no request could have led to: foreign to this server
            else:
                request = self.session.unanswered
                self._tell_referee(compiled.body, group)
        self._append(Answered(message=message, request=request), "model", None)

    def _waits_for_answer(self) -> bool:
        """Whether anything happened to answer to.

        A second answer in a row went on from the first; where that has open calls, no request lay between them.
        """
        items = self.session.view.fold.items
        if items and isinstance(items[-1], Interaction) and None in items[-1].result_seqs:
            return False
        standing = ("tools_set", "instructions_set", "pinned")
        return any(e.origin != "engine" and e.kind not in standing for e in self.session.events)

    def _tell_referee(self, body: bytes, group: Sequence[dict[str, Any]]) -> None:
        answered = getattr(self.referee, "answered", None)
        if self.referee is None or answered is None or self.referee.judge(body).status != 200:
            return
        match self.session.codec.wire:
            case "anthropic":
                content = group[0]["content"]
                answered([{"type": "text", "text": content}] if isinstance(content, str) else content)
            case "openai-responses":
                answered([dict(item) for item in group])
            case "gemini":
                answered(group[0])
            case _:
                pass

    def _said(self, message: Message, *, person: bool, at: str | None) -> None:
        for block in message.blocks:
            if isinstance(block, ToolResult):
                self._append(ToolReturned(result=bare(block, self.session.codec.wire)), "tool", at)
        words = tuple(block for block in message.blocks if not isinstance(block, ToolResult))
        if words:
            spoken = msgspec.structs.replace(message, blocks=words)
            if self.stamp is not None and at is not None:
                spoken = stamped(spoken, microseconds(at, self.stamp), self.stamp)
            said = Said(message=spoken, person=person)
            self._append(said, "person" if person else "engine", at)

    def _instruct(self, message: Message) -> None:
        standing = [block.text for block in self.session.view.fold.instructions[1]]
        self.session.instruct(*standing, *(b.text for b in message.blocks if isinstance(b, Text)))

    def _append(self, body: Said | Answered | ToolReturned, trust: Trust, at: str | None) -> None:
        self.session.append(
            Draft(body=body, trust=trust, at=None if at is None else microseconds(at, self.stamp or UTC))
        )


def microseconds(instant: str, zone: tzinfo = UTC) -> int:
    """Return an ISO instant as microseconds since 1970 UTC. ``zone``: of one without an offset."""
    found = datetime.fromisoformat(instant)
    aware = found if found.tzinfo is not None else found.replace(tzinfo=zone)
    return round(aware.timestamp() * 1_000_000)


def _sent(message: dict[str, Any]) -> dict[str, Any]:
    bare = {name: value for name, value in message.items() if name not in FACTS}
    content = bare.get("content")
    if isinstance(content, list):
        bare["content"] = [_sent_block(block) for block in content]
    return bare


def _sent_block(block: Any) -> Any:
    if isinstance(block, dict) and block.get("type") == "image":
        return {name: value for name, value in block.items() if name not in ("name", "pixels")}
    return block


def _grouped(messages: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield messages, the items of one answer on the Responses wire together."""
    group: list[dict[str, Any]] = []
    for message in messages:
        output = is_output_item(message)
        if group and not output:
            yield group
            group = []
        if output:
            group.append(message)
        else:
            yield [message]
    if group:
        yield group


def is_output_item(item: dict[str, Any]) -> bool:
    """Whether this is an item of the Responses wire that a model made."""
    kind = str(item.get("type", ""))
    if kind == "message":
        return item.get("role") == "assistant"
    return kind in MADE or kind.endswith("_call")


def tools_in(session: Session, messages: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of the tools that were called, in order of first call."""
    names: dict[str, None] = {}
    for group in _grouped(messages):
        for message in session.codec.decode_messages([_sent(member) for member in group]):
            names |= {block.name: None for block in message.blocks if isinstance(block, ToolCall)}
    return list(names)


def made_up_tools(given: Any, *, schema_chars: int = 0) -> list[ToolSpec]:
    """Return tools from a case's form: a number, names, or dictionaries in some wire's or a neutral form.

    Raises Unsupported.
    """
    if given is None:
        return []
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= MOST_TOOLS:
        given = [f"tool_{number}" for number in range(given)]
    if not isinstance(given, list):
        raise Unsupported(f"tools {given!r:.60}")
    return [_tool(tool, schema_chars) for tool in given]


def _tool(given: Any, schema_chars: int) -> ToolSpec:
    if isinstance(given, str):
        return ToolSpec(name=given, schema=schema_of(schema_chars))
    inner = given.get("function", given) if isinstance(given, dict) else given
    if inner is not given:
        known("tool", given, ("type", "function"))
    known("tool", inner, ("type", "name", "description", *SCHEMAS))
    if given.get("type", "function") not in ("function", "custom") or "name" not in inner:
        raise Unsupported(f"tool {given!r:.60}")
    schema = next((inner[name] for name in SCHEMAS if inner.get(name)), None)
    return ToolSpec(
        name=inner["name"],
        description=inner.get("description", ""),
        schema=schema or schema_of(schema_chars),
    )


def schema_of(characters: int) -> dict[str, Any]:
    """Return an object schema of about so many characters of ``word``; 0: an empty one."""
    if not characters:
        return EMPTY_SCHEMA
    words = ("word " * (characters // 5 + 1))[:characters]
    return {"type": "object", "properties": {"x": {"type": "string", "description": words}}}


def called_but_not_given(
    session: Session, messages: Sequence[dict[str, Any]], given: Sequence[ToolSpec]
) -> list[ToolSpec]:
    """Return definitions of the tools that occur in the history and were not given."""
    known = {tool.name for tool in given}
    names = [name for name in tools_in(session, messages) if name not in known]
    return [ToolSpec(name=name, schema=EMPTY_SCHEMA) for name in names]
