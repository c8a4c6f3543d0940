"""Breaks of recorded sessions: which calls are breaks, what causes each, what each cost."""

from collections.abc import Callable
from typing import Any, get_args

import pytest

from foreword.core.block import Message, Text, ToolSpec
from foreword.core.event import Why
from foreword.core.prices import Prices
from foreword.core.usage import Usage
from foreword.engine.session import Session
from foreword.evals.cache_breaks import DETECTORS, EPOCHS, FIXES
from foreword.evals.cache_explain import Break, breaks_of, explained
from foreword.evals.cache_signs import signs_of
from foreword.evals.calls import calls_of
from foreword.importers.read import read
from tests.importers.claude_file import MODEL, ClaudeFile, call, text
from tests.importers.codex_file import CodexFile
from tests.importers.pi_file import PiFile, spent

THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}


def usage(read: int, *, short: int = 0, long: int = 0, fresh: int = 10) -> dict[str, Any]:
    """Usage of one call in the wire's members."""
    return {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": short + long,
        "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
        "output_tokens": 50,
    }


def at(seconds: float) -> str:
    """A time of the day of the record."""
    whole = round(seconds)
    return f"2026-11-30T{10 + whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.000Z"


def breaks(data: bytes) -> list[Break]:
    """Explain a file from its bytes."""
    sessions = read("s.jsonl", data=data)
    signs = signs_of("s.jsonl", sessions[0].format, data)
    return [
        one
        for number, session in enumerate(sessions)
        for one in breaks_of(calls_of(session.drafts, signs, side=number > 0), session.session, Prices())
    ]


def opened(**first: Any) -> ClaudeFile:
    """A session with one call, which wrote 40,000 tokens for the short life at second 10."""
    file = ClaudeFile()
    file.user("Build it.", timestamp=at(0), **first)
    file.answer("a", text("On it."), usage=usage(0, short=40_000), timestamp=at(10))
    return file


def ended(
    file: ClaudeFile, seconds: float, read: int = 0, *, words: str | None = "Go on.", **more: Any
) -> bytes:
    """The file with a second call of 41,010 tokens."""
    if words is not None:
        file.user(words, timestamp=at(seconds), **more)
    file.answer("b", text("Done."), usage=usage(read, short=41_000 - read), timestamp=at(seconds + 5))
    return file.data


def test_the_clock_runs_from_the_end_of_the_answer() -> None:
    """An answer of two records, 60 s apart: 300 s after the last is within its life, 301 s is over it."""
    for pause, found in ((300, []), (301, ["ttl_passed"])):
        file = opened()
        file.answer("a", call("t1"), usage=usage(0, short=40_000), timestamp=at(70))
        file.result("t1", timestamp=at(70 + pause))
        read = 0 if found else 40_000
        file.answer("b", text("Done."), usage=usage(read, short=41_000 - read), timestamp=at(900))
        assert [one.cause for one in breaks(file.data)] == found
    [one] = breaks(file.data)
    assert one.certainty == "shown"
    assert "301 s" in one.evidence
    assert "300 s" in one.evidence


def test_a_long_write_lives_an_hour() -> None:
    """After 40 minutes a read of nothing has another cause when the write was billed for an hour."""
    file = ClaudeFile()
    file.user("Build it.", timestamp=at(0))
    file.answer("a", text("On it."), usage=usage(0, long=40_000), timestamp=at(10))
    file.user("Well?", timestamp=at(2_000))
    file.answer("m", text("Yes."), usage=usage(40_000, long=500), timestamp=at(2_010))
    assert [one.cause for one in breaks(ended(file, 4_000))] == ["restart"]
    file.lines.pop()
    file.lines.pop()
    [one] = breaks(ended(file, 5_700))
    assert (one.cause, one.certainty) == ("ttl_passed", "shown")


def test_a_call_without_usage_is_none() -> None:
    """The record of an API error between two calls makes no break, and takes none away."""
    file = opened()
    file.user("Go on.", timestamp=at(20))
    file.record("assistant", isApiErrorMessage=True, timestamp=at(22), message={
        "id": "x", "role": "assistant", "model": "<synthetic>", "content": [text("API Error")],
        "usage": usage(0, fresh=0),
    })  # fmt: skip
    assert breaks(ended(file, 30, 40_000)) == []


def compacted() -> bytes:
    file = opened()
    file.record("system", subtype="compact_boundary", timestamp=at(15), content="Conversation compacted")
    return ended(file, 20, 9_000)


def cleared() -> bytes:
    file = opened()
    file.record("system", subtype="microcompact_boundary", timestamp=at(15), content="Cleared")
    return ended(file, 20, 9_000)


def switched() -> bytes:
    file = opened()
    file.user("Go on.", timestamp=at(20))
    file.answer("b", text("Done."), usage=usage(0, short=41_000), timestamp=at(25), model="claude-opus-5-5")
    return file.data


def thinking() -> bytes:
    file = opened(thinkingMetadata={"level": "high", "disabled": False, "triggers": []})
    return ended(file, 20, 9_000, thinkingMetadata={"level": "none", "disabled": True, "triggers": []})


def exited() -> bytes:
    file = opened()
    file.user("<command-name>/exit</command-name>", timestamp=at(15))
    return ended(file, 20, 9_000)


def tools() -> bytes:
    file = opened()
    file.user("<command-name>/mcp</command-name>", timestamp=at(15))
    return ended(file, 20)


def upgraded() -> bytes:
    file = opened(version="2.1.7")
    return ended(file, 20, version="2.1.8")


def interrupted() -> bytes:
    file = opened()
    file.user("[Request interrupted by user]", timestamp=at(15))
    return ended(file, 20)


def unasked() -> bytes:
    return ended(opened(), 20, words=None)


def reasoned() -> bytes:
    file = ClaudeFile()
    file.user("Build it.", timestamp=at(0))
    file.answer("a", THOUGHT, text("On it."), usage=usage(0, short=45_000), timestamp=at(10))
    return ended(file, 20, 9_000)


def skilled() -> bytes:
    file = ClaudeFile()
    file.user("Build it.", timestamp=at(0))
    file.answer("a", call("t1", "Skill"), usage=usage(0, short=40_000), timestamp=at(10))
    file.result("t1", timestamp=at(11))
    file.user([text("Base directory for this skill: /s")], isMeta=True, timestamp=at(11))
    return ended(file, 12, 9_000, words=None)


def crowded() -> bytes:
    file = ClaudeFile()
    file.user("Build it.", timestamp=at(0))
    file.answer("a", *(call(f"t{n}") for n in range(12)), usage=usage(0, short=40_000), timestamp=at(10))
    for number in range(12):
        file.result(f"t{number}", timestamp=at(11))
    return ended(file, 12, 9_000, words=None)


def codex(*calls: tuple[int, int, int], person: bool) -> bytes:
    """A rollout: each call by prompt, cached and reasoning tokens; a person speaks before the last one, or not."""
    file = CodexFile()
    file.turn(model="gpt-5.5")
    file.user("Build it.")
    for number, (prompt, cached, thought) in enumerate(calls, 1):
        last = number == len(calls)
        if last and person:
            file.turn(model="gpt-5.5")
            file.user("Go on.")
        file.call(f"c{number}")
        file.tokens(prompt, cached, 500, thought)
        file.result(f"c{number}")
    return file.data


def opening() -> bytes:
    return codex((20_000, 0, 0), (40_000, 19_968, 300), (39_500, 19_968, 0), person=True)


def best_effort() -> bytes:
    return codex((20_000, 0, 0), (40_000, 19_968, 0), (41_000, 2_432, 0), person=False)


def missed() -> bytes:
    return codex((20_000, 0, 0), (40_000, 19_968, 0), (41_000, 19_968, 0), person=False)


def toggled() -> bytes:
    file = PiFile()
    file.user("Build it.")
    file.answer({"type": "text", "text": "On it."}, usage=spent(10, 50, 0, 40_000))
    file.entry("thinking_level_change", thinkingLevel="high")
    file.user("Go on.")
    file.answer({"type": "text", "text": "Done."}, usage=spent(10, 50, 0, 41_000))
    return file.data


CASES: list[tuple[Callable[[], bytes], str, str, str]] = [
    (compacted, "compaction", "shown", "from 40,010 to 41,010"),
    (cleared, "clearing", "shown", "microcompact_boundary"),
    (switched, "model_switch", "shown", "claude-opus-5-5"),
    (thinking, "thinking_changed", "shown", "line 3"),
    (exited, "restart", "shown", "/exit (line 3)"),
    (tools, "tools_changed", "shown", "/mcp (line 3)"),
    (upgraded, "system_text", "shown", "2.1.7 → 2.1.8"),
    (reasoned, "reasoning_dropped", "shown", "shrank by 4,000"),
    (opening, "reasoning_dropped", "shown", "step 1 had opened with (20,000)"),
    (unasked, "two_clients", "shown", "line 2"),
    (skilled, "message_edited", "likely", "line 4"),
    (crowded, "look_back", "likely", "24 content blocks"),
    (interrupted, "aborted", "likely", "interrupted by the user (line 3)"),
    (lambda: ended(opened(), 20), "restart", "likely", "nothing was read at a person's turn 10 s"),
    (best_effort, "provider_miss", "likely", "in the middle of a turn"),
    (missed, "entry_missed", "likely", "step 1 had sent (20,000)"),
    (toggled, "thinking_changed", "shown", "default → high"),
    (lambda: ended(opened(), 20, 30_000), "unknown", "unknown", "no recorded fact explains it"),
]


@pytest.mark.parametrize(
    "make, cause, certainty, evidence", CASES, ids=[f"{case[1]}-{at}" for at, case in enumerate(CASES)]
)
def test_each_cause_is_found_by_its_facts(
    make: Callable[[], bytes], cause: str, certainty: str, evidence: str
) -> None:
    """One file a cause: it is named, with the evidence that stands in the file."""
    [one] = [one for one in breaks(make()) if one.step > 1][-1:]
    assert (one.cause, one.certainty) == (cause, certainty), one.evidence
    assert evidence in one.evidence


def asked(session: Session, words: str, prompt: int = 40_000) -> None:
    """Say something, compile, and record an answer whose whole prompt was read from nowhere."""
    session.say(words)
    session.compile()
    read_ = Usage(uncached=prompt, cache_read=0, cache_write_short=0, cache_write_long=0, output=9)
    session.answered(Message(role="assistant", blocks=(Text(text="Done."),)), model=MODEL, usage=read_)


def test_a_session_of_ours_names_its_epoch() -> None:
    """The log itself is the evidence: a revoked text starts an epoch, and the next request reads nothing."""
    session = Session.open(None, "made", provider="anthropic", model=MODEL)
    pin = session.pin("Never touch include/.")
    asked(session, "Build it.")
    session.revoke(pin, "It may change.")
    asked(session, "Go on.")
    before, after = calls_of(session.events)
    assert before.repeated is None
    assert after.repeated is not None
    same, units = after.repeated
    assert 0 < same < units
    [one] = breaks_of([before, after], "made", Prices())
    assert (one.cause, one.certainty) == ("epoch", "shown")
    assert "permission (a text was revoked or erased)" in one.evidence
    assert f"of the {units} units sent before, the first {same} stand unchanged" in one.evidence
    session.revoke(session.pin("Be brief."), "Be long.")
    session.say("And?")
    session.compile()
    asked(session, "Well?")
    assert calls_of(session.events)[-1].repeated is not None


def test_an_epoch_says_what_the_caller_changed() -> None:
    """Other instructions, other tools: each is named, in a word of the log and in plain ones."""
    session = Session.open(None, "made", provider="anthropic", model=MODEL)
    asked(session, "Build it.")
    session.instruct("Be brief.")
    asked(session, "Go on.")
    session.offer([ToolSpec(name="bash")])
    asked(session, "And now?")
    found = breaks_of(calls_of(session.events), "made", Prices())
    assert [one.cause for one in found] == ["epoch", "epoch"]
    assert "instructions (the system text changed)" in found[0].evidence
    assert "tools (the tools offered changed)" in found[1].evidence


def test_every_reason_of_an_epoch_has_its_words() -> None:
    """What a log may hold, older ones too, can be told."""
    assert set(EPOCHS) == set(get_args(Why))


def test_a_session_of_ours_shows_that_it_repeated_the_request() -> None:
    """Within an epoch the digests of what was sent say that nothing changed: it was no new start of a client."""
    session = Session.open(None, "made", provider="anthropic", model=MODEL)
    for words in ("Build it.", "Go on."):
        asked(session, words)
    [one] = breaks_of(calls_of(session.events), "made", Prices())
    assert (one.cause, one.certainty) == ("provider_miss", "likely")
    assert "nothing that was sent changed" in one.evidence


def test_what_was_too_short_to_be_cached_is_no_break() -> None:
    """Under the model's 1,024 tokens nothing is kept: said with both figures, in no count, and nothing was lost."""
    session = Session.open(None, "made", provider="anthropic", model=MODEL)
    for words, prompt in (("Build it.", 600), ("Go on.", 1_023), ("Well?", 1_024), ("And?", 1_100)):
        asked(session, words, prompt)
    found = breaks_of(calls_of(session.events), "made", Prices())
    assert [one.cause for one in found] == ["too_short", "too_short", "provider_miss"]
    assert "the prompt before had 600 tokens" in found[0].evidence
    assert "from 1,024 on" in found[0].evidence
    document = explained(found[:2], 3)
    assert (document["breaks_below_half"], document["tokens_lost"], document["cost_usd"]) == (0, 0, "0")
    assert document["by_cause"] == {"too_short": 2}


def test_an_erased_result_was_returned_all_the_same() -> None:
    """What is gone from the log is no sign of another client."""
    session = Session.open(None, "made", provider="anthropic", model=MODEL)
    asked(session, "Build it.")
    session.say("Go on.")
    session.compile()
    session.erase([session.events[-2].seq], "a name")
    read_ = Usage(uncached=40_000, cache_read=0, cache_write_short=0, cache_write_long=0, output=9)
    session.answered(Message(role="assistant", blocks=(Text(text="Done."),)), model=MODEL, usage=read_)
    assert calls_of(session.events)[-1].asked


def test_every_cause_has_a_mend() -> None:
    """No cause is named without a word on what would have kept the cache."""
    assert {cause for cause, _ in DETECTORS} | {"unknown"} == FIXES.keys()


def test_money_lost_is_what_a_hit_would_have_saved() -> None:
    """Opus 4.8: 40,010 tokens written at 6.25 instead of read at 0.5 USD a million; the rest was due anyway."""
    [one] = breaks(ended(opened(), 400))
    assert (one.expected, one.read, one.rewritten, one.lost) == (40_010, 0, 41_010, 40_010)
    assert one.cost.picodollars == 40_010 * (6_250_000 - 500_000)
    document = explained([one], 2)
    assert document["cost_usd"] == "0.2300575"
    assert (document["breaks_below_half"], document["tokens_rewritten_below_half"]) == (1, 41_010)
    assert document["unknown_share_below_half"] == 0


def test_a_sidechain_is_a_session_of_its_own() -> None:
    """A sub-agent's call between two calls breaks nothing, and its signs are not those of the main conversation."""
    file = opened(version="2.1.7")
    main = file.last
    for seconds, name in ((12, "s1"), (16, "s2")):
        file.user("Look.", isSidechain=True, agentId="x", timestamp=at(seconds), version="9")
        file.answer(
            name,
            text("Seen."),
            usage=usage(0, short=5_000),
            isSidechain=True,
            agentId="x",
            timestamp=at(seconds + 1),
        )
    file.last = main
    found = breaks(ended(file, 20, 40_000, version="2.1.7"))
    assert [one.session.endswith("/x") for one in found] == [True]


def test_what_was_never_written_can_not_be_read() -> None:
    """A session that never caches is not restarted at each turn; beside calls that wrote, the file shows it."""
    file = ClaudeFile()
    for number in range(3):
        file.user("Go on.", timestamp=at(20 * number))
        file.answer(
            f"a{number}", text("Done."), usage=usage(0, fresh=40_000 + number), timestamp=at(20 * number + 5)
        )
    found = breaks(file.data)
    assert [(one.cause, one.certainty) for one in found] == [("not_written", "likely")] * 2
    assert "nor did any call before it" in found[-1].evidence
    file = opened()
    file.user("Go on.", timestamp=at(20))
    file.answer("b", text("Done."), usage=usage(0, fresh=41_000), timestamp=at(25))
    file.user("Go on.", timestamp=at(30))
    file.answer("c", text("Done."), usage=usage(0, short=42_000), timestamp=at(35))
    assert [(one.cause, one.certainty) for one in breaks(file.data)] == [
        ("restart", "likely"),
        ("not_written", "shown"),
    ]


def test_a_short_tail_does_not_shorten_a_long_prefix() -> None:
    """After 400 s its end explains what was written for five minutes; what was for an hour should still stand."""
    for kept, certainty in ((0, "likely"), (40_000, "shown")):
        file = ClaudeFile()
        file.user("Build it.", timestamp=at(0))
        file.answer("a", text("On it."), usage=usage(0, long=40_000, fresh=0), timestamp=at(10))
        file.user("Go on.", timestamp=at(15))
        file.answer("b", text("Done."), usage=usage(40_000, short=9_000, fresh=0), timestamp=at(20))
        file.user("Go on.", timestamp=at(420))
        file.answer("c", text("Done."), usage=usage(kept, short=50_000 - kept), timestamp=at(425))
        [one] = breaks(file.data)
        assert (one.cause, one.certainty) == ("ttl_passed", certainty)
