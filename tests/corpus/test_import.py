"""Every recorded file is imported, or refused in one line that says what, where and what to do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOREWORD = str(Path(sys.executable).parent / "foreword")


def foreword(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a person would."""
    return subprocess.run([FOREWORD, *words], capture_output=True, text=True, timeout=300, check=False)


def verified_events(store: str) -> int:
    """Verify all that a store holds and count its events."""
    report = json.loads(foreword("verify", "--all", "--store", store, "--json").stdout)
    assert report["ok"], report["problems"]
    return report["events"]


def test_a_recorded_file_is_imported_once_or_refused(recorded: Path, tmp_path: Path) -> None:
    """Exit 0 with sessions that verify, and nothing new the second time; or exit 2 with one plain line."""
    store = str(tmp_path / "store")
    first = foreword("import", str(recorded), "--store", store, "--json")
    if first.returncode == 2:
        assert first.stdout == ""
        assert len(first.stderr.splitlines()) == 1, first.stderr
        pytest.skip(first.stderr.strip())
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["sessions"]
    events = verified_events(store)
    assert events > 0

    second = foreword("import", str(recorded), "--store", store, "--json")
    assert second.returncode == 0, second.stderr
    assert verified_events(store) == events
