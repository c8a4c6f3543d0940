"""Counts: how many random histories a run walked and how many requests were refused; whose lines are measured."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.histories import COUNTS

GATHERED = pytest.StashKey[Counter[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin to gather."""
    config.stash[GATHERED] = Counter()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave generated examples out of the measured lines: that takes three times as long, and others measure them."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.no_cover)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take what a worker counted (pytest-xdist); one that died told nothing."""
    node.config.stash[GATHERED].update(getattr(node, "workeroutput", {}).get("histories", {}))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand on what this process counted."""
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["histories"] = dict(COUNTS)
    else:
        session.config.stash[GATHERED].update(COUNTS)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the sums."""
    found = config.stash[GATHERED]
    if found:
        told = ", ".join(f"{found[name]:,} {name}" for name in sorted(found))
        terminalreporter.write_line(f"random histories: {told}")
