"""foreword sessions: what a store holds."""

from __future__ import annotations

import click

from foreword.cli import options
from foreword.cli.output import emit, emit_json, table

EPILOG = """\b
Examples:
  foreword sessions
  foreword sessions --store ./store --json

Oldest first. The id, the alias or a unique beginning of the id is the SESSION of all other commands.
"""


@click.command("sessions", epilog=EPILOG)
@options.store
@options.as_json
def command(store: str | None, as_json: bool) -> None:
    """List the sessions of a store."""
    from foreword.cli.source import open_store
    from foreword.evals.cost import iso_time

    with open_store(store) as opened:
        found = opened.sessions()
    rows = [
        {
            "session": row.id,
            "alias": row.alias,
            "format": row.format,
            "source": row.source,
            "events": row.events,
            "began": iso_time(row.created_at),
            "last": iso_time(row.updated_at),
            "forked_from": None if row.parent is None else list(row.parent),
        }
        for row in found
    ]
    if as_json:
        emit_json({"sessions": rows})
    elif not rows:
        emit("the store holds no session yet")
    else:
        table(
            ("session", "alias", "format", "events", "began", "last", "forked from"),
            [
                [row.id, row.alias, row.format, row.events, _minute(one["began"]), _minute(one["last"]),
                 "" if row.parent is None else "#".join(map(str, row.parent))]
                for row, one in zip(found, rows, strict=True)
            ],
        )  # fmt: skip


def _minute(time: object) -> str | None:
    """Cut a time to the minute, for people."""
    return None if time is None else str(time)[:16].replace("T", " ")
