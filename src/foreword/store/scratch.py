"""Where SQLite writes the copy that it makes of a whole database: among the artifacts, and shredded like them.

Its own choice is the system's folder for temporary files, maybe on another disk, whose blocks keep what was written
when the file goes.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import apsw

from foreword.store.artifacts import Artifacts
from foreword.store.database import Database


class _Disk(apsw.VFS):
    """The usual file system, but for files without a name: these are put into a folder, and stay there."""

    def __init__(self, name: str, folder: Path) -> None:
        self.made: list[Path] = []
        self._folder = folder
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        if name is None:
            name = str(self._folder / f"{secrets.token_hex(8)}.tmp")
            self.made.append(Path(name))
            flags[0] &= ~apsw.SQLITE_OPEN_DELETEONCLOSE
        return apsw.VFSFile("", name, flags)


@contextmanager
def scratching(database: str, artifacts: Artifacts) -> Generator[Database]:
    """Yield a connection that leaves nothing of its temporary files, which a crash leaves as files that no event names.

    Raises: OSError; apsw.Error.
    """
    artifacts.folder.mkdir(mode=0o700, exist_ok=True)
    name = f"foreword-{secrets.token_hex(8)}"
    disk = _Disk(name, artifacts.folder)
    try:
        db = cast(Database, apsw.Connection(database, flags=apsw.SQLITE_OPEN_READWRITE, vfs=name))
        try:
            db.pragma("temp_store", "FILE")
            yield db
        finally:
            db.close()
    finally:
        disk.unregister()
        for path in disk.made:
            artifacts.shred(path)
