"""Tables and bars: drawn on a terminal, plain when piped; where the default store is."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from foreword.cli.lines import one_line, visible
from foreword.cli.output import cell, percent, usd_text
from foreword.cli.place import default_store


def on_terminal(*args: str, program: str = "pass", **env: str) -> bytes:
    """Run the command line on a pseudo-terminal, `program` before it, and return what it showed."""
    leader, follower = pty.openpty()
    program += "; from foreword.cli.main import main; main()"
    surroundings = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CI")}
    process = subprocess.Popen(
        [sys.executable, "-c", program, *args],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**surroundings, "TERM": "xterm-256color", "COLUMNS": "120", **env},
    )
    os.close(follower)
    shown = b""
    try:
        while chunk := os.read(leader, 65_536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(leader)
    assert process.wait(timeout=60) == 0, shown
    return shown


def test_a_terminal_gets_bold_heads_unless_no_color(session_file: Path) -> None:
    """NO_COLOR is respected: no colour, the same figures."""
    drawn = on_terminal("stats", str(session_file))
    assert b"\x1b[1m" in drawn
    assert b"category" in drawn
    colours = [f"\x1b[{code}m".encode() for code in (*range(30, 38), *range(90, 98))]
    plain = on_terminal("stats", str(session_file), NO_COLOR="1")
    assert not any(colour in plain for colour in colours)
    assert b"category" in plain


def test_recorded_text_cannot_steer_a_terminal(home: Path) -> None:
    """`read` shows control sequences; piped, it would give them as they are."""
    from foreword.engine.session import Session
    from foreword.store.store import Store

    with Store.open(home / "data" / "foreword") as store:
        seq = Session.open(store, "plumbing").say("a\x1b]0;owned\x07b")
    shown = on_terminal("read", f"plumbing#{seq}")
    assert b"\x1b]0;" not in shown
    assert b"a\\x1b]0;owned\\x07b" in shown


def test_a_replay_shows_its_progress(home: Path, session_file: Path) -> None:
    """A bar counts the steps on a terminal."""
    target = ("--provider", "anthropic", "--model", "claude-opus-4-8")
    assert b"/7" in on_terminal("replay", str(session_file), *target, "--out", str(home / "out"))


@pytest.mark.parametrize(
    "platform, environ, place",
    [
        ("linux", {}, ".local/share/foreword"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/foreword"),
        ("linux", {"XDG_DATA_HOME": "relative"}, ".local/share/foreword"),
        ("darwin", {}, "Library/Application Support/foreword"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "/data/foreword"),
        ("win32", {}, "AppData/Local/foreword"),
        ("win32", {"LOCALAPPDATA": "/local", "XDG_DATA_HOME": "/data"}, "/local/foreword"),
    ],
)
def test_the_default_store_is_where_the_system_keeps_data(
    platform: str, environ: dict[str, str], place: str
) -> None:
    """By platform, and by what its environment says."""
    assert default_store(platform, environ, Path("/home/a")) == Path("/home/a") / place


def test_figures_are_written_for_people() -> None:
    """Thousands grouped, unknown as a dash and never as 0."""
    assert [cell(value) for value in (1234567, None, 0, 1.5)] == ["1,234,567", "–", "0", "1.50"]
    assert [percent(0.12345), percent(None), percent(0.0)] == ["12.3%", "–", "0.0%"]
    assert [usd_text("1234.5"), usd_text("0.00123"), usd_text(None), usd_text("0")] == [
        "$1,234.50", "$0.0012", "–", "$0.00",
    ]  # fmt: skip


def test_untrusted_text_is_made_visible() -> None:
    """Control characters, bidirectional overrides and line ends in one-liners."""
    assert one_line("a\nb\x1b[0m\u202ec") == "a b\\x1b[0m\\u202ec"
    assert one_line("x" * 50, 10) == "x" * 9 + "…"
    assert visible("a\tb\n\x07") == "a\tb\n\\x07"
