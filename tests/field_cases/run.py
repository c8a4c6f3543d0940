"""Run a file of cases and print what came of each."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tests.field_cases import checks
from tests.field_cases.bench import Room
from tests.field_cases.cases import Case, Unsupported, read_cases
from tests.field_cases.generators import left_in
from tests.field_cases.operations import OPERATIONS
from tests.field_cases.outcome import CheckFailed, Outcome

USAGE = "usage: python -m tests.field_cases FILE [--reasons] [--topics]"


class Result(Struct, frozen=True, kw_only=True):
    """What came of a case: ok, FAIL with the reason, or unsupported with the reason."""

    case: Case
    verdict: str
    reason: str = ""

    @property
    def line(self) -> str:
        told = f": {self.reason}" if self.verdict == "FAIL" else ""
        return f"{self.case.id} {self.verdict}{told}"


def main(arguments: Sequence[str]) -> int:
    """Run the cases of a file; return the exit code: 0 none failed, 1 one did, 2 bad use."""
    options = {argument for argument in arguments if argument.startswith("--")}
    files = [argument for argument in arguments if argument not in options]
    if len(files) != 1 or options - {"--reasons", "--topics"}:
        print(USAGE, file=sys.stderr)
        return 2
    try:
        cases = read_cases(Path(files[0]))
    except (OSError, ValueError) as error:
        print(f"field cases: {error}", file=sys.stderr)
        return 2
    results: list[Result] = []
    for case in cases:
        result = run(case)
        results.append(result)
        print(result.line, flush=True)
        if "--reasons" in options and result.verdict == "unsupported":
            print(f"  {case.id}: {result.reason}", file=sys.stderr)
    if "--topics" in options:
        _print_topics(results)
    print(_totals(results))
    return 1 if any(result.verdict == "FAIL" for result in results) else 0


def run(case: Case) -> Result:
    """Run one case in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, Room(Path(folder)) as room:
        try:
            faults = _faults(case, _outcome(case, room))
        except Unsupported as missing:
            return Result(case=case, verdict="unsupported", reason=str(missing))
    if faults:
        return Result(case=case, verdict="FAIL", reason="; ".join(faults))
    return Result(case=case, verdict="ok")


def _outcome(case: Case, room: Room) -> Outcome:
    if case.op not in OPERATIONS:
        raise Unsupported(f"op {case.op}")
    if left := left_in(case.input):
        raise Unsupported(f"generator {left}")
    try:
        outcome = OPERATIONS[case.op](case, room)
    except Unsupported:
        raise
    except Exception as error:  # noqa: BLE001  whatever the product raises is what came of the case
        outcome = Outcome(error=error)
    outcome.given = case.input
    return outcome


def _faults(case: Case, outcome: Outcome) -> list[str]:
    """Return each check that does not hold. Raises Unsupported when a check can't be made and none failed."""
    faults: list[str] = []
    missing: Unsupported | None = None
    for check in checks.expanded(case.checks):
        try:
            checks.apply(outcome, check)
        except CheckFailed as fault:
            faults.append(f"{check['check']}: {fault}")
        except Unsupported as unsupported:
            missing = missing or unsupported
        except Exception as error:  # noqa: BLE001  a check may read or compile once more; other cases go on
            faults.append(f"{check['check']}: raised {type(error).__name__}: {str(error)[:200]}")
    if outcome.error is not None and not any(check["check"] == "raises" for check in case.checks):
        faults.append(f"raised {type(outcome.error).__name__}: {str(outcome.error)[:200]}")
    if missing is not None and not faults:
        raise missing
    return faults


def _print_topics(results: Sequence[Result]) -> None:
    topics = {result.case.topic: None for result in results}
    for topic in topics:
        print(f"{topic}: {_totals([result for result in results if result.case.topic == topic])}")


def _totals(results: Sequence[Result]) -> str:
    counted = Counter(result.verdict for result in results)
    return f"{counted['ok']} passed, {counted['FAIL']} failed, {counted['unsupported']} unsupported"
