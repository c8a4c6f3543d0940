"""How fast breaks are explained, how many causes stay unknown, and the cache model against recorded reads.

Needs FOREWORD_DATA for recorded sessions; a made session shows how the time grows with the file. Times are of the
processor.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

from foreword.core.prices import Prices
from foreword.evals.cache_explain import Break, breaks_of
from foreword.evals.cache_fit import Read, reads_of, score
from foreword.evals.cache_signs import signs_of
from foreword.evals.calls import calls_of, unseen_of
from foreword.importers.read import read

FOLDERS = ("claude_code", "codex", "pi")
MADE = (1_000, 2_000, 4_000, 8_000)
"""Calls of the made sessions; every tenth breaks."""


def explain(path: Path) -> tuple[list[Break], list[Read], float, float]:
    """Return breaks and predicted reads of a file, and the seconds for reading and for explaining it."""
    start = time.process_time()
    sessions = read(str(path))
    imported = time.process_time()
    signs = signs_of(str(path), sessions[0].format)
    breaks: list[Break] = []
    reads: list[Read] = []
    for number, session in enumerate(sessions):
        calls = calls_of(session.drafts, signs, side=number > 0)
        breaks += breaks_of(calls, session.session, Prices())
    explained = time.process_time()
    for number, session in enumerate(sessions):
        calls = calls_of(session.drafts, signs, side=number > 0)
        reads += reads_of(calls, unseen_of(session.drafts))
    return breaks, reads, imported - start, explained - imported


def made(path: Path, calls: int) -> None:
    """Write a session of so many calls with 4 KB of results each."""
    with path.open("w", encoding="utf-8") as file:
        parent = None
        for number in range(calls):
            prompt = 20_000 + 1_000 * (number % 100)
            read = 0 if number % 10 == 0 else max(0, prompt - 1_000)
            day, clock = number * 60 // 86_400, number * 60 % 86_400
            at = f"2026-03-{day + 1:02}T{clock // 3600:02}:{clock // 60 % 60:02}:"
            usage = {"input_tokens": 10, "cache_read_input_tokens": read,
                     "cache_creation_input_tokens": prompt - read, "output_tokens": 90}  # fmt: skip
            use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "make"}}
            result = {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": "all is well " * 340}
            said = [result] if number else "Build it."
            for kind, content, more in (("user", said, {}), ("assistant", [use], {"usage": usage})):
                identity = f"{kind}-{number}"
                message = {
                    "role": kind,
                    "content": content,
                    "id": identity,
                    "model": "claude-opus-4-8",
                    **more,
                }
                record = {"type": kind, "uuid": identity, "parentUuid": parent, "sessionId": "made",
                          "timestamp": f"{at}{'05' if kind == 'user' else '09'}Z", "message": message}  # fmt: skip
                file.write(json.dumps(record) + "\n")
                parent = identity


def main() -> None:
    """Print one row a file, then causes, shares and the score of the model."""
    print(f"{'file':32}{'MB':>7}{'breaks':>8}{'read s':>8}{'explain s':>10}{'MB/s':>8}{'explain MB/s':>14}")
    before: tuple[int, float] | None = None
    with tempfile.TemporaryDirectory() as folder:
        made(first := Path(folder, "first.jsonl"), 1)
        explain(first)  # loads the tokenizer and the catalog, which no file is charged for
        for calls in MADE:
            path = Path(folder, f"made-{calls}.jsonl")
            made(path, calls)
            breaks, reads, *seconds = explain(path)
            show(path, breaks, reads, *seconds)
            size, spent = path.stat().st_size, sum(seconds)
            if before is not None:
                grown = f"{spent / before[1]:.1f} times the time for {size / before[0]:.1f} times the file"
                print(f"{'':32}{grown}")
            before = size, spent
    data = os.environ.get("FOREWORD_DATA")
    if not data:
        return
    found: list[Break] = []
    for name in FOLDERS:
        reads: list[Read] = []
        for path in sorted(Path(data, name).glob("*.jsonl")):
            breaks, predicted, *seconds = explain(path)
            show(path, breaks, predicted, *seconds)
            found += breaks
            reads += predicted
        print(name, json.dumps(score(reads)))
    deep = [one for one in found if one.below_half]
    for title, ones in (("all breaks", found), ("below half", deep)):
        unknown = sum(one.cause == "unknown" for one in ones) / max(1, len(ones))
        print(
            f"{title}: {len(ones)}, unknown {unknown:.1%}: {dict(Counter(one.cause for one in ones).most_common())}"
        )


def show(path: Path, breaks: list[Break], reads: list[Read], reading: float, explaining: float) -> None:
    """Print one row."""
    size = path.stat().st_size / 1e6
    speed = f"{size / (reading + explaining):8.1f}{size / explaining:14.1f}"
    print(f"{path.name:32}{size:7.2f}{len(breaks):8,}{reading:8.2f}{explaining:10.3f}{speed}")


if __name__ == "__main__":
    main()
