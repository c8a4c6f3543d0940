"""The model's reads beside recorded ones: what it foresees, and how both are scored."""

from typing import Any

from foreword.evals.cache_fit import Read, reads_of, score
from foreword.evals.cache_signs import signs_of
from foreword.evals.calls import calls_of, unseen_of
from foreword.importers.read import read
from tests.evals.test_cache_explain import CASES, ended, opened


def reads(data: bytes) -> list[Read]:
    """Predict the reads of a file."""
    [session] = read("s.jsonl", data=data)
    signs = signs_of("s.jsonl", session.format, data)
    return reads_of(calls_of(session.drafts, signs), unseen_of(session.drafts))


def test_what_grows_within_its_life_is_read_whole() -> None:
    """The prompt before, to the token; a second later than its life, nothing."""
    [near] = reads(ended(opened(), 310, 40_000))
    assert (near.predicted, near.foreseen) == (40_010, False)
    [late] = reads(ended(opened(), 311))
    assert (late.predicted, late.foreseen, late.broke) == (0, True, True)


def test_a_compaction_leaves_what_no_message_holds() -> None:
    """The prefix that the file doesn't hold, fitted on the first call, is what is read then."""
    data = next(make for make, cause, *_ in CASES if cause == "compaction")()
    [one] = reads(data)
    [session] = read("s.jsonl", data=data)
    assert one.predicted == unseen_of(session.drafts)
    assert 39_000 < one.predicted < 40_010


def test_the_score_counts_both_ways() -> None:
    """One break foreseen, one missed, one cried: precision and recall are half; errors are over the breaks."""
    made = [pair(0, 0), pair(0, 100), pair(100, 0), pair(100, 100)]
    figures: dict[str, Any] = score(made)
    assert (figures["calls"], figures["breaks"], figures["foreseen"], figures["right"]) == (4, 2, 2, 1)
    assert (figures["precision"], figures["recall"]) == (0.5, 0.5)
    assert figures["error_at_breaks"] == {"median": 0.5, "mean": 0.5}
    assert figures["naive_error_at_breaks"] == {"median": 1.0, "mean": 1.0}
    assert score([])["precision"] is None


def pair(read_: int, predicted: int) -> Read:
    return Read(prompt=120, before=100, read=read_, predicted=predicted)
