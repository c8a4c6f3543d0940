"""Claude Code files put together: each session stays one, and what the tree links is one."""

import json

from foreword.importers.read import read
from tests.importers.claude_file import SESSION, ClaudeFile, codes, story, text


def session(id_: str, word: str) -> ClaudeFile:
    """A session of one turn; its uuids and calls begin with its word."""
    file = ClaudeFile()
    first = file.user(f"{word}?", sessionId=id_, uuid=f"{word}-1", cwd=f"/{word}")
    file.answer(word, text(f"{word}."), sessionId=id_, uuid=f"{word}-2", parentUuid=first)
    file.loose(type="custom-title", customTitle=f"About {word}", sessionId=id_)
    return file


def test_files_put_together_are_a_session_each() -> None:
    """Each with its own title and folder, one behind the other or line by line, also with a sidechain."""
    one, other = session("s1", "build"), session("s2", "test")
    other.user("Look.", sessionId="s2", uuid="side", parentUuid=None, isSidechain=True)
    mixed = [line for pair in zip(one.lines, other.lines, strict=False) for line in pair] + other.lines[3:]
    for lines in ([*one.lines, *other.lines], mixed):
        found = read("all.jsonl", data="\n".join(lines).encode())
        assert [(part.session, story(part)) for part in found] == [
            ("s1", ["person: build?", "model: build."]),
            ("s2", ["person: test?", "model: test."]),
            ("s2/1", ["model: Look."]),
        ]
        assert [(part.title, part.project) for part in found[:2]] == [
            ("About build", "/build"),
            ("About test", "/test"),
        ]
        assert not any(
            "several_sessions" in codes(part) or "abandoned_branch" in codes(part) for part in found
        )


def test_a_resumed_session_is_one() -> None:
    """Its new id goes on from the old one's records; a rewind to the beginning keeps the id."""
    file = session("s1", "build")
    file.user("On.", sessionId="s2", parentUuid="build-2")
    file.user("Anew.", sessionId="s2", parentUuid=None)
    [one] = file.read()
    assert (one.session, story(one)) == ("s1", ["person: Anew."])
    assert {"several_sessions", "abandoned_branch"} <= codes(one)


def test_a_record_without_its_parent_belongs_to_the_one_before() -> None:
    """The file was trimmed; an id of its own makes no session of it."""
    file = session("s1", "build")
    file.user("On.", sessionId="s2", parentUuid="gone")
    record = json.loads(file.lines[-1])
    del record["sessionId"], record["parentUuid"]
    file.lines.append(json.dumps({**record, "uuid": "last"}))
    [one] = file.read()
    assert story(one)[-2:] == ["person: On.", "person: On."]


def test_a_record_of_another_session_that_is_no_message_is_no_session() -> None:
    """A title without a session id stays that of the file's one conversation."""
    file = session("s1", "build")
    file.record("system", subtype="turn_duration", sessionId="s2", parentUuid=None)
    file.lines[2] = json.dumps({"type": "summary", "summary": "Half", "leafUuid": "build-2"})
    [one] = file.read()
    assert (one.session, one.title) == ("s1", "Half")


def test_records_that_name_no_session_take_the_name_of_the_file() -> None:
    """As files of other writers do."""
    file = session(SESSION, "build")
    lines = [
        json.dumps({k: v for k, v in json.loads(line).items() if k != "sessionId"}) for line in file.lines
    ]
    [one] = read("named.jsonl", data="\n".join(lines).encode())
    assert (one.session, one.title) == ("named", "About build")
