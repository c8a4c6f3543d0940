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
from tests.field_cases.cases import Case, Line, NoCase, Unsupported, read_lines
from tests.field_cases.operations import OPERATIONS
from tests.field_cases.outcome import CheckFailed, Outcome, is_products

USAGE = "usage: python -m tests.field_cases FILE [--reasons] [--topics]"


class Result(Struct, frozen=True, kw_only=True):
    """What came of a line: ok, FAIL with the reason, or unsupported with the reason. ``case``: it is one."""

    id: str
    topic: str
    verdict: str
    reason: str = ""
    case: bool = True

    @property
    def line(self) -> str:
        told = f": {self.reason}" if self.verdict == "FAIL" else ""
        return f"{self.id} {self.verdict}{told}"


def main(arguments: Sequence[str]) -> int:
    """Run the cases of a file; return the exit code: 0 none failed, 1 one did, 2 bad use or a line that is no case."""
    options = {argument for argument in arguments if argument.startswith("--")}
    files = [argument for argument in arguments if argument not in options]
    if len(files) != 1 or options - {"--reasons", "--topics"}:
        print(USAGE, file=sys.stderr)
        return 2
    results: list[Result] = []
    try:
        for line in read_lines(Path(files[0])):
            result = run(line)
            results.append(result)
            _print(result.line)
            if not result.case:
                _print(f"field cases: {files[0]}, line {line.number}: no case: {result.reason}", error=True)
            elif "--reasons" in options and result.verdict == "unsupported":
                _print(f"  {result.id}: {result.reason}", error=True)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        print(f"field cases: {error}", file=sys.stderr)
        return 2
    if "--topics" in options:
        _print_topics(results)
    print(_totals(results))
    if any(result.verdict == "FAIL" for result in results):
        return 1
    return 0 if all(result.case for result in results) else 2


def _print(text: str, *, error: bool = False) -> None:
    """Print one line, whatever characters a case has in its id."""
    stream = sys.stderr if error else sys.stdout
    encoding = stream.encoding or "utf-8"
    flat = text.replace("\r", "\\r").replace("\n", "\\n")
    print(flat.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)


def run(line: Line) -> Result:
    """Run the case of a line in a folder of its own."""
    named = {"id": line.id, "topic": line.topic}
    try:
        case = line.case()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Room(Path(folder)) as room:
            faults = _faults(case, _outcome(case, room))
    except NoCase as fault:
        return Result(**named, verdict="unsupported", reason=str(fault), case=False)
    except Unsupported as missing:
        return Result(**named, verdict="unsupported", reason=str(missing))
    if faults:
        return Result(**named, verdict="FAIL", reason="; ".join(faults))
    return Result(**named, verdict="ok")


def _outcome(case: Case, room: Room) -> Outcome:
    """Do what a case asks for. What the product raises is what came of it; what the driver does, is its own fault."""
    if case.op not in OPERATIONS:
        raise Unsupported(f"op {case.op}")
    if not case.checks:
        raise Unsupported("a case without checks")
    try:
        outcome = OPERATIONS[case.op](case, room)
    except (Unsupported, KeyboardInterrupt):
        raise
    except BaseException as error:  # a compiled library's may be no Exception
        if not is_products(error):
            raise Unsupported(f"an input that can't be read: {_told(error)}") from error
        outcome = Outcome(error=error)
    outcome.given = case.input
    return outcome


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


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
        except Exception as error:  # noqa: BLE001  other cases go on
            if is_products(error):  # a check may read or compile once more
                faults.append(f"{check['check']}: raised {_told(error)}")
            else:
                missing = missing or Unsupported(
                    f"a check that can't be made: {check['check']}: {_told(error)}"
                )
    if outcome.error is not None and not any(checks.asks_for(check, "raises") for check in case.checks):
        faults.append(f"raised {_told(outcome.error)}")
    if missing is not None and not faults:
        raise missing
    return faults


def _print_topics(results: Sequence[Result]) -> None:
    for topic in {result.topic: None for result in results}:
        _print(f"{topic}: {_totals([result for result in results if result.topic == topic])}")


def _totals(results: Sequence[Result]) -> str:
    counted = Counter(result.verdict for result in results)
    return f"{counted['ok']} passed, {counted['FAIL']} failed, {counted['unsupported']} unsupported"
