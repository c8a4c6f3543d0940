"""Compile after one more interaction: does the cost grow with the session, and against what?

Everything is measured in one run and told as a ratio; absolute times belong to the machine they were taken on.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foreword.compiler.compile import compile
from foreword.compiler.policy import Policy
from foreword.core.block import Message, Text, ToolCall
from foreword.core.catalog import Catalog
from foreword.core.view import View
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.store.store import Store

SIZES = (1_000, 10_000)
STEPS = 60
WIDE = Catalog.load().override('[[model]]\nid = "claude-opus-4-8"\nwindow = 4_000_000\n')
"""A window in which nothing has to be left out at any size."""
WORDS = [
    "configure",
    "build",
    "link",
    "target",
    "library",
    "header",
    "archive",
    "test",
    "passed",
    "failed",
    "note",
]


def text(chance: random.Random, words: int) -> str:
    """A log-like text of so many words, a line every ten."""
    return "\n".join(" ".join(chance.choices(WORDS, k=10)) for _ in range(max(1, words // 10)))


def grow(session: Session, chance: random.Random, messages: int, words: int) -> None:
    """Append interactions until the session holds so many messages: call, result, call, result."""
    session.say("Build the project and mend what breaks.")
    for number in range(messages // 2):
        call = ToolCall(id=f"call_{number}", name="bash", arguments='{"command":"make -j2"}')
        session.answered(Message(role="assistant", blocks=(Text(text=text(chance, 20)), call)))
        session.returned(call.id, text(chance, words))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return (milliseconds, result) of one call."""
    start = time.perf_counter()
    result = work()
    return (time.perf_counter() - start) * 1000, result


def measure(messages: int) -> dict[str, float]:
    """Measure one size: compile steps, scratch, a plain dump, cold load; milliseconds and bytes."""
    chance = random.Random(messages)
    policy = Policy(name="bench", result_tokens=0, result_share=1.0, batch_share=0.0)
    target = target_for("anthropic", "claude-opus-4-8", reserve_output=8_000, catalog=WIDE)
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder)) as store:
        session = Session.open(store, "bench", target=target, policy=policy)
        words = 1_000_000 * 3 // 4 // 5_000 * 10 // 9  # about a million tokens at 10,000 messages
        grow(session, chance, messages, words)
        session.compile().body  # noqa: B018 - the first request renders all
        steps, bodies, new_bytes = [], [], []
        for number in range(STEPS):
            call = ToolCall(id=f"more_{number}", name="bash", arguments='{"command":"ctest"}')
            session.answered(Message(role="assistant", blocks=(Text(text=text(chance, 20)), call)))
            session.returned(call.id, text(chance, words))
            spent, compiled = timed(session.compile)
            joined, body = timed(lambda compiled=compiled: compiled.body)
            steps.append(spent)
            bodies.append(joined)
            new_bytes.append(sum(len(unit.data) for unit in compiled.tail))
        value = json.loads(body)
        dumped = min(timed(lambda: json.dumps(value))[0] for _ in range(3))
        tracemalloc.start()
        scratch, again = timed(lambda: compile(View.of(session.events), policy, target))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        scratch, again = timed(lambda: compile(View.of(session.events), policy, target))
        assert again.body == body, "from scratch must give the same bytes"
        session.flush()
        cold, _ = timed(lambda: Session.open(store, "bench", target=target, policy=policy).compile().body)
        return {
            "messages": messages,
            "tokens": compiled.counted,
            "body_bytes": len(body),
            "new_bytes": statistics.median(new_bytes),
            "new_units": len(compiled.tail),
            "step_ms": statistics.median(steps),
            "step_p99_ms": sorted(steps)[int(len(steps) * 0.99)],
            "join_ms": statistics.median(bodies),
            "scratch_ms": scratch,
            "dumps_ms": dumped,
            "cold_ms": cold,
            "scratch_peak_mb": peak / 1e6,
        }


def main() -> None:
    """Print the figures of both sizes and their ratios."""
    small, large = (measure(messages) for messages in SIZES)
    print(f"{'':24}{'1,000 messages':>16}{'10,000 messages':>17}{'ratio':>8}")
    for name in small:
        ratio = large[name] / small[name] if small[name] else float("nan")
        print(f"{name:24}{small[name]:16,.2f}{large[name]:17,.2f}{ratio:8.2f}")
    total = large["step_ms"] + large["join_ms"]
    print(f"\nat 10,000 messages, one more interaction (compile + body) takes {total:.2f} ms:")
    print(f"  {large['scratch_ms'] / total:7.1f} times less than from scratch")
    print(f"  {large['dumps_ms'] / total:7.1f} times less than json.dumps of the request")


if __name__ == "__main__":
    main()
