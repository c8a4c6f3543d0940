"""A command that takes its time says so, to a person only."""

import io
import re
import time
from pathlib import Path

import pytest

from foreword.cli import patience
from foreword.cli.output import emit, note
from foreword.cli.patience import Patience
from tests.cli.test_output import on_terminal


class Terminal(io.StringIO):
    """What a terminal was given."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch, *, soon: float = 0.01) -> Terminal:
    """Put a terminal in the place of stderr; called in the test itself, since capturing undoes it before."""
    made = Terminal()
    monkeypatch.setattr("sys.stderr", made)
    monkeypatch.setattr(patience, "SOON", soon)
    monkeypatch.setattr(patience, "AGAIN", 0.3)
    return made


def wait_for(terminal: io.StringIO, text: str) -> None:
    end = time.monotonic() + 10
    while text not in terminal.getvalue():
        assert time.monotonic() < end, terminal.getvalue()
        time.sleep(0.005)


def test_the_line_makes_room_for_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes back after them, and nothing of it is left at the end."""
    shown = terminal(monkeypatch)
    with Patience("foreword stats"):
        wait_for(shown, "foreword stats: working, ")
        note("warning: odd")
        assert re.search(r"\r {28,}\rwarning: odd\n", shown.getvalue())
        shown.seek(0)
        shown.truncate()
        wait_for(shown, "foreword stats: working, ")
        emit("figures")
    assert re.search(r"\r {28,}\r$", shown.getvalue())
    told = shown.getvalue()
    time.sleep(0.4)
    assert shown.getvalue() == told


def test_a_command_is_waited_for_with_its_name(home: Path, session_file: Path) -> None:
    """On a terminal, with the figures below as ever."""
    program = "from foreword.cli import patience; patience.SOON = 0.0; patience.AGAIN = 0.01"
    drawn = on_terminal("stats", str(session_file), program=program)
    assert b"foreword stats: working" in drawn
    assert b"category" in drawn


def test_what_shows_progress_itself_ends_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar and the line would write over each other."""
    shown = terminal(monkeypatch)
    with Patience("foreword replay"):
        wait_for(shown, "working")
        patience.end()
        told = shown.getvalue()
        time.sleep(0.4)
        assert shown.getvalue() == told


def test_what_is_quick_or_piped_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds are quick."""
    shown = terminal(monkeypatch, soon=2.0)
    with Patience("foreword stats"):
        time.sleep(0.05)
    piped = io.StringIO()
    monkeypatch.setattr(patience, "SOON", 0.001)
    monkeypatch.setattr("sys.stderr", piped)
    with Patience("foreword stats"):
        time.sleep(0.05)
    assert (shown.getvalue(), piped.getvalue()) == ("", "")
