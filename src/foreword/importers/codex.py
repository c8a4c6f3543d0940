"""Codex rollouts: JSONL of rows with a type and a payload, one thread a file.

Written against files of versions 0.106 to 0.146. What makes it hard: items are recorded, not calls; token
counts are cumulative, doubled, and follow later; text that Codex injects stands in user messages; and what a
compaction replaced stays in the file.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from foreword.errors import ImportFailed
from foreword.importers.codex_thread import FORMAT, Thread
from foreword.importers.imported import Flaw, Imported, left_out, plain, project_of, session_id
from foreword.importers.inferred import inferred_lead
from foreword.importers.left_behind import told
from foreword.importers.source import DETECT, Row, Source

ECHOES = frozenset({"user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"})
"""Events that repeat an item for the screen."""


def sessions(rows: Iterable[Row], source: Source) -> list[Imported]:
    """Read the thread of a file. Raises ImportFailed when it holds no message."""
    others: Counter[str] = Counter()
    listed: list[Row] = []
    for row in rows:
        if isinstance(row.value, dict) and isinstance(row.value.get("payload"), dict):
            listed.append(row)
        else:
            others[_label(row.value)] += 1
    metas = [row.value["payload"] for row in listed if row.value.get("type") == "session_meta"]
    # A fork repeats the meta of the thread that it left; its own stands first, or is named by the file.
    own = next((meta for meta in metas if _id(meta) and _id(meta) in source.stem), metas[0] if metas else {})
    # A fork of a fork repeats both, the older one last.
    root = next((_id(meta) for meta in reversed(metas) if _id(meta) not in ("", _id(own))), _id(own))
    thread = Thread(source.name, root, side=isinstance(own.get("source"), dict))
    base = own.get("base_instructions")
    thread.instruct(
        base=base.get("text") if isinstance(base, dict) else base,
        user=own.get("instructions"),  # before version 0.80 the name of the user's instructions
    )
    title: str | None = None
    for row in listed:
        payload = row.value["payload"]
        if payload.get("type") == "thread_name_updated" and isinstance(payload.get("thread_name"), str):
            title = payload["thread_name"]
        elif not _taken(thread, row, payload):
            others[_label(row.value)] += 1
    drafts = thread.drafts()
    if not drafts:
        raise ImportFailed(source.path, "a Codex rollout without a message", DETECT)
    lead, doubts = inferred_lead(drafts, FORMAT, source.name)
    flaws = [*source.flaws, *left_out(others, source.name), *_strange(metas, own, source.name), *thread.flaws]
    flaws += told(thread.left_behind, source.name)
    if unbilled := thread.unbilled():
        text = f"{unbilled} answers have no token counts in the file"
        flaws.append(Flaw(code="usage_missing", where=source.name, text=text))
    one = Imported(
        session=session_id(_id(own) or source.stem),
        format=FORMAT,
        source=source.name,
        drafts=(*lead, *drafts),
        flaws=(*flaws, *doubts),
        title=title,
        project=project_of(own.get("cwd")),
        sub_context=thread.side,
    )
    return [one]


def _taken(thread: Thread, row: Row, payload: dict[str, Any]) -> bool:
    """Give a row to the thread; False: it is nothing of its history."""
    match row.value.get("type"), payload.get("type"):
        case "session_meta", _:
            pass
        case "turn_context", _:
            thread.turn(payload)
        case "response_item", _:
            return thread.item(row, payload)
        case "compacted", _:
            thread.compacted(row, _replaced(payload), payload)
        case "event_msg", "token_count":
            thread.counted(row, payload)
        case "event_msg", "context_compacted":
            thread.compacted(row, "a compaction that the file does not hold", payload)
        case "event_msg", "task_started" | "task_complete" | "turn_aborted":
            if payload["type"] == "task_started":
                thread.begun(payload)
            thread.ended(row, aborted=payload["type"] == "turn_aborted")
        case "event_msg", "thread_rolled_back":
            thread.rolled_back(row, payload.get("num_turns"))
        case "event_msg", str(kind) if kind in ECHOES:
            pass
        case _:
            return False
    return True


def _replaced(payload: dict[str, Any]) -> str:
    """Say what a compaction put in the place of the history."""
    items = payload.get("replacement_history")
    if isinstance(items, list):
        return f"{len(items)} items replaced the history"
    return "a summary and the user's messages replaced the history"


def _strange(metas: Sequence[dict[str, Any]], own: dict[str, Any], where: str) -> Iterable[Flaw]:
    ids = {_id(meta) for meta in metas} - {"", _id(own)}
    if ids:
        text = f"the file repeats the rows of {len(ids)} other threads, which it was forked from"
        yield Flaw(code="several_sessions", where=where, text=text)
    if not metas:
        text = "no session_meta: the beginning of the thread is missing"
        yield Flaw(code="no_header", where=where, text=text)
    if own.get("dynamic_tools"):
        text = "tools of the client are defined in session_meta; stubs of those that were called were taken"
        yield Flaw(code="left_out", where=where, text=text)


def _id(meta: dict[str, Any]) -> str:
    id_ = meta.get("id")
    return id_ if isinstance(id_, str) else ""


def _label(value: Any) -> str:
    """Name the type of a row, with its payload's, for a person to read."""
    row = value if isinstance(value, dict) else {}
    payload = row.get("payload")
    types = (row.get("type"), payload.get("type") if isinstance(payload, dict) else None)
    parts = [plain(part) for part in types if isinstance(part, str)]
    return "/".join(parts) or "unknown"
