"""foreword read: paging, bytes, patterns, what is gone."""

import json
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foreword.engine.session import Session
from foreword.store.store import Store
from tests.cli.conftest import Run, one_line

RunJson = Callable[..., Any]

TEXT = "first\nnaïve 東京\n\tthird \x1b[31m\nfourth\nlast without end"


@pytest.fixture
def ref(home: Path) -> str:
    """A tool result of five lines in the default store, and beside it one of 1,000."""
    from foreword.core.block import Message, ToolCall

    with Store.open(home / "data" / "foreword") as store:
        session = Session.open(store, "plumbing")
        session.say("look")
        calls = tuple(ToolCall(id=name, name="look", arguments="{}") for name in ("a", "b"))
        session.answered(Message(role="assistant", blocks=calls))
        seq = session.returned("a", TEXT)
        session.returned("b", "".join(f"line {n}\n" for n in range(1, 1001)))
        return f"{session.alias}#{seq}"


def second(ref: str) -> str:
    alias, _, seq = ref.partition("#")
    return f"{alias}#{int(seq) + 1}"


def test_raw_gives_the_exact_bytes(run: Run, ref: str) -> None:
    """Not one byte more, none less, control sequences included."""
    assert run("read", ref, "--raw").stdout_bytes == TEXT.encode()
    assert run("read", ref, "--raw", "--bytes", "6-11").stdout_bytes == TEXT.encode()[6:12]
    assert run("read", ref, "--raw", "--bytes", "40-").stdout_bytes == TEXT.encode()[40:]


def test_a_page_says_where_it_stands(run_json: RunJson, ref: str) -> None:
    """Every member of the contract, with a last line that has no end."""
    page = run_json("read", ref)
    assert page == {
        "ref": ref, "kind": "text", "bytes": len(TEXT.encode()), "lines": 5, "offset": 1, "returned_lines": 5,
        "truncated": False, "next": None, "text": TEXT,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["plumbing", "plumb"])
def test_a_session_may_be_named_by_id_or_beginning(name: str, run_json: RunJson, ref: str) -> None:
    """SESSION#EVENT resolves like the alias, and .0 is the first block."""
    seq = ref.partition("#")[2]
    assert run_json("read", f"{name}#{seq}")["text"] == TEXT
    assert run_json("read", f"{name}#{seq}.0")["text"] == TEXT


def test_following_next_gives_the_whole(run: Run, ref: str) -> None:
    """The pages joined are the content; each next is a command that runs as it stands."""
    words = ["read", second(ref), "--limit", "300"]
    text = ""
    for _ in range(10):
        page = json.loads(run(*words, "--json").stdout)
        text += page["text"]
        if page["next"] is None:
            break
        program, *words = shlex.split(page["next"])
        assert program == "foreword"
    assert text == "".join(f"line {n}\n" for n in range(1, 1001))


def test_bytes_page_too(run_json: RunJson, ref: str) -> None:
    """A range names the range that follows."""
    page = run_json("read", ref, "--bytes", "0-5")
    assert (page["text"], page["truncated"]) == ("first\n", True)
    assert page["next"].endswith("--bytes 6-11")


def test_the_end_and_the_middle(run_json: RunJson, ref: str) -> None:
    """--tail counts from the end, --offset and --limit from line 1."""
    tail = run_json("read", second(ref), "--tail", "2")
    assert (tail["offset"], tail["text"]) == (999, "line 999\nline 1000\n")
    middle = run_json("read", second(ref), "--offset", "500", "--limit", "2")
    assert (middle["offset"], middle["returned_lines"], middle["text"]) == (500, 2, "line 500\nline 501\n")
    beyond = run_json("read", second(ref), "--offset", "5000")
    assert (beyond["returned_lines"], beyond["text"], beyond["next"]) == (0, "", None)


def test_a_page_has_an_end_unless_it_is_lifted(run_json: RunJson, ref: str) -> None:
    """400 lines without a word about it; --limit 0 gives all."""
    assert run_json("read", second(ref))["returned_lines"] == 400
    assert run_json("read", second(ref), "--limit", "0")["returned_lines"] == 1000


def test_a_line_without_end_is_paged_by_characters(run: Run, home: Path) -> None:
    """One line of 20,000 characters comes in pages that join to it."""
    text = "".join(f"{n:05}|" for n in range(3_400))
    with Store.open(home / "data" / "foreword") as store:
        seq = Session.open(store, "plumbing").say(text)
    words, joined = ["read", f"plumbing#{seq}"], ""
    for _ in range(5):
        page = json.loads(run(*words, "--json").stdout)
        joined += page["text"]
        assert len(page["text"]) <= 6_000
        if page["next"] is None:
            break
        words = shlex.split(page["next"])[1:]
    assert joined == text


def test_grep_is_a_regular_expression(run_json: RunJson, run: Run, ref: str) -> None:
    """Python's syntax, line by line, and the next page carries the pattern on."""
    page = run_json("read", second(ref), "--grep", r"^line 9\d\d?$", "--limit", "3")
    assert page["text"] == "line 90\nline 91\nline 92\n"
    assert page["next"] is not None
    more = json.loads(run(*shlex.split(page["next"])[1:], "--json").stdout)
    assert more["text"] == "line 93\nline 94\nline 95\n"


def test_a_pattern_that_hangs_is_ended(
    run: Run, home: Path, ref: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catastrophic backtracking costs the time limit, not the evening."""
    monkeypatch.setattr("foreword.engine.grep.matching.__kwdefaults__", {"seconds": 1.0})
    with Store.open(home / "data" / "foreword") as store:
        seq = Session.open(store, "plumbing").say("a" * 60 + "!")
    started = time.monotonic()
    line = one_line(run("read", f"plumbing#{seq}", "--grep", r"^(a|a?)+$", code=2))
    assert time.monotonic() - started < 10
    assert "took longer" in line


def test_what_was_erased_is_gone_with_its_reason(run: Run, run_json: RunJson, home: Path, ref: str) -> None:
    """Exit 1: a document of its own form with --json, else one line."""
    with Store.open(home / "data" / "foreword") as store:
        session = Session.open(store, "plumbing")
        session.erase([int(ref.partition("#")[2])], "a person asked for it")
    assert run_json("read", ref, code=1) == {"ref": ref, "gone": "a person asked for it"}
    assert "a person asked for it" in one_line(run("read", ref, code=1))
    assert "a person asked for it" in one_line(run("read", ref, "--raw", code=1))


@pytest.mark.parametrize(
    "args, words",
    [
        (("nonsense",), "not of the form"),
        (("nope#1",), "no session 'nope'"),
        (("plumbing#999",), "has no event 999"),
        (("plumbing#1.7",), "has no block 7"),
        (("plumbing#1", "--grep", "("), "not a regular expression"),
        (("plumbing#1", "--raw", "--json"), "give one of them"),
        (("plumbing#1", "--raw", "--limit", "3"), "give one kind"),
        (("plumbing#1", "--start", "3", "--grep", "x"), "give one kind"),
        (("plumbing#1", "--bytes", "9-3"), "ends before it begins"),
        (("plumbing#1", "--bytes", "x"), "not of the form A-B"),
        (("plumbing#1", "--bytes", "999-1000"), "the content has 4 bytes"),
        (("plumbing#1", "--offset", "0"), "--offset"),
        (("plumbing#1", "--offset", "2", "--tail", "2"), "give one of them"),
    ],
)
def test_bad_use_is_one_line(args: tuple[str, ...], words: str, run: Run, ref: str) -> None:
    """What, where, and what to do."""
    assert words in one_line(run("read", *args, code=2))


def test_without_a_store_nothing_is_made(run: Run, home: Path) -> None:
    """Reading from a place that holds no store says so and leaves it as it was."""
    assert "holds no store" in one_line(run("read", "abc#1", code=2))
    assert not (home / "data").exists()
