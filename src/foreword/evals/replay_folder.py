"""The folder a replay writes: cleared of an earlier replay, never of anything else."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from foreword.errors import ForewordError
from foreword.importers.imported import session_id
from foreword.store.place import ARTIFACTS, DATABASE

STORE, STEPS, REPORT = "store", "steps", "report.json"
_STEP = re.compile(r"\d{5,}\.(?:request|manifest|error)\.json")
_STORED = re.compile(rf"{re.escape(DATABASE)}(?:-\w+)?|{ARTIFACTS}")


class FolderInUse(ForewordError):
    """The folder can't be written over: it is none, or holds something that no replay wrote."""

    def __init__(self, folder: Path, fault: str) -> None:
        self.folder = str(folder)
        self.fault = fault
        super().__init__(f"{folder} {fault}")


def clear(out: Path) -> None:
    """Remove what an earlier replay left in ``out``. Raises: FolderInUse, with nothing removed; OSError."""
    if not out.exists():
        return
    if not out.is_dir():
        raise FolderInUse(out, "is a file; name a folder")
    for path in _products(out, nested=True):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def subfolders(out: Path, sessions: Iterable[str]) -> list[Path]:
    """Return a folder below ``out`` for each session, apart also where upper and lower case are one."""
    folders: list[Path] = []
    taken = {STORE, STEPS, REPORT}
    for session in sessions:
        name = safe = session_id(session)
        number = 2
        while name.casefold() in taken:
            name, number = f"{safe}-{number}", number + 1
        taken.add(name.casefold())
        folders.append(out / name)
    return folders


def _products(folder: Path, *, nested: bool) -> list[Path]:
    """Return the entries of a replay's folder, all of them. Raises: FolderInUse."""
    entries = sorted(folder.iterdir())
    for entry in entries:
        if entry.name == STORE and entry.is_dir() and nested:
            _only(entry, _STORED)
        elif entry.name == STEPS and entry.is_dir():
            _only(entry, _STEP)
        elif entry.name == REPORT and entry.is_file():
            continue
        elif nested and entry.is_dir() and not entry.is_symlink() and any(entry.iterdir()):
            _products(entry, nested=False)
        else:
            raise FolderInUse(folder, _stranger(entry))
    return entries


def _only(folder: Path, form: re.Pattern[str]) -> None:
    for entry in folder.iterdir():
        if form.fullmatch(entry.name) is None:
            raise FolderInUse(folder, _stranger(entry))


def _stranger(entry: Path) -> str:
    return f"holds {entry.name}, which no replay wrote; name a new or empty folder"
