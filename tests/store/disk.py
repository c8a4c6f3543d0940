"""A disk that can lose power: it remembers what was synced and what was only written."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import apsw

SECTOR = 512
NAME = "disk-that-loses-power"
USUAL = apsw.vfs_names()[0]  # by name: "" would be this disk itself, once it is the default


class File:
    """One file's durable bytes, and the writes and truncations that no sync has covered yet."""

    def __init__(self) -> None:
        self.durable = bytearray()
        self.pending: list[tuple[int, bytes | None]] = []

    def apply(self, data: bytearray, change: tuple[int, bytes | None]) -> None:
        """Do one write, or (None) one truncation."""
        offset, written = change
        if written is None:
            del data[offset:]
            return
        data.extend(b"\0" * (offset - len(data)))
        data[offset : offset + len(written)] = written

    def after_power_loss(self, dice: random.Random) -> bytes:
        """Return what may be found later: any part of the pending writes, in sectors, came through."""
        data = bytearray(self.durable)
        for offset, written in self.pending:
            if written is None:
                if dice.random() < 0.5:
                    self.apply(data, (offset, None))
                continue
            for begin in range(0, len(written), SECTOR):
                if dice.random() < 0.7:
                    self.apply(data, (offset + begin, written[begin : begin + SECTOR]))
        return bytes(data)


class Disk(apsw.VFS):
    """A file system of SQLite above the real one. ``lies``: it answers a sync without doing it."""

    def __init__(self, *, lies: bool = False, on_write: Callable[[], None] = lambda: None) -> None:
        self.files: dict[Path, File] = {}
        self.lies = lies
        self.syncs = 0
        self.on_write = on_write
        super().__init__(NAME, USUAL)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> Handle:  # noqa: N802
        return Handle(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self.files.pop(Path(filename), None)

    def crash(self, folder: Path, dice: random.Random) -> None:
        """Write what a power loss now could leave into another folder."""
        folder.mkdir()
        for path, file in self.files.items():
            (folder / path.name).write_bytes(file.after_power_loss(dice))


class Handle(apsw.VFSFile):
    """An open file that tells its disk of every change."""

    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__(USUAL, name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.disk = disk
        self.file = disk.files.setdefault(Path(path), File()) if path else File()

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self.file.pending.append((offset, bytes(data)))
        self.disk.on_write()

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self.file.pending.append((newsize, None))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self.disk.syncs += 1
        if not self.disk.lies:
            for change in self.file.pending:
                self.file.apply(self.file.durable, change)
            self.file.pending.clear()
