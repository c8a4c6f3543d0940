"""One entry of a pi file, and the path through the tree of entries that is the conversation."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from foreword.importers.claude_records import microseconds
from foreword.importers.source import Row

HISTORY = frozenset({"message", "custom_message", "branch_summary", "compaction"})
"""Types of entries that are part of what the agent saw."""


class Entry(Struct, frozen=True, kw_only=True):
    """An entry after the header. `parent`: the id it names; None: a root. `linked`: it says so itself."""

    line: int
    type: str
    id: str
    parent: str | None
    linked: bool
    data: dict[str, Any]

    @property
    def where(self) -> str:
        return f"line {self.line}"

    @property
    def at(self) -> int | None:
        """Microseconds since 1970 UTC; None: not given, or no ISO time."""
        timestamp = self.data.get("timestamp")
        return microseconds(timestamp) if isinstance(timestamp, str) else None

    @property
    def name(self) -> str | None:
        """What the entry is called in every copy: ids are short, so with its time; None: it lacks one of both."""
        id_, timestamp = self.data.get("id"), self.data.get("timestamp")
        return f"{id_}@{timestamp}" if isinstance(id_, str) and isinstance(timestamp, str) else None

    @property
    def message(self) -> dict[str, Any]:
        """The message of an entry that holds one; {} for others."""
        message = self.data.get("message")
        return message if self.type == "message" and isinstance(message, dict) else {}


class History(Struct, frozen=True, kw_only=True):
    """The entries, sorted out, in file order.

    `path`: from the root to the current leaf. `branches`: what a rewind left behind, one list a branch that
    holds history. `broken`: entries of history whose parent is not before them; the entry before them was taken.
    `clashing`: entries of history with the id of another one before them, which they are no copy of.
    """

    path: list[Entry]
    branches: list[list[Entry]]
    broken: list[Entry]
    clashing: list[Entry]


def entry_of(row: Row) -> Entry:
    """Read a row. Files of version 1 have no ids: a row is the child of the one before it."""
    data: dict[str, Any] = row.value
    id_, parent = data.get("id"), data.get("parentId")
    return Entry(
        line=row.number,
        type=str(data.get("type")),
        id=id_ if isinstance(id_, str) else row.where,
        parent=parent if parent is None or isinstance(parent, str) else "",
        linked="parentId" in data,
        data=data,
    )


def history_of(entries: Sequence[Entry], header: str | None) -> History:
    """Walk from the last entry, which is the current leaf, to its root. `header`: the id of the session."""
    parents: dict[str, str | None] = {}
    broken: list[Entry] = []
    firsts: list[Entry] = []
    by_id: dict[str, Entry] = {}
    clashing: list[Entry] = []
    previous: str | None = None
    for entry in entries:
        if by_id.setdefault(entry.id, entry) is not entry:
            if entry.data != by_id[entry.id].data:
                clashing.append(entry)
            continue
        if entry.parent in parents:
            parents[entry.id] = entry.parent
        elif entry.linked and entry.parent in (None, header):
            parents[entry.id] = None
        else:
            parents[entry.id] = previous
            if entry.linked and previous is not None:
                broken.append(entry)
        firsts.append(entry)
        previous = entry.id
    path: set[str] = set()
    leaf = previous
    while leaf is not None:
        path.add(leaf)
        leaf = parents[leaf]
    branches: dict[str, list[Entry]] = {}
    roots: dict[str, str] = {}
    for entry in firsts:
        if entry.id not in path:
            root = roots[entry.id] = roots.get(parents[entry.id] or "", entry.id)
            branches.setdefault(root, []).append(entry)
    return History(
        path=[entry for entry in firsts if entry.id in path],
        branches=[b for b in branches.values() if any(entry.type in HISTORY for entry in b)],
        broken=[entry for entry in broken if entry.type in HISTORY],
        clashing=[entry for entry in clashing if entry.type in HISTORY],
    )
