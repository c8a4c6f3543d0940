"""Searching lines by a pattern that may be hostile."""

import time

import pytest

from foreword.engine.grep import BadPattern, matching

LINES = ["alpha\n", "beta (1)\n", "gamma|delta\n", "épsilon", "beta"]


@pytest.mark.parametrize(
    "pattern, found",
    [
        ("beta", [1, 4]),
        ("^beta$", [4]),
        (r"\(\d\)", [1]),
        ("alpha|delta", [0, 2]),
        (r"\|", [2]),
        ("(?i)ÉPS", [3]),
        ("", [0, 1, 2, 3, 4]),
        ("zeta.", []),
    ],
)
def test_python_syntax_line_by_line(pattern: str, found: list[int]) -> None:
    """Plain text and operators find the same lines as re.search does on lines without their ends."""
    assert matching(pattern, LINES) == found


def test_a_hostile_pattern_is_ended_in_time() -> None:
    """Exponential backtracking is stopped by the limit."""
    started = time.monotonic()
    with pytest.raises(BadPattern, match=r"took longer than 0\.5 s"):
        matching("^(a|a?)+$", ["a" * 60 + "!"], seconds=0.5)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{9999999999}", "(?P<x", "x" * 1001])
def test_what_is_no_pattern_is_said_so(pattern: str) -> None:
    """Syntax errors and overlong patterns have their own words."""
    with pytest.raises(BadPattern):
        matching(pattern, ["text"])


def test_text_cannot_break_the_worker() -> None:
    """Control characters, separators of other kinds and lone surrogates come through."""
    lines = ["a\x00b\n", "c\u2028d\n", "e\ud800f\n"]
    assert matching("[bdf]$", lines) == [0, 1, 2]
