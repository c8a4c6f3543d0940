"""The tree of a conversation to its history: what the agent saw and did, in the order of the file.

The original reader walks from the last leaf to the root and stops at a compaction; history does not, since
the agent did see what came before. Parallel tool results hang beside the path and belong to it.
"""

from collections import deque
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from foreword.importers.claude_records import Record

RETRACTIONS = ("supersedesUuids", "retractedMessageUuids")


class History(Struct, frozen=True, kw_only=True):
    """The records of a conversation, sorted out.

    `kept`: history, in file order, but for a record that was written before its parent. `branches`: what a
    rewind left behind, one list a branch. `replayed`: copies of earlier records. `retracted`: answers that a later
    record withdraws. `broken`: records whose parent is not in the file; the record before them was taken.
    """

    kept: list[Record]
    branches: list[list[Record]]
    replayed: list[Record]
    retracted: list[Record]
    broken: list[Record]


def history_of(records: Sequence[Record]) -> History:
    """Sort out the records of one conversation, given in file order."""
    firsts, aliases, replayed = _without_replays(_parents_first(records))
    parents, broken = _parents(firsts, aliases)
    path = _path(firsts, parents)
    withdrawn = {uuid for record in firsts if record.uuid in path for uuid in _withdrawn_by(record)}
    path |= _beside(firsts, path)
    kept: list[Record] = []
    branches: dict[str, list[Record]] = {}
    roots: dict[str, str] = {}
    for record in firsts:
        parent = parents[record.uuid]
        if record.uuid in path or record.kind == "compaction":
            if record.uuid not in withdrawn:
                kept.append(record)
            continue
        root = roots[record.uuid] = roots.get(parent or "", record.uuid)
        if record.kind != "other":
            branches.setdefault(root, []).append(record)
    retracted = [record for record in firsts if record.uuid in path and record.uuid in withdrawn]
    return History(
        kept=kept, branches=list(branches.values()), replayed=replayed, retracted=retracted, broken=broken
    )


def _parents_first(records: Sequence[Record]) -> list[Record]:
    """Put a record that was written before its parent behind it: several writers don't wait for each other.

    Records that name each other in a circle come last, as the file has them.
    """
    missing = {record.uuid for record in records}
    waiting: dict[str, list[Record]] = {}
    ordered: list[Record] = []
    for record in records:
        ready = deque([record])
        while ready:
            one = ready.popleft()
            if one.parent in missing and one.parent != one.uuid:
                waiting.setdefault(one.parent, []).append(one)
                continue
            ordered.append(one)
            missing.discard(one.uuid)
            ready += waiting.pop(one.uuid, ())
    return ordered + [record for left in waiting.values() for record in left]


def _without_replays(records: Sequence[Record]) -> tuple[list[Record], dict[str, str], list[Record]]:
    """Drop second copies: a uuid seen before, or a message repeated after a compaction with its old time.

    Returns what stays, the uuids of copies with the uuid each stands for, and the copies.
    """
    firsts: list[Record] = []
    seen: set[str] = set()
    aliases: dict[str, str] = {}
    replayed: list[Record] = []
    messages: dict[bytes, str] = {}
    compacted = ""
    for record in records:
        if record.uuid in seen:
            replayed.append(record)
            continue
        if record.kind == "compaction":
            compacted = max(compacted, record.timestamp)
        elif record.type in ("user", "assistant"):
            if record.timestamp < compacted and (original := messages.get(_print_of(record))):
                aliases[record.uuid] = original
                replayed.append(record)
                continue
            messages.setdefault(_print_of(record), record.uuid)
        seen.add(record.uuid)
        firsts.append(record)
    return firsts, aliases, replayed


def _print_of(record: Record) -> bytes:
    return msgspec.json.encode((record.type, record.timestamp, record.message["content"]))


def _parents(
    records: Sequence[Record], aliases: dict[str, str]
) -> tuple[dict[str, str | None], list[Record]]:
    """Give each record the uuid of its parent, which stands before it."""
    parents: dict[str, str | None] = {}
    broken: list[Record] = []
    previous: str | None = None
    for record in records:
        named = aliases.get(record.parent, record.parent) if record.parent else None
        if named is None and record.linked:
            parents[record.uuid] = None
        elif named in parents:
            parents[record.uuid] = named
        else:
            parents[record.uuid] = previous
            if named is not None and previous is not None:
                broken.append(record)
        previous = record.uuid
    return parents, broken


def _path(records: Sequence[Record], parents: dict[str, str | None]) -> set[str]:
    """Walk from the last message to its root."""
    leaf = next((record.uuid for record in reversed(records) if record.type in ("user", "assistant")), None)
    path: set[str] = set()
    while leaf is not None:
        path.add(leaf)
        leaf = parents[leaf]
    return path


def _beside(records: Sequence[Record], path: set[str]) -> set[str]:
    """Find what belongs to the path's calls beside it: their other records, results nobody else gave."""
    on_path = {record.call for record in records if record.kind == "answer" and record.uuid in path}
    answers = [record for record in records if record.kind == "answer" and record.call in on_path]
    open_calls = {id_ for record in answers for id_ in _ids(record, "tool_use", "id")}
    said = [record for record in records if record.kind == "said"]
    for record in said:
        if record.uuid in path:
            open_calls.difference_update(_ids(record, "tool_result", "tool_use_id"))
    found = {record.uuid for record in answers}
    for record in said:
        answered = set(_ids(record, "tool_result", "tool_use_id"))
        if record.uuid not in path and answered & open_calls:
            found.add(record.uuid)
            open_calls -= answered
    return found


def _ids(record: Record, type_: str, member: str) -> Iterable[str]:
    content = record.message["content"]
    if isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and block.get("type") == type_ and isinstance(block.get(member), str):
                yield block[member]


def _withdrawn_by(record: Record) -> Iterable[str]:
    for member in RETRACTIONS:
        uuids = record.data.get(member)
        if isinstance(uuids, list):
            yield from (uuid for uuid in uuids if isinstance(uuid, str))
