"""pi files: the path to the last entry, usage with its recorded cost, and what is only named."""

import json
from decimal import Decimal
from typing import Any, TypeVar

import pytest
from msgspec import UNSET

from foreword.core.block import Image, Text, Thinking, ToolCall
from foreword.core.event import Answered, Called, ForeignNoted, Said, ToolReturned
from foreword.core.ledger import once, rows, total
from foreword.core.price import usd
from foreword.core.prices import Prices
from foreword.core.usage import Usage
from foreword.errors import ImportFailed
from foreword.importers.grown import growth
from foreword.importers.imported import Imported
from foreword.importers.read import read
from tests.importers.claude_file import codes, story
from tests.importers.pi_file import MODEL, NOTHING, SESSION, PiFile, call, spent, text

Body = TypeVar("Body")


def bodies(one: Imported, kind: type[Body]) -> list[Body]:
    return [draft.body for draft in one.drafts if isinstance(draft.body, kind)]


def begun(version: int = 3) -> PiFile:
    file = PiFile(version)
    file.entry("model_change", provider="anthropic", modelId=MODEL)
    file.user("Build it.")
    file.answer(text("I build."), call("t1", command="make"), stopReason="toolUse")
    file.result("t1")
    file.answer(text("Built."))
    return file


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_tells_the_same_story(version: int) -> None:
    """Linear without ids, or a tree."""
    one = begun(version).read()
    assert (one.session, one.format) == (SESSION, "pi")
    assert story(one) == ["person: Build it.", "model: I build. t1", "result t1", "model: Built."]
    assert codes(one) == {"tools_inferred", "left_out"}


def test_usage_and_cost_are_exact() -> None:
    """Input excludes what the cache gave; the cost stays the decimal that was recorded; what is missing is unknown."""
    file = PiFile()
    file.user("Go.")
    file.answer(text("One."), usage=spent(6, 1, 87_868, 358, 0.027735899999999997), responseId="msg_1")
    file.answer(text("Two."), usage=spent(total=1e-07))
    file.answer(text("Three."), usage={"input": 5, "output": 1})
    file.answer(text("Four."), usage={"input": -5, "output": 1})
    one = file.read()
    answers = bodies(one, Answered)
    assert answers[0].usage == Usage(
        uncached=6, cache_read=87_868, cache_write_short=358, cache_write_long=0, output=1, reasoning=None
    )
    costs = [answer.recorded_cost_usd for answer in answers]
    assert costs == ["0.027735899999999997", "0.0000001", None, None]
    assert answers[2].usage == Usage(uncached=5, output=1)
    assert answers[3].usage is None
    assert "unreadable_usage" in codes(one)
    assert (answers[0].model, answers[0].stop_reason, answers[0].response_id) == (MODEL, "stop", "msg_1")


def test_a_call_that_came_to_nothing_is_a_note() -> None:
    """It stays in the file; without usage nothing was answered. The note says why."""
    file = begun()
    file.answer(usage=NOTHING, stopReason="aborted", errorMessage="Request was aborted.")
    file.answer(text("Th"), usage=NOTHING, stopReason="error", errorMessage="overloaded")
    one = file.read()
    notes = bodies(one, ForeignNoted)
    assert [(note.code, note.text) for note in notes] == [
        ("aborted", "Request was aborted."),
        ("api_error", "overloaded"),
    ]
    assert [(note.model, note.recorded_cost_usd) for note in notes] == [(MODEL, "0"), (MODEL, "0")]
    assert notes[0].raw is None
    assert '"Th"' in (notes[1].raw or "")
    assert len(bodies(one, Answered)) == 2


def test_a_call_that_was_cut_is_partial() -> None:
    """What it wrote and cost is history; its tool calls stay open."""
    file = begun()
    file.answer(text("I go"), call("t2"), usage=spent(total=0.5), stopReason="aborted", errorMessage="stop")
    answer = bodies(file.read(), Answered)[-1]
    assert answer.partial
    assert answer.recorded_cost_usd == "0.5"
    assert [block.id for block in answer.message.blocks if isinstance(block, ToolCall)] == ["t2"]


def test_an_answer_without_counts_is_history() -> None:
    """Zero usage of an answer that ended well means that the provider told none."""
    file = PiFile()
    file.user("Hi.")
    file.answer(text("Hello."), usage=NOTHING)
    one = file.read()
    assert [answer.usage for answer in bodies(one, Answered)] == [None]
    assert "unseen_unknown" in codes(one)


def test_the_last_entry_is_the_leaf() -> None:
    """What a rewind left behind is one note; entries that are no history are no branch."""
    file = PiFile()
    root = file.user("Start.")
    answer = file.answer(text("Started."))
    file.user("Use tabs.")
    file.answer(call("t1"))
    file.result("t1")
    file.entry("label", targetId=root, label="x", parentId=answer)
    file.user("Use spaces.", parent=answer)
    file.answer(text("Spaces."))
    one = file.read()
    assert story(one) == ["person: Start.", "model: Started.", "person: Use spaces.", "model: Spaces."]
    [flaw] = [flaw for flaw in one.flaws if flaw.code == "abandoned_branch"]
    assert (flaw.where, flaw.text.split()[0]) == ("line 4", "3")
    [note] = bodies(one, ForeignNoted)
    assert (note.code, len((note.raw or "").splitlines())) == ("abandoned_branch", 3)
    assert "Use tabs." in (note.raw or "")


def test_a_call_left_behind_was_paid() -> None:
    """With its recorded cost; a recording made before the rewind and one made after hold the same call."""
    file = PiFile()
    root = file.user("Start.")
    file.answer(text("Tabs."))
    before = file.read()
    file.user("Again.", parent=root)
    file.answer(text("Spaces."), usage=spent(total=0.02))
    one = file.read()
    assert [call.recorded_cost_usd for call in bodies(one, Called)] == ["0.0123"]
    made = [rows(each.drafts, session=each.source, prices=Prices()) for each in (before, one)]
    sums = total(once(row for each in made for row in each))
    assert (sums.calls, usd(sums.recorded)) == (2, "0.0323")
    assert "left_behind" in codes(one)


@pytest.mark.parametrize("usage", [{"input": -5}, {"output": "5"}, [1]])
def test_usage_that_is_no_count_is_a_doubt(usage: Any) -> None:
    """Of a call that failed too: it is no call of no token."""
    file = PiFile()
    file.user("Go.")
    file.answer(text("One."), usage=usage)
    file.answer(text("Two."), usage=usage, stopReason="error")
    doubts = [(answer.usage, answer.doubts) for answer in bodies(file.read(), Answered)]
    assert doubts == [(None, ("usage_unreadable",))] * 2


def test_a_second_root_leaves_the_first_tree() -> None:
    """A rewind to the very start; a parent that is the session's own id is a root too."""
    for parent in (None, SESSION):
        file = PiFile()
        file.user("Wrong words.")
        file.user("Right words.", parent=parent)
        assert story(file.read()) == ["person: Right words."]


def test_a_missing_parent_costs_only_itself() -> None:
    """The entry before is taken, and said so; an entry can't be its own ancestor."""
    file = begun()
    file.user("Go on.", parent="gone")
    loop = file.user("And on.", parent="e8")
    assert loop == "e8"
    one = file.read()
    assert story(one)[-3:] == ["model: Built.", "person: Go on.", "person: And on."]
    assert "chain_broken" in codes(one)


def test_an_entry_that_comes_twice_counts_once() -> None:
    """The first stays."""
    file = begun()
    lines = list(file.lines)
    file.lines.append(lines[2])
    assert story(file.read()) == story(begun().read())


def test_history_continues_through_a_compaction() -> None:
    """Entries before the first that was kept stay; the note names it and holds the summary."""
    for version, member in ((1, {"firstKeptEntryIndex": 4}), (3, {"firstKeptEntryId": "e4"})):
        file = begun(version)
        file.entry("compaction", summary="Half done.", tokensBefore=9, **member)
        file.user("Go on.")
        file.answer(text("Done."))
        one = file.read()
        assert story(one)[-3:] == ["model: Built.", "person: Go on.", "model: Done."]
        [note] = bodies(one, ForeignNoted)
        assert (note.code, note.text.split()[-1]) == ("compaction", str(*member.values()))
        assert json.loads(note.raw or "")["summary"] == "Half done."


def test_text_of_the_tool_is_no_person() -> None:
    """Summaries of branches, texts of extensions, shell commands; state and commands kept apart are not said."""
    file = begun()
    file.entry("branch_summary", fromId="e1", summary="Tabs were tried.")
    file.entry("custom_message", customType="x", content="Lint is on.", display=False)
    file.entry("custom", customType="x", data={"a": 1})
    file.message("hookMessage", content=[text("Hook.")])
    file.message("developer", content="Be brief.")
    file.message("bashExecution", command="ls", output="a\nb", exitCode=2)
    file.message("bashExecution", command="cat key", output="no", exitCode=0, excludeFromContext=True)
    file.user("Go on.")
    one = file.read()
    assert story(one)[4:] == [
        "model: Tabs were tried.",
        "foreign: Lint is on.",
        "foreign: Hook.",
        "operator: Be brief.",
        "tool: $ ls\na\nb\n(exit code 2)",
        "person: Go on.",
    ]
    [note] = bodies(one, ForeignNoted)
    assert (note.code, note.text) == ("not_in_context", "$ cat key")


def test_reasoning_stays_with_its_wire() -> None:
    """A signature is kept where the wire knows signatures, a whole item where it knows items."""
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    file = PiFile()
    file.user("Think.")
    thought = {"type": "thinking", "thinking": "hm"}
    file.answer({**thought, "thinkingSignature": "s"})
    file.answer({**thought, "thinkingSignature": "d", "redacted": True})
    file.answer({**thought, "thinkingSignature": json.dumps(item)}, api="openai-responses")
    file.answer({**thought, "thinkingSignature": "reasoning_content"}, api="openai-completions")
    file.answer({**thought, "thinkingSignature": "s"}, api="google-vertex")
    messages = [answer.message for answer in bodies(file.read(), Answered)]
    assert [message.wire for message in messages] == [
        "anthropic",
        "anthropic",
        "openai-responses",
        "openai-chat",
        "google-vertex",
    ]
    assert [message.blocks[0] for message in messages] == [
        Thinking(text="hm", signature="s"),
        Thinking(data="d"),
        Thinking(text="hm", signature="gAAA", extra={"id": "rs_1", "summary": []}),
        Thinking(text="hm"),
        Thinking(text="hm"),
    ]


def test_pictures_are_kept() -> None:
    """In what a person says and in what a tool returns."""
    picture = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    file = PiFile()
    file.user([text("Look:"), picture])
    file.answer(call("t1"))
    file.result("t1", [picture], parent="e3")
    one = file.read()
    image = Image(media_type="image/png", data="iVBORw0KGgo=")
    assert bodies(one, Said)[0].message.blocks == (Text(text="Look:"), image)
    assert bodies(one, ToolReturned)[0].result.content == (image,)


def test_a_failed_result_says_so() -> None:
    """And one without the id of its call is a note."""
    file = begun()
    file.answer(call("t2"))
    file.message("toolResult", toolCallId="t2", content=[text("no")], isError=True)
    file.message("toolResult", content=[text("no")], isError=True)
    one = file.read()
    assert [body.result.is_error for body in bodies(one, ToolReturned)] == [False, True]
    assert [note.code for note in bodies(one, ForeignNoted)] == ["unreadable"]


@pytest.mark.parametrize(
    "tool, failed, output, code",
    [
        ("bash", True, "no such file\n\n\nCommand exited with code 2", 2),
        ("bash", True, "Command exited with code 1", 1),
        ("bash", False, "Command exited with code 1", UNSET),
        ("grep", True, "Command exited with code 1", UNSET),
        ("bash", True, "Command exited with code 1\n\nCommand aborted", UNSET),
        ("bash", True, "it says: Command exited with code 1", UNSET),
    ],
)
def test_the_exit_code_is_what_pi_wrote_behind_the_output(
    tool: str, failed: bool, output: str, code: Any
) -> None:
    """Only its own shell's failures tell one, in the last line."""
    file = begun()
    file.answer(call("t2"))
    file.message("toolResult", toolCallId="t2", toolName=tool, content=[text(output)], isError=failed)
    body = bodies(file.read(), ToolReturned)[-1]
    assert (body.exit_code, body.result.is_error) == (code, failed)


def test_what_cannot_be_read_is_a_note() -> None:
    """Unknown roles and parts, content that is none: each costs only itself."""
    file = begun()
    file.message("narrator", content="Meanwhile")
    file.user([{"type": "video", "data": "x"}])
    file.user(None)
    file.answer({"type": "toolCall", "id": "t9"})
    file.entry("hologram", beam=1)
    file.user("Go on.")
    one = file.read()
    assert [note.code for note in bodies(one, ForeignNoted)] == ["unreadable"] * 4
    assert story(one)[-1] == "person: Go on."
    assert any("1 records of type hologram" in flaw.text for flaw in one.flaws)


def test_a_file_read_at_any_line_is_no_other_past() -> None:
    """It goes on, and a third reading adds nothing; after a rewind it is a fork."""
    file = begun()
    file.entry("compaction", summary="Half done.", firstKeptEntryId="e4", tokensBefore=9)
    file.user("Go on.")
    file.answer(call("t2"))
    file.result("t2")
    whole = file.read().drafts
    for end in range(3, len(file.lines)):
        [part] = read("session.jsonl", data="\n".join(file.lines[:end]).encode())
        found = growth(part.drafts, whole)
        assert not found.forked, end
        assert growth([*part.drafts, *found.added], whole).added == ()
    file.user("Anew.", parent="e3")
    assert growth(whole, file.read().drafts).forked


def test_a_name_is_the_title() -> None:
    """The last one that was given."""
    file = begun()
    file.entry("session_info", name="One")
    file.entry("session_info", name="Two")
    assert file.read().title == "Two"


def test_a_beginning_that_is_missing_is_named() -> None:
    """Without a header the file's own name is the id."""
    [one] = read("part.jsonl", data="\n".join(begun().lines[1:]).encode())
    assert one.session == "part"
    assert "no_header" in codes(one)


def test_a_session_without_a_message_is_refused() -> None:
    """A header and settings alone."""
    file = PiFile()
    file.entry("model_change", provider="anthropic", modelId=MODEL)
    with pytest.raises(ImportFailed, match="without a message"):
        file.read()


def test_recorded_costs_add_up_as_decimals() -> None:
    """No float comes between the file and the sum."""
    file = PiFile()
    file.user("Go.")
    for _ in range(10):
        file.answer(text("x"), usage=spent(total=0.1))
    costs = [Decimal(answer.recorded_cost_usd or "") for answer in bodies(file.read(), Answered)]
    assert sum(costs) == 1


def test_files_put_together_are_a_session_each() -> None:
    """A header with an id of its own begins the next; a copy of the same file adds nothing."""
    one, other = PiFile(), PiFile()
    one.user("Build it.")
    one.answer(text("Built."))
    other.lines[0] = other.lines[0].replace(SESSION, "another")
    other.user("Test it.")
    found = read("x.jsonl", data=one.data + other.data)
    assert [(part.session, story(part)) for part in found] == [
        (SESSION, ["person: Build it.", "model: Built."]),
        ("another", ["person: Test it."]),
    ]
    [same] = read("x.jsonl", data=one.data * 2)
    assert story(same) == story(found[0])


def test_an_id_given_twice_is_named() -> None:
    """The first stands; what is left out for its id is said."""
    file = PiFile()
    for words in ("Build it.", "Test it."):
        file.entry("message", id="e1", message={"role": "user", "content": words})
    one = file.read()
    assert story(one) == ["person: Build it."]
    assert "replayed" in codes(one)


def test_records_beside_the_path_are_counted() -> None:
    """A type that we don't know has no place in the tree; it is left out, and said to be."""
    file = PiFile()
    file.user("Build it.")
    file.lines.append('{"type":"brand_new","x":1}')
    file.answer(text("Built."))
    one = file.read()
    assert story(one) == ["person: Build it.", "model: Built."]
    [left] = [flaw.text for flaw in one.flaws if flaw.code == "left_out"]
    assert left.startswith("1 records of type brand_new ")
