"""pi session files: a header and entries, in one line (version 1) or as a tree by `parentId` (from 2 on).

Written against files of versions 1 and 3. Tools that are built on pi write the same form.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from foreword.errors import ImportFailed
from foreword.importers.imported import Flaw, Imported, left_out, plain, project_of, session_id
from foreword.importers.inferred import inferred_lead
from foreword.importers.left_behind import told
from foreword.importers.pi_drafts import FORMAT, Writer
from foreword.importers.pi_entries import HISTORY, Entry, History, entry_of, history_of
from foreword.importers.source import DETECT, Row, Source


def sessions(rows: Iterable[Row], source: Source) -> list[Imported]:
    """Read each session of a file, of which most hold one. Raises ImportFailed without a message."""
    parts: list[list[Entry]] = [[]]
    session: str | None = None
    for entry in (entry_of(row) for row in rows if isinstance(row.value, dict)):
        if entry.type == "session":
            if session not in (None, entry.id):
                parts.append([])  # files that were put together
            session = entry.id
        parts[-1].append(entry)
    made = [one for part in parts if (one := _session(part, source)) is not None]
    if not made:
        raise ImportFailed(source.path, "a session of pi without a message", DETECT)
    made[0] = replace(made[0], flaws=(*source.flaws, *made[0].flaws))
    return made


def _session(entries: Sequence[Entry], source: Source) -> Imported | None:
    """Read the conversation of a session: the path to its last entry; None: it holds no message."""
    header = next((entry for entry in entries if entry.type == "session"), None)
    history = history_of(
        [entry for entry in entries if entry.type != "session"], header.id if header else None
    )
    writer = Writer(source.name)
    drafts = writer.drafts(history)
    if not drafts:
        return None
    lead, doubts = inferred_lead(drafts, FORMAT, source.name)
    on_path = {entry.line for entry in history.path}
    beside = (
        entry for entry in entries if entry.line not in on_path and entry.type not in (*HISTORY, "session")
    )
    writer.others.update(plain(entry.type) for entry in beside)
    flaws = [*left_out(writer.others, source.name), *_flaws_of(history, header, source.name)]
    flaws += told(writer.left_behind, source.name)
    names = [entry.data["name"] for entry in entries if _names(entry)]
    return Imported(
        session=session_id(header.id if header else source.stem),
        format=FORMAT,
        source=source.name,
        drafts=(*lead, *drafts),
        flaws=(*flaws, *writer.flaws, *doubts),
        title=names[-1] if names else None,
        project=project_of(header.data.get("cwd")) if header else None,
    )


def _flaws_of(history: History, header: Entry | None, where: str) -> Iterable[Flaw]:
    if header is None:
        yield Flaw(
            code="no_header", where=where, text="no session header: the beginning of the file is missing"
        )
    lost = [entry for branch in history.branches for entry in branch]
    if lost:
        text = f"{len(lost)} records on {len(history.branches)} abandoned branches are not history"
        yield Flaw(code="abandoned_branch", where=lost[0].where, text=text)
    if history.broken:
        text = f"{len(history.broken)} records name a parent that is not before them; file order was taken"
        yield Flaw(code="chain_broken", where=history.broken[0].where, text=text)
    if history.clashing:
        text = f"{len(history.clashing)} records have the id of another one before them and were left out"
        yield Flaw(code="replayed", where=history.clashing[0].where, text=text)


def _names(entry: Entry) -> bool:
    return entry.type == "session_info" and isinstance(entry.data.get("name"), str)
