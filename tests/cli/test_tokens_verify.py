"""foreword tokens and verify."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foreword.store.place import DATABASE
from tests.cli.conftest import Run, one_line

RunJson = Callable[..., Any]


def test_tokens_are_exact_with_the_extra(run_json: RunJson) -> None:
    """Counts, characters and bytes of a text, from the argument and from stdin."""
    given = run_json("tokens", "naïve 東京")
    assert (given["tokens"], given["exact"], given["characters"], given["bytes"]) == (4, True, 8, 13)
    assert run_json("tokens", "-", stdin="naïve 東京".encode()) == given
    assert run_json("tokens", "-", stdin=b"")["tokens"] == 0


def test_pieces_join_to_the_text(run_json: RunJson) -> None:
    """--pieces shows what the tokens are."""
    given = run_json("tokens", "keep the valve shut", "--pieces")
    assert "".join(given["pieces"]) == "keep the valve shut"
    assert len(given["pieces"]) == given["tokens"]


def test_a_model_has_its_factor(run_json: RunJson, run: Run) -> None:
    """--model adds an estimate in that model's tokens; an unknown one is told close names."""
    given = run_json("tokens", "valve " * 100, "--model", "claude-opus-4-8")
    assert given["model_tokens"] == round(given["tokens"] * given["factor"])
    assert "claude-opus-4-8" in one_line(run("tokens", "x", "--model", "claude-opus-4-88", code=2))


def test_a_files_name_is_counted_and_noted(run: Run, session_file: Path) -> None:
    """TEXT is text; one who names a file is told how its content is counted."""
    said = run("tokens", session_file)
    assert "is a file, and its name was counted" in said.stderr
    assert "note" not in said.stdout
    assert run("tokens", "no such file.txt").stderr == ""


def test_half_a_character_counts_as_what_is_sent_for_it(run_json: RunJson) -> None:
    """U+FFFD stands in its place, in the count, the size and the pieces."""
    given = run_json("tokens", "a\ud800b", "--pieces")
    sent = run_json("tokens", "a\ufffdb", "--pieces")
    assert given == sent
    assert (given["characters"], given["bytes"]) == (3, 5)


def test_text_that_is_no_text_is_refused(run: Run) -> None:
    """Bytes that are not UTF-8: one line."""
    assert "byte 2 is 0xff" in one_line(run("tokens", "-", stdin=b"ab\xff", code=2))


@pytest.fixture
def session(run_json: RunJson, session_file: Path) -> str:
    return run_json("import", session_file)["sessions"][0]["session"]


def test_an_honest_store_verifies(run_json: RunJson, session: str) -> None:
    """One session, and all of them."""
    assert run_json("verify", session) == run_json("verify", "--all")
    assert run_json("verify", session)["problems"] == []


def test_a_changed_byte_is_found(run_json: RunJson, run: Run, home: Path, session: str) -> None:
    """A payload changed behind the store's back: exit 1, and which event."""
    import apsw

    db = apsw.Connection(str(home / "data/foreword" / DATABASE))
    db.execute("UPDATE event SET actor = 'someone else' WHERE seq = 5")
    db.close()
    proof = run_json("verify", session, code=1)
    assert not proof["ok"]
    assert {problem["where"] for problem in proof["problems"]} == {f"{session}#5"}
    assert "problems: 1" in run("verify", session, code=1).stdout


def test_a_reference_to_nothing_is_found(run_json: RunJson, home: Path, session: str) -> None:
    """A rewrite must replace what is there and hand out references that read back."""
    from foreword.core.event import Draft, Replacement, Rewritten
    from foreword.engine.session import Session
    from foreword.store.store import Store

    with Store.open(home / "data/foreword") as store:
        opened = Session.open(store, session)
        ref = f"{opened.alias}#4000"
        rewritten = Rewritten(
            how="cleared", why="hard", replacements=(Replacement(events=(4000,), text="[gone]", ref=ref),)
        )
        at = opened.append(
            Draft(body=rewritten, causes=(4000,), actor="engine", origin="engine", trust="engine")
        )
    problems = run_json("verify", session, code=1)["problems"]
    assert {(problem["code"], problem["where"]) for problem in problems} == {
        ("source", f"{session}#{at}"),
        ("reference", f"{session}#{at}"),
    }


def test_verify_wants_one_session_or_all(run: Run, session: str) -> None:
    """Neither and both are bad use."""
    assert "name one SESSION, or --all" in one_line(run("verify", code=2))
    assert "name one SESSION, or --all" in one_line(run("verify", session, "--all", code=2))
