"""Where the store is when no one says: the data folder of the person who runs the command."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def default_store(
    platform: str = sys.platform, environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> Path:
    """Return the folder of the default store.

    Linux and others: ``$XDG_DATA_HOME/foreword``, else ``~/.local/share/foreword`` (XDG Base Directory
    Specification 0.8: a relative value is ignored). macOS: ``~/Library/Application Support/foreword``.
    Windows: ``%LOCALAPPDATA%\\foreword``.
    """
    base = Path.home() if home is None else home
    if platform == "win32":
        local = environ.get("LOCALAPPDATA")
        return Path(local) / "foreword" if local else base / "AppData" / "Local" / "foreword"
    given = environ.get("XDG_DATA_HOME", "")
    if given and Path(given).is_absolute():
        return Path(given) / "foreword"
    if platform == "darwin":
        return base / "Library" / "Application Support" / "foreword"
    return base / ".local" / "share" / "foreword"
