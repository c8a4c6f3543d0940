"""Bytes of log per message over recorded sessions, against the size of the original files.

Needs FOREWORD_DATA; without it the demo session is measured alone.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from foreword.engine.import_file import import_file
from foreword.errors import ImportFailed
from foreword.store.store import Store

FOLDERS = ("claude_code", "tau_bench")
DEMO = Path(__file__).parent.parent / "demo" / "session.json"


def size_of(folder: Path) -> int:
    """Bytes of all files of a store."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Print one row a file and the total."""
    data = os.environ.get("FOREWORD_DATA")
    files = (
        [path for name in FOLDERS for path in sorted(Path(data, name).glob("*.jsonl"))] if data else [DEMO]
    )
    print(f"{'file':28}{'messages':>9}{'file bytes':>12}{'log bytes':>11}{'per message':>12}{'log/file':>9}")
    totals = [0, 0, 0]
    for path in files:
        with tempfile.TemporaryDirectory() as folder:
            try:
                with Store.open(folder) as store:
                    import_file(store, str(path))
                    messages = sum(
                        event.kind in ("said", "answered", "tool_returned")
                        for row in store.sessions()
                        for event in store.load(row.id)
                    )
            except ImportFailed as refused:
                print(refused)
                continue
            row = (messages, path.stat().st_size, size_of(Path(folder)))
        totals = [total + value for total, value in zip(totals, row, strict=True)]
        show(path.name, *row)
    show("total", *totals)


def show(name: str, messages: int, file_bytes: int, log_bytes: int) -> None:
    """Print one row."""
    each, share = log_bytes / max(1, messages), log_bytes / max(1, file_bytes)
    print(f"{name:28}{messages:9,}{file_bytes:12,}{log_bytes:11,}{each:12,.0f}{share:9.2f}")


if __name__ == "__main__":
    main()
