"""The cache gate: a median against a baseline, and two failures that mean that nothing was measured."""

from __future__ import annotations

import pytest

from foreword.core.usage import Usage
from foreword.evals.gate import Gate, Run, gate, run_of


def run(rate: float, name: str = "run", size: int = 10_000) -> Run:
    return Run(name=name, calls=5, unknown=0, input=size, cache_read=round(size * rate))


def judged(*rates: float, baseline: float = 0.9, tolerance: float = 0.05) -> Gate:
    return gate(
        [run(rate, f"run {n}") for n, rate in enumerate(rates)], baseline=baseline, tolerance=tolerance
    )


@pytest.mark.parametrize(
    "rates, ok, middle",
    [
        ((0.9, 0.9, 0.9), True, 0.9),
        ((0.85, 0.85, 0.2), True, 0.85),
        ((0.99, 0.84, 0.84), False, 0.84),
        ((0.8, 0.9), True, 0.85),
        ((0.85,), True, 0.85),
        ((0.8499,), False, 0.8499),
    ],
)
def test_the_median_decides(rates: tuple[float, ...], ok: bool, middle: float) -> None:
    """One bad run of three is forgiven, two are not; the threshold itself passes."""
    found = judged(*rates)
    assert (found.ok, found.median, found.threshold) == (ok, middle, 0.85)
    assert found.reason == (None if ok else "below")
    assert f"{middle:.1%}" in found.text


def test_nothing_read_at_all_has_its_own_message() -> None:
    """All-zero fails even where the threshold is 0: a usage field probably changed its name."""
    found = judged(0.0, 0.0, 0.0, baseline=0.03, tolerance=0.05)
    assert (found.ok, found.reason, found.threshold) == (False, "all_zero", 0.0)
    assert "changed its name" in found.text
    assert "15 calls of 3 runs" in found.text
    assert judged(0.0, 0.0, 0.9).reason == "below"


def test_a_run_without_usage_is_no_measurement() -> None:
    """A run that tells no usage fails by name, however well the others did."""
    empty = run_of("nightly", [None, Usage(uncached=5, output=1)])
    assert (empty.calls, empty.unknown, empty.hit_rate) == (0, 2, None)
    found = gate([run(0.95), run(0.95), empty], baseline=0.9, tolerance=0.05)
    assert (found.ok, found.reason) == (False, "no_usage")
    assert "nightly" in found.text


def test_a_run_is_the_sum_of_its_calls() -> None:
    """The rate is of the tokens of the whole run, not a mean of rates; unknown calls are counted, not taken for 0."""
    first = Usage(uncached=100, cache_read=0, cache_write_short=900, cache_write_long=0, output=5)
    second = Usage(uncached=0, cache_read=1_000, cache_write_short=1_000, cache_write_long=0, output=5)
    found = run_of("run", [first, second, None])
    assert (found.calls, found.unknown, found.input, found.cache_read) == (2, 1, 3_000, 1_000)
    assert found.hit_rate == pytest.approx(1 / 3)


@pytest.mark.parametrize("baseline, tolerance", [(-0.1, 0), (1.1, 0), (0.5, 2), (93, 3)])
def test_shares_are_shares(baseline: float, tolerance: float) -> None:
    """A percentage is refused, and so is a gate without a run."""
    with pytest.raises(ValueError, match="share"):
        gate([run(0.5)], baseline=baseline, tolerance=tolerance)
    with pytest.raises(ValueError, match="no run"):
        gate([], baseline=0.5, tolerance=0.1)
