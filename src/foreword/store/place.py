"""Where a store lives: a folder, or a database file named by URL."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from foreword.errors import StoreUnavailable

URL = "sqlite:///"
DATABASE = "log.db"
ARTIFACTS = "artifacts"


class Place(Struct, frozen=True, kw_only=True):
    """The files of one store. ``name``: as the caller wrote it, for messages."""

    name: str
    database: Path
    artifacts: Path

    def make(self) -> None:
        """Create the folders, readable by their owner alone, and sync their names.

        Raises: StoreUnavailable.
        """
        folder = self.database.parent
        try:
            missing = [each for each in (folder, *folder.parents) if not each.exists()]
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.artifacts.mkdir(mode=0o700, exist_ok=True)
            for made in (self.artifacts, *missing):
                sync_folder(made.parent)
        except OSError as error:
            raise self._refused(error) from error

    def exists(self) -> bool:
        """Tell whether there is a database.

        Raises: StoreUnavailable when that can't be known.
        """
        try:
            return self.database.exists()
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> StoreUnavailable:
        fault = f"{error.filename}: {error.strerror or type(error).__name__}"
        return StoreUnavailable(self.name, fault, "name a folder that can be written")


def sync_folder(folder: Path) -> None:
    """Sync the names that stand in a folder: a file that is synced may still lose its own. Raises: OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def place_of(name: str | os.PathLike[str]) -> Place:
    """Read a folder's path or ``sqlite:///PATH`` (four slashes: an absolute path).

    Raises: StoreUnavailable for a URL of another kind, and for text that no path can hold.
    """
    text = os.fspath(name)
    if "\0" in text or (not text.isascii() and text != text.encode(errors="replace").decode()):
        raise StoreUnavailable(repr(text), "isn't a path", f"name a folder, or {URL}PATH")
    if text.startswith(URL) and text != URL:
        database = Path(text.removeprefix(URL))
        return Place(
            name=text, database=database, artifacts=database.with_name(f"{database.name}.{ARTIFACTS}")
        )
    if "://" in text or text == "":
        raise StoreUnavailable(repr(text), "isn't a place for a store", f"name a folder, or {URL}PATH")
    return Place(name=text, database=Path(text) / DATABASE, artifacts=Path(text) / ARTIFACTS)
