"""Whose words a user record holds."""

import pytest

from foreword.importers.claude_people import SYNTHETIC, author, split_reminders
from tests.importers.claude_file import ClaudeFile, story, text


@pytest.mark.parametrize("prefix", [prefix for prefix, _ in SYNTHETIC])
def test_text_of_the_tool_is_nobodys_word(prefix: str) -> None:
    """Every start that the tool writes itself is kept, and not as a person's."""
    file = ClaudeFile()
    file.user(f"{prefix} something")
    [told] = story(file.read()[0])
    assert not told.startswith("person")
    assert told.endswith("something")


@pytest.mark.parametrize(
    "members", [{"isMeta": True}, {"origin": {"kind": "task-notification"}}], ids=["meta", "origin"]
)
def test_a_record_that_says_so_is_no_persons(members: dict[str, object]) -> None:
    """Members of the record count as much as its text."""
    file = ClaudeFile()
    file.user("Do this next.", **members)
    assert story(file.read()[0]) == ["foreign: Do this next."]


def test_a_person_who_writes_about_tags_stays_a_person() -> None:
    """Only the start of a text betrays the tool."""
    assert author("Why does <system-reminder> show up?") == "person"
    assert author("  <system-reminder>x") == "foreign"


def test_reminders_before_a_persons_words_are_split_off() -> None:
    """In blocks of their own, or in front of the words in the same block."""
    file = ClaudeFile()
    file.user([text("<system-reminder>a</system-reminder>"), text("Use C99.")])
    file.user("<system-reminder>b</system-reminder>\n<system-reminder>c</system-reminder>\nAnd no GNU.")
    assert story(file.read()[0]) == [
        "foreign: <system-reminder>a</system-reminder>",
        "person: Use C99.",
        "foreign: <system-reminder>b</system-reminder>\n<system-reminder>c</system-reminder>",
        "person: And no GNU.",
    ]


def test_words_beside_a_result_follow_it() -> None:
    """A text block after a tool result is said, not part of the result."""
    file = ClaudeFile()
    file.user(
        [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}, text("[Request interrupted by user]")]
    )
    assert story(file.read()[0]) == ["result t1", "foreign: [Request interrupted by user]"]


def test_a_command_typed_while_the_agent_worked_is_a_persons() -> None:
    """Only an attachment holds it; a notification of the same form is not a person's."""
    file = ClaudeFile()
    file.user("Build it.")
    queued = {"type": "queued_command", "prompt": "Skip the docs.", "commandMode": "prompt"}
    file.record("attachment", attachment=queued)
    file.record(
        "attachment", attachment={**queued, "prompt": "Task 4 ended.", "commandMode": "task-notification"}
    )
    file.user("Thanks.")
    assert story(file.read()[0]) == [
        "person: Build it.",
        "person: Skip the docs.",
        "foreign: Task 4 ended.",
        "person: Thanks.",
    ]


def test_many_reminders_take_linear_time() -> None:
    """A hostile text of 100,000 reminders is split once, quickly."""
    block = text("<system-reminder></system-reminder>" * 100_000 + "words")
    assert [part["text"][-5:] for part in split_reminders([block])] == ["nder>", "words"]
