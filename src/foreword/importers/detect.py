"""Which format a file is of, by its content: names and endings lie."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from foreword.errors import ImportFailed
from foreword.importers.claude_records import CHAINED
from foreword.importers.source import Row

Shape = Literal["record", "row", "entry", "message", "document", "result"]

FORMATS: dict[Shape, str] = {"record": "claude-code", "row": "codex", "entry": "pi"}
"""Shape that tells a format by itself -> the format."""

SAMPLE = 200
"""Rows that are looked at."""
ROW_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
RECORD_MARKS = ("uuid", "sessionId", "parentUuid")
CHAT_ROLES = frozenset({"tool", "function"})
CHAT_MEMBERS = ("tool_calls", "function_call", "tool_call_id")
CHAT_TYPES = frozenset({"image_url", "input_audio", "refusal"})
BLOCK_TYPES = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "document"})
LOOKALIKES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"sessionId", "projectHash"}), "a Gemini CLI session"),
    (frozenset({"trajectory", "history"}), "a SWE-agent trajectory"),
    (frozenset({"sessionId", "agent", "messages"}), "a Cline session"),
)
SUPPORTED = "formats are claude-code, codex, pi, openai-chat and anthropic"
KNOWN = f"{SUPPORTED}; name one with --format"


def shape_of(value: Any) -> Shape | None:
    """Say what a value of a file is.

    A record of Claude Code, a row of a Codex rollout, an entry of pi, a message, a whole conversation, or a
    result row of a benchmark; None: something else.
    """
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("traj"), list):
        return "result"
    messages = value.get("messages")
    if isinstance(messages, list) and any(_is_message(message) for message in messages):
        return "document"
    type_ = _word(value, "type")
    if type_ in CHAINED and any(isinstance(value.get(mark), str) for mark in RECORD_MARKS):
        message = value.get("message")
        if type_ not in ("user", "assistant") or (isinstance(message, dict) and "content" in message):
            return "record"
    if type_ in ROW_TYPES and isinstance(value.get("payload"), dict):
        return "row"
    if (type_ == "session" and isinstance(value.get("id"), str) and "timestamp" in value) or (
        type_ == "message" and _is_message(value.get("message"))
    ):
        return "entry"
    return "message" if _is_message(value) else None


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("role"), str)
        and ("content" in value or any(name in value for name in CHAT_MEMBERS))
    )


def messages_of(value: dict[str, Any]) -> list[Any]:
    """Return the messages of a value that is a conversation, a result row or one message."""
    match shape_of(value):
        case "result":
            return value["traj"]
        case "document":
            return value["messages"]
        case _:
            return [value]


def format_of(path: str, rows: Sequence[Row]) -> str:
    """Name the format of a file from its first rows. Raises ImportFailed: unknown, or two formats in one."""
    if rows and (foreign := _lookalike(rows[0])) is not None and shape_of(rows[0].value) == "document":
        raise ImportFailed(path, foreign, SUPPORTED)
    firsts: dict[str, Row] = {}
    known = [row for row in rows if shape_of(row.value) is not None]
    for row in known:
        firsts.setdefault(FORMATS.get(shape_of(row.value) or "message", "messages"), row)
    if len(firsts) > 1:
        kinds = " and ".join(f"{name} ({row.where})" for name, row in firsts.items())
        raise ImportFailed(path, f"two formats in one file: {kinds}", "split the file")
    if firsts and "messages" not in firsts:
        return next(iter(firsts))
    if 2 * len(known) <= len(rows):
        if (foreign := next(filter(None, map(_lookalike, rows)), None)) is not None:
            raise ImportFailed(path, foreign, SUPPORTED)
        raise ImportFailed(path, _unknown(rows), KNOWN)
    return _wire_of(path, [row.value for row in known])


def _wire_of(path: str, values: Iterable[dict[str, Any]]) -> str:
    """Tell the two list formats apart.

    Text that fits both is Anthropic's when it stands in blocks, unless tools or a response beside it say otherwise.
    """
    chat = blocks = lists = beside = False
    for value in values:
        tools = value.get("tools")
        response = value.get("response")
        beside |= isinstance(response, dict) and "choices" in response
        beside |= isinstance(tools, list) and any(isinstance(t, dict) and "function" in t for t in tools)
        lists |= "system" in value and shape_of(value) == "document"
        blocks |= isinstance(tools, list) and any(isinstance(t, dict) and "input_schema" in t for t in tools)
        for message in messages_of(value):
            if not isinstance(message, dict):
                continue
            chat |= _word(message, "role") in CHAT_ROLES or any(message.get(name) for name in CHAT_MEMBERS)
            content = message.get("content")
            if isinstance(content, list):
                types = {_word(part, "type") for part in content if isinstance(part, dict)}
                blocks |= not BLOCK_TYPES.isdisjoint(types)
                chat |= not CHAT_TYPES.isdisjoint(types)
                lists = True
    if chat and blocks:
        fault = "messages of two formats in one list: OpenAI tool calls and Anthropic blocks"
        raise ImportFailed(path, fault, "split the file, or name one with --format")
    return "anthropic" if blocks or (lists and not chat and not beside) else "openai-chat"


def _word(value: dict[str, Any], name: str) -> str:
    """Return a member that is a word; "" for any other."""
    word = value.get(name)
    return word if isinstance(word, str) else ""


def _lookalike(row: Row) -> str | None:
    if isinstance(row.value, dict):
        for members, name in LOOKALIKES:
            if members <= row.value.keys():
                return f"{row.where}: looks like {name}, which is not supported"
    return None


def _unknown(rows: Sequence[Row]) -> str:
    stranger = next((row for row in rows if shape_of(row.value) is None), None)
    where = f"{stranger.where} is neither" if stranger else "it holds none"
    return f"not a file of session records or messages: {where}"
