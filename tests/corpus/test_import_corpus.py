"""Real session files give the figures that their own table states."""

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest

from foreword.core.block import ToolCall
from foreword.core.event import Answered, Draft, ForeignNoted, Said, ToolReturned, ToolsSet, UnseenPrefix
from foreword.errors import ImportFailed
from foreword.importers.grown import growth
from foreword.importers.imported import Imported
from foreword.importers.read import read

FOLDER = os.environ.get("FOREWORD_DATA", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="FOREWORD_DATA names no folder of recorded sessions")

CLAUDE = sorted(Path(FOLDER, "claude_code").glob("*.jsonl")) if FOLDER else []
FIXTURES = sorted(Path(FOLDER, "format_fixtures", "claude").rglob("*.jsonl")) if FOLDER else []
CODEX = sorted(Path(FOLDER, "codex").glob("*.jsonl")) if FOLDER else []
PI = sorted(Path(FOLDER, "pi").glob("*.jsonl")) if FOLDER else []
ROLLOUTS = CODEX + PI
DRIFTED = [
    path
    for name in ("codex", "pi", "openclaw")
    for path in (sorted(Path(FOLDER, "format_fixtures", name).glob("*.jsonl")) if FOLDER else [])
]
WITHOUT_A_ROW = {"rollout-04": 2}
"""Calls without token counts of their own, which the table leaves out: one aborted, one cut off by the file."""
PI_COST = Decimal("30.3302")
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
    return sum(note.code in ("api_error", "aborted") for note in noted)


def compactions(sessions: list[Imported]) -> list[ForeignNoted]:
    noted = [draft.body for draft in facts(sessions) if isinstance(draft.body, ForeignNoted)]
    return [note for note in noted if note.code == "compaction"]


def has_stated_prompts(sessions: list[Imported], row: dict[str, str]) -> None:
    usages = [answer.usage for answer in answers(sessions) if answer.usage is not None]
    prompts = [usage.total_input or 0 for usage in usages]
    assert near(sum(prompts), row["sent"])
    assert near(sum(usage.cache_read or 0 for usage in usages), row["cached"])
    assert near(max(prompts), row["ctx"])


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
    assert len(answers(sessions)) + errors(sessions) == int(row["steps"])
    calls = tool_calls(sessions)
    assert len(calls) == len(set(calls)) == int(row["tools"])
    has_stated_prompts(sessions, row)
    boundaries = [note for note in compactions(sessions) if note.text == "compact_boundary"]
    assert len(boundaries) == int((row["cmp"].split() or ["0"])[0].replace("micro", "0"))


@pytest.mark.parametrize("path", ROLLOUTS, ids=lambda path: path.stem)
def test_a_codex_or_pi_file_has_the_stated_figures(path: Path) -> None:
    """The same figures, and the compactions; of Codex the sums are those of the last cumulative count."""
    sessions = read(str(path))
    row = stated(f"{path.parent.name}/{path.name}")
    calls = tool_calls(sessions)
    steps = len(answers(sessions)) + errors(sessions) - WITHOUT_A_ROW.get(path.stem, 0)
    assert steps == int(row["steps"])
    assert len(calls) == len(set(calls)) == int(row["tools"])
    has_stated_prompts(sessions, row)
    assert len(compactions(sessions)) == int(row["cmp"] or 0)


@pytest.mark.parametrize("path", CODEX, ids=lambda path: path.stem)
def test_codex_usage_adds_up_to_the_last_cumulative_count(path: Path) -> None:
    """Input, cached, output and reasoning, to the token; each call has its own."""
    rows = [json.loads(line)["payload"] for line in path.read_text(encoding="utf-8").splitlines()]
    totals = [row["info"]["total_token_usage"] for row in rows if row.get("type") == "token_count"]
    usages = [answer.usage for answer in answers(read(str(path))) if answer.usage is not None]
    for bucket, name in (
        ("total_input", "input_tokens"),
        ("cache_read", "cached_input_tokens"),
        ("output", "output_tokens"),
        ("reasoning", "reasoning_output_tokens"),
    ):
        assert sum(getattr(usage, bucket) for usage in usages) == totals[-1][name]


@pytest.mark.parametrize("path", PI, ids=lambda path: path.stem)
def test_pi_costs_add_up(path: Path) -> None:
    """Decimal by decimal, with those of the calls that were cut."""
    costs = [Decimal(answer.recorded_cost_usd or 0) for answer in answers(read(str(path)))]
    assert round(sum(costs), 4) == PI_COST


@pytest.mark.parametrize("path", ROLLOUTS + DRIFTED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_any_beginning_of_a_codex_or_pi_file_is_read(path: Path) -> None:
    """A file cut off anywhere gives one session or one plain error, twice the same."""
    data = path.read_bytes()
    for part in range(1, 9):
        try:
            sessions = read(path.name, data=data[: len(data) * part // 8])
        except ImportFailed:
            continue
        assert len(sessions) == 1
        assert facts(sessions)
        assert sessions == read(path.name, data=data[: len(data) * part // 8])


@pytest.mark.parametrize("path", ROLLOUTS, ids=lambda path: path.stem)
def test_tools_and_prefix_of_a_codex_or_pi_file_are_inferred(path: Path) -> None:
    """Every tool that was called has a stub; what was sent beside the file has a size."""
    [one] = read(str(path))
    [tools] = [draft.body for draft in one.drafts if isinstance(draft.body, ToolsSet)]
    called = {b.name for a in answers([one]) for b in a.message.blocks if isinstance(b, ToolCall)}
    assert {tool.name for tool in tools.tools} == called
    [prefix] = [draft.body for draft in one.drafts if isinstance(draft.body, UnseenPrefix)]
    assert 1_000 < prefix.tokens < 20_000


@pytest.mark.parametrize("path", CLAUDE + ROLLOUTS, ids=lambda path: path.stem)
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


def is_word(record: dict[str, object]) -> bool:
    """Say whether a record of Claude Code, Codex or pi holds a user message."""
    inner = record.get("message") or record.get("payload")
    return isinstance(inner, dict) and inner.get("role") == "user"


@pytest.mark.parametrize("path", CLAUDE + ROLLOUTS, ids=lambda path: path.stem)
def test_a_file_that_grew_is_no_other_past(path: Path) -> None:
    """Read at any line and again later, a real session goes on, and a third reading adds nothing."""
    lines = path.read_bytes().splitlines(keepends=True)
    whole = {one.session: one.drafts for one in read(str(path))}
    first = next(number for number, line in enumerate(lines, 1) if is_word(json.loads(line)))
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


@pytest.mark.parametrize("folder", ["gemini_cli", "copilot", "swe_agent", "memory", "logs", "bfcl"])
def test_other_formats_are_refused_or_read_as_lists(folder: str) -> None:
    """Whatever lies in the folder: one plain error, or sessions; never another exception."""
    for path in sorted(Path(FOLDER, folder).rglob("*.*")):
        try:
            outcome: object = facts(read(str(path)))
        except ImportFailed as error:
            outcome = str(error).splitlines()[1:] == []
        assert outcome, path
