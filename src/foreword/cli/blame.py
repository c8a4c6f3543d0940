"""foreword blame: when a text entered the context, and when and why it left."""

from __future__ import annotations

import json
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword.cli import options
from foreword.cli.lines import one_line
from foreword.cli.output import emit, emit_json, note, progress

if TYPE_CHECKING:
    from foreword.cli.options import Aim
    from foreword.importers.imported import Imported
    from foreword.store.store import Store

EPILOG = """\b
Examples:
  foreword blame "CMAKE_C_EXTENSIONS" out
  foreword blame "must not change the ABI" SESSION --json
  foreword blame "error: unknown type" session.jsonl --provider anthropic --model claude-opus-4-8

A FILE is replayed first, in a folder that is thrown away, and so takes the options of replay; so is a SESSION
when they are given. TEXT is looked for letter by letter in decoded content. Exit code 1 when it is nowhere.
"""

SHOWN = 6
"""Places in the request that are printed; --json has all."""


@click.command("blame", epilog=EPILOG)
@click.argument("text", metavar="TEXT")
@click.argument("source", metavar="SESSION|REPLAY_DIR|FILE")
@options.target(required=False)
@options.served
@options.format
@options.session
@options.store
@options.as_json
def command(
    text: str,
    source: str,
    provider: str | None,
    model: str | None,
    policy: str,
    window: int | None,
    catalog: str | None,
    reserve_output: int | None,
    unseen: int | None,
    reader: str,
    endpoint: str | None,
    format_: str | None,
    chosen: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Say when TEXT entered the context, whether it is there still, or when and by what it left."""
    if not text:
        raise click.UsageError("TEXT is empty; name a text to look for")
    from foreword.cli.options import Aim

    aim = None
    if provider is not None and model is not None:
        aim = Aim(provider, model, policy, window, reserve_output, reader, endpoint, catalog)
    elif provider is not None or model is not None:
        raise click.UsageError("--provider and --model go together; give both")
    if Path(source).is_dir():
        found = _in_replay(text, Path(source), chosen)
    else:
        found = _in_session(text, source, aim, unseen=unseen, format_=format_, chosen=chosen, store=store)
    if found is None:
        note(f"foreword: the text is found nowhere in {source}: it was searched letter by letter; "
             "try a shorter part of it")  # fmt: skip
        raise click.exceptions.Exit(1)
    if as_json:
        emit_json(found)
    else:
        _print(found)


def _in_replay(text: str, folder: Path, chosen: str | None) -> dict[str, Any] | None:
    """Search the session of a replay's folder; of several, the first that holds the text."""
    from foreword.evals.replay_folder import REPORT, STORE
    from foreword.store.store import Store

    place = next((up / STORE for up in (folder, folder.parent) if (up / STORE).is_dir()), None)
    if place is None:
        raise click.UsageError(
            f"{folder} is no folder of a replay: it holds no {STORE}; `foreword replay` makes one"
        )
    with Store.open(place, read_only=True) as store:
        try:
            report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
            names = [str(report["session"])]
        except (
            OSError,
            ValueError,
            TypeError,
            KeyError,
        ):  # several sessions below, or a replay that was ended
            names = [row.id for row in store.sessions()]
        found = _first(store, [store.resolve(chosen)] if chosen is not None else names, text)
    return _at(found, str(place))


def _in_session(
    text: str,
    source: str,
    aim: Aim | None,
    *,
    unseen: int | None,
    format_: str | None,
    chosen: str | None,
    store: str | None,
) -> dict[str, Any] | None:
    from foreword.cli.source import is_file, open_for_session, pick, sessions_of

    if aim is None:
        if is_file(source):
            raise click.UsageError(
                f"{source} is a file, which is replayed first: give --provider and --model"
            )
        opened, name = open_for_session(source, store)
        with opened:
            return _at(_first(opened, [name], text), store)
    imported = pick(sessions_of(source, format_=format_, place=store), chosen, source)
    return _replayed(text, imported, aim, unseen)


def _replayed(text: str, imported: Imported, aim: Aim, unseen: int | None) -> dict[str, Any] | None:
    from foreword.evals.replayed import replay
    from foreword.store.store import Store

    with (
        tempfile.TemporaryDirectory(prefix="foreword-") as folder,
        Store.open(Path(folder) / "store") as store,
    ):
        walk = replay(imported, aim.target, store=store, policy=aim.policy, unseen=unseen)
        with progress(imported.session, walk.calls) as moved:
            walk.run(moved)
        found = _first(store, [walk.session.id], text)
    return None if found is None else {**found, "read": None}  # the store it was in is thrown away


def _first(store: Store, sessions: list[str], text: str) -> dict[str, Any] | None:
    from foreword.evals.blame import TextNotFound, blame

    for session in sessions:
        try:
            return blame(store, session, text)
        except TextNotFound:
            continue
    return None


def _at(found: dict[str, Any] | None, place: str | None) -> dict[str, Any] | None:
    """Name the store in the command that reads back: events of one session are numbered otherwise elsewhere."""
    if found is None or place is None:
        return found
    return {**found, "read": f"{found['read']} --store {shlex.quote(place)}"}


def _print(found: dict[str, Any]) -> None:
    entered = found["entered"]
    emit(f"session {found['session']}: {one_line(found['text'], 60)!r}")
    what = f"{entered['kind']} ({entered['trust']})"
    emit(f"entered   step {entered['step']}, event {entered['event']}: {what}, {one_line(entered['source'])}")
    copies = len(found["occurrences"]) - 1
    if copies:
        events = ", ".join(str(one["event"]) for one in found["occurrences"][1:12])
        emit(f"again     {copies} more events: {events}{', …' if copies > 11 else ''}")
    if found["in_request"] is None:
        emit("now       unknown: no request was sent from this log; --provider and --model replay it")
    for place in found["where"][:SHOWN]:
        emit(f"now       in the request of step {found['request']['step']}: {place['place']}, segment "
             f"{place['segment']} ({place['kind']}), {place['pass']}: {place['why']}")  # fmt: skip
    if len(found["where"]) > SHOWN:
        emit(f"          and in {len(found['where']) - SHOWN} more segments")
    left = found["left"]
    if left is not None:
        emit(f"left      step {left['step']}, by event {left['event']}: {left['how']} ({left['why']})")
    elif found["in_request"] is False:
        emit(
            "now       in no request: it came after the last one, or is never sent (as reasoning of another)"
        )
    ways = [way for way in (found["recover"], found["read"]) if way is not None]
    for label, way in zip(("back by", "or by"), ways, strict=False):
        emit(f"{label:<10}{way}")
