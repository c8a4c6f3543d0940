"""Real session files give the figures that their own table states."""

import json
import os
from pathlib import Path

import pytest

from foreword.core.block import ToolCall
from foreword.core.event import Answered, Draft, ForeignNoted, Said, ToolReturned
from foreword.errors import ImportFailed
from foreword.importers.grown import growth
from foreword.importers.imported import Imported
from foreword.importers.read import read

FOLDER = os.environ.get("FOREWORD_DATA", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="FOREWORD_DATA names no folder of recorded sessions")

CLAUDE = sorted(Path(FOLDER, "claude_code").glob("*.jsonl")) if FOLDER else []
FIXTURES = sorted(Path(FOLDER, "format_fixtures", "claude").rglob("*.jsonl")) if FOLDER else []
UNITS = {"k": 1_000, "M": 1_000_000}


def stated(name: str) -> dict[str, str]:
    """Read a file's row of the table in README.md."""
    lines = [
        line for line in Path(FOLDER, "README.md").read_text(encoding="utf-8").splitlines() if line[:1] == "|"
    ]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    head = next(row for row in rows if "steps" in row)
    return dict(zip(head, next(row for row in rows if row[0] == name), strict=True))


def facts(sessions: list[Imported]) -> list[Draft]:
    return [draft for one in sessions for draft in one.drafts]


def answers(sessions: list[Imported]) -> list[Answered]:
    return [draft.body for draft in facts(sessions) if isinstance(draft.body, Answered)]


def tool_calls(sessions: list[Imported]) -> list[str]:
    return [b.id for answer in answers(sessions) for b in answer.message.blocks if isinstance(b, ToolCall)]


def errors(sessions: list[Imported]) -> int:
    """Count the failed calls, which the table counts as steps."""
    noted = [draft.body for draft in facts(sessions) if isinstance(draft.body, ForeignNoted)]
    return sum(note.code == "api_error" for note in noted)


def near(figure: int, text: str) -> bool:
    """Say whether a count rounds to a figure such as 18.9M."""
    unit = UNITS.get(text[-1:], 1)
    number = text.rstrip("kM")
    places = len(number.partition(".")[2])
    return abs(figure / unit - float(number)) <= 0.51 * 10**-places


@pytest.mark.parametrize("path", CLAUDE, ids=lambda path: path.stem)
def test_a_claude_code_file_has_the_stated_figures(path: Path) -> None:
    """Steps, tool calls, tokens sent, tokens from the cache, largest prompt; each call counts once."""
    sessions = read(str(path))
    row = stated(f"claude_code/{path.name}")
    usages = [answer.usage for answer in answers(sessions) if answer.usage is not None]
    prompts = [usage.total_input or 0 for usage in usages]
    assert len(answers(sessions)) + errors(sessions) == int(row["steps"])
    calls = tool_calls(sessions)
    assert len(calls) == len(set(calls)) == int(row["tools"])
    assert near(sum(prompts), row["sent"])
    assert near(sum(usage.cache_read or 0 for usage in usages), row["cached"])
    assert near(max(prompts), row["ctx"])
    compactions = [
        d.body for d in facts(sessions) if isinstance(d.body, ForeignNoted) and d.body.code == "compaction"
    ]
    boundaries = [note for note in compactions if note.text == "compact_boundary"]
    assert len(boundaries) == int((row["cmp"].split() or ["0"])[0].replace("micro", "0"))


@pytest.mark.parametrize("path", CLAUDE, ids=lambda path: path.stem)
def test_results_answer_calls_that_came_before(path: Path) -> None:
    """No result of a real file is an orphan or comes before its call."""
    for one in read(str(path)):
        seen: set[str] = set()
        for draft in one.drafts:
            if isinstance(draft.body, Answered):
                seen |= {block.id for block in draft.body.message.blocks if isinstance(block, ToolCall)}
            elif isinstance(draft.body, ToolReturned):
                assert draft.body.result.call_id in seen, draft.origin


@pytest.mark.parametrize("path", CLAUDE, ids=lambda path: path.stem)
def test_every_visible_word_is_kept(path: Path) -> None:
    """Nothing falls between the records: no branch of these files is abandoned, no line unreadable."""
    for one in read(str(path)):
        assert not {"abandoned_branch", "unreadable", "malformed_line", "replayed"} & {
            f.code for f in one.flaws
        }
        assert any(isinstance(draft.body, Said) for draft in one.drafts)


@pytest.mark.parametrize("path", CLAUDE + FIXTURES, ids=lambda path: path.stem)
def test_any_beginning_of_a_file_is_read(path: Path) -> None:
    """A file cut off anywhere gives sessions or one plain error."""
    data = path.read_bytes()
    for part in range(1, 8):
        try:
            sessions = read(path.name, data=data[: len(data) * part // 8])
        except ImportFailed:
            continue
        assert facts(sessions)


@pytest.mark.parametrize("path", CLAUDE, ids=lambda path: path.stem)
def test_a_file_that_grew_is_no_other_past(path: Path) -> None:
    """Read at any line and again later, a real session goes on, and a third reading adds nothing."""
    lines = path.read_bytes().splitlines(keepends=True)
    whole = {one.session: one.drafts for one in read(str(path))}
    first = next(number for number, line in enumerate(lines, 1) if json.loads(line)["type"] == "user")
    for end in range(first, len(lines), max(1, len(lines) // 12)):
        for one in read(path.name, data=b"".join(lines[:end])):
            found = growth(one.drafts, whole[one.session])
            assert not found.forked
            grown = [*one.drafts, *found.added]
            assert growth(grown, whole[one.session]).added == ()


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_drifted_claude_code_file_is_read(path: Path) -> None:
    """Odd and old versions too, with their flaws named."""
    assert answers(read(str(path)))


def test_tau_bench_has_the_stated_figures() -> None:
    """A session a row, every answer a step."""
    name = "tau_bench/gpt-4o-airline.jsonl"
    sessions = read(str(Path(FOLDER, name)))
    row = stated(name)
    assert len(sessions) == len({one.session for one in sessions}) == int(row["sessions"])
    assert len(answers(sessions)) == int(row["steps"])
    assert len(tool_calls(sessions)) == int(row["tools"])
    results = [draft.body for draft in facts(sessions) if isinstance(draft.body, ToolReturned)]
    assert len(results) == int(row["tools"])
    assert {flaw.code for one in sessions for flaw in one.flaws} == {"tools_inferred"}


@pytest.mark.parametrize(
    "folder", ["codex", "pi", "gemini_cli", "copilot", "swe_agent", "memory", "logs", "bfcl"]
)
def test_other_formats_are_refused_or_read_as_lists(folder: str) -> None:
    """Whatever lies in the folder: one plain error, or sessions; never another exception."""
    for path in sorted(Path(FOLDER, folder).rglob("*.*")):
        try:
            outcome: object = facts(read(str(path)))
        except ImportFailed as error:
            outcome = str(error).splitlines()[1:] == []
        assert outcome, path
