"""Is this installation sound? Each check looks at the thing itself, not at what should be there."""

from __future__ import annotations

import sys
import tempfile
from datetime import date
from importlib.util import find_spec
from pathlib import Path

from foreword.core.catalog import Catalog
from foreword.core.endpoint import profiles
from foreword.engine.findings import Finding
from foreword.errors import ForewordError
from foreword.store.connection import SAFE_SQLITE
from foreword.store.place import place_of
from foreword.store.store import Store

OLD_DAYS = 60
"""A catalog older than this has missed price changes: there were five in four months (2026-08 to 2026-11)."""
LOWEST_PYTHON = (3, 11)


def check_installation(store: str, today: date) -> list[Finding]:
    """Look at Python, SQLite, the extras, the store at this place, and the age of the data."""
    return [
        check_python(sys.version_info[:3]),
        check_sqlite(),
        *check_extras(),
        *check_store(store),
        *check_age(today),
    ]


def check_python(version: tuple[int, ...]) -> Finding:
    """Compare Python's version with the lowest that is supported."""
    text = f"Python {'.'.join(map(str, version))}"
    if version < LOWEST_PYTHON:
        lowest = ".".join(map(str, LOWEST_PYTHON))
        return Finding(code="python_old", level="problem", text=text, move=f"use Python {lowest} or later")
    return Finding(code="python", level="ok", text=text)


def check_sqlite() -> Finding:
    """Compare the SQLite that apsw brings with the first one that can't corrupt a log."""
    import apsw

    version = apsw.sqlite_lib_version()
    text = f"SQLite {version}, of apsw {apsw.apsw_version()}"
    if tuple(int(part) for part in version.split(".")) < SAFE_SQLITE:
        safe = ".".join(map(str, SAFE_SQLITE))
        return Finding(code="sqlite_unsafe", level="problem", text=text, move=f"install apsw {safe} or later")
    return Finding(code="sqlite", level="ok", text=text)


def check_extras() -> list[Finding]:
    """Say which optional parts are there."""
    found: list[Finding] = []
    for extra, module, there, without in (
        ("tokens", "toktok", "o200k tokens are counted exactly", "tokens are estimated"),
        ("language", "py3langid", "the language of messages can be told", "no language can be asked for"),
        ("http", "aiohttp", "requests can be sent", "requests can't be sent from here"),
    ):
        if find_spec(module) is not None:
            found.append(Finding(code=extra, level="ok", text=f"extra {extra}: {there}"))
        else:
            move = f"pip install 'foreword[{extra}]'"
            text = f"extra {extra} is not installed: {without}"
            found.append(Finding(code=f"{extra}_missing", level="note", text=text, move=move))
    return found


def check_store(name: str) -> list[Finding]:
    """Open the store for reading, and write and remove a file beside it. A store not yet made is not made."""
    try:
        place = place_of(name)
        folder = place.database.parent
        if not place.exists():
            missing = next((above for above in (folder, *folder.parents) if above.exists()), Path("/"))
            return [_writable(missing, f"no store at {place.name} yet; the first import makes it")]
        with Store.open(name, read_only=True) as opened:
            text = f"store {place.name}: {len(opened.sessions()):,} sessions"
    except ForewordError as error:
        return [Finding(code="store_unavailable", level="problem", text=str(error))]
    return [_writable(folder, text)]


def _writable(folder: Path, text: str) -> Finding:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        fault = f"{text}, but {folder} can't be written: {error.strerror}"
        move = "make it writable, or name another store"
        return Finding(code="store_not_writable", level="problem", text=fault, move=move)
    return Finding(code="store", level="ok", text=text)


def check_age(today: date) -> list[Finding]:
    """Say how old the newest rows of the catalog and of the endpoint profiles are."""
    catalog = Catalog.load()
    newest = {
        "catalog": max(catalog.model(name).as_of for name in catalog.names),
        "endpoints": max(profile.as_of for profile in profiles().values()),
    }
    found: list[Finding] = []
    for name, as_of in newest.items():
        days = (today - date.fromisoformat(as_of)).days
        text = f"{name}: as of {as_of}, {days} days old"
        if days > OLD_DAYS:
            move = "upgrade foreword; prices and windows change monthly"
            found.append(Finding(code=f"{name}_old", level="warning", text=text, move=move))
        else:
            found.append(Finding(code=name, level="ok", text=text))
    return found
