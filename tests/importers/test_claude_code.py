"""Claude Code files: what becomes history, in which order, and what is only named."""

import json
from pathlib import Path
from typing import Any

import pytest

from foreword.core.block import Thinking
from foreword.core.event import Answered, Called, ForeignNoted, ToolReturned, ToolsSet, UnseenPrefix
from foreword.core.ledger import once, rows
from foreword.core.prices import Prices
from foreword.core.tokens import counter
from foreword.core.usage import Usage
from foreword.importers.inferred import token_factor
from tests.importers.claude_file import MODEL, SESSION, ClaudeFile, call, codes, story, text


def answers(file: ClaudeFile) -> list[Answered]:
    return [draft.body for draft in file.read()[0].drafts if isinstance(draft.body, Answered)]


def notes(file: ClaudeFile) -> list[ForeignNoted]:
    return [draft.body for draft in file.read()[0].drafts if isinstance(draft.body, ForeignNoted)]


def test_records_of_one_call_become_one_answer_with_the_last_usage() -> None:
    """Blocks are gathered in file order, also around a result that came between; usage counts once."""
    file = ClaudeFile()
    file.user("Build it.")
    first = {"input_tokens": 3, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 7}
    file.answer(
        "a", {"type": "thinking", "thinking": "hm", "signature": "s1"}, usage={**first, "output_tokens": 1}
    )
    file.answer("a", call("t1", command="make"), usage={**first, "output_tokens": 1})
    between = file.result("t1")
    file.answer(
        "a",
        call("t2", command="ls"),
        parentUuid="u3",
        stop_reason="tool_use",
        usage={
            **first,
            "output_tokens": 90,
            "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 400},
        },
    )
    file.result("t2")
    file.answer("b", text("Built."))
    assert between == "u4"
    assert story(file.read()[0]) == [
        "person: Build it.",
        "model: hm t1 t2",
        "result t1",
        "result t2",
        "model: Built.",
    ]
    one = answers(file)[0]
    assert one.message.blocks[0] == Thinking(text="hm", signature="s1")
    assert one.usage == Usage(
        uncached=3, cache_read=7, cache_write_short=100, cache_write_long=400, output=90, reasoning=None
    )
    assert (one.model, one.stop_reason, one.response_id) == (MODEL, "tool_use", "msg_a")


@pytest.mark.parametrize("last", [None, {}, {"input_tokens": 0, "output_tokens": 0}])
def test_a_last_record_that_counts_nothing_erases_no_usage(last: Any) -> None:
    """The last line that has figures holds, also against larger ones before it."""
    file = ClaudeFile()
    file.user("Build it.")
    file.answer("a", text("I build."), usage={"input_tokens": 3, "output_tokens": 80})
    file.answer("a", text("Now."), usage={"input_tokens": 3, "output_tokens": 50})
    file.answer("a", call("t1"), said={"usage": last})
    [one] = answers(file)
    assert one.usage is not None
    assert (one.usage.uncached, one.usage.output) == (3, 50)


@pytest.mark.parametrize(
    "usage", [{"input_tokens": -5}, {"output_tokens": "5"}, {"input_tokens": True}, [1], "NaN"]
)
def test_usage_that_is_no_count_is_a_doubt(usage: Any) -> None:
    """Unknown, named on the call as in an answer of our own, and warned of."""
    file = ClaudeFile()
    file.user("Build it.")
    file.answer("a", text("Built."), said={"usage": usage})
    [one] = answers(file)
    assert (one.usage, one.doubts) == (None, ("usage_unreadable",))
    assert "unreadable_usage" in codes(file.read()[0])


def test_a_call_left_behind_by_a_rewind_was_paid() -> None:
    """It has a row and is no part of the history; so has one that a later record withdrew."""
    file = ClaudeFile()
    root = file.user("Start.")
    file.answer("a", text("Tabs."), call("t1"))
    file.answer("a", text("Tabs still."))
    file.result("t1")
    file.answer("b", text("Once more."), parentUuid=root)
    file.answer("c", text("Spaces."), supersedesUuids=["u5"])
    session = file.read()[0]
    assert story(session) == ["person: Start.", "model: Spaces."]
    assert [draft.body.call for draft in session.drafts if isinstance(draft.body, Called)] == [
        "msg_a/req_a",
        "msg_b/req_b",
    ]
    made = rows(session.drafts, session="s", prices=Prices())
    assert [(row.status, row.input, row.step) for row in made] == [("ok", 20_010, 1)] * 3
    [flaw] = [flaw for flaw in session.flaws if flaw.code == "left_behind"]
    assert flaw.text.startswith("2 model calls")


def test_a_call_that_lost_some_records_to_a_rewind_is_one_call() -> None:
    """Its other records are on the path."""
    file = ClaudeFile()
    root = file.user("Start.")
    one = file.answer("a", text("Look."))
    file.answer("a", call("t1"))
    file.user("No.", parentUuid=one)
    assert root == "u1"
    assert len(rows(file.read()[0].drafts, session="s", prices=Prices())) == 1


def test_a_call_in_two_files_counts_once_whatever_its_time() -> None:
    """A second file may begin within the call, or tell other times; another request id is another call."""
    file, part, later, other = ClaudeFile(), ClaudeFile(), ClaudeFile(), ClaudeFile()
    for one in (file, part, later, other):
        one.user("Build it.")
        if one is not part:
            one.answer("a", text("I build."), timestamp=f"2026-11-30T1{one is later:d}:00:00Z")
        one.answer("a", text("Now."), requestId="req_other" if one is other else "req_a")
    read = [one.read()[0].drafts for one in (file, part, later, other)]
    made = [rows(drafts, session=f"s{number}", prices=Prices()) for number, drafts in enumerate(read)]
    assert [len(each) for each in made] == [1, 1, 1, 2]
    assert len(list(once(row for each in made for row in each))) == 2


def test_calls_that_only_progress_records_show_are_told() -> None:
    """They stand in no bill; one that the file holds itself is there, and counts once."""
    file = ClaudeFile()
    file.user("Build it.")
    file.answer("a", call("t1", "Task"))
    for name, number in (("s1", 1), ("s1", 1), ("s2", 2), ("a", 3)):
        usage = {"input_tokens": number, "cache_read_input_tokens": 100, "output_tokens": 1}
        message = {"id": f"msg_{name}", "role": "assistant", "content": [], "usage": usage}
        shown = {"type": "assistant", "message": message, "requestId": f"req_{name}"}
        file.record("progress", data={"type": "agent_progress", "message": shown})
    [flaw] = [flaw for flaw in file.read()[0].flaws if flaw.code == "progress_usage"]
    assert flaw.text.startswith("2 calls of sub-agents, 203 prompt tokens")


def test_parallel_results_beside_the_path_are_history() -> None:
    """Each call of an answer keeps its result though the tree's path runs through one of them only."""
    file = ClaudeFile()
    file.user("Look at both.")
    one = file.answer("a", call("t1", file_path="x"))
    two = file.answer("a", call("t2", file_path="y"))
    file.result("t1", parentUuid=one)
    file.result("t2", parentUuid=two)
    file.answer("b", text("Both are fine."))
    assert story(file.read()[0]) == [
        "person: Look at both.",
        "model: t1 t2",
        "result t1",
        "result t2",
        "model: Both are fine.",
    ]
    assert "abandoned_branch" not in codes(file.read()[0])


def test_an_abandoned_branch_is_named_and_not_history() -> None:
    """After a rewind the branch left behind is one note with its records, and one warning with their count."""
    file = ClaudeFile()
    root = file.user("Start.")
    answer = file.answer("a", text("Started."))
    file.user("Use tabs.", parentUuid=answer)
    file.answer("b", call("t1"))
    file.result("t1")
    file.user("Use spaces.", parentUuid=answer)
    file.answer("c", text("Spaces."))
    assert root == "u1"
    session = file.read()[0]
    assert story(session) == ["person: Start.", "model: Started.", "person: Use spaces.", "model: Spaces."]
    [flaw] = [flaw for flaw in session.flaws if flaw.code == "abandoned_branch"]
    assert (flaw.where, flaw.text.split()[0]) == ("line 3", "3")
    [note] = notes(file)
    kept = [json.loads(line) for line in (note.raw or "").splitlines()]
    assert (note.code, kept) == ("abandoned_branch", [json.loads(line) for line in file.lines[2:5]])


def test_a_record_written_before_its_parent_follows_it() -> None:
    """Writers that did not wait for each other: the tree says the order, and nothing of it is lost."""
    file = ClaudeFile()
    file.user("Which port?")
    file.user("And the host?", parentUuid="late")
    file.answer("a", text("8080."), uuid="late", parentUuid="u1")
    session = file.read()[0]
    assert story(session) == ["person: Which port?", "model: 8080.", "person: And the host?"]
    assert codes(session) <= {"unseen_prefix"}


def test_a_rewind_to_the_very_start_leaves_only_the_new_branch() -> None:
    """A second root is a rewind too."""
    file = ClaudeFile()
    file.user("Wrong words.")
    file.answer("a", text("Yes?"))
    file.user("Right words.", parentUuid=None)
    assert story(file.read()[0]) == ["person: Right words."]


def test_history_continues_through_a_compaction() -> None:
    """What came before the boundary stays; boundary and summary are notes that keep their JSON."""
    file = ClaudeFile()
    file.user("Port it.")
    end = file.answer("a", text("Half done."))
    file.record(
        "system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=end, content="Compacted"
    )
    file.user("Summary: half done.", isCompactSummary=True)
    file.user("Go on.")
    file.answer("b", text("All done."))
    session = file.read()[0]
    assert story(session) == ["person: Port it.", "model: Half done.", "person: Go on.", "model: All done."]
    found = notes(file)
    assert [(note.code, note.where, note.text) for note in found] == [
        ("compaction", "line 3", "compact_boundary"),
        ("compaction", "line 4", "compact_summary"),
    ]
    assert found[1].raw is not None
    assert "Summary: half done." in found[1].raw


def test_messages_kept_by_a_compaction_are_not_imported_twice() -> None:
    """Copies after the summary, with their old times and new parents, count once."""
    file = ClaudeFile()
    file.user("Port it.")
    old = file.user("Keep the names.", timestamp="2026-11-30T09:00:00.000Z")
    kept = file.answer("a", text("I keep them."), timestamp="2026-11-30T09:00:01.000Z")
    file.record("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=kept)
    summary = file.user("Summary.", isCompactSummary=True)
    file.user("Keep the names.", timestamp="2026-11-30T09:00:00.000Z", parentUuid=summary, uuid="copy")
    file.answer("a", text("I keep them."), timestamp="2026-11-30T09:00:01.000Z", uuid=kept, parentUuid="copy")
    file.user("Go on.")
    assert old == "u2"
    session = file.read()[0]
    assert story(session) == [
        "person: Port it.",
        "person: Keep the names.",
        "model: I keep them.",
        "person: Go on.",
    ]
    assert "replayed" in codes(session)


def test_a_boundary_whose_parent_is_lost_falls_back_to_file_order() -> None:
    """History still runs through, and the break is named."""
    file = ClaudeFile()
    file.user("Port it.")
    file.answer("a", text("Half done."))
    file.record("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid="nowhere")
    file.user("Go on.")
    session = file.read()[0]
    assert story(session) == ["person: Port it.", "model: Half done.", "person: Go on."]
    assert "chain_broken" in codes(session)


def test_progress_and_other_records_are_links_and_named_by_type() -> None:
    """A chain through progress records holds; each type left out is one warning with a count."""
    file = ClaudeFile()
    file.loose(type="file-history-snapshot", messageId="m", snapshot={})
    file.user("Build it.")
    file.answer("a", call("t1"))
    for _ in range(3):
        file.record("progress", data={"type": "bash_progress", "output": "x"})
    file.result("t1")
    file.record("system", subtype="turn_duration", durationMs=5)
    file.record("attachment", attachment={"type": "todo_reminder", "content": []})
    file.answer("b", text("Built."))
    session = file.read()[0]
    assert len(story(session)) == 4
    left_out = {flaw.text.split(" are not")[0] for flaw in session.flaws if flaw.code == "left_out"}
    assert left_out == {
        "1 records of type file-history-snapshot",
        "3 records of type progress",
        "1 records of type system/turn_duration",
        "1 records of type attachment/todo_reminder",
    }


def test_api_errors_are_notes_not_calls() -> None:
    """Rows of the synthetic model and error rows carry no call; zero usage is no usage."""
    file = ClaudeFile()
    file.user("Build it.")
    file.answer("e1", text("API Error: 529"), isApiErrorMessage=True)
    file.answer("e2", text("No response requested."), model="<synthetic>")
    zero = {
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    file.answer("a", text("Built."), usage=zero)
    assert story(file.read()[0]) == ["person: Build it.", "model: Built."]
    assert [note.text for note in notes(file)] == ["API Error: 529", "No response requested."]
    assert answers(file)[0].usage is None


def test_each_sidechain_is_a_session_of_its_own() -> None:
    """By agent id, else numbered; the main agent speaks in it; copies of main answers are dropped."""
    file = ClaudeFile()
    file.user("Survey the code.")
    main = file.answer("a", call("t1", "Task", prompt="Count files."))
    file.user("Count files.", parentUuid=None, isSidechain=True)
    file.answer("a", call("t1", "Task", prompt="Count files."), isSidechain=True, requestId="req_other")
    file.answer("s1", text("Four."), isSidechain=True)
    file.user("Find tests.", parentUuid=None, isSidechain=True, agentId="a7f")
    file.answer("s2", text("None."), isSidechain=True, agentId="a7f")
    file.result("t1", parentUuid=main)
    file.answer("b", text("Four files."))
    sessions = file.read()
    assert [one.session for one in sessions] == [SESSION, f"{SESSION}/1", f"{SESSION}/a7f"]
    assert [story(one) for one in sessions] == [
        ["person: Survey the code.", "model: t1", "result t1", "model: Four files."],
        ["model: Count files.", "model: Four."],
        ["model: Find tests.", "model: None."],
    ]
    assert "replayed" in codes(sessions[1])


def test_the_unseen_prefix_is_the_first_prompt_without_what_is_visible() -> None:
    """In the provider's tokens: the counted text is multiplied by the model's factor."""
    file = ClaudeFile()
    said = "Please build the project and run every test. " * 40
    file.user(said)
    file.answer(
        "a", text("Built."), usage={"input_tokens": 9, "cache_read_input_tokens": 21_991, "output_tokens": 3}
    )
    first = file.read()[0].drafts[0]
    assert isinstance(first.body, UnseenPrefix)
    visible = counter().count(said) * token_factor(MODEL)
    assert visible > 100
    assert abs(first.body.tokens - (22_000 - visible)) <= 1
    assert "22,000" in first.body.basis


def test_without_usage_the_prefix_is_unknown_not_zero() -> None:
    """No draft says 0; a warning says that it is unknown."""
    file = ClaudeFile()
    file.user("Build it.")
    session = file.read()[0]
    assert not any(isinstance(draft.body, UnseenPrefix) for draft in session.drafts)
    assert "unseen_unknown" in codes(session)


def test_tools_are_stubs_of_what_was_called() -> None:
    """One set at the start, in order of first use, with the arguments seen."""
    file = ClaudeFile()
    file.user("Build it.")
    file.answer("a", call("t1", "Read", file_path="x"), call("t2", "Bash", command="ls", timeout=5))
    file.result("t1")
    file.result("t2")
    file.answer("b", call("t3", "Read", file_path="y", limit=3.5, flags=None))
    [tools] = [draft.body.tools for draft in file.read()[0].drafts if isinstance(draft.body, ToolsSet)]
    assert [tool.name for tool in tools] == ["Read", "Bash"]
    assert all(tool.inferred and not tool.description for tool in tools)
    assert tools[0].schema == {
        "type": "object",
        "properties": {
            "file_path": {},
            "limit": {},
            "flags": {},
        },
    }


def test_an_output_count_far_below_the_text_is_flagged_with_figures() -> None:
    """The count of a stream's start is no count of the answer."""
    file = ClaudeFile()
    file.user("Explain.")
    file.answer("a", text("word " * 900), usage={"input_tokens": 9_000, "output_tokens": 2})
    [flaw] = [flaw for flaw in file.read()[0].flaws if flaw.code == "output_underreported"]
    assert flaw.text.startswith("2 output tokens")
    sane = ClaudeFile()
    sane.user("Explain.")
    sane.answer("a", text("word " * 900), usage={"input_tokens": 9_000, "output_tokens": 900})
    assert "output_underreported" not in codes(sane.read()[0])


def test_drafts_carry_time_place_and_trust(tmp_path: Path) -> None:
    """Microseconds of the record, its line as origin, and whose word it is."""
    file = ClaudeFile()
    file.loose(type="summary", summary="A build", leafUuid="x")
    file.user("Build it.")
    file.answer("a", call("t1"))
    file.result(
        "t1",
        [
            text("ok"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
        ],
    )
    session = file.read(tmp_path, f"{SESSION}.jsonl")[0]
    said, answered, returned = session.drafts[-3:]
    assert said.at == 1_796_032_802_500_000
    assert said.origin == f"claude-code:{SESSION}.jsonl:2"
    assert [draft.trust for draft in (said, answered, returned)] == ["person", "model", "tool"]
    assert isinstance(returned.body, ToolReturned)
    assert len(returned.body.result.content) == 2
    assert (session.title, session.source, session.format) == ("A build", f"{SESSION}.jsonl", "claude-code")


def test_a_broken_record_costs_only_itself() -> None:
    """A block that is no block is a note with its JSON; the rest is read."""
    file = ClaudeFile()
    file.user("Build it.")
    file.answer("a", {"type": "text", "text": 5})
    file.answer("b", {"type": "tool_use", "name": "Bash", "input": {}})
    file.user([{"type": "tool_result", "content": "ok"}], sourceToolUseID="t9")
    session = file.read()[0]
    assert story(session) == ["person: Build it.", "model: line-3-0", "result t9"]
    assert {"unreadable", "no_call_id"} <= codes(session)
    assert [note.code for note in notes(file)] == ["unreadable"]


def test_an_answer_that_a_later_record_withdraws_is_not_history() -> None:
    """`supersedesUuids` names what was taken back."""
    file = ClaudeFile()
    file.user("Build it.")
    first = file.answer("a", text("Part"))
    file.answer("b", text("Whole"), supersedesUuids=[first], isAbortedMidStream=True)
    session = file.read()[0]
    assert story(session) == ["person: Build it.", "model: Whole"]
    assert "retracted" in codes(session)
    assert answers(file)[0].partial
