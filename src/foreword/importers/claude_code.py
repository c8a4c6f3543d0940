"""Claude Code session files: JSONL of records that form a tree by `parentUuid`.

Written against files of versions 1.9 to 2.1.220. What makes it hard: one API call is several records,
parallel tool results hang beside each other in the tree, a rewind leaves the abandoned branch in the file,
and most records are not messages.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from foreword.core.event import Draft
from foreword.errors import ImportFailed
from foreword.importers.claude_drafts import Writer
from foreword.importers.claude_parts import parts_of
from foreword.importers.claude_records import Record, calls_shown, record_of
from foreword.importers.claude_tree import History, history_of
from foreword.importers.imported import Flaw, Imported, left_out, plain, project_of, session_id
from foreword.importers.inferred import inferred_lead
from foreword.importers.left_behind import told
from foreword.importers.source import DETECT, Row, Source

FORMAT = "claude-code"
MESSAGES = frozenset({"user", "assistant"})
TITLES = ("customTitle", "aiTitle", "summary")
"""Members that hold a title, the best first."""


def sessions(rows: Iterable[Row], source: Source) -> list[Imported]:
    """Read each session of a file: its main conversation and each sidechain, in order of first appearance.

    A sidechain is a session of its own, `<session>/<agent id or number>`. Raises ImportFailed when the file
    holds no message.
    """
    records: list[Record] = []
    others: Counter[str] = Counter()
    titles: dict[str | None, dict[str, str]] = {}
    folders: dict[str | None, str] = {}
    shown: dict[tuple[str, str], int] = {}
    for row in rows:
        if not isinstance(row.value, dict):
            others["unknown"] += 1
            continue
        id_ = row.value["sessionId"] if isinstance(row.value.get("sessionId"), str) else None
        named = titles.setdefault(id_, {})
        named |= {name: row.value[name] for name in TITLES if isinstance(row.value.get(name), str)}
        if project := project_of(row.value.get("cwd")):
            folders.setdefault(id_, project)
        shown |= calls_shown(row.value)
        record = record_of(row)
        if record is not None:
            records.append(record)
        if record is None or record.kind == "other":
            others[_label(row.value)] += 1
    if not any(record.type in MESSAGES for record in records):
        raise ImportFailed(source.path, "a Claude Code file without a message", DETECT)
    flaws = [*source.flaws, *left_out(others, source.name)]
    if unread := shown.keys() - {record.call for record in records if record.kind == "answer"}:
        text = (
            f"{len(unread)} calls of sub-agents, {sum(shown[call] for call in unread):,} prompt tokens, stand in "
            f"progress records only and are not billed; read the sub-agents' own files too"
        )
        flaws.append(Flaw(code="progress_usage", where=source.name, text=text))
    parts = [part for part in parts_of(records) if any(record.type in MESSAGES for record in part.records)]
    made: list[Imported] = []
    for part in parts:
        # What is no record and names another session, or none, is about all of a file with one, else about nothing.
        about = [id_ for id_ in titles if len(parts) == 1 or id_ in part.ids]
        made += _session(
            part.records,
            source,
            ids=[id_ for id_ in about if id_ is not None],
            title={name: text for id_ in about for name, text in titles[id_].items()},
            project=next((folders[id_] for id_ in about if id_ in folders), None),
            flaws=() if made else flaws,
        )
    if not made:
        raise ImportFailed(source.path, "a Claude Code file without a readable message", DETECT)
    return made


def _session(
    records: Sequence[Record],
    source: Source,
    *,
    ids: Sequence[str],
    title: Mapping[str, str],
    project: str | None,
    flaws: Sequence[Flaw],
) -> Iterator[Imported]:
    """Yield the conversations of one session, the first of them with `flaws`. `ids`: those that its rows name."""
    session = session_id(source.stem if source.stem in ids or not ids else ids[0])
    if len(ids) > 1:
        text = f"records of {len(ids)} session ids, imported as one session {session}"
        flaws = [*flaws, Flaw(code="several_sessions", where=source.name, text=text)]
    taken: set[str] = set()
    for name, group in _conversations(records).items():
        one = _conversation(group, source, taken, side=name is not None)
        if one is None:
            continue
        drafts, own = one
        yield Imported(
            session=session if name is None else f"{session}/{session_id(name)}",
            format=FORMAT,
            source=source.name,
            drafts=drafts,
            flaws=(*flaws, *own),
            title=next((title[t] for t in TITLES if t in title), None) if name is None else None,
            project=project,
            sub_context=name is not None,
        )
        flaws = ()


def _conversations(records: Sequence[Record]) -> dict[str | None, list[Record]]:
    """Part the main conversation (None, first) from the sidechains, each by agent id or number."""
    groups: dict[str | None, list[Record]] = {None: []}
    names: dict[str, str] = {}
    unnamed = 0
    for record in records:
        if record.agent is None:
            groups[None].append(record)
            continue
        name = record.agent or names.get(record.parent or "")
        if not name:
            unnamed += 1
            name = str(unnamed)
        names[record.uuid] = name
        groups.setdefault(name, []).append(record)
    return groups


def _conversation(
    records: Sequence[Record], source: Source, taken: set[str], *, side: bool
) -> tuple[tuple[Draft, ...], list[Flaw]] | None:
    """Make the drafts and flaws of one conversation; None: it holds no message.

    `taken`: message ids that an earlier conversation of the file has; copies of them are dropped.
    """
    copies = [record for record in records if record.kind == "answer" and _message_id(record) in taken]
    lines = {record.line for record in copies}
    history = history_of([record for record in records if record.line not in lines])
    writer = Writer(source.name, side=side)
    drafts = writer.drafts(history)
    taken.update(_message_id(record) for record in records if record.kind == "answer")
    taken.discard("")
    if not drafts:
        return None
    flaws = [*_flaws_of(history), *told(writer.left_behind, source.name), *writer.flaws]
    if copies:
        text = f"{len(copies)} records repeat answers of the main conversation and were left out"
        flaws.append(Flaw(code="replayed", where=copies[0].where, text=text))
    lead, doubts = inferred_lead(drafts, FORMAT, source.name)
    return (*lead, *drafts), [*flaws, *doubts]


def _flaws_of(history: History) -> Iterable[Flaw]:
    lost = [record for branch in history.branches for record in branch]
    sorts = [
        ("abandoned_branch", lost, f"on {len(history.branches)} abandoned branches are not history"),
        ("replayed", history.replayed, "repeat earlier ones and were left out"),
        ("retracted", history.retracted, "were withdrawn by later ones and are not history"),
        ("chain_broken", history.broken, "name a parent that is not before them; file order was taken"),
    ]
    for code, records, text in sorts:
        if records:
            yield Flaw(code=code, where=records[0].where, text=f"{len(records)} records {text}")


def _label(data: dict[str, Any]) -> str:
    """Name the type of a record, with its subtype, for a person to read."""
    attachment = data.get("attachment")
    inner = attachment.get("type") if isinstance(attachment, dict) else data.get("subtype")
    parts = [plain(part) for part in (data.get("type"), inner) if isinstance(part, str)]
    return "/".join(parts) or "unknown"


def _message_id(record: Record) -> str:
    return record.call[0]
