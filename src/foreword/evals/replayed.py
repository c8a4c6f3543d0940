"""A replay of a session as the command line and others start it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from foreword.compiler.compile import Compiled
from foreword.compiler.policy import DEFAULT, Policy
from foreword.core.target import Target
from foreword.engine.contents import Contents
from foreword.errors import UnknownWire
from foreword.evals.replay import REFEREES, Keep, Replay
from foreword.importers.imported import Imported
from foreword.store.store import Store


def refereed(target: Target) -> None:
    """Raise UnknownWire when no referee judges the target's wire."""
    if target.codec.wire not in REFEREES:
        raise UnknownWire(target.codec.wire, tuple(REFEREES))


def replay(
    imported: Imported,
    target: Target,
    *,
    store: Store,
    policy: Policy = DEFAULT,
    unseen: int | None = None,
    out: Path | None = None,
    keep: Keep | None = None,
) -> Replay:
    """Return the replay of a session in a log of its own; ``run`` walks it.

    Where the store holds the session already, the replay gets another name. For a ``path:`` reader, what
    requests leave out is written to its folder as they are made.
    Raises: UnknownWire; StoreError.
    """
    refereed(target)
    named = replace(imported, session=_free_name(store, imported.session))
    walk = Replay(named, target, store=store, policy=policy, unseen=unseen, out=out, keep=keep)
    contents = Contents(target.reader)

    def write(compiled: Compiled, made: dict[str, Any], verdict: object) -> None:
        contents.write(compiled)

    walk.on_step = write
    return walk


def _free_name(store: Store, session: str) -> str:
    taken = {row.id for row in store.sessions()}
    name, number = session, 1
    while name in taken:
        name, number = f"{session}~replay{number}", number + 1
    return name
