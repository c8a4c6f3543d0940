"""Every recorded session of a format we read is replayed through the referees of both wires."""

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

from foreword.core.block import Text, ToolCall, ToolResult
from foreword.core.event import Answered, Draft, InstructionsSet, Said, ToolReturned
from foreword.core.reference import content_bytes
from foreword.engine.reading import find, read_page
from foreword.engine.target import target_for
from foreword.errors import ImportFailed
from foreword.evals.replay import Replay
from foreword.importers.imported import Imported
from foreword.importers.read import read
from foreword.store.store import Store
from tests.sdk_types import validate

MODELS = {
    "anthropic": "claude-opus-4-8",
    "openai-chat": "gpt-6.1-sol",
    "openai-responses": "gpt-6.1-sol",
    "deepseek": "deepseek-flash",
    "gemini": "gemini-3.8-flash",
}
WINDOWS = ((None, None), (64_000, 0), (16_000, 0))
SMALL = (4_000, 0)
SESSIONS_OF_A_SAMPLE = 3


def texts_of(draft: Draft) -> list[str]:
    """The texts that a provider would count of one fact."""
    body = draft.body
    blocks: tuple[Any, ...] = ()
    if isinstance(body, InstructionsSet):
        blocks = body.blocks
    elif isinstance(body, Said | Answered):
        blocks = body.message.blocks
    elif isinstance(body, ToolReturned):
        blocks = (body.result,)
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, Text):
            texts.append(block.text)
        elif isinstance(block, ToolCall):
            texts.append(f"{block.name} {block.arguments}")
        elif isinstance(block, ToolResult):
            texts += [inner.text for inner in block.content if isinstance(inner, Text)]
    return texts


def required_tokens(replay: Replay, step: int) -> int:
    """What instructions, a person's turns and the newest interaction come to, by the referee's count."""
    needed: list[str] = []
    newest: list[str] = []
    calls = 0
    for draft in replay.drafts:
        body = draft.body
        if isinstance(body, Answered):
            calls += 1
            if calls == step:
                break
            newest = texts_of(draft)
        elif isinstance(body, ToolReturned):
            newest += texts_of(draft)
        elif isinstance(body, InstructionsSet) or (isinstance(body, Said) and body.person):
            needed += texts_of(draft)
    return replay.referee.meter.tokens([*needed, *newest])


def imported_sessions(recorded: Path, sample: bool) -> list[Imported]:
    """The sessions of a file, a few of many in a sample; a file of another format is skipped by name."""
    try:
        sessions = read(str(recorded))
    except ImportFailed as refused:
        pytest.skip(str(refused))
    return sessions[:SESSIONS_OF_A_SAMPLE] if sample else sessions


@pytest.mark.parametrize("provider", MODELS)
def test_replay(
    recorded: Path, provider: str, corpus_sample: bool, record_property: Any, tmp_path: Path
) -> None:
    """No violation, no unexplained break, nothing lost, each refusal right, each byte accounted for."""
    sessions = imported_sessions(recorded, corpus_sample)
    windows = [*WINDOWS, SMALL] if "tau" in recorded.parent.name else list(WINDOWS)
    for window, unseen in windows:
        row = {"file": recorded.name, "provider": provider, "window": window or 0, "sessions": len(sessions)}
        sums = dict.fromkeys(("steps", "refused", "violations", "breaks", "unexplained", "lost", "epochs"), 0)
        wrong: list[str] = []
        for number, imported in enumerate(sessions):
            with tempfile.TemporaryDirectory(dir=tmp_path) as folder, Store.open(folder) as store:
                target = target_for(provider, MODELS[provider], window=window)
                replay = Replay(imported, target, store=store, unseen=unseen, seed=number + 1)
                accounted: list[int] = []
                replay.on_step = lambda compiled, made, verdict, seen=accounted: seen.append(
                    check_manifest(provider, compiled.body, made)
                )
                report = replay.run()
                assert len(accounted) == report["steps"] - report["refused_steps"]
                for refusal in replay.refusals:
                    if refusal["error"] == "EmptyRequest":
                        assert required_tokens(replay, refusal["step"]) == 0
                        continue
                    required = required_tokens(replay, refusal["step"])
                    if required + target.reserve_output + replay.unseen <= target.window:
                        wrong.append(f"{imported.session} step {refusal['step']}: {required} required")
                check_references(replay)
                sums["steps"] += report["steps"]
                sums["refused"] += report["refused_steps"]
                sums["violations"] += report["violations"]
                sums["breaks"] += report["prefix_breaks"]
                sums["unexplained"] += report["unexplained_prefix_breaks"]
                sums["lost"] += report["unrecoverable_bytes"]
                sums["epochs"] += report["epochs"]
        record_property("replay", row | sums | {"wrong_refusals": len(wrong)})
        assert (sums["violations"], sums["unexplained"], sums["lost"]) == (0, 0, 0)
        assert not wrong, wrong[:3]
        assert sums["refused"] <= max(1, sums["steps"] // 20), f"{sums['refused']} of {sums['steps']} refused"


def check_manifest(provider: str, body: bytes, made: dict[str, Any]) -> int:
    """Segments tile the body, categories sum to the total, and the official SDK's types take the request.

    Return the number of segments. Of the requests, every tenth is held against the SDK.
    """
    if made["step"] % 10 == 1:
        validate(provider, body)
    end = 0
    for segment in made["segments"]:
        assert segment["start"] == end
        end = segment["end"]
    assert end == len(body) == made["bytes"]
    assert sum(made["tokens"]["by_category"].values()) == made["tokens"]["total"]
    return len(made["segments"])


def check_references(replay: Replay) -> None:
    """Each reference of any request reads back byte-exact from the store, whole and page by page."""
    named = {entry["recover"]: entry["events"][0] for made in replay.steps for entry in made["omitted"]}
    events = replay.session.events
    chance = random.Random(7)
    for call, seq in named.items():
        assert call is not None
        ref = call.split('"')[1]
        body = events[seq].body
        assert body is not None
        wanted = content_bytes(body, None)
        assert wanted is not None
        assert find(replay.session, ref)[2] == wanted[1]
        if chance.random() > 0.1:
            continue
        from_store = find(replay.store, ref)
        assert from_store[2] == wanted[1]
        text, offset = "", 1
        while True:
            page = read_page(replay.session, ref, offset=offset, limit=50)
            text += page.text
            if page.next is None:
                break
            offset += page.returned_lines
        assert text.encode() == wanted[1].decode("utf-8", "replace").encode()
