"""What a terminal showed in the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compiler.terminal import settled
from tests.engine.sessions import session, step
from tests.histories import target_of


@pytest.mark.parametrize(
    "drawn, shown",
    [
        ("plain\n", "plain\n"),
        ("\x1b[1m\x1b[32mPASS\x1b[0m a\nb", "PASS a\nb"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\text", "text"),
        ("\x1b(Btext\x1b7", "text"),
        ("\x9b31mtext", "text"),
        ("cut \x1b[38;2;255;10;1", "cut "),
        ("a title that never ends \x1b]0;half\nnext line", "a title that never ends \nnext line"),
        ("10 %\r55 %\r100 %\nDone\n", "100 %\nDone\n"),
        ("a line of Windows\r\nand another\r\n", "a line of Windows\nand another\n"),
        ("last one wins\rthis\r\r", "this"),
    ],
)
def test_what_stands_at_last(drawn: str, shown: str) -> None:
    """Colours, titles, links and lines drawn over are gone, also where a sequence is cut off."""
    assert settled(drawn) == shown


@given(st.text(alphabet="ab\x1b[]m;0\r\n\x07\\P(A\x9b", max_size=60))
def test_no_control_sequence_is_left(drawn: str) -> None:
    """Whatever was drawn: no escape, as many lines, and the same again when asked again."""
    shown = settled(drawn)
    assert not set(shown) & set("\x1b\x9b\r")
    assert shown.count("\n") == drawn.count("\n")
    assert settled(shown) == shown


def test_an_excerpt_shows_what_the_terminal_did() -> None:
    """An output of many redraws is measured as it came, shown as it ended, and read back byte by byte."""
    drawn = "".join(f"\rfetching {n} of 9000" for n in range(9_000)) + "\n\x1b[31mFAIL\x1b[0m b\n"
    made = session(target_of("anthropic", 20_000))
    made.say("go")
    seq = step(made, 1, drawn)
    body = made.compile().body
    assert b"fetching 8999 of 9000\\n" in body
    assert b"fetching 8998" not in body
    assert b"\\u001b" not in body
    assert made.read(f"{made.alias}#{seq}", limit=1).text.count("\r") == 9_000
