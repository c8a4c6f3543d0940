"""Turns that Codex took back: no history, and paid for all the same."""

import time

from foreword.core.event import Answered, Called, ForeignNoted
from foreword.importers.read import read
from tests.importers.claude_file import codes, story
from tests.importers.codex_file import CodexFile
from tests.importers.test_codex import begun, bodies


def test_turns_taken_back_are_not_history() -> None:
    """A rollback drops the newest turns, with what the agent did in them; injected text is no turn."""
    file = begun()
    file.user("Use tabs.")
    file.call("c2")
    file.result("c2")
    file.tokens()
    file.user("<turn_aborted>")
    file.user("No, tabs!")
    file.say("Tabs.")
    file.event("thread_rolled_back", num_turns=2)
    file.user("Use spaces.")
    file.say("Spaces.")
    one = file.read()
    assert story(one)[-3:] == ["model: ? Fixed.", "person: Use spaces.", "model: Spaces."]
    note = bodies(one, ForeignNoted)[0]
    assert "2 turns with 2 model calls" in note.text
    assert "Use tabs." in (note.raw or "")
    assert {"abandoned_branch", "left_behind"} <= codes(one)
    paid = bodies(one, Called)
    assert [call.usage.total_input if call.usage else None for call in paid] == [1_000, None]
    file.event("thread_rolled_back", num_turns=9)
    file.user("Anew.")
    billed = [call for call in bodies(file.read(), Called) if call in paid]
    assert billed == paid  # a second rollback takes back no bill


def test_calls_of_nested_rollbacks_stand_in_the_order_in_which_they_were_made() -> None:
    """A later rollback goes over calls that an earlier one left behind."""
    file = CodexFile()
    for name, back in (("one", 0), ("two", 1), ("three", 2), ("four", 0)):
        file.user(f"Go {name}.")
        file.say(f"Done {name}.")
        if back:
            file.event("thread_rolled_back", num_turns=back)
    one = file.read()
    times = [draft.at for draft in one.drafts if isinstance(draft.body, Called)]
    assert len(times) == 3
    assert times == sorted(at for at in times if at is not None)


def test_more_turns_than_there_are_leave_the_beginning() -> None:
    """What stood before the first turn stays."""
    file = begun()
    file.event("thread_rolled_back", num_turns=9)
    file.user("Anew.")
    told = story(file.read())
    assert [line.partition(":")[0] for line in told] == ["foreign", "person"]


def test_a_turn_begun_before_its_row_of_tokens_is_taken_back_whole() -> None:
    """That row makes one answer of two, so what was said after them stands one place earlier."""
    file = begun()
    for id_ in ("c8", "c9"):
        file.call(id_)
        file.result(id_)
    file.user("More.")
    file.tokens()
    file.say("More it is.")
    file.event("thread_rolled_back", num_turns=1)
    assert story(file.read())[-3:] == ["model: c8 c9", "result c8", "result c9"]


def test_parallel_calls_cost_the_same_wherever_they_stand() -> None:
    """Four times the file takes about four times the time; the bound is loose for slow machines."""
    times: list[float] = []
    for steps in (1_500, 6_000):
        file = CodexFile()
        file.user("Go.")
        for number in range(steps):
            for id_ in (f"a{number}", f"b{number}"):
                file.call(id_)
                file.result(id_)
            file.tokens()
        data = file.data
        start = time.process_time()
        [one] = read("x", data=data)
        times.append(time.process_time() - start)
        assert len(bodies(one, Answered)) == steps
    assert times[1] < 9 * times[0] + 0.5
