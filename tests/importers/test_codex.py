"""Codex rollouts: items to calls, rows of tokens to usage, and what is only named."""

import json
from typing import TypeVar

import pytest

from foreword.core.block import Image, Opaque, Text, Thinking, ToolCall
from foreword.core.event import (
    Answered,
    ForeignNoted,
    InstructionsSet,
    Said,
    ToolReturned,
    UnseenPrefix,
)
from foreword.core.sealing import decode_body, encode_body
from foreword.core.usage import Usage
from foreword.errors import ImportFailed
from foreword.importers.grown import growth
from foreword.importers.imported import Imported
from foreword.importers.read import read
from tests.importers.claude_file import codes, story
from tests.importers.codex_file import MODEL, THREAD, CodexFile

Body = TypeVar("Body")


def bodies(one: Imported, kind: type[Body]) -> list[Body]:
    return [draft.body for draft in one.drafts if isinstance(draft.body, kind)]


def prompts(one: Imported) -> list[int | None]:
    """The size of each call's prompt; None: no usage."""
    return [answer.usage.total_input if answer.usage else None for answer in bodies(one, Answered)]


def begun() -> CodexFile:
    file = CodexFile()
    file.user("# AGENTS.md instructions for /w\n\nUse tabs.", "<environment_context>\n</environment_context>")
    file.user("Fix it.")
    file.event("user_message", message="Fix it.")
    file.think()
    file.say("I look.", id="msg_1", phase="commentary")
    file.event("agent_message", message="I look.")
    file.call("c1", command="ls")
    file.result("c1")
    file.tokens(1_000, 800, 50, 20)
    file.repeat()
    file.think()
    file.say("Fixed.")
    file.tokens(1_200, 1_000, 30, 10)
    file.event("task_complete")
    return file


def test_items_between_two_inputs_are_one_answer() -> None:
    """Events that repeat items add nothing; doubled token rows count once; output includes reasoning."""
    one = begun().read()
    assert (one.session, one.format) == (THREAD, "codex")
    assert story(one) == [
        "foreign: # AGENTS.md instructions for /w\n\nUse tabs. <environment_context>\n</environment_context>",
        "person: Fix it.",
        "model: ? I look. c1",
        "result c1",
        "model: ? Fixed.",
    ]
    first, second = bodies(one, Answered)
    assert first.model == MODEL
    assert first.usage == Usage(
        uncached=200, cache_read=800, cache_write_short=0, cache_write_long=0, output=50, reasoning=20
    )
    assert second.usage is not None
    assert second.usage.total_input == 1_200
    assert codes(one) == {"tools_inferred"}


def test_blocks_keep_what_their_wire_needs() -> None:
    """Encrypted reasoning byte-exact, the members of a message in its first text, arguments as they came."""
    [first, _] = bodies(begun().read(), Answered)
    assert first.message.wire == "openai-responses"
    assert first.message.blocks == (
        Thinking(text="", signature="gAAA", extra={"summary": []}),
        Text(text="I look.", extra={"item": {"id": "msg_1", "phase": "commentary", "type": "message"}}),
        ToolCall(id="c1", name="shell", arguments='{"command": "ls"}'),
    )


def test_members_that_are_kept_are_as_a_store_gives_them_back() -> None:
    """Their order is no part of what was said, so a fact is the same before and after it was stored."""
    file = CodexFile()
    file.user("Hi.")
    file.say("Hello.", status="completed", phase="final", id="msg_1")
    for answer in bodies(file.read(), Answered):
        stored = decode_body("answered", 1, encode_body(answer))
        assert isinstance(stored, Answered)
        assert str(stored.message) == str(answer.message)


def test_instructions_stand_before_the_first_word() -> None:
    """The base text is set; a text that an injected message holds is not set again."""
    file = CodexFile(instructions="Use tabs.")
    file.turn(user_instructions="Use tabs.", developer_instructions="Be brief.")
    file.user("<user_instructions>\nUse tabs.\n</user_instructions>")
    file.user("Fix it.")
    file.say("Fixed.")
    file.turn(user_instructions="Use tabs.", developer_instructions="Be brief.")
    file.user("And test it.")
    one = file.read()
    assert bodies(one, InstructionsSet) == [
        InstructionsSet(blocks=(Text(text="You fix bugs."), Text(text="Be brief.")))
    ]
    assert story(one)[1:] == ["person: Fix it.", "model: Fixed.", "person: And test it."]


def test_changed_instructions_are_set_whole_again() -> None:
    """From the turn on whose context tells them."""
    file = CodexFile()
    file.user("Fix it.")
    file.say("Fixed.")
    file.turn(developer_instructions="Plan only.", model="gpt-6.1-luna")
    file.user("And the other?")
    file.say("A plan.")
    one = file.read()
    texts = [[block.text for block in body.blocks] for body in bodies(one, InstructionsSet)]
    assert texts == [["You fix bugs."], ["You fix bugs.", "Plan only."]]
    assert [answer.model for answer in bodies(one, Answered)] == [MODEL, "gpt-6.1-luna"]


@pytest.mark.parametrize(
    "text, trust",
    [
        ("<environment_context>x", "foreign"),
        ("<user_instructions>x", "foreign"),
        ("# AGENTS.md instructions for /w", "foreign"),
        ("<skill>\n<name>x</name>", "foreign"),
        ("<turn_aborted>\nx", "foreign"),
        ("<user_shell_command>ls", "tool"),
        ("<subagent_notification>{}", "tool"),
        ("Why does <environment_context> stand here?", "person"),
    ],
)
def test_injected_text_is_no_person(text: str, trust: str) -> None:
    """By how it starts; a mention inside a sentence is a person's."""
    file = CodexFile()
    file.user(text)
    file.say("Yes.")
    [said] = [draft for draft in file.read().drafts if isinstance(draft.body, Said)]
    assert isinstance(said.body, Said)
    assert (said.trust, said.body.person) == (trust, trust == "person")


def test_a_developer_message_is_the_operators_word() -> None:
    """It keeps its role and place, and what it holds is not set as instructions again."""
    file = CodexFile()
    file.user("<permissions instructions>All.", "<collaboration_mode>Ask first.", role="developer")
    file.turn(developer_instructions="Ask first.")
    file.user("Hi.")
    file.say("Hello.")
    file.user("Stop asking.", role="developer")
    one = file.read()
    said = [(body.message.role, body.person) for body in bodies(one, Said)]
    assert said == [("developer", False), ("user", True), ("developer", False)]
    assert bodies(one, InstructionsSet) == [InstructionsSet(blocks=(Text(text="You fix bugs."),))]


def test_in_a_sub_agent_nobody_is_a_person() -> None:
    """Its user messages are the words of the agent that started it."""
    file = CodexFile(source={"subagent": {"thread_spawn": {"parent_thread_id": "p"}}})
    file.user("Look into it.")
    file.say("Done.")
    assert story(file.read()) == ["model: Look into it.", "model: Done."]


def test_parallel_calls_share_an_answer_and_its_usage() -> None:
    """Also when the result of the first is recorded before the second call."""
    file = CodexFile()
    file.user("Look at both.")
    file.call("c1")
    file.result("c1")
    file.call("c2")
    file.result("c2")
    file.tokens()
    file.say("Both are fine.")
    one = file.read()
    assert story(one) == [
        "person: Look at both.",
        "model: c1 c2",
        "result c1",
        "result c2",
        "model: Both are fine.",
    ]
    assert prompts(one) == [1_000, None]
    assert "usage_missing" in codes(one)


def test_calls_without_a_row_between_two_rows_end_at_their_row() -> None:
    """Two calls in a row, each with its row, are two answers though nothing was said between them."""
    file = CodexFile()
    file.user("Go on.")
    file.say("One.")
    file.tokens(1_000)
    file.say("Two.")
    file.tokens(1_100)
    assert prompts(file.read()) == [1_000, 1_100]


def test_a_row_without_counts_ends_nothing() -> None:
    """`info` is null before the first call and after rate limits changed."""
    file = CodexFile()
    file.event("token_count", info=None)
    file.user("Go on.")
    file.think()
    file.event("token_count", info=None)
    file.say("One.")
    file.tokens(1_000)
    assert prompts(file.read()) == [1_000]


def test_the_total_pays_for_an_aborted_call() -> None:
    """What the total grew beyond the last call belongs to the call before, which has no row."""
    file = CodexFile()
    file.user("Go on.")
    file.say("One.")
    file.tokens(1_000)
    file.call("c1")
    file.bill(1_500, 1_400, 70, 0)
    file.user("<turn_aborted>")
    file.event("turn_aborted", reason="interrupted")
    file.user("Other way.")
    file.say("Two.")
    file.tokens(1_600)
    file.user("More.")
    file.think()
    file.say("Th")
    file.event("turn_aborted", reason="interrupted")
    one = file.read()
    assert prompts(one) == [1_000, 1_500, 1_600, None]
    assert [answer.partial for answer in bodies(one, Answered)] == [False, False, False, True]


def test_tokens_without_an_answer_are_named() -> None:
    """A call that left no item is not booked on another."""
    file = begun()
    file.tokens(5_000, 0, 7, 0)
    one = file.read()
    assert prompts(one) == [1_000, 1_200]
    [flaw] = [flaw for flaw in one.flaws if flaw.code == "usage_without_answer"]
    assert flaw.text.startswith("5,000 input and 7 output")


def test_counts_that_are_none_are_named() -> None:
    """A negative count, or more cached than sent, is no usage."""
    file = begun()
    for counts in ({"input_tokens": -1}, {"input_tokens": 1, "cached_input_tokens": 2}, "many"):
        file.event("token_count", info={"total_token_usage": counts, "last_token_usage": counts})
    assert [flaw.code for flaw in file.read().flaws].count("unreadable_usage") == 3


def test_a_count_that_is_missing_is_unknown() -> None:
    """Neither 0 nor unreadable: what the row says is kept, also of a call without an answer."""
    file = CodexFile()
    file.user("Go.")
    file.say("Gone.")
    for number in (1, 2):
        counts = {"input_tokens": 100, "cached_input_tokens": None, "output_tokens": 7}
        total = {"input_tokens": 100 * number, "output_tokens": 7 * number}
        file.event("token_count", info={"total_token_usage": total, "last_token_usage": counts})
    one = file.read()
    assert [answer.usage for answer in bodies(one, Answered)] == [
        Usage(cache_write_short=0, cache_write_long=0, output=7)
    ]
    [flaw] = [flaw for flaw in one.flaws if "usage" in flaw.code]
    assert flaw.text.startswith("100 input and 7 output")


def test_history_continues_through_a_compaction() -> None:
    """One note however many rows tell of it; what it put in the place of the history is in its JSON."""
    file = begun()
    history = [{"type": "message", "role": "user", "content": "Fix it."}, {"type": "compaction"}]
    file.row("compacted", {"message": "", "replacement_history": history})
    file.turn()
    file.lines.append(file.lines[-4])  # the counts from before, once more
    file.event("context_compacted")
    file.item("compaction", encrypted_content="gAAA")
    file.user("Go on.")
    file.say("Done.")
    file.tokens()
    file.event("context_compacted")
    one = file.read()
    assert story(one)[-3:] == ["model: ? Fixed.", "person: Go on.", "model: Done."]
    notes = bodies(one, ForeignNoted)
    assert [(note.code, note.text) for note in notes] == [
        ("compaction", "2 items replaced the history"),
        ("compaction", "a compaction that the file does not hold"),
    ]
    assert json.loads(notes[0].raw or "")["replacement_history"] == history


def test_an_old_compaction_is_noted_with_its_summary() -> None:
    """Before replacement_history there was a message only."""
    file = begun()
    file.row("compacted", {"message": "Half done."})
    [note] = bodies(file.read(), ForeignNoted)
    assert "Half done." in (note.raw or "")


def test_counts_that_are_none_are_a_doubt() -> None:
    """The call of which they tell has no usage, and says why."""
    file = begun()
    file.user("Go on.")
    file.say("On.")
    file.event("token_count", info={"total_token_usage": {"input_tokens": -1}, "last_token_usage": {}})
    assert bodies(file.read(), Answered)[-1].doubts == ("usage_unreadable",)


def test_a_fork_has_its_own_id() -> None:
    """It repeats the meta of the thread that it left, whichever stands first."""
    file = CodexFile()
    file.row("session_meta", {"id": "older", "base_instructions": {"text": "Old."}})
    file.user("Hi.")
    one = file.read()
    assert one.session == THREAD
    assert "several_sessions" in codes(one)
    assert file.read("rollout-2026-older.jsonl").session == "older"


def test_every_kind_of_call_is_kept() -> None:
    """Free-text tools, the old shell, searches of the provider; results in each of their forms."""
    file = CodexFile()
    file.user("Go.")
    file.item(
        "custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin Patch", status="completed"
    )
    file.item(
        "local_shell_call", call_id="c2", action={"type": "exec", "command": ["ls"]}, status="completed"
    )
    file.item("web_search_call", id="ws_1", status="completed", action={"type": "search"}, metadata={"t": 1})
    file.item("custom_tool_call_output", call_id="c1", output="ok")
    file.result("c2", {"content": "denied", "success": False})
    file.tokens()
    file.item("tool_search_call", call_id="c3", arguments={"query": "pdf"}, execution="client")
    file.item("tool_search_output", call_id="c3", tools=[])
    file.tokens()
    file.call("c4", "view")
    picture = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    file.result(
        "c4", [{"type": "input_text", "text": "here"}, picture, {"type": "input_file", "file_id": "f"}]
    )
    file.tokens()
    one = file.read()
    first, search, _ = bodies(one, Answered)
    assert first.message.blocks[:2] == (
        ToolCall(
            id="c1",
            name="apply_patch",
            arguments="*** Begin Patch",
            extra={"status": "completed", "type": "custom_tool_call"},
        ),
        ToolCall(id="c2", name="local_shell", arguments='{"type":"exec","command":["ls"]}'),
    )
    hosted = first.message.blocks[2]
    assert isinstance(hosted, Opaque)
    assert hosted.form == "web_search_call"
    assert "metadata" not in hosted.raw
    assert [block.form for block in search.message.blocks if isinstance(block, Opaque)] == [
        "tool_search_call",
        "tool_search_output",
    ]
    results = [body.result for body in bodies(one, ToolReturned)]
    assert results[1].extra is None
    assert [(result.call_id, result.is_error) for result in results] == [
        ("c1", False),
        ("c2", True),
        ("c4", False),
    ]
    assert results[0].extra == {"openai-responses": {"type": "custom_tool_call_output"}}
    assert results[2].content[:2] == (Text(text="here"), Image(media_type="image/png", data="iVBORw0KGgo="))
    assert isinstance(results[2].content[2], Opaque)
    assert prompts(one) == [1_000] * 3


def test_what_cannot_be_read_is_a_note() -> None:
    """An unknown item, a part without type, a call without a name: each costs only itself."""
    file = begun()
    file.item("hologram", beam=1)
    file.item("message", role="user", content=[{"text": "?"}])
    file.item("message", role="narrator", content="Meanwhile")
    file.item("function_call", call_id="c9", arguments="{}")
    file.item("ghost_snapshot", ghost_commit={})
    file.row("world_state", {"full": True})
    file.user("Go on.")
    one = file.read()
    assert [note.code for note in bodies(one, ForeignNoted)] == ["unreadable"] * 4
    assert '"beam":1' in (bodies(one, ForeignNoted)[0].raw or "")
    assert story(one)[-1] == "person: Go on."
    left = [flaw.text for flaw in one.flaws if flaw.code == "left_out"]
    assert [text.split(" are ")[0] for text in left] == [
        "1 records of type response_item/ghost_snapshot",
        "1 records of type world_state",
    ]


def test_a_beginning_that_is_missing_is_named() -> None:
    """Without session_meta the file's own name is the id."""
    file = begun()
    [one] = read("part.jsonl", data="\n".join(file.lines[2:]).encode())
    assert one.session == "part"
    assert "no_header" in codes(one)


def test_a_rollout_without_a_message_is_refused() -> None:
    """Settings alone are no session."""
    with pytest.raises(ImportFailed, match="without a message"):
        CodexFile().read()


def test_the_size_of_what_is_not_in_the_file_is_inferred() -> None:
    """The tools: the first prompt minus system text and messages."""
    [prefix] = bodies(begun().read(), UnseenPrefix)
    assert 850 < prefix.tokens < 1_000


def test_a_file_read_at_any_line_is_no_other_past() -> None:
    """It goes on, whatever row it was cut after, and a third reading adds nothing."""
    file = begun()
    file.user("More.")
    file.call("c2")
    file.result("c2")
    file.call("c3")
    file.result("c3")
    file.tokens()
    file.row("compacted", {"message": "", "replacement_history": []})
    file.think("gBBB")
    file.say("Done.")
    whole = file.read().drafts
    for end in range(5, len(file.lines)):
        [part] = read("rollout.jsonl", data="\n".join(file.lines[:end]).encode())
        found = growth(part.drafts, whole)
        assert not found.forked, end
        assert growth([*part.drafts, *found.added], whole).added == ()


def test_reasoning_alone_at_the_end_waits_for_its_words() -> None:
    """Unless its turn is over."""
    file = begun()
    file.user("More.")
    file.think("gBBB")
    assert "unfinished_answer" in codes(file.read())
    file.event("turn_aborted", reason="interrupted")
    one = file.read()
    assert "unfinished_answer" not in codes(one)
    assert bodies(one, Answered)[-1].partial


def test_a_title_is_read() -> None:
    """The last one that was given."""
    file = begun()
    file.event("thread_name_updated", thread_name="Mending")
    assert file.read().title == "Mending"
