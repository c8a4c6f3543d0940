"""Blame tells the truth about 200 random strings of each replayed session, checked against the log."""

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

from foreword.core.event import Event
from foreword.engine.target import target_for
from foreword.errors import ImportFailed
from foreword.evals.blame import Blamer
from foreword.evals.replay import Replay
from foreword.evals.texts import texts_of
from foreword.importers.read import read
from foreword.store.store import Store

STRINGS = 200
SESSIONS = 5


@pytest.mark.parametrize(
    "provider, model", [("anthropic", "claude-opus-4-8"), ("openai-chat", "gpt-6.1-sol")]
)
def test_blame(recorded: Path, provider: str, model: str, tmp_path: Path) -> None:
    """Each string entered where the log first has it, and is in the last request exactly when its bytes are."""
    try:
        sessions = read(str(recorded))[:SESSIONS]
    except ImportFailed as refused:
        pytest.skip(str(refused))
    for imported in sessions:
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder, Store.open(folder) as store:
            replay = Replay(
                imported, target_for(provider, model, window=16_000), store=store, unseen=0, seed=5
            )
            bodies: list[Any] = []
            replay.on_step = lambda compiled, made, verdict, last=bodies: last.append(compiled)
            replay.run()
            replay.session.flush()
            if not bodies:
                continue
            shown = strings(json.loads(bodies[-1].body))
            check(Blamer(store, imported.session), shown, random.Random(imported.session))


def check(blamer: Blamer, shown: list[str], chance: random.Random) -> None:
    """Ask about random strings of the log's facts and hold the answers against it."""
    texts = [
        (event, text)
        for event in blamer.events
        if event.origin != "engine" and event.body is not None
        for text in texts_of(event.body)
        if len(text) >= 12
    ]
    for _ in range(STRINGS if texts else 0):
        event, text = chance.choice(texts)
        start = chance.randrange(len(text) - 11)
        wanted = text[start : start + chance.randint(12, 60)]
        told = blamer.blame(wanted)
        first = next(
            e for e in blamer.events if e.origin != "engine" and e.body is not None and holds(e, wanted)
        )
        assert told["entered"]["event"] == first.seq <= event.seq
        assert told["in_request"] == any(wanted in text for text in shown), wanted
        if not told["in_request"]:
            assert told["left"] is not None or told["occurrences"], wanted
            assert told["recover"].startswith(("read(ref=", "foreword_read(ref="))
            if told["left"] is not None:
                rewrite = blamer.events[told["left"]["event"]]
                assert rewrite.kind in ("rewritten", "revoked", "repaired", "instructions_set", "tools_set")


def holds(event: Event, text: str) -> bool:
    """Whether an event's decoded content has the text."""
    return event.body is not None and any(text in part for part in texts_of(event.body))


def strings(value: Any) -> list[str]:
    """All decoded strings of a request, arguments that are JSON text decoded too."""
    if isinstance(value, str):
        try:
            inner = json.loads(value) if value[:1] == "{" else None
        except ValueError:
            inner = None
        return [value, *strings(inner)]
    if isinstance(value, dict):
        return [text for name, member in value.items() for text in (name, *strings(member))]
    return [text for member in value for text in strings(member)] if isinstance(value, list) else []
