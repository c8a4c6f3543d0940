"""Signs: what a session file says beside the history that bears on a prompt cache.

A setting holds until it changes (a client's version, an effort); an event happens once (a restart, an aborted turn).
Importers leave these records out, since they are no part of what the model read. One reader a format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from foreword.importers.claude_records import microseconds
from foreword.importers.source import Source

SETTINGS = frozenset({"client version", "thinking", "effort", "personality", "base instructions", "model"})
"""Names of settings; every other name is that of an event."""
RESTARTS = frozenset({"/exit", "/quit", "/clear", "/resume"})
TOOL_COMMANDS = frozenset({"/mcp", "/plugin", "/agents", "/reload-plugins"})
COMMAND = re.compile(r"<command-name>(/[a-z-]{1,40})</command-name>")
LONGEST = 4_000
"""Characters of a message in which a command or a mark of the client is looked for: they stand at its start."""

Found = tuple[str, str]
Reader = Callable[[Mapping[str, Any]], Iterable[Found]]


class Sign(Struct, frozen=True, kw_only=True):
    """A setting or an event, with its line in the file."""

    line: int
    name: str
    text: str


class Signs(Struct, frozen=True, kw_only=True):
    """What a file says. ``ended``: response id -> microseconds of its last record, where records have a time."""

    signs: tuple[Sign, ...] = ()
    ended: dict[str, int] = {}


NO_SIGNS = Signs()


def signs_of(path: str, format: str, data: bytes | None = None) -> Signs:
    """Read the signs of a file in the order of its lines; none for a format without a reader.

    ``data``: its bytes, when they were read already. Raises: ImportFailed.
    """
    reader = READERS.get(format)
    if reader is None:
        return Signs()
    found: list[Sign] = []
    ended: dict[str, int] = {}
    with Source(path, data) as source:
        for row in source.rows():
            if not isinstance(row.value, dict):
                continue
            found += [Sign(line=row.number, name=name, text=text) for name, text in reader(row.value)]
            if (end := _end(row.value)) is not None:
                ended[end[0]] = end[1]
    return Signs(signs=tuple(found), ended=ended)


def _end(record: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return id and time of a record of an answer; the last one of an id counts."""
    message = record.get("message")
    identity = message.get("id") if isinstance(message, dict) and record.get("type") == "assistant" else None
    at = microseconds(record["timestamp"]) if isinstance(record.get("timestamp"), str) else None
    return (identity, at) if isinstance(identity, str) and at is not None else None


def _claude_code(record: Mapping[str, Any]) -> Iterator[Found]:
    if record.get("isSidechain") is True:
        return
    if isinstance(version := record.get("version"), str) and record.get("type") in ("user", "assistant"):
        yield "client version", version
    if isinstance(thinking := record.get("thinkingMetadata"), dict):
        yield "thinking", _text({name: thinking[name] for name in thinking if name != "triggers"})
    match record.get("type"):
        case "progress":
            data = record.get("data")
            hook = str(data.get("hookName")) if isinstance(data, dict) else ""
            if hook.startswith("SessionStart:") and not hook.endswith(":compact"):
                yield "restart", f"hook {hook[:40]}"
        case "attachment":
            attachment = record.get("attachment")
            kind = str(attachment.get("type")) if isinstance(attachment, dict) else ""
            if (kind.endswith("_delta") and "tool" in kind) or kind.startswith("mcp_"):
                yield "tools", kind
        case "user":
            text = _said(record.get("message"))
            command = COMMAND.search(text)
            if command and command[1] in RESTARTS:
                yield "restart", command[1]
            elif command and command[1] in TOOL_COMMANDS:
                yield "tools", command[1]
            elif text.startswith("[Request interrupted by user"):
                yield "aborted", "request interrupted by the user"
            elif record.get("isMeta") is True and text.startswith("Base directory for this skill:"):
                yield "skill", "a skill was loaded"
        case _:
            pass


def _codex(row: Mapping[str, Any]) -> Iterator[Found]:
    payload = row.get("payload")
    if not isinstance(payload, dict):
        return
    match row.get("type"):
        case "turn_context":
            mode = payload.get("collaboration_mode")
            settings = mode.get("settings") if isinstance(mode, dict) else None
            effort = payload.get("effort") or (
                settings.get("reasoning_effort") if isinstance(settings, dict) else None
            )
            yield "effort", str(effort)
            yield "personality", str(payload.get("personality"))
        case "session_meta":
            if isinstance(version := payload.get("cli_version"), str):
                yield "client version", version
            yield "restart", "session_meta"
        case "event_msg" if payload.get("type") == "turn_aborted":
            yield "aborted", "turn_aborted"
        case _:
            pass


def _pi(entry: Mapping[str, Any]) -> Iterator[Found]:
    match entry.get("type"):
        case "session":
            yield "thinking", str(entry.get("thinkingLevel", "default"))
            yield "restart", "session"
        case "thinking_level_change":
            yield "thinking", str(entry.get("thinkingLevel"))
        case _:
            pass


READERS: dict[str, Reader] = {"claude-code": _claude_code, "codex": _codex, "pi": _pi}


def _said(message: object) -> str:
    """Return the start of a message's first text."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list) and content and isinstance(content[0], dict):
        content = content[0].get("text")
    return content[:LONGEST] if isinstance(content, str) else ""


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()[:200]
