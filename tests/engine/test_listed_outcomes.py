"""Outcomes of calls whose results came in a caller's list or in a file of messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foreword.engine.import_file import import_file
from foreword.engine.session import Session
from foreword.store import Store
from tests.engine.sessions import session
from tests.histories import target_of


def known(made: Session) -> dict[str, tuple[str, str, int | None]]:
    """Return outcome, run and exit code of each call."""
    return {one.call_id: (one.status, one.run, one.exit_code) for one in made.outcomes()}


def chat_list(output: str) -> list[dict[str, Any]]:
    """Return a list of Chat with a call of a command and what it printed."""
    function = {"name": "bash", "arguments": '{"command":"make"}'}
    return [
        {"role": "user", "content": "Build it."},
        {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "a", "content": output},
    ]


def anthropic_list(output: str) -> list[dict[str, Any]]:
    """Return the same list for a wire whose results have a flag for errors."""
    asked = {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "make"}}
    return [
        {"role": "user", "content": "Build it."},
        {"role": "assistant", "content": [asked]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": output}]},
    ]


@pytest.mark.parametrize(
    "wire, listed, expected",
    [
        ("anthropic", anthropic_list, ("succeeded", "completed", None)),
        ("openai-chat", chat_list, ("unknown", "completed", None)),
        ("deepseek", chat_list, ("unknown", "completed", None)),
    ],
)
def test_a_result_from_a_list_succeeded_only_where_it_could_have_said_otherwise(
    wire: str, listed: Any, expected: tuple[str, str, int | None], tmp_path: Path
) -> None:
    """A wire without a flag for errors shows a failed result as any other, in a caller's list and in a file."""
    output = "make: *** [all] Error 1"
    made = session(target_of(wire))
    body = made.sync(listed(output)).request.body
    assert known(made) == {"a": expected}
    assert b"unknown" not in body
    file = tmp_path / "list.json"
    file.write_text(json.dumps(listed(output)))
    with Store.open(tmp_path / "store") as store:
        read = import_file(store, file, format="openai-chat" if wire == "deepseek" else wire)
        assert [known(Session.open(store, one.session)) for one in read] == [{"a": expected}]


def test_what_was_given_first_hand_stands_when_the_list_comes_with_it() -> None:
    """The exit code that was passed on tells how it went, on a wire that can't."""
    made = session(target_of("openai-chat"))
    listed = chat_list("make: *** [all] Error 1")
    made.sync(listed[:-1])
    made.returned("a", listed[-1]["content"], exit_code=2)
    synced = made.sync(listed)
    assert (synced.appended, synced.forked_at) == (0, None)
    assert known(made) == {"a": ("failed", "completed", 2)}


def test_a_failure_that_only_the_list_tells_is_an_edit() -> None:
    """The result was given first-hand without a word of how it went; the list says it now, and it is sent so."""
    made = session(target_of("anthropic"))
    messages = anthropic_list("make: *** [all] Error 1")
    made.sync(messages[:2])
    made.returned("a", "make: *** [all] Error 1")
    messages[2]["content"][0]["is_error"] = True
    assert made.sync(messages).forked_at is not None
    assert [one.status for one in made.outcomes()] == ["failed"]


@pytest.mark.parametrize("first_hand", [{"is_error": True}, {"exit_code": 2}, {"run": "cancelled"}], ids=str)
@pytest.mark.parametrize("flagged", [False, True], ids=["list says nothing", "list says failed"])
@pytest.mark.parametrize("wire, listed", [("anthropic", anthropic_list), ("openai-chat", chat_list)])
def test_how_a_call_went_at_first_hand_is_no_edit_of_the_list(
    wire: str, listed: Any, flagged: bool, first_hand: dict[str, Any]
) -> None:
    """The list may lack a flag for failures, or set one where only the exit code was given: the log knows better."""
    made = session(target_of(wire))
    messages = listed("make: *** [all] Error 1")
    made.sync(messages[:2])
    made.returned("a", "make: *** [all] Error 1", **first_hand)
    if flagged and wire == "anthropic":
        messages[2]["content"][0]["is_error"] = True
    synced = made.sync(messages)
    assert (synced.forked_at, synced.appended) == (None, 0)
    status = "cancelled" if "run" in first_hand else "failed"
    assert [one.status for one in made.outcomes()] == [status]
