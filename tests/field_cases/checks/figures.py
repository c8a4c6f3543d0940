"""Checks of numbers: money, counts, times, model calls."""

from __future__ import annotations

from typing import Any

from tests.field_cases.cases import Unsupported
from tests.field_cases.checks.comparing import Check, compare, decimal, expect
from tests.field_cases.outcome import CheckFailed, Outcome
from tests.field_cases.request import MISSING, at_path

SHORT = 0.050
"""Seconds below which two times are not compared."""


def money(outcome: Outcome, args: dict[str, Any]) -> None:
    got = at_path(outcome.values, args["path"])
    known = got is not MISSING and got is not None
    expect(known and decimal(got) == decimal(args["equals"]), f"{args['path']} {args['equals']}", got)


def _counts(outcome: Outcome) -> list[dict[str, Any]]:
    if "counts" not in outcome.values:
        raise CheckFailed("counts", outcome.error)
    return outcome.values["counts"]


def each_count(outcome: Outcome, args: dict[str, Any]) -> None:
    for index, count in enumerate(_counts(outcome)):
        compare(args, count["tokens"], what=f"count {index}")


def count_of(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, _counts(outcome)[args["index"]]["tokens"], what=f"count {args['index']}")


def counts_equal(outcome: Outcome, args: dict[str, Any]) -> None:
    found = [_counts(outcome)[index]["tokens"] for index in args["of"]]
    expect(max(found) - min(found) <= args.get("tolerance", 0), "equal counts", found)


def count_greater(outcome: Outcome, args: dict[str, Any]) -> None:
    counts = _counts(outcome)
    gain = counts[args["a"]]["tokens"] - counts[args["b"]]["tokens"]
    least = args.get("by_gte", 1)
    expect(gain >= least, f"count {args['a']} over count {args['b']} by at least {least}", gain)


def total(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, sum(count["tokens"] for count in _counts(outcome)))


def each_time_s(outcome: Outcome, args: dict[str, Any]) -> None:
    for index, count in enumerate(_counts(outcome)):
        compare(args, count["seconds"], what=f"seconds of count {index}")


def time_ratio(outcome: Outcome, args: dict[str, Any]) -> None:
    above, below = (_counts(outcome)[index]["seconds"] for index in args["of"])
    if max(above, below) > SHORT:
        compare(args, above / max(below, 1e-9))


def after_feedback_within(outcome: Outcome, args: dict[str, Any]) -> None:
    usage = outcome.values["actual"]
    mean = sum(usage) / len(usage)
    got = _counts(outcome)[-1]["tokens"]
    off = abs(got - mean) / mean
    expect(off <= args["relative"], f"within {args['relative']} of {mean:g}", f"{got}, off by {off:.4f}")


def compiled_tokens(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        if request.counted is None:
            raise Unsupported("a count of this request")
        compare(args, request.counted)


def model_calls(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, outcome.model_calls)


def every_model_call_tokens(outcome: Outcome, args: dict[str, Any]) -> None:
    if outcome.error is not None:
        raise CheckFailed("no exception", repr(outcome.error))
    if "model_call_tokens" not in outcome.values:
        raise Unsupported("sizes of model calls after this operation")
    for number, tokens in enumerate(outcome.values["model_call_tokens"]):
        compare(args, tokens, what=f"model call {number}")


FIGURES: dict[str, Check] = {
    "money": money,
    "each_count": each_count,
    "count_of": count_of,
    "counts_equal": counts_equal,
    "count_greater": count_greater,
    "total": total,
    "each_time_s": each_time_s,
    "time_ratio": time_ratio,
    "after_feedback_within": after_feedback_within,
    "compiled_tokens": compiled_tokens,
    "model_calls": model_calls,
    "every_model_call_tokens": every_model_call_tokens,
}
