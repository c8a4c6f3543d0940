"""Sessions made by hand, for tests that say exactly what happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from foreword.core.block import Block, Message, Text, ToolCall
from foreword.core.target import Target
from foreword.engine.session import Session
from foreword.store import Store
from foreword.testing.referee import Verdict
from tests.histories import TIGHT, counting_clock, referee_for, target_of


def session(target: Target | None = None, store: Store | None = None, name: str = "made") -> Session:
    """Open a session in memory or in a store, for a tight policy."""
    return Session.open(
        store, name, target=target or target_of("anthropic"), policy=TIGHT, clock=counting_clock()
    )


def call(id_: str, name: str = "bash", arguments: str = "{}") -> ToolCall:
    """Return a tool call."""
    return ToolCall(id=id_, name=name, arguments=arguments)


def answer(made: Session, *blocks: Block | str) -> int:
    """Record a model's message of texts and other blocks."""
    content = tuple(Text(text=block) if isinstance(block, str) else block for block in blocks)
    return made.answered(Message(role="assistant", blocks=content))


def answer_message(text: str) -> Message:
    """Return a model's message of one text."""
    return Message(role="assistant", blocks=(Text(text=text),))


def step(made: Session, number: int, output: str, *, is_error: bool = False, command: str = "") -> int:
    """Record one call of the shell and its result; return the result's seq."""
    arguments = f'{{"command":"{command or f"step {number}"}"}}'
    answer(made, call(f"call_{number}", arguments=arguments))
    return made.returned(f"call_{number}", output, is_error=is_error)


def judged(made: Session) -> Verdict:
    """Compile the next request and return what a referee of its wire says."""
    assert made.target is not None
    return referee_for(made.target).judge(made.compile().body)


def reopened(store: Store, made: Session) -> Session:
    """Return the session as another process would open it."""
    made.flush()
    return session(made.target, store, made.id)


def files_with(folder: Path, needle: bytes) -> list[Path]:
    """List the files below a folder that hold some bytes."""
    return [path for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()]


def plain(body: bytes) -> Any:
    """Return a request as JSON values."""
    return json.loads(body)
