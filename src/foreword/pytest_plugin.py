"""A pytest plugin: hold the prompt cache of your own agent against a baseline.

The fixture ``cache_gate`` collects the usage of repeat runs; ``cache_gate.check(baseline=…, tolerance=…)``, or the
marker ``@pytest.mark.cache_gate(baseline=…, tolerance=…)``, fails the test when the median hit rate is too low, and
with a message of its own when nothing at all was read. Nothing of Foreword is loaded before a test asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from foreword.core.usage import Usage
    from foreword.evals.gate import Gate

MARKER = "cache_gate"


class CacheRun:
    """One run of the task."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.usages: list[Usage | None] = []

    def add(self, response: Any) -> None:
        """Add a call by its response or usage object: of any provider's SDK, plain values, JSON, or a `Usage`.

        One that tells no usage counts as a call without. Raises: InvalidArgument for what is no response at all.
        """
        from foreword.errors import InvalidArgument
        from foreword.evals.usage_lines import usage_of

        usage = usage_of(response)
        if usage is None and not _has_members(response):
            takes = "a response or its usage: what an SDK returned, a dict, or JSON text"
            raise InvalidArgument("CacheRun.add", "response", response, takes)
        self.usages.append(usage)


def _has_members(value: object) -> bool:
    """Whether this can be a response: an object of JSON, as such, as text, or in an SDK's form."""
    if isinstance(value, bytes | str):
        try:
            value = json.loads(value)
        except ValueError:
            return False
    return isinstance(value, Mapping) or hasattr(value, "model_dump")


class CacheGate:
    """Repeat runs of one task, and the verdict on them."""

    def __init__(self) -> None:
        self._runs: list[CacheRun] = []

    @contextmanager
    def run(self, name: str | None = None) -> Iterator[CacheRun]:
        """Begin another run; give its calls to ``add``."""
        self._runs.append(CacheRun(name or f"run {len(self._runs) + 1}"))
        yield self._runs[-1]

    def judge(self, *, baseline: float, tolerance: float) -> Gate:
        """Return the verdict without failing. Raises: ValueError for a share outside of 0 to 1, or without a run."""
        from foreword.evals.gate import gate, run_of

        return gate(
            [run_of(run.name, run.usages) for run in self._runs], baseline=baseline, tolerance=tolerance
        )

    def check(self, *, baseline: float, tolerance: float) -> None:
        """Fail the test when the median hit rate of the runs is under ``baseline`` - ``tolerance``."""
        __tracebackhide__ = True
        if not self._runs:
            pytest.fail("cache gate: no run was recorded; put the task into `with cache_gate.run() as run:`")
        try:
            verdict = self.judge(baseline=baseline, tolerance=tolerance)
        except ValueError as error:
            pytest.fail(f"cache gate: {error}")
        if not verdict.ok:
            pytest.fail(f"cache gate: {verdict.text}")


@pytest.fixture
def cache_gate() -> CacheGate:
    """Collect the usage of repeat runs, to hold their cache hit rate against a baseline."""
    return CacheGate()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, so that strict projects accept it."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(baseline, tolerance): fail when the median cache hit rate of the runs given to the fixture "
        f"cache_gate is under baseline - tolerance.",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """After a test with the marker passed, judge the runs it gave."""
    result = yield
    marker = item.get_closest_marker(MARKER)
    if marker is not None:
        found = getattr(item, "funcargs", {}).get("cache_gate")
        if not isinstance(found, CacheGate):
            pytest.fail(f"the marker {MARKER} needs the fixture cache_gate among the test's arguments")
        if marker.args or set(marker.kwargs) != {"baseline", "tolerance"}:
            given = ", ".join([*map(repr, marker.args), *(f"{k}={v!r}" for k, v in marker.kwargs.items())])
            pytest.fail(
                f"the marker {MARKER} takes a baseline and a tolerance by name, got ({given}); write "
                f"@pytest.mark.{MARKER}(baseline=0.9, tolerance=0.05)"
            )
        found.check(**marker.kwargs)
    return result
