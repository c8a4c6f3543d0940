"""The artifact folder: one file for each big payload, under an address only its tenant's key can make.

The file is whole and synced before a row names it, so a crash leaves a file without a row, never the other
way round.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from foreword.store import zstd
from foreword.store.place import sync_folder

BLANK = b"\0" * 65_536


def address_of(key: bytes, payload: bytes) -> bytes:
    """Return the 32-byte address: keyed, so that no one can test a guess about an erased payload."""
    return hmac.digest(key, payload, "sha256")


class Artifacts:
    """Zstandard files below one folder, named by hexadecimal address: ``ab/cdef…``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, address: bytes) -> Path:
        """Return where the artifact is or would be."""
        name = address.hex()
        return self.folder / name[:2] / name[2:]

    def has(self, address: bytes) -> bool:
        """Tell whether the artifact is there."""
        return self.path(address).exists()

    def write(self, payloads: Mapping[bytes, bytes]) -> None:
        """Store what isn't there yet, and sync files and folders; of nothing, do nothing.

        Raises: OSError.
        """
        if not payloads:
            return
        folders = {self.folder}  # whoever made a folder below may not have come to syncing its name
        for address, payload in payloads.items():
            path = self.path(address)
            folders.add(path.parent)
            if self.has(address):
                continue  # its folder is synced all the same: whoever wrote it may not have come to that
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
            with open(draft, "xb") as file:
                file.write(zstd.compress(payload))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileNotFoundError):  # an erasure swept it; under the write lock it's written again
                draft.rename(path)
        for folder in folders:
            sync_folder(folder)

    def read(self, address: bytes) -> bytes:
        """Return the payload.

        Raises: FileNotFoundError; OSError; ZstdError when the file is damaged.
        """
        return zstd.decompress(self.path(address).read_bytes())

    def files(self) -> Iterator[Path]:
        """Yield every file below the folder, drafts of a writer that died included."""
        for root, _, names in os.walk(self.folder):
            for name in names:
                yield Path(root, name)

    def shred(self, path: Path) -> None:
        """Overwrite a file with zeros, then unlink it, each step synced.

        It takes the file's name away first: a writer who finishes this very draft must not publish zeros.

        Raises: OSError.
        """
        doomed = path.with_name(f"{path.name}.shred")
        try:
            path.rename(doomed)
        except FileNotFoundError:
            return  # its writer was faster and has published it, or another process shreds it
        with open(doomed, "r+b") as file:
            left = os.fstat(file.fileno()).st_size
            while left > 0:
                left -= file.write(BLANK[:left])
            file.flush()
            os.fsync(file.fileno())
        doomed.unlink()
        sync_folder(path.parent)
