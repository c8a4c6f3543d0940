"""FILE or SESSION: an existing path or ``-`` is a file, any other name a session of the store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foreword.cli.options import store_place
from foreword.errors import UnknownSession

if TYPE_CHECKING:
    from foreword.importers.imported import Imported
    from foreword.store.store import Store

STDIN = "-"
ENDINGS = (".json", ".jsonl", ".ndjson", ".gz", ".zst")


def is_file(name: str) -> bool:
    """Say whether a name means a file. Raises: click.UsageError for a folder."""
    if name == STDIN:
        return True
    if not name:
        raise click.UsageError("the name is empty; name a FILE or a SESSION (`foreword sessions` lists them)")
    try:
        found = Path(name).exists()
        folder = found and Path(name).is_dir()
    except (OSError, ValueError):  # too long, or with a null character: no path
        return False
    if folder:
        raise click.UsageError(f"{name} is a folder; name a session file in it")
    return found


def read_file(name: str, format_: str | None) -> list[Imported]:
    """Read the sessions of a file or of stdin. Raises: ImportFailed."""
    from foreword.importers.read import read

    data = sys.stdin.buffer.read() if name == STDIN else None
    return read(name, format=format_, data=data)


def open_store(place: str | None, *, write: bool = False) -> Store:
    """Open the store of a command; for reading it must exist. Raises: StoreUnavailable."""
    from foreword.store.store import Store

    return Store.open(store_place(place), read_only=not write)


def open_for_session(name: str, place: str | None, *, write: bool = False) -> tuple[Store, str]:
    """Open the store that holds a session; return it with the session's full id.

    Raises: UnknownSession; click.UsageError where there is neither a file nor a store.
    """
    from foreword.store.place import place_of

    where = store_place(place)
    named_as_file = name.endswith(ENDINGS) or "/" in name or "\\" in name
    if not place_of(where).exists():
        if named_as_file:
            raise click.UsageError(f"{name}: no such file; check the path")
        raise click.UsageError(
            f"{name}: no such file, and no session of that name, since {where} holds no store; check the path, or "
            f"name another --store"
        )
    store = open_store(place, write=write)
    try:
        return store, store.resolve(name)
    except UnknownSession as error:
        store.close()
        if named_as_file:
            raise click.UsageError(
                f"{name}: no such file, and no session of that name in {where}; `foreword sessions` lists those"
            ) from error
        raise
    except BaseException:
        store.close()
        raise


def sessions_of(name: str, *, format_: str | None, place: str | None) -> list[Imported]:
    """Return the sessions of a file, or the one session of the store.

    Raises: ImportFailed; UnknownSession; StoreUnavailable; click.UsageError.
    """
    if is_file(name):
        return read_file(name, format_)
    from foreword.evals.recorded import recorded

    store, session = open_for_session(name, place)
    with store:
        return [recorded(store, session)]


def pick(sessions: list[Imported], chosen: str | None, name: str) -> Imported:
    """Return the one session that is meant. Raises: click.UsageError when that is not clear."""
    ids = [session.session for session in sessions]
    if chosen is not None:
        found = [session for session in sessions if session.session == chosen]
        found = found or [session for session in sessions if session.session.startswith(chosen)]
        if len(found) != 1:
            raise click.UsageError(f"{name} holds no session {chosen!r} alone; it holds {', '.join(ids[:8])}")
        return found[0]
    if len(sessions) != 1:
        more = ", …" if len(ids) > 8 else ""
        raise click.UsageError(
            f"{name} holds {len(ids)} sessions: choose with --session: {', '.join(ids[:8])}{more}"
        )
    return sessions[0]
