"""What the spare cache marks of an epoch save on recorded sessions: the same requests with them and without.

Needs FOREWORD_DATA for recorded sessions. Each is replayed in two windows by the default policy; the cache model bills
both plans for a call each 30 seconds.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foreword.compiler.compile import Compiled
from foreword.core.cache_model import CacheUnit, Life, Moment, Outcome, rules_of, simulate
from foreword.core.catalog import ModelSpec
from foreword.core.price import FREE, cost, usd
from foreword.core.target import Target
from foreword.engine.target import target_for
from foreword.evals.replay import Replay
from foreword.importers.read import read
from foreword.store.store import Store
from foreword.testing.referee import Verdict

MODEL = "claude-opus-5-5"
FOLDERS = ("claude_code", "codex", "pi")
WINDOWS = (200_000, 64_000)
SECONDS = 30


class Plans:
    """The requests of a replay as a cache sees them: with every mark, and with none that is spare."""

    def __init__(self) -> None:
        self.planned: list[list[CacheUnit]] = []
        self.plain: list[list[CacheUnit]] = []
        self.epochs = 0

    def take(self, compiled: Compiled, made: dict[str, Any], verdict: Verdict) -> None:
        marks = set(compiled.breakpoints)
        needed = {index for index in marks if index < compiled.head} | {max(marks, default=0)}
        if compiled.frozen - 1 in marks:
            needed.add(compiled.frozen - 1)
        self.planned.append(list(_units(compiled, marks)))
        self.plain.append(list(_units(compiled, needed)))
        self.epochs = compiled.epoch.number


def _units(compiled: Compiled, marks: set[int]) -> list[CacheUnit]:
    short: Life = "short"
    return [
        CacheUnit(
            digest=unit.digest,
            tokens=unit.tokens,
            layer=unit.layer,
            key=unit.section == "key",
            mark=short if index in marks else None,
        )
        for index, unit in enumerate(compiled.units)
    ]


def bill(requests: list[list[CacheUnit]], spec: ModelSpec) -> int:
    """Return picodollars for the input of a session's requests."""
    rules = rules_of(spec)
    assert rules is not None
    times = (Moment.at(number * SECONDS * 1_000_000) for number in range(len(requests)))
    outcomes: list[Outcome] = simulate(requests, times, rules)
    total = sum((cost(outcome.usage(), spec) for outcome in outcomes), FREE)
    return total.picodollars or 0


def main() -> None:
    folder = os.environ.get("FOREWORD_DATA")
    if not folder:
        sys.exit("spare_marks: set FOREWORD_DATA to a folder of recorded sessions")
    files = sorted(path for name in FOLDERS for path in Path(folder, name).glob("*.jsonl"))
    print(f"{'window':>8} {'sessions':>8} {'cuts':>6} {'with, USD':>10} {'without':>10} {'saved':>7}")
    for window in WINDOWS:
        target = target_for("anthropic", MODEL, window=window)
        plans = [found for path in files for found in plans_of(path, target) if found.epochs > 1]
        cuts = sum(found.epochs - 1 for found in plans)
        planned = sum(bill(found.planned, target.spec) for found in plans)
        plain = sum(bill(found.plain, target.spec) for found in plans)
        saved = 100 * (1 - planned / plain) if plain else 0.0
        row = f"{window:8} {len(plans):8} {cuts:6} {usd(planned):>10.7} {usd(plain):>10.7} {saved:6.1f}%"
        print(row, flush=True)


def plans_of(path: Path, target: Target) -> Iterator[Plans]:
    """Replay the sessions of a file; yield the plans of each."""
    for imported in read(str(path)):
        with tempfile.TemporaryDirectory() as place, Store.open(place) as store:
            replay = Replay(imported, target, store=store, unseen=0)
            plans = Plans()
            replay.on_step = plans.take
            replay.run()
            yield plans


if __name__ == "__main__":
    main()
