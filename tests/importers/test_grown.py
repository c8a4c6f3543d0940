"""A file read again: nothing new, a new part, or another past."""

from msgspec.structs import replace

from foreword.core.block import ToolCall
from foreword.core.event import Answered, Called, Draft, Event, ForeignNoted, ToolsSet, kind_of
from foreword.core.sealing import GENESIS, seal
from foreword.core.usage import NOTHING
from foreword.importers.grown import growth
from foreword.importers.imported import import_key, session_id
from tests.importers.claude_file import ClaudeFile, call, codes, text
from tests.importers.pi_file import PiFile


def begun() -> ClaudeFile:
    file = ClaudeFile()
    file.user("Build it.")
    file.answer("a", call("t1", command="make"))
    file.result("t1")
    return file


def drafts(file: ClaudeFile, name: str = "s.jsonl") -> tuple[Draft, ...]:
    return file.read(name=name)[0].drafts


def recorded(file: ClaudeFile) -> list[Event]:
    return [
        seal(draft, seq=seq, at=0, tenant="t", previous=GENESIS, nonce=b"\0" * 16)
        for seq, draft in enumerate(drafts(file))
    ]


def test_the_same_file_adds_nothing_under_any_name() -> None:
    """Where a fact stands is no part of what it is."""
    found = growth(recorded(begun()), drafts(begun(), "renamed.jsonl.gz"))
    assert (found.added, found.forked) == ((), False)


def test_a_first_reading_adds_everything() -> None:
    """Also what is inferred, first."""
    assert growth([], drafts(begun())).added == drafts(begun())


def test_a_prefix_that_is_known_later_is_added_then() -> None:
    """The file was read before its first call had ended."""
    file = ClaudeFile()
    file.user("Build it.")
    old = recorded(file)
    file.answer("a", text("Built."))
    assert [kind_of(draft.body) for draft in growth(old, drafts(file)).added] == ["unseen_prefix", "answered"]


def test_a_grown_file_adds_its_new_part_and_new_tools() -> None:
    """The first stays as recorded; stubs that it lacks are added before what uses them."""
    file = begun()
    old = recorded(file)
    file.answer("b", call("t2", "Read", file_path="x"))
    file.result("t2")
    found = growth(old, drafts(file))
    assert (found.shared, found.forked) == (len(old), False)
    assert [kind_of(draft.body) for draft in found.added] == ["tools_set", "answered", "tool_returned"]
    assert isinstance(found.added[0].body, ToolsSet)
    assert [tool.name for tool in found.added[0].body.tools] == ["Bash", "Read"]


def test_a_known_tool_with_new_arguments_adds_no_tools() -> None:
    """A change of stubs alone is not worth the cache."""
    file = begun()
    old = recorded(file)
    file.answer("b", call("t2", command="ls", timeout=5))
    assert [kind_of(draft.body) for draft in growth(old, drafts(file)).added] == ["answered"]


def test_a_rewind_is_a_fork() -> None:
    """The recording goes on after what is shared, and so does the new reading."""
    file = begun()
    old = recorded(file)
    file.user("Stop.", parentUuid="u1")
    file.answer("b", text("Stopped."))
    found = growth(old, drafts(file))
    assert found.forked
    assert [kind_of(event.body) for event in old[: found.shared] if event.body][-1] == "said"
    assert [kind_of(draft.body) for draft in found.added][-2:] == ["said", "answered"]


def test_a_recording_that_lacks_a_call_left_behind_is_no_other_past() -> None:
    """As one made before such calls were read; it is added."""
    file = begun()
    file.user("Stop.", parentUuid="u1")
    file.answer("b", text("Stopped."))
    read = drafts(file)
    old = [draft for draft in read if not isinstance(draft.body, Called)]
    found = growth(old, read)
    assert not found.forked
    assert [kind_of(draft.body) for draft in found.added] == ["called"]
    assert growth([*old, *found.added], read).added == ()


def test_an_empty_answer_of_which_more_is_read_now_is_no_other_past() -> None:
    """A recording made before answers had the name of their call adds nothing, and forks nothing."""
    file = PiFile()
    file.user("Build it.")
    file.answer(stopReason="aborted")
    read = file.read().drafts
    old = [
        replace(draft, body=replace(draft.body, call=None)) if isinstance(draft.body, Answered) else draft
        for draft in read
    ]
    assert old != list(read)
    found = growth(old, read)
    assert (found.added, found.forked) == ((), False)


def test_the_rest_of_an_answer_read_in_part_is_no_fork() -> None:
    """It comes as an answer of its own, once, and its usage is not counted again."""
    file = begun()
    file.answer("b", text("I look at both."))
    old = recorded(file)
    file.answer("b", call("t2", "Read", file_path="x"))
    file.result("t2")
    found = growth(old, drafts(file))
    assert (found.shared, found.forked) == (len(old), False)
    rest = found.added[1].body
    assert isinstance(rest, Answered)
    assert [block.id for block in rest.message.blocks if isinstance(block, ToolCall)] == ["t2"]
    assert (rest.response_id, rest.usage) == ("msg_b", None)
    assert growth([*old, *found.added], drafts(file)).added == ()


def test_a_result_read_before_the_last_call_of_its_answer_is_no_fork() -> None:
    """Parallel calls: the second is written after the first has its result."""
    file = begun()
    old = recorded(file)
    file.answer("a", call("t2", "Read", file_path="x"), parentUuid="u2")
    file.result("t2")
    found = growth(old, drafts(file))
    assert not found.forked
    assert [kind_of(draft.body) for draft in found.added] == ["tools_set", "answered", "tool_returned"]
    assert growth([*old, *found.added], drafts(file)).added == ()


def test_an_answer_that_ends_otherwise_is_a_fork_before_it() -> None:
    """Events are whole: an answer is shared with all of its blocks, or not at all."""
    one, other = begun(), begun()
    one.answer("b", text("First."), text("Then this."))
    other.answer("b", text("First."), text("Then that."))
    found = growth(recorded(one), drafts(other))
    assert (found.shared, found.forked) == (len(recorded(one)) - 1, True)
    assert len(found.added[-1].body.message.blocks) == 2


def test_an_answer_of_reasoning_alone_waits_for_its_words() -> None:
    """The file was read in mid-answer; nothing is recorded that would have to be taken back."""
    file = begun()
    old = recorded(file)
    file.answer("b", {"type": "thinking", "thinking": "hm", "signature": "s"})
    assert growth(old, drafts(file)).added == ()
    assert "unfinished_answer" in codes(file.read()[0])
    file.answer("b", text("Done."))
    assert [kind_of(draft.body) for draft in growth(old, drafts(file)).added] == ["answered"]


def test_an_older_copy_adds_nothing() -> None:
    """A beginning of what is recorded is no other past."""
    file = begun()
    file.answer("b", text("Built."))
    found = growth(recorded(file), drafts(begun()))
    assert (found.added, found.forked) == ((), False)


def test_inferred_facts_have_no_key() -> None:
    """They change when a file grows, and that is no other past."""
    keyless = [kind_of(draft.body) for draft in drafts(begun()) if import_key(draft) is None]
    assert keyless == ["unseen_prefix", "tools_set"]


def test_ids_are_safe_names_of_folders_and_stay_apart() -> None:
    """What a file calls itself can't lead out of a folder."""
    assert session_id("air", 3, 0) == "air-3-0"
    assert session_id("../../etc") != session_id("..//../etc")
    for hostile in ("../../etc", "..", "a/b", "a\0b", "", "x" * 500, "\u202eabc"):
        name = session_id(hostile)
        assert name.replace("-", "").replace(".", "").replace("_", "").isalnum()
        assert not name.startswith((".", "/"))
        assert len(name) <= 110


def test_a_note_in_other_words_is_no_other_past() -> None:
    """Notes name their place in the file, and later versions tell more of a call that came to nothing."""
    failed = ForeignNoted(code="api_error", where="line 3", text="busy", raw='{"error":1}')
    left = Called(status="cancelled", model="m", response_id="r", call="old name", usage=NOTHING)
    old = [Draft(body=failed), Draft(body=left), *drafts(begun())]
    now = [
        Draft(body=replace(failed, where="line 4", text="Busy.", model="m")),
        Draft(body=replace(left, status="failed", call="new name", doubts=("d",))),
        *drafts(begun()),
    ]
    assert growth(old, now).added == ()
    another = [Draft(body=replace(failed, raw='{"error":2}')), *now[1:]]
    assert growth(old, another).forked
