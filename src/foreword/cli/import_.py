"""foreword import: record session files in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from foreword.cli import options
from foreword.cli.output import emit, emit_json, note, table

if TYPE_CHECKING:
    from foreword.engine.import_file import Recorded
    from foreword.store.store import Store

EPILOG = """\b
Examples:
  foreword import session.jsonl
  foreword import a.jsonl b.json.gz --store ./store --json
  cat session.jsonl | foreword import -

The same file again adds nothing; a file that grew adds its new part; a file whose past changed becomes a
fork, with a warning. A file that can't be read is named and leaves no trace; the others are recorded, and the
exit code is 2.
"""


@click.command("import", epilog=EPILOG)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@options.format
@options.store
@options.as_json
def command(files: tuple[str, ...], format_: str | None, store: str | None, as_json: bool) -> None:
    """Record the sessions of files in the store. FILE: any known format; - for stdin; .gz and .zst too."""
    from foreword.cli.source import is_file, open_store, read_file
    from foreword.engine.import_file import import_sessions
    from foreword.errors import ImportFailed
    from foreword.evals.stats import totals

    opened: Store | None = None
    rows: list[dict[str, Any]] = []
    done: list[Recorded] = []
    failed = 0
    try:
        for file in files:
            try:
                if not is_file(file):
                    raise ImportFailed(file, "no such file", "name a session file")
                sessions = read_file(file, format_)
            except (ImportFailed, click.UsageError) as error:
                note(f"foreword: {error.message if isinstance(error, click.UsageError) else error}")
                failed += 1
                continue
            opened = opened or open_store(store, write=True)
            for recorded in import_sessions(opened, sessions):
                done.append(recorded)
                rows.append(_row(recorded, totals(recorded.imported)))
    finally:
        if opened is not None:
            opened.close()
    if as_json and rows:
        emit_json({"sessions": rows})
    elif rows:
        _print(rows)
    if failed:
        raise click.exceptions.Exit(2)


def _row(recorded: Recorded, totals: dict[str, Any]) -> dict[str, Any]:
    return {
        "session": recorded.session,
        "alias": recorded.alias,
        "format": recorded.imported.format,
        "source": recorded.imported.source,
        "events": recorded.events,
        "added": recorded.added,
        "forked_from": None if recorded.forked_from is None else list(recorded.forked_from),
        **totals,
        "warnings": [{"code": flaw.code, "where": flaw.where, "text": flaw.text} for flaw in recorded.flaws],
    }


def _print(rows: list[dict[str, Any]]) -> None:
    columns = ("session", "alias", "format", "events", "added", "steps", "tool_calls", "tokens")
    table(columns, [[row[name] for name in columns] for row in rows])
    warnings = [(row["session"], warning) for row in rows for warning in row["warnings"]]
    if warnings:
        emit()
    for session, warning in warnings:
        note(f"warning: {session}: {warning['where']}: {warning['text']} ({warning['code']})")
