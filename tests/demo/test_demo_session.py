"""Check the recorded demo session as a reader of it meets it: the checked-in file, nothing played again."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SESSION = Path(__file__).resolve().parents[2] / "demo" / "session.json"

# An absolute path of two parts or more. A slash after a letter, a dot or a brace is inside a relative
# path, but for the letter of an option such as -I.
ABSOLUTE = re.compile(r"(?:(?<=-[IL])|(?<![\w.\-+*/})$]))/[A-Za-z][\w.\-]*/[\w.\-]+")


@pytest.fixture(scope="module")
def session() -> dict[str, Any]:
    """Load the checked-in session."""
    return json.loads(SESSION.read_text("utf-8"))


def blocks(session: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the blocks of one type, in order."""
    return [
        block
        for message in session["messages"]
        if not isinstance(message["content"], str)
        for block in message["content"]
        if block["type"] == kind
    ]


def person_turns(session: dict[str, Any]) -> list[str]:
    """Return the turns that a person wrote."""
    return [message["content"] for message in session["messages"] if isinstance(message["content"], str)]


def texts(value: Any) -> Iterator[str]:
    """Yield every string inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def test_file_is_small_and_stable(session: dict[str, Any]) -> None:
    """The file stays under 1 MB and is exactly what the recorder's form of JSON gives."""
    assert SESSION.stat().st_size < 1_000_000
    assert SESSION.read_text("utf-8") == json.dumps(session, indent=1, ensure_ascii=False) + "\n"
    assert list(session) == ["model", "system", "tools", "messages"]


def test_every_call_is_answered_in_the_next_message(session: dict[str, Any]) -> None:
    """Each assistant message with calls is followed by one user message with their results, in order."""
    messages = session["messages"]
    for here, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        if calls:
            following = messages[here + 1]
            assert following["role"] == "user"
            assert [block.get("tool_use_id") for block in following["content"]] == calls
    ids = [call["id"] for call in blocks(session, "tool_use")]
    assert ids == [f"toolu_demo_{number:04}" for number in range(1, len(ids) + 1)]
    assert len(ids) == len(blocks(session, "tool_result")) >= 40


def test_roles_alternate(session: dict[str, Any]) -> None:
    """A person begins, roles alternate, the agent has the last word."""
    roles = [message["role"] for message in session["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2)


def test_calls_fit_the_schemas(session: dict[str, Any]) -> None:
    """Every call names a tool of the session and gives the arguments that its schema has and needs."""
    schemas = {tool["name"]: tool["input_schema"] for tool in session["tools"]}
    kinds = {"string": str, "integer": int}
    for call in blocks(session, "tool_use"):
        schema = schemas[call["name"]]
        assert set(schema["required"]) <= set(call["input"])
        for key, value in call["input"].items():
            assert isinstance(value, kinds[schema["properties"][key]["type"]])
    assert set(schemas) == {call["name"] for call in blocks(session, "tool_use")}


def test_exit_codes_and_errors_agree(session: dict[str, Any]) -> None:
    """A command's result ends with its exit code, and is an error exactly when that is not 0."""
    names = {call["id"]: call["name"] for call in blocks(session, "tool_use")}
    for result in blocks(session, "tool_result"):
        if names[result["tool_use_id"]] == "bash":
            code = int(result["content"].rsplit("exit code ", 1)[1])
            assert result.get("is_error", False) == (code != 0)
    assert any(result.get("is_error") for result in blocks(session, "tool_result"))


@pytest.mark.parametrize(
    "evidence",
    [
        "Could not find a package configuration file",
        "error: implicit declaration of function 'strdup'",
        "undefined reference to `tc_text_copy'",
        "failed: tc_get_int(conf",
        "runtime error: null pointer passed as argument 2",
        "arm-linux-gnueabihf-gcc\n\n  is not a full path",
    ],
)
def test_failures_of_every_kind_are_there(session: dict[str, Any], evidence: str) -> None:
    """Configure, compile, link, unit test, sanitizer, missing compiler: each is an error result."""
    errors = [result["content"] for result in blocks(session, "tool_result") if result.get("is_error")]
    assert any(evidence in text for text in errors)


def test_a_large_result_a_batch_and_duplicates_are_there(session: dict[str, Any]) -> None:
    """One result is over 30,000 characters, one batch is parallel, one long file was read twice unchanged."""
    contents = [result["content"] for result in blocks(session, "tool_result")]
    assert max(map(len, contents)) > 30_000
    assert any(count > 1 for text, count in Counter(contents).items() if len(text) > 5_000)
    batches = [
        sum(block["type"] == "tool_use" for block in message["content"])
        for message in session["messages"]
        if message["role"] == "assistant"
    ]
    assert max(batches) >= 3


def test_a_file_is_read_again_after_an_edit(session: dict[str, Any]) -> None:
    """Some file's second read shows other text than the first."""
    results = {result["tool_use_id"]: result["content"] for result in blocks(session, "tool_result")}
    reads: dict[str, set[str]] = {}
    for call in blocks(session, "tool_use"):
        if call["name"] == "read_file" and set(call["input"]) == {"path"}:
            reads.setdefault(call["input"]["path"], set()).add(results[call["id"]])
    assert any(len(seen) > 1 for seen in reads.values())


def test_persons_turns(session: dict[str, Any]) -> None:
    """At least six turns are a person's: a rule, its amendment, a question, one in Chinese with emoji."""
    turns = person_turns(session)
    assert len(turns) >= 6
    assert "Do not touch the public header include/tinyconf.h" in turns[0]
    assert any("amendment to rule 1" in turn for turn in turns)
    assert any(turn.endswith("?") for turn in turns)
    assert any("头文件" in turn and "🌏" in turn for turn in turns)


def test_no_path_outside_the_work_folder(session: dict[str, Any]) -> None:
    """Every absolute path is under /home/agent or /usr: nothing of the recording machine is told."""
    found = {path for text in texts(session) for path in ABSOLUTE.findall(text)}
    assert found
    assert {path for path in found if not path.startswith(("/home/agent", "/usr/"))} == set()


def test_the_path_pattern_sees_foreign_paths() -> None:
    """The pattern behind the check above finds paths at the places where tools print them."""
    for text in (
        "at /mnt/x1/src/a.c:3",
        '"/srv/a"',
        "-I/opt/arm/include",
        "'/var/log'",
        "=/etc/ld.so",
        "(/lib/x)",
    ):
        assert ABSOLUTE.search(text), text
