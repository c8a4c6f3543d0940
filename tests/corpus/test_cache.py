"""Recorded sessions: their breaks by the figures that were counted apart, and the model against the recorded reads."""

import os
from pathlib import Path

import pytest

from foreword.core.prices import Prices
from foreword.errors import ImportFailed
from foreword.evals.cache_explain import Break, breaks_of
from foreword.evals.cache_fit import Read, reads_of, score
from foreword.evals.cache_signs import signs_of
from foreword.evals.calls import Call, calls_of, unseen_of
from foreword.importers.read import read

COUNTED = {
    "claude_code/large-01.jsonl": (3, 83_514),
    "claude_code/large-02.jsonl": (14, 1_291_635),
    "claude_code/large-03.jsonl": (12, 1_054_257),
    "claude_code/large-04.jsonl": (7, 336_436),
    "pi/large-session.jsonl": (37, None),
}
"""File -> breaks below half, and the tokens written again at those (None: not counted apart)."""


def sessions(path: Path) -> list[tuple[str, list[Call], int]]:
    """Return id, calls and unseen prefix of each session of a file."""
    try:
        imported = read(str(path))
    except ImportFailed as refused:
        pytest.skip(str(refused))
    signs = signs_of(str(path), imported[0].format)
    return [
        (one.session, calls_of(one.drafts, signs, side=number > 0), unseen_of(one.drafts))
        for number, one in enumerate(imported)
    ]


def test_breaks(recorded: Path) -> None:
    """Each break has a cause with evidence; the figures add up; known files have the counted number of breaks."""
    found: list[Break] = []
    for session, calls, _ in sessions(recorded):
        assert all(call.prompt > 0 for call in calls)
        found += breaks_of(calls, session, Prices())
    for one in found:
        assert one.evidence
        assert 0 <= one.read <= one.rewritten + one.read
        assert 0 <= one.lost <= one.expected
        assert one.cost.picodollars is None or one.cost.picodollars >= 0
        assert one.cause != "unknown" or one.certainty == "unknown"
    counted = COUNTED.get(f"{recorded.parent.name}/{recorded.name}")
    if counted is not None:
        deep = [one for one in found if one.below_half]
        assert len(deep) == counted[0]
        assert counted[1] in (None, sum(one.rewritten for one in deep))
        assert not any(one.cause == "unknown" for one in deep)


@pytest.mark.parametrize(
    "folder, precision, recall, error",
    [("claude_code", 0.9, 0.85, 0.15), ("codex", 0.9, 0.2, 0.7), ("pi", 0.8, 0.2, 0.8)],
)
def test_the_model_sees_breaks(folder: str, precision: float, recall: float, error: float) -> None:
    """Where lives are promised and the file tells what changed most breaks are foreseen; the naive guess sees none.

    Codex's cache is best effort, and pi's file does not say when the client was started again.
    """
    files = sorted(Path(os.environ.get("FOREWORD_DATA", ""), folder).glob("*.jsonl"))
    if not files:
        pytest.skip(f"no {folder} in FOREWORD_DATA")
    reads: list[Read] = [
        one for path in files for _, calls, unseen in sessions(path) for one in reads_of(calls, unseen)
    ]
    figures = score(reads)
    assert figures["precision"] >= precision
    assert figures["recall"] >= recall
    assert figures["error_at_breaks"]["mean"] <= error < figures["naive_error_at_breaks"]["mean"]
    assert figures["error"]["mean"] < figures["naive_error"]["mean"]
    assert figures["error"]["median"] <= figures["naive_error"]["median"] < 0.004
