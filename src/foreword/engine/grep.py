"""Searching lines by a regular expression that may be hostile, in text that may be too.

Python's engine backtracks: a short pattern can take hours on a short line, and a process can't stop itself
there. So patterns with operators run in a process of their own that is ended after a time limit; a pattern
without any is looked for as plain text, in linear time and without a process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from foreword.errors import ForewordError

SECONDS = 5.0
LONGEST_PATTERN = 1_000
_OPERATORS = frozenset(r".^$*+?{}[]\|()")


class BadPattern(ForewordError):
    """A pattern that can't be searched for; ``fault`` says why."""

    def __init__(self, pattern: str, fault: str) -> None:
        self.pattern = pattern
        self.fault = fault
        super().__init__(f"pattern {pattern[:80]!r}: {fault}")


def matching(pattern: str, lines: Sequence[str], *, seconds: float = SECONDS) -> list[int]:
    """Return the indexes of the lines in which ``pattern`` (Python's syntax) is found, line ends left out.

    Raises: BadPattern for a pattern that is none, is over 1,000 characters or takes longer than ``seconds``.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise BadPattern(pattern, f"{len(pattern):,} characters, at most {LONGEST_PATTERN:,} are taken")
    if _OPERATORS.isdisjoint(pattern):
        return [index for index, line in enumerate(lines) if pattern in line]
    given = json.dumps([pattern, [line.removesuffix("\n") for line in lines]]).encode()
    try:
        run = subprocess.run(
            [sys.executable, "-I", "-c", _WORKER],
            input=given,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        fault = f"took longer than {seconds:g} s on {len(lines):,} lines; write it without nested repeats"
        raise BadPattern(pattern, fault) from error
    if run.returncode:
        raise BadPattern(pattern, "the search ran out of memory or was ended; write a simpler one")
    answer = json.loads(run.stdout)
    if isinstance(answer, str):
        raise BadPattern(pattern, answer)
    return answer


_WORKER = """
import json, re, sys
pattern, lines = json.load(sys.stdin.buffer)
try:
    search = re.compile(pattern).search
    found = [index for index, line in enumerate(lines) if search(line)]
except (re.error, RecursionError, OverflowError) as error:
    found = f"not a regular expression: {error}"
json.dump(found, sys.stdout)
"""
