"""What an importer hands over: a session as drafts, and what did not fit."""

import hashlib
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from foreword.core.event import Called, Draft, Event, ForeignNoted, ToolsSet, UnseenPrefix
from foreword.core.sealing import encode_body

ABANDONED = "abandoned_branch"
"""Code of the note that keeps what a rewind left behind: its records, a line each."""


class Flaw(Struct, frozen=True, kw_only=True):
    """A place where the file and the record differ: skipped, mended, missing or doubtful.

    `where` names the place in the source (`line 12`, `message 3`, or the file). `code` is stable for scripts.
    """

    code: str
    where: str
    text: str


class Imported(Struct, frozen=True, kw_only=True):
    """One session of a file.

    `session` is the same each time the file is read, also after it grew. `drafts` are in log order, without
    the `SessionOpened` that the engine writes from `session`, `format` and `source` (the file's base name).
    What was inferred (`UnseenPrefix`, a `ToolsSet` of stubs) comes first. `project`: the folder that it was recorded
    in; None: the file names none. `sub_context`: another agent began it, so its calls are billed as such.
    """

    session: str
    format: str
    source: str
    drafts: tuple[Draft, ...]
    flaws: tuple[Flaw, ...] = ()
    title: str | None = None
    project: str | None = None
    sub_context: bool = False


def project_of(folder: object) -> str | None:
    """Return the folder that a record names as the project of its session; None: it names none."""
    return folder if isinstance(folder, str) and folder else None


def import_key(fact: Draft | Event) -> bytes | None:
    """Return what makes a read fact and a recorded one the same: a digest of the body.

    Where a fact stands in the file and when it was written down don't count, so a renamed file adds nothing.
    Nor does what later versions may tell better: of a note the words, of a call that is no history all but its
    response or, without one, its tokens. Of a branch that was left only the place counts: it may grow.
    None: not to be compared, since a grown file may change it (inferred tools, an inferred prefix, an erased
    payload).
    """
    body = fact.body
    if body is None or isinstance(body, UnseenPrefix):
        return None
    if isinstance(body, ToolsSet) and all(tool.inferred for tool in body.tools):
        return None
    match body:
        case ForeignNoted():
            body = ForeignNoted(code=body.code, where="", raw=None if body.code == ABANDONED else body.raw)
        case Called():
            told = None if body.response_id else body.usage
            body = Called(kind=body.kind, response_id=body.response_id, usage=told)
        case _:
            pass
    return hashlib.blake2b(encode_body(body), digest_size=16).digest()


def session_id(*parts: object) -> str:
    """Join parts to an id that is also a safe name of a folder.

    Other characters than ASCII letters, digits, `.`, `_` and `-` are replaced, and long ids are cut; a digest
    then keeps ids apart that would fall together.
    """
    text = "-".join(str(part) for part in parts)
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".")[:100]
    if safe and safe == text:
        return text
    return f"{safe}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}".lstrip("-")


def plain(name: object) -> str:
    """Return a name out of a file as it may stand in a message: short, on one line, no control characters."""
    return "".join(char if char.isprintable() else "?" for char in str(name)[:60])


def left_out(others: Mapping[str, int], where: str) -> Iterable[Flaw]:
    """Say which records, by type and count, are no part of the history."""
    for label, count in others.items():
        text = f"{count} records of type {label} are not messages and were left out"
        yield Flaw(code="left_out", where=where, text=text)
