"""The pytest plugin, as an installed project sees it: in a pytest of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

USAGE = '{"usage": {"input_tokens": %d, "cache_read_input_tokens": %d, "output_tokens": 3}}'
RUN = """
import pytest

USAGE = %r

def record(cache_gate, read, runs=3):
    for _ in range(runs):
        with cache_gate.run() as run:
            for _ in range(2):
                run.add(USAGE %% (1000 - read, read))
"""


def ran(folder: Path, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one test file in a fresh, strict pytest without the project's configuration."""
    file = folder / "test_agent.py"
    file.write_text(RUN % USAGE + source)
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-W", "error", "-c", "/dev/null"]
    return subprocess.run(
        [*command, "--rootdir", str(folder), *arguments, str(file)],
        capture_output=True, text=True, cwd=folder, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "read, code, said",
    [(950, 0, "1 passed"), (800, 1, "median hit rate 80.0% of 3 runs"), (0, 1, "changed its name")],
)
def test_the_fixture_checks(tmp_path: Path, read: int, code: int, said: str) -> None:
    """Good runs pass; a low median and all-zero reads fail, each with its message and without a trace of ours."""
    done = ran(
        tmp_path,
        f"""
def test_cache(cache_gate):
    record(cache_gate, {read})
    cache_gate.check(baseline=0.9, tolerance=0.05)
""",
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout
    assert "pytest_plugin.py" not in done.stdout


def test_the_marker_checks_after_the_test(tmp_path: Path) -> None:
    """A marked test fails by its runs; unmarked ones don't; without runs or the fixture the marker says so."""
    done = ran(
        tmp_path,
        """
marked = pytest.mark.cache_gate(baseline=0.9, tolerance=0.05)

@marked
def test_good(cache_gate):
    record(cache_gate, 900)

@marked
def test_bad(cache_gate):
    record(cache_gate, 100)

@marked
def test_empty(cache_gate):
    pass

@marked
def test_bare():
    pass

@marked
def test_own_failure(cache_gate):
    assert 1 == 2

def test_unmarked(cache_gate):
    record(cache_gate, 0)
    assert not cache_gate.judge(baseline=0.9, tolerance=0.0).ok
""",
    )
    assert "4 failed, 2 passed" in done.stdout
    assert "median hit rate 10.0%" in done.stdout
    assert "no run was recorded" in done.stdout
    assert "needs the fixture cache_gate" in done.stdout
    assert "assert 1 == 2" in done.stdout


def test_a_project_that_does_not_use_it_pays_nothing(tmp_path: Path) -> None:
    """Only the plugin and the package's face are loaded."""
    done = ran(
        tmp_path,
        """
import sys

def test_loaded():
    assert sorted(name for name in sys.modules if name.startswith("foreword")) == ["foreword", "foreword.pytest_plugin"]
""",
    )
    assert "1 passed" in done.stdout, done.stdout


def test_a_slip_in_the_marker_or_a_run_is_said(tmp_path: Path) -> None:
    """What is missing, and how it is written; a share is no percentage; what is no response is not counted as one."""
    done = ran(
        tmp_path,
        """
@pytest.mark.cache_gate(baseline=95)
def test_alone(cache_gate):
    record(cache_gate, 900)

@pytest.mark.cache_gate(0.9, 0.05)
def test_by_place(cache_gate):
    record(cache_gate, 900)

def test_percent(cache_gate):
    record(cache_gate, 900)
    cache_gate.check(baseline=95, tolerance=0.05)

@pytest.mark.parametrize("response", ["garbage", None, 5, "[]"])
def test_no_response(cache_gate, response):
    with cache_gate.run() as run:
        run.add({"id": "without usage"})
        run.add(response)
""",
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "takes a baseline and a tolerance by name, got (baseline=95); write" in done.stdout
    assert "got (0.9, 0.05)" in done.stdout
    assert "cache gate: baseline 95 is no share from 0 to 1" in done.stdout
    assert "CacheRun.add: response is 'garbage'; give a response or its usage" in done.stdout
    assert "7 failed" in done.stdout
