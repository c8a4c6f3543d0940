"""The same log gives the same units in another process, with another hash seed, locale and time zone."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from foreword.engine.session import Session
from foreword.store import Store
from tests.histories import OPERATIONS, TIGHT, Walk, digests, target_of
from tests.tree import ROOT

COMPILE = """
import json, sys
from foreword.compiler.compile import compile
from foreword.core.view import View
from foreword.store import Store
from tests.histories import TIGHT, target_of
folder, wire, positions = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
with Store.open(folder, read_only=True) as store:
    events = store.load(sys.argv[4])
    for position in positions:
        compiled = compile(View.of(events[:position]), TIGHT, target_of(wire, 7_000))
        print(json.dumps([unit.digest.hex() for unit in compiled.units]))
"""


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat"])
def test_another_process_compiles_the_same(wire: str, tmp_path: Path) -> None:
    """Two other processes, set up differently, compile every request of a stored session to the same digests."""
    kinds = [o for o in OPERATIONS if o not in ("erase", "fork", "reopen")]
    with Store.open(tmp_path) as store:
        made = Session.open(store, "h", target=target_of(wire, 7_000), policy=TIGHT)
        walk = Walk(random.Random(5), made, check=False)
        expected: dict[int, list[str]] = {}
        for name in ["say", *random.Random(6).choices(kinds, k=60), "answer", "say"]:
            walk.run([name])
            compiled = walk.ask()
            if compiled is not None:
                expected[compiled.view.position] = [unit.hex() for unit in digests(compiled)]
        made.flush()
    assert len(expected) > 30
    settings = (
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"},
        {"PYTHONHASHSEED": "77", "LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu", "PYTHONUTF8": "0"},
    )
    for setting in settings:
        done = subprocess.run(
            [sys.executable, "-c", COMPILE, str(tmp_path), wire, json.dumps(list(expected)), "h"],
            env={**os.environ, **setting}, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert found == list(expected.values())
