"""A session that calls tools is handed from every wire to every other one in its middle, and judged there."""

import tempfile
from pathlib import Path

import pytest

from foreword.core.event import Answered, Said, ToolReturned
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.errors import ImportFailed
from foreword.evals.replay import REFEREES, facts_of
from foreword.importers.read import read
from foreword.store.store import Store
from tests.corpus.test_replay import MODELS

CALLS = 24
"""Recorded calls that are walked: half before the hand-off, half after."""
WINDOW = 24_000


@pytest.mark.parametrize("start", MODELS)
def test_handoff(recorded: Path, start: str, tmp_path: Path) -> None:
    """Every request before and after the change is legal on its wire; the change is an epoch named `switch`."""
    try:
        imported = read(str(recorded))[0]
    except ImportFailed as refused:
        pytest.skip(str(refused))
    if not any(isinstance(draft.body, ToolReturned) for draft in imported.drafts):
        pytest.skip("calls no tool")
    calls = min(CALLS, sum(isinstance(draft.body, Answered) for draft in imported.drafts))
    for end in MODELS:
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder, Store.open(folder) as store:
            wires = {name: target_for(name, MODELS[name], window=WINDOW) for name in (start, end)}
            referees = {
                name: REFEREES[name][0](facts=facts_of(target, 0), seed=11) for name, target in wires.items()
            }
            session = Session.open(store, imported.session, target=wires[start])
            asked = 0
            begun = False  # a record may begin with an answer: there is nothing to send before it
            for draft in imported.drafts:
                if draft.body.__class__.__name__ == "UnseenPrefix":
                    continue
                if isinstance(draft.body, Answered):
                    asked += 1
                    if asked > calls:
                        break
                    wire = start if asked <= calls // 2 else end
                    session.target = wires[wire]
                    verdict = referees[wire].judge(session.compile().body) if begun else None
                    assert verdict is None or verdict.violations == (), (start, end, asked)
                session.append(draft)
                begun = begun or isinstance(draft.body, Said | Answered)
            reasons = [epoch.body.why for epoch in session.view.fold.epochs]
            assert ("switch" in reasons) == (start != end and calls > 1)
