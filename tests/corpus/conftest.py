"""Recorded sessions of the folder that FOREWORD_DATA names; a sample of them with FOREWORD_CORPUS=sample."""

import os
from pathlib import Path

import pytest

SESSION_SUFFIXES = (".jsonl", ".json", ".jsonl.gz", ".json.gz", ".jsonl.zst", ".json.zst")
SAMPLE_EVERY = 16


def recorded_files(folder: str, *, sample: bool) -> list[Path]:
    """List the files that may hold sessions, sorted; of a sample, every sixteenth of each folder."""
    if not folder or not Path(folder).is_dir():
        raise pytest.UsageError(f"FOREWORD_DATA must name a folder of recorded sessions (got {folder!r})")
    by_folder: dict[Path, list[Path]] = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.name.endswith(SESSION_SUFFIXES):
            by_folder.setdefault(path.parent, []).append(path)
    return [path for paths in by_folder.values() for path in paths[:: SAMPLE_EVERY if sample else 1]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test that asks for a `recorded` file every one of them."""
    if "recorded" in metafunc.fixturenames:
        folder = os.environ.get("FOREWORD_DATA", "")
        files = recorded_files(folder, sample=os.environ.get("FOREWORD_CORPUS") == "sample")
        metafunc.parametrize("recorded", files, ids=lambda path: path.relative_to(folder).as_posix())


@pytest.fixture
def corpus_sample() -> bool:
    """Whether only a part of the corpus is wanted."""
    return os.environ.get("FOREWORD_CORPUS") == "sample"


COLUMNS = ("file", "provider", "window", "sessions", "steps", "refused", "wrong_refusals", "violations", "breaks",
           "unexplained", "lost", "epochs")  # fmt: skip


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one row a replayed file, wire and window; window 0 is the catalog's."""
    rows = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", [])
        if name == "replay" and report.when == "call"
    ]
    if not rows:
        return
    terminalreporter.section("replayed sessions")
    rows.sort(key=lambda row: (row["file"], row["provider"], -row["window"]))
    widths = [max(len(column), *(len(str(row[column])) for row in rows)) for column in COLUMNS]
    for cells in (COLUMNS, *([str(row[column]) for column in COLUMNS] for row in rows)):
        terminalreporter.line("  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))
