"""Bill a session file: MB of file per second, read and billed, for files that grow fourfold.

Linear is a time that grows as the file does, and every line says by how much both did. Times are of the processor. The
file is made up in the form of Claude Code: several records a call, tool results of some hundred characters.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from foreword.core.prices import Prices
from foreword.evals.cost import Billed, bill
from foreword.importers.read import read

STEPS = (250, 1_000, 4_000)
RESULT = "line of a log with some words in it\n" * 40


def write(path: Path, steps: int) -> None:
    """Write a session: for each step an answer in two records, and a tool's result."""
    parent = None
    with path.open("w", encoding="utf-8") as out:

        def put(kind: str, message: dict[str, object], **more: object) -> None:
            nonlocal parent
            uuid = f"u{out.tell()}"
            record = {
                "type": kind,
                "uuid": uuid,
                "parentUuid": parent,
                "sessionId": "bench",
                "message": message,
            }
            print(json.dumps({**record, "timestamp": "2026-03-02T10:00:00Z", **more}), file=out)
            parent = uuid

        put("user", {"role": "user", "content": "Mend the pipe."})
        for step in range(steps):
            usage = {
                "input_tokens": 3, "cache_read_input_tokens": 500 * step, "cache_creation_input_tokens": 500,
                "output_tokens": 90,
            }  # fmt: skip
            call = {"type": "tool_use", "id": f"t{step}", "name": "look", "input": {"step": step}}
            for block in ({"type": "text", "text": f"I look at {step}."}, call):
                answer = {
                    "id": f"m{step}",
                    "role": "assistant",
                    "model": "claude-opus-4-8",
                    "content": [block],
                }
                put("assistant", {**answer, "usage": usage}, requestId=f"r{step}")
            result = {"type": "tool_result", "tool_use_id": f"t{step}", "content": f"{step}\n{RESULT}"}
            put("user", {"role": "user", "content": [result]})


def main() -> None:
    """Print one line a size."""
    with tempfile.TemporaryDirectory() as folder:
        write(first := Path(folder, "first.jsonl"), 1)
        read(str(first))  # loads the tokenizer and the catalog, which no file is charged for
        before: tuple[float, float] | None = None
        for steps in STEPS:
            path = Path(folder, f"{steps}.jsonl")
            write(path, steps)
            size = path.stat().st_size / 1e6
            began = time.process_time()
            sessions = read(str(path))
            middle = time.process_time()
            document, _ = bill((Billed(session=one.session, facts=one.drafts) for one in sessions), Prices())
            end = time.process_time()
            assert document["calls"] == steps, document["calls"]
            print(
                f"{steps:>6,} calls, {size:>5.1f} MB: {size / (end - began):>5.1f} MB/s "
                f"(read {middle - began:.2f} s, billed {end - middle:.3f} s)"
                + (f"; {(end - began) / before[1]:.1f} times the time for {size / before[0]:.1f} times the file"
                   if before else "")
            )  # fmt: skip
            before = size, end - began


if __name__ == "__main__":
    main()
