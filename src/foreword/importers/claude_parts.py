"""The sessions of a Claude Code file: most files hold one, files put together hold several.

A resumed session copies records under another session id, so ids that the tree links are one session; a tree of its
own with an id of its own is another.
"""

from collections.abc import Sequence

from msgspec import Struct

from foreword.importers.claude_records import Record


class Part(Struct, frozen=True, kw_only=True):
    """The records of one session, in file order, and the session ids that they name."""

    ids: set[str]
    records: list[Record]


def parts_of(records: Sequence[Record]) -> list[Part]:
    """Part records by session, in order of first appearance.

    A record without a session id, or one whose parent is not in the file, belongs to its parent's session, else to
    that of the record before it.
    """
    groups = _Groups()
    known = {record.uuid for record in records}
    before: tuple[str, str] | None = None
    for record in records:
        node = ("uuid", record.uuid)
        groups.add(node)
        if record.session is not None:
            groups.join(node, ("session", record.session))
        if record.parent in known:
            groups.join(node, ("uuid", record.parent))
        elif before is not None and (
            record.session is None or record.parent is not None or not record.linked
        ):
            groups.join(node, before)
        before = node
    parts: dict[tuple[str, str], Part] = {}
    for record in records:
        root = groups.root(("uuid", record.uuid))
        part = parts.setdefault(root, Part(ids=set(), records=[]))
        part.records.append(record)
        if record.session is not None:
            part.ids.add(record.session)
    return list(parts.values())


class _Groups:
    """Nodes joined to groups; each group has one root."""

    def __init__(self) -> None:
        self._above: dict[tuple[str, str], tuple[str, str]] = {}

    def add(self, node: tuple[str, str]) -> None:
        self._above.setdefault(node, node)

    def root(self, node: tuple[str, str]) -> tuple[str, str]:
        self.add(node)
        while (above := self._above[node]) != node:
            self._above[node] = self._above[above]
            node = above
        return node

    def join(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        self._above[self.root(one)] = self.root(other)
